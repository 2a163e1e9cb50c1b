//! The storage contract: what every database behind the port has to do, run against each of them.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod contract;
mod doubt;
mod harness;
mod identity;
mod locking;
mod meddled;
mod tampering;
