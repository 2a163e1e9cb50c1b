//! Parsing the lines of a bundle: strictly, and without trusting anything yet.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::domain::canonical::{Json, MAX_SAFE_INTEGER, Text};

/// A line of a bundle; the type of its entry changes as it is checked. A duplicate member, an unknown member or a
/// number that readers disagree on makes it unreadable.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line<E> {
    Bundle(Box<Opening>),
    Keys(Vec<String>),
    Checkpoint(String),
    Consistency(Consistency),
    Schema(Told),
    Policy(Pack),
    Entry(Box<E>),
    Frame(FrameLine),
    Summary(Summary),
    End(Closing),
}

impl<E> Line<E> {
    /// Converts the entry of a line.
    pub(super) fn map<F>(self, make: impl FnOnce(&E) -> F) -> Line<F> {
        match self {
            Self::Bundle(opening) => Line::Bundle(opening),
            Self::Keys(keys) => Line::Keys(keys),
            Self::Checkpoint(note) => Line::Checkpoint(note),
            Self::Consistency(shown) => Line::Consistency(shown),
            Self::Schema(schema) => Line::Schema(schema),
            Self::Policy(pack) => Line::Policy(pack),
            Self::Entry(entry) => Line::Entry(Box::new(make(&entry))),
            Self::Frame(frame) => Line::Frame(frame),
            Self::Summary(summary) => Line::Summary(summary),
            Self::End(closing) => Line::End(closing),
        }
    }
}

/// A value that proves nothing: parsed as strictly as all others, then discarded.
#[derive(Debug)]
pub(super) struct Told;

impl<'de> Deserialize<'de> for Told {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        Json::deserialize(reader).map(|_| Self)
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Opening {
    pub(super) format: String,
    pub(super) origin: String,
    pub(super) tenant_id: String,
    pub(super) environment: String,
    #[expect(dead_code, reason = "checked for its form; proves nothing")]
    created_at: String,
    pub(super) selection: Selection,
    pub(super) coverage: Coverage,
}

/// Which entries the bundle promises to hold.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Coverage {
    pub(super) kind: CoverageKind,
    /// The chains of a version 1 bundle, which does not state their ends.
    pub(super) stream_ids: Option<Vec<String>>,
    /// The chains of later versions.
    pub(super) chains: Option<Vec<Chain>>,
}

/// A chain that the bundle promises as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Chain {
    pub(super) stream_id: String,
    /// How many of its entries the checkpoint's tree holds, if stated.
    #[serde(default, deserialize_with = "maybe_count")]
    pub(super) entries: Option<u64>,
    /// The hash of the last of them.
    pub(super) last: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Selection {
    pub(super) command_id: Option<String>,
    pub(super) context_id: Option<String>,
    pub(super) conversation_id: Option<String>,
    pub(super) actor_id: Option<String>,
    pub(super) fact_space: Option<String>,
    pub(super) from: Option<String>,
    pub(super) until: Option<String>,
    #[expect(dead_code, reason = "checked for its form; the entries show which payloads are there")]
    payloads: Option<String>,
    #[serde(default, deserialize_with = "maybe_count")]
    #[expect(dead_code, reason = "checked for its form; the consistency line answers it")]
    consistent_from: Option<u64>,
    pub(super) nonce: Option<String>,
}

impl Selection {
    /// How many subjects are named. The server accepts at most one.
    pub(super) fn named(&self) -> usize {
        let subjects = [&self.command_id, &self.context_id, &self.conversation_id, &self.actor_id, &self.fact_space];
        subjects.into_iter().flatten().count()
    }

    /// The members that select content, by their names in the request.
    pub(super) fn told(&self) -> BTreeMap<&'static str, String> {
        let members = [
            ("command_id", &self.command_id),
            ("context_id", &self.context_id),
            ("conversation_id", &self.conversation_id),
            ("actor_id", &self.actor_id),
            ("fact_space", &self.fact_space),
            ("from", &self.from),
            ("until", &self.until),
            ("nonce", &self.nonce),
        ];
        members.into_iter().filter_map(|(name, value)| value.clone().map(|value| (name, value))).collect()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CoverageKind {
    /// Every entry of the checkpoint's tree.
    Whole,
    /// Every entry of the chains that are named, as far as the checkpoint goes.
    Streams,
    /// Entries that were chosen.
    Selection,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Consistency {
    #[serde(deserialize_with = "count")]
    pub(super) from: u64,
    pub(super) proof: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pack {
    pub(super) hash: String,
    pub(super) document: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "the members' names are the format's")]
pub(super) struct Entry<'a> {
    #[serde(borrow)]
    pub(super) header: Text<'a>,
    #[serde(borrow)]
    pub(super) prev_hash: Text<'a>,
    #[serde(borrow)]
    pub(super) payload_commitment: Text<'a>,
    #[serde(borrow)]
    pub(super) entry_hash: Text<'a>,
    #[serde(deserialize_with = "count")]
    pub(super) leaf_index: u64,
    #[serde(borrow)]
    pub(super) proof: Vec<Text<'a>>,
    #[serde(borrow)]
    pub(super) payload: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) salt: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) artifact: Json<'a>,
}

/// What an entry's header says.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    pub(super) v: u32,
    pub(super) tenant_id: String,
    pub(super) stream_id: String,
    #[serde(deserialize_with = "count")]
    pub(super) seq: u64,
    pub(super) artifact_id: String,
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) at: String,
    pub(super) policy_hash: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FrameLine {
    pub(super) context_frame_id: String,
    pub(super) context_hash: String,
    pub(super) frame: Option<String>,
    pub(super) salt: Option<String>,
    pub(super) shown: Option<Told>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Summary {
    #[serde(deserialize_with = "count")]
    pub(super) entries: u64,
    #[serde(deserialize_with = "count")]
    pub(super) frames: u64,
    #[serde(deserialize_with = "count")]
    pub(super) waiting: u64,
    #[expect(dead_code, reason = "checked for its form; proves nothing")]
    redacted: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Closing {
    pub(super) sha256: String,
    pub(super) note: String,
}

/// An integer that every JSON reader reads alike.
fn count<'de, D: Deserializer<'de>>(reader: D) -> Result<u64, D::Error> {
    let number = u64::deserialize(reader)?;
    if number <= MAX_SAFE_INTEGER { Ok(number) } else { Err(D::Error::custom("beyond 2^53 - 1")) }
}

fn maybe_count<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<u64>, D::Error> {
    let number = Option::<u64>::deserialize(reader)?;
    if number.is_none_or(|number| number <= MAX_SAFE_INTEGER) {
        Ok(number)
    } else {
        Err(D::Error::custom("beyond 2^53 - 1"))
    }
}

/// Reads a line without its line break.
pub(super) fn read(bytes: &[u8]) -> Option<Line<Entry<'_>>> {
    // Validates UTF-8 once for the line instead of once per text.
    serde_json::from_str(std::str::from_utf8(bytes).ok()?).ok()
}
