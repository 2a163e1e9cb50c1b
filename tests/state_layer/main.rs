//! The state layer from outside: statements and operations in, facts out; readings of utterances against cases with
//! known answers.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![expect(clippy::doc_markdown, reason = "StateBench is a name and not an identifier")]

mod decide_layers;
mod decide_refusals;
mod decide_statebench;
mod decide_writing;
mod ledger_cases;
mod ledger_invariants;
mod ledger_model;
mod ledger_support;
mod readings;
mod statebench;
mod statebench_readings;
