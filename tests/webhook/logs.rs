//! What the webhook logs: numbers and codes, and nothing about anybody.

use std::io::Write;
use std::sync::{Arc, Mutex};

use serde_json::json;

use crate::bench::Bench;
use crate::fixtures::own;
use crate::stub::confirmed;

#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn logs_name_nobody_and_quote_nothing() {
    let captured = Captured::default();
    let writer = captured.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    let guard = tracing::subscriber::set_default(subscriber);
    // Tests beside this one meet the same log statements for the first time while this subscriber arrives, and one that
    // is met in that moment stays silent until it is asked again: so once to meet them all, and once to listen.
    deliver_everything().await;
    tracing::callsite::rebuild_interest_cache();
    deliver_everything().await;
    drop(guard);
    let log = String::from_utf8(captured.0.lock().unwrap().clone()).unwrap();
    for expected in [
        "a field this handler does not read",
        "cscp refused a message",
        "is not JSON",
        "cscp unavailable",
        "unrecognised",
    ] {
        assert!(log.contains(expected), "the test is asleep: {expected}");
    }
    for personal in ["1202555", "US.1349", "wamid", "olá", "Example", "group-fixture", "direct:"] {
        assert!(!log.contains(personal), "{}", log.lines().find(|line| line.contains(personal)).unwrap());
    }
}

/// Deliveries that make the handler log everything it can.
async fn deliver_everything() {
    let bench = Bench::new().await;
    bench.stub.script(|script| {
        let problem = (422, "12025550100 said: yes");
        script.problems.insert("wamid.fixture.2".to_owned(), problem);
        script.verdicts.insert("wamid.fixture.3".to_owned(), confirmed("cmd_unknown"));
        script.verdicts.insert("wamid.fixture.4".to_owned(), json!({ "code": "ambiguous", "next": "ask_again" }));
    });
    for fixture in own() {
        bench.deliver(&fixture.body).await;
    }
    bench.deliver(b"{\"from\":\"12025550100").await;
    bench.stub.script(|script| script.down = Some(503));
    bench.deliver(&own()[0].body).await;
}
