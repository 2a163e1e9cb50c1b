//! Reading an utterance: what it claims about facts. No model, no clock; the words are not kept.

mod bearing;
mod candidates;
mod claims;
mod classes;
mod clause;
mod fitting;
mod forgetting;
mod forms;
mod judging;
mod lexicon;
mod prepared;
mod replaced;
pub mod restating;
mod segments;
mod slots;
mod stance;
mod whose;
mod words;

pub use bearing::bearings;
pub use claims::read;
pub(in crate::state_layer) use forgetting::Forgotten;

use serde::{Deserialize, Serialize};

use super::language::terms::Language;
use super::language::value::ValueKind;
use crate::domain::canonical::Digest;
use crate::domain::id::{FactUid, ReadingId};
use crate::domain::time::Timestamp;

/// An utterance as it arrives. Lives as long as the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Utterance {
    /// `user`, `assistant`, `system`, or a name.
    pub speaker: String,
    pub text: String,
    /// When it was said.
    pub at: Timestamp,
    /// The authority of whoever said it, where the caller knows: a level or a title.
    pub authority: Option<String>,
}

/// How an utterance is meant. Only an assertion changes facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stance {
    /// It says that something is so.
    Assertion,
    Question,
    Hypothetical,
    /// It proposes, wishes or considers.
    Draft,
    /// It tells of the past.
    Narrative,
    /// It holds for this once only.
    Exception,
    /// It says that nothing changes.
    Confirmation,
    /// None of the speakers whose word counts said it.
    NotCounted,
}

/// What a claim does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    Set,
    /// Ends something without a new value.
    Cancel,
    /// Goes back to an earlier value.
    Revert,
}

/// One claim of an utterance: enough to tell which facts it bears on, and no more of the words than that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    pub act: Act,
    /// The word class that gave it away, such as `correction`, `move`, `instead_of`; none for a plain statement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cue: Option<String>,
    /// Stems of the words that say what it is about, and the slots they name (`#delivery`); at most 24, sorted.
    pub about: Vec<String>,
    /// Which of them are its subject or object, where the sentence tells; at most 8, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub head: Vec<String>,
    /// Stems of names and codes it speaks of that are neither the new nor the old value; at most 8, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Stems of the words that say that something is somebody else's or another one; at most 8, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<String>,
    /// The value it gives, as written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new: Option<String>,
    /// That value's kind and canonical form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_value: Option<(ValueKind, String)>,
    /// The value it says is no longer so, in canonical form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_value: Option<(ValueKind, String)>,
}

/// What an utterance was read as.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    pub reading_id: ReadingId,
    /// When it was said.
    pub at: Timestamp,
    /// When this server read it.
    pub recorded_at: Timestamp,
    pub language: Language,
    /// How it is meant.
    pub stance: Stance,
    /// The authority it carries: from the caller or from its own marks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority: Option<String>,
    /// What it claims. Nothing to keep if empty.
    pub claims: Vec<Claim>,
    /// A digest of the whole of it, by which saying again what was written down before is told from news; none for a
    /// few words, which may well be news.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub echo: Option<Digest>,
    /// The salt of that digest, which stays with the server and goes with the reading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub salt: Option<Digest>,
    /// The version of the rules that read it.
    pub rules: u32,
}

/// The version of the rules in this module.
pub const RULES_VERSION: u32 = 1;

/// What a reading means for one fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bearing {
    /// Which claim of the reading.
    pub claim: usize,
    pub target: FactUid,
    /// Certain: it is superseded. Otherwise it is contested.
    pub certain: bool,
    /// 0 to 100.
    pub confidence: u8,
    pub cue: String,
    /// Which rule, in words that quote nothing.
    pub reason: String,
    /// The value in its place; none for a plain cancellation.
    pub new_value: Option<String>,
}

#[cfg(test)]
#[path = "reading_tests.rs"]
mod tests;
