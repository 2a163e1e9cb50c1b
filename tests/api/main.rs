//! The wire, end to end: an in-process server over SQLite, a clock that tests move, and a client that holds every
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
mod lists;
mod messages;
mod paces;
mod repeats;
mod tenants;
