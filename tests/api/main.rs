//! The wire, end to end: an in-process server over each database, a clock that tests move, and a client that holds every
//! request it should and every answer it gets against `openapi.yaml`.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod agents;
mod approvals;
mod canary;
mod client;
mod covered;
mod derived;
mod faults;
mod flow;
mod house;
#[path = "../postgres/leg.rs"]
mod leg;
mod lists;
mod messages;
mod paces;
#[path = "../postgres/place.rs"]
mod place;
mod policies;
#[path = "../postgres/mod.rs"]
mod postgres;
mod repeats;
mod several;
mod tenants;

/// What the PostgreSQL of these tests is set to: none of them takes its power away.
const SERVER: &[&str] = &["fsync = off", "full_page_writes = off", "autovacuum = off"];
