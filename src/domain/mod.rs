//! What RFC-WF-0034 says, as plain values: no I/O, no async, no clock.

pub mod policy;
