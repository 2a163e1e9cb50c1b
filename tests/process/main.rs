//! The program as its users have it: started, killed, starved of disk, asked to stop, run by hand.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should say where")]

mod caller;
mod crash;
mod disk;
mod folder;
mod ledger;
mod server;
mod stopping;
mod talk;
mod waiting;
