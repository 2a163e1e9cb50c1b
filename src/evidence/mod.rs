//! Evidence: entries, the chain that links them, their wire form, and how a stranger checks them.
//!
//! A stream is a hash chain. An entry's header holds nothing personal; its payload is bound by a salted
//! commitment, so the payload and its salt can be erased and the chain still verifies.

pub mod artifact;
pub mod entry;
pub mod verify;
