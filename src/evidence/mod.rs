//! Evidence: entries, the chains that link them, their wire form, and independent verification.
//!
//! A stream is a hash chain. An entry's header holds nothing personal; its payload is bound by a salted commitment, so
//! payload and salt can be erased and the chain still verifies.
//!
//! The entries of all streams of a tenant are the leaves of one Merkle tree. A signed checkpoint commits the log to its
//! whole history: a later change is detectable.

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
