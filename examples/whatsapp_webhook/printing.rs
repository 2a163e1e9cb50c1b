//! Prints instead of sending and cancelling. What is printed is what would go over the wire, so it is not a log: it
//! names the recipient and says the text.
//!
//! The keys of what was cancelled are kept in a file, because an order system outlives the webhook: after a crash it is
//! the one that knows.

use std::collections::HashSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use async_trait::async_trait;
use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::Value;

use crate::outside::{NotSent, NotTold, Orders, Sender, Sent};

/// Prints instead of doing.
#[derive(Debug)]
pub(crate) struct Printing {
    sent: AtomicU64,
    /// One idempotency key a line.
    cancelled: PathBuf,
}

impl Printing {
    /// With the keys of what was cancelled in this file.
    pub(crate) fn new(cancelled: PathBuf) -> Self {
        Self { sent: AtomicU64::new(0), cancelled }
    }

    fn keys(&self) -> io::Result<HashSet<String>> {
        match fs::read_to_string(&self.cancelled) {
            Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(HashSet::new()),
            Err(error) => Err(error),
        }
    }

    fn keep(&self, key: &str) -> io::Result<()> {
        let mut file = OpenOptions::new().append(true).create(true).open(&self.cancelled)?;
        file.write_all(format!("{key}\n").as_bytes())?;
        file.sync_data()
    }
}

#[async_trait]
impl Sender for Printing {
    async fn send(&self, message: &Value) -> Result<Sent, NotSent> {
        let number = self.sent.fetch_add(1, Ordering::Relaxed);
        #[expect(clippy::disallowed_methods, reason = "the example is a program of its own, with a clock of its own")]
        let at = DateTime::<Utc>::from(SystemTime::now());
        println!("would send: {message}");
        Ok(Sent {
            message_id: format!("wamid.printed.{}.{number}", at.timestamp_millis()),
            at: at.to_rfc3339_opts(SecondsFormat::Micros, true),
        })
    }
}

#[async_trait]
impl Orders for Printing {
    async fn cancel(&self, idempotency_key: &str, order_id: &str, context_ref: &Value) -> bool {
        if self.keys().is_ok_and(|keys| keys.contains(idempotency_key)) {
            return true;
        }
        if let Err(error) = self.keep(idempotency_key) {
            tracing::error!(%error, "the order system cannot write, so nothing is cancelled");
            return false;
        }
        println!("would execute: cancel order {order_id}, context_ref {context_ref}");
        true
    }

    async fn outcome(&self, idempotency_key: &str) -> Result<Option<bool>, NotTold> {
        let keys = self.keys().map_err(|_| NotTold)?;
        Ok(keys.contains(idempotency_key).then_some(true))
    }
}
