//! The domain: what RFC-WF-0034 says, as pure functions over values.
//!
//! No async, no I/O, no clock, no randomness: time and unpredictable bytes are arguments. [`decide`] turns an
//! [`operation::Operation`] and a [`world::World`] into events and an answer; [`world::World::apply`] folds the
//! events. The same operations, times, ids and salts always give the same events, frames and hashes.

pub mod canonical;
pub mod command;
pub mod context;
pub mod decide;
pub mod disposal;
pub mod event;
pub mod fingerprint;
pub mod frame;
pub mod id;
pub mod idempotency;
pub mod item;
mod item_id;
pub mod lexicon;
pub mod lifecycle;
pub mod message;
pub mod operation;
pub mod policy;
pub mod principal;
pub mod prompt;
pub mod query;
pub mod redaction;
pub mod refusal;
pub mod rulebook;
pub mod scope;
pub mod slots;
mod space_id;
pub mod speaking;
pub mod subject;
pub mod time;
pub mod trying;
pub mod verdict;
pub mod world;
