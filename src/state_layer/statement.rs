//! Statements: the immutable inputs of a fact space. Its state is their fold in the order of their own time.

use serde::{Deserialize, Serialize};

use super::fact::Fact;
use super::reading::Reading;
use crate::domain::id::{FactUid, RulingId};
use crate::domain::time::Timestamp;

/// What somebody decided about a fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// Put back into force; whatever contested or replaced it steps back.
    Restored { uid: FactUid },
    /// Deleted: its value is gone.
    Deleted { uid: FactUid },
    /// A task or session has ended, and what was stated for it alone.
    ScopeEnded { scope_id: String },
}

/// A ruling: a decision about facts that is not itself a fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ruling {
    pub ruling_id: RulingId,
    #[serde(flatten)]
    pub verdict: Verdict,
    /// Why, in the words of whoever decided.
    pub reason: String,
    /// When, in the space's own time.
    pub at: Timestamp,
    /// When this server learned of it.
    pub recorded_at: Timestamp,
}

/// One input of the fold.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "statements are folded one by one")]
pub enum Statement {
    /// A fact as it was written: standing valid, nothing derived yet.
    Fact(Fact),
    /// What an utterance was read as; never the words.
    Reading(Reading),
    /// A person's or a program's ruling.
    Ruling(Ruling),
}

impl Statement {
    #[must_use]
    pub fn at(&self) -> Timestamp {
        match self {
            Self::Fact(fact) => fact.at,
            Self::Reading(reading) => reading.at,
            Self::Ruling(ruling) => ruling.at,
        }
    }

    /// When this server learned of it.
    #[must_use]
    pub fn recorded_at(&self) -> Timestamp {
        match self {
            Self::Fact(fact) => fact.recorded_at,
            Self::Reading(reading) => reading.recorded_at,
            Self::Ruling(ruling) => ruling.recorded_at,
        }
    }
}
