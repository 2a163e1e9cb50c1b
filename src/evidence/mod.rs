//! Evidence: entries, the chain that links them, their wire form, and how a stranger checks them.
//!
//! A stream is a hash chain. An entry's header holds nothing personal; its payload is bound by a salted
//! commitment, so the payload and its salt can be erased and the chain still verifies.
//!
//! The entries of all streams of a tenant are the leaves of one Merkle tree. A signed checkpoint of it is a statement
//! that cannot be taken back without a trace.

pub mod artifact;
pub mod auditing;
pub mod bundle;
pub mod checkpoint;
pub mod cosignature;
mod deriving;
pub mod entry;
pub mod erasures;
pub mod note;
pub mod tree;
pub mod verify;
