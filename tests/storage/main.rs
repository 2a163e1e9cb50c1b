//! The storage contract: what every database behind the port has to do, run against each of them.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod alive;
mod claims;
mod claims_course;
mod contract;
mod deadlines;
mod disposal;
mod doubt;
mod erasing;
mod fence;
mod going;
mod harness;
mod identity;
mod judged;
#[path = "../postgres/kill.rs"]
mod kill;
#[path = "../postgres/leg.rs"]
mod leg;
mod locking;
mod log;
mod meddled;
mod mending;
mod passing;
#[path = "../postgres/place.rs"]
mod place;
mod policies;
mod pooler;
#[path = "../postgres/mod.rs"]
mod postgres;
mod prepared;
mod processes;
mod races;
mod replay;
mod retention;
mod retention_faults;
mod retention_things;
#[path = "../api/rows.rs"]
mod rows;
#[path = "../support/rules.rs"]
mod rules;
mod server;
mod space_races;
mod spaces;
mod tampering;
mod unique;
mod upgrade;
mod verifying;
#[path = "../process/waiting.rs"]
mod waiting;
mod witnessed;

use cscp::domain::operation::Answer;
use cscp::domain::query::EvidenceQuery;
use serde_json::json;

use crate::harness::{House, code};

/// What the PostgreSQL of these tests is set to: none of them takes its power away.
const SERVER: &[&str] = &["fsync = off", "full_page_writes = off", "autovacuum = off"];

/// A conversation of its own: a question, a tap, a binding, and all of it read back.
async fn run(house: &House, n: usize) {
    let (conversation, command) = (format!("c{n}"), format!("k{n}"));
    let hello = json!({"text": "hello there", "conversation_id": conversation});
    let Answer::Turn { context: Some(context), .. } = house.post(&format!("wamid.{n}"), hello).await else {
        panic!("no context was opened")
    };
    let (item_id, buttons) = house.ask(&context.context_id, &command).await;
    let tap = json!({"button_id": buttons[0], "conversation_id": conversation});
    assert_eq!(code(&house.post(&format!("wamid.yes.{n}"), tap).await), "confirmed");
    house.answer(House::bind(&context.context_id, &command, "one")).await.unwrap();
    let tenant = &house.tenant.tenant_id;
    assert_eq!(house.store.item(tenant, &item_id).await.unwrap().unwrap().state_word(), "spent");
    let about = EvidenceQuery { context_id: Some(context.context_id.clone()), limit: 50, ..EvidenceQuery::default() };
    assert!(house.store.entries(tenant, &about).await.unwrap().items.len() >= 5);
    assert!(house.store.last_command(tenant, &context.context_id).await.unwrap().is_some());
}
