//! The id of a pending item: its prefix tells which kind of question it is.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Which kind of question a pending item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemKind {
    /// May this command run?
    Confirmation,
    /// Does somebody entitled agree that it runs?
    Approval,
    /// Which one is meant?
    Disambiguation,
}

impl ItemKind {
    /// Every kind, for tables and tests.
    pub const ALL: [Self; 3] = [Self::Confirmation, Self::Approval, Self::Disambiguation];

    /// The kind's word on the wire and in evidence types.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Confirmation => "confirmation",
            Self::Approval => "approval",
            Self::Disambiguation => "disambiguation",
        }
    }

    pub(super) fn prefix(self) -> &'static str {
        match self {
            Self::Confirmation => "cnf",
            Self::Approval => "apr",
            Self::Disambiguation => "dis",
        }
    }
}

/// A pending item: a question the system has asked. The prefix tells its kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ItemId(String);

impl ItemId {
    pub(super) fn minted(kind: ItemKind, uuid: uuid::Uuid) -> Self {
        Self(format!("{}_{}", kind.prefix(), uuid.simple()))
    }

    /// Reads an item id; `None` if this server cannot have minted it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (prefix, rest) = text.split_once('_')?;
        let known = ItemKind::ALL.iter().any(|kind| kind.prefix() == prefix);
        let minted = rest.len() == 32 && rest.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        (known && minted).then(|| Self(text.to_owned()))
    }

    /// The kind that the prefix names.
    #[must_use]
    pub fn kind(&self) -> ItemKind {
        match &self.0[..3] {
            "cnf" => ItemKind::Confirmation,
            "apr" => ItemKind::Approval,
            _ => ItemKind::Disambiguation,
        }
    }

    /// The id as it stands on the wire.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for ItemId {
    type Error = &'static str;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or("not an id of a confirmation, an approval or a disambiguation")
    }
}

impl From<ItemId> for String {
    fn from(id: ItemId) -> String {
        id.0
    }
}
