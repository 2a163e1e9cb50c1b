//! The state layer from outside: statements and operations in, facts out; packs; readings of utterances against cases
//! with known answers.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod assembly_cases;
mod assembly_invariants;
mod assembly_support;
mod decide_layers;
mod decide_refusals;
mod decide_room;
mod decide_statebench;
mod decide_writing;
mod foreseeing;
mod ledger_cases;
mod ledger_invariants;
mod ledger_model;
mod ledger_support;
mod readings;
mod statebench;
mod statebench_readings;
