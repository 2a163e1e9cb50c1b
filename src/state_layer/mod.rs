//! The state layer: facts that supersede one another, and the bounded context a language model should see
//! (the StateBench full specification; `docs/STATE_LAYER.md` says how its open questions were answered).
//!
//! Pure. What is said becomes [`Statement`]s; the state of a fact space is a fold of its statements in the order of
//! their own time, so it does not depend on the order in which they arrived ([`ledger`]). An utterance is read
//! ([`reading`]) and not kept. A pack is assembled from what stands ([`assembly`]).

pub mod assembly;
pub mod authority;
pub mod decide;
pub mod event;
pub mod fact;
pub mod language;
pub mod ledger;
pub mod operation;
pub mod query;
pub mod reading;
pub mod refusal;
pub mod request;
pub mod space;

pub use statement::{Ruling, Statement, Verdict};

mod statement;
