//! The storage contract: what every database behind the port has to do, run against each of them.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod contract;
mod doubt;
mod harness;
mod identity;
#[path = "../postgres/leg.rs"]
mod leg;
mod locking;
mod meddled;
#[path = "../postgres/place.rs"]
mod place;
#[path = "../postgres/mod.rs"]
mod postgres;
mod tampering;

/// What the PostgreSQL of these tests is set to: none of them takes its power away.
const SERVER: &[&str] = &["fsync = off", "full_page_writes = off", "autovacuum = off"];
