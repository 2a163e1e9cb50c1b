//! How much harm a command can do.

use serde::{Deserialize, Serialize};

/// The safety class of a command. Policy gives it by command name; a caller may raise it and never lower it.
///
/// The order is the order of strictness: `S0 < S1 < S2 < S3`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SafetyClass {
    S0,
    /// Changes something that can be changed back.
    S1,
    /// Destroys something, or cannot be taken back.
    S2,
    /// High impact: money, many people, the law. Also the class of every name that no pack lists.
    S3,
}

impl SafetyClass {
    /// What a command name that no pack lists gets.
    pub const STRICTEST: Self = Self::S3;

    /// All classes, mildest first.
    pub const ALL: [Self; 4] = [Self::S0, Self::S1, Self::S2, Self::S3];

    /// This class, or the asked one if that is stricter. Never lower than `self`.
    #[must_use]
    pub fn raised_to(self, asked: Option<Self>) -> Self {
        asked.map_or(self, |asked| self.max(asked))
    }

    /// The name as packs and the wire write it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::S0 => "S0",
            Self::S1 => "S1",
            Self::S2 => "S2",
            Self::S3 => "S3",
        }
    }
}

impl std::fmt::Display for SafetyClass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
