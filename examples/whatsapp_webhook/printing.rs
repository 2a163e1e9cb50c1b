//! Prints instead of sending and cancelling. What is printed is what would go over the wire, so it is not a log: it
//! names the recipient and says the text.

use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::Value;

use crate::outside::{NotSent, Orders, Sender, Sent};

/// Prints instead of doing.
#[derive(Debug, Default)]
pub(crate) struct Printing {
    sent: AtomicU64,
}

#[async_trait]
impl Sender for Printing {
    async fn send(&self, message: &Value) -> Result<Sent, NotSent> {
        let number = self.sent.fetch_add(1, Ordering::Relaxed);
        #[expect(clippy::disallowed_methods, reason = "the example is a program of its own, with a clock of its own")]
        let at = Timestamp::now();
        println!("would send: {message}");
        Ok(Sent { message_id: format!("wamid.printed.{}.{number}", at.as_millisecond()), at: at.to_string() })
    }
}

#[async_trait]
impl Orders for Printing {
    async fn cancel(&self, order_id: &str, context_ref: &Value) -> bool {
        println!("would execute: cancel order {order_id}, context_ref {context_ref}");
        true
    }
}
