//! What the committer is asked and answers, whichever of the two it is about: a conversation or a fact space.

use serde::{Deserialize, Serialize};

use crate::domain::operation::{Answer, Operation};
use crate::domain::refusal::Refusal;
use crate::state_layer::operation::{SpaceAnswer, SpaceOperation};
use crate::state_layer::refusal::SpaceRefusal;

/// An operation of either kind.
#[derive(Debug, Clone)]
pub enum Request {
    /// On a conversation, a principal or a reader's stream.
    Core(Operation),
    /// On a fact space.
    Space(SpaceOperation),
}

/// An answer of either kind. Told apart by the name of the member that tells the answer's kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Answered {
    /// To an operation on a conversation, a principal or a reader's stream.
    Core(Answer),
    /// To an operation on a fact space.
    Space(SpaceAnswer),
}

/// A refusal of either kind. Told apart by the name of the member that holds the code.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(untagged)]
pub enum Refused {
    /// Of an operation on a conversation, a principal or a reader's stream, or of a reused key.
    #[error("{0}")]
    Core(Refusal),
    /// Of an operation on a fact space.
    #[error("{0}")]
    Space(SpaceRefusal),
}
