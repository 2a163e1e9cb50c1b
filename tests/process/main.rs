//! The program as its users have it: started, killed, starved of disk, asked to stop, run by hand.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should say where")]

mod backup;
mod caller;
#[path = "../../examples/history/checker/mod.rs"]
mod checker;
mod commands;
mod crash;
mod cuttable;
mod disk;
mod first_run;
mod folder;
mod guarding;
mod history;
#[path = "../postgres/kill.rs"]
mod kill;
mod ledger;
#[path = "../postgres/leg.rs"]
mod leg;
mod logs;
mod manners;
mod metrics;
mod ops;
mod policies;
#[path = "../postgres/mod.rs"]
mod postgres;
mod publishing;
mod readme;
mod replay;
mod server;
mod sharing;
mod silence;
mod sole;
mod standby;
mod stopping;
mod talk;
mod two_servers;
mod verifying;
mod waiting;
mod witnessing;

/// What the PostgreSQL of these tests is set to: what it is set to anywhere.
const SERVER: &[&str] = &[];
