//! The id of a fact space. Unlike other ids that callers choose it stands in paths.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The id of a fact space, chosen by the caller. It stands in paths, so it must not be personal: `[a-zA-Z0-9._-]`,
/// and not a phone number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SpaceId(String);

impl SpaceId {
    /// The longest accepted form.
    pub const MAX_BYTES: usize = 128;

    /// Checks and takes a text.
    pub fn new(text: impl Into<String>) -> Result<Self, SpaceIdError> {
        let text = text.into();
        let plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
        let sized = (1..=Self::MAX_BYTES).contains(&text.len());
        let number =
            text.bytes().filter(u8::is_ascii_digit).count() >= 8 && !text.bytes().any(|b| b.is_ascii_alphabetic());
        if plain && sized && !number { Ok(Self(text)) } else { Err(SpaceIdError) }
    }

    /// The text as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Why a text cannot name a fact space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 1 to 128 of letters, digits, `.`, `_` and `-`, and not a phone number: it stands in paths")]
pub struct SpaceIdError;

impl fmt::Display for SpaceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for SpaceId {
    type Error = SpaceIdError;
    fn try_from(text: String) -> Result<Self, SpaceIdError> {
        Self::new(text)
    }
}

impl From<SpaceId> for String {
    fn from(id: SpaceId) -> String {
        id.0
    }
}
