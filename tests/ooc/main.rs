//! What operators and auditors see, end to end over each database: levels, languages, redaction, explanations,
//! evidence, and the record that they looked.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod evidence;
mod explanation;
mod house;
#[path = "../postgres/leg.rs"]
mod leg;
#[path = "../postgres/place.rs"]
mod place;
#[path = "../postgres/mod.rs"]
mod postgres;
mod queries;
#[path = "../support/rules.rs"]
mod rules;
mod wire;

/// What the PostgreSQL of these tests is set to: none of them takes its power away.
const SERVER: &[&str] = &["fsync = off", "full_page_writes = off", "autovacuum = off"];
