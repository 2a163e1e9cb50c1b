//! The wire, end to end: an in-process server over each database, a clock that tests move, and a client that holds every
//! request it should and every answer it gets against `openapi.yaml`.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod agents;
mod agreed;
mod approvals;
mod auditing;
mod bundles;
mod canary;
mod client;
mod cosignatures;
mod covered;
mod derived;
mod editing;
mod executions;
mod exports;
mod extensions;
mod faults;
mod flow;
mod forgeries;
mod forging;
mod going;
mod house;
#[path = "../postgres/leftovers.rs"]
mod leftovers;
#[path = "../postgres/leg.rs"]
mod leg;
mod lists;
mod log;
mod manners;
mod memories;
mod messages;
mod mutating;
mod odd_texts;
mod paces;
mod parity;
#[path = "../postgres/place.rs"]
mod place;
mod policies;
#[path = "../postgres/mod.rs"]
mod postgres;
mod privacy;
mod privacy_cast;
mod privacy_guessing;
mod privacy_holds;
mod probes;
mod readers;
mod readers_cells;
mod reads_recorded;
mod redaction;
mod repeats;
mod replay;
mod replayed;
mod retention;
mod rows;
#[path = "../support/rules.rs"]
mod rules;
mod several;
mod spaces;
mod spaces_access;
mod spaces_erasure;
mod spaces_facts;
mod spaces_layers;
mod spaces_outside;
mod spaces_packs;
mod spaces_people;
mod spaces_refusals;
mod stage;
mod taking_back;
mod tenants;
mod unknown_names;
mod unlisted;

/// What the PostgreSQL of these tests is set to: none of them takes its power away.
const SERVER: &[&str] = &["fsync = off", "full_page_writes = off", "autovacuum = off"];
