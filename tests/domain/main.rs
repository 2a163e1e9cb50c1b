//! The domain from outside: operations in, events and answers out, with every promise checked after every step.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![expect(clippy::doc_markdown, reason = "WhatsApp is a name and not an identifier")]

mod approvals;
mod binding;
mod determinism;
mod edges;
mod failures;
mod found;
mod harness;
mod house;
mod invariants;
mod invariants_time;
mod lifecycle;
mod limits;
mod messages;
mod model;
mod model_steps;
mod naming;
mod operations;
mod outside;
mod outside_words;
mod stopping;
mod targets;
mod told;
mod yes_cells;
mod yes_oracle;
mod yes_table;
