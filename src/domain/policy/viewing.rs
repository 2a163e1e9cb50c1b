//! What operators see (RFC-WF-0034 X): redaction per slot and detail per role.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::slots::{SERVER_SLOTS, is_extension};

/// Key of [`RedactionRules`] that stands for every `x_*` slot without a line of its own.
pub(super) const EXTENSIONS: &str = "extensions";

/// How a value is shown to someone who may not see all of it. Ordered from open to closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RedactionMethod {
    None,
    /// Only the last four characters.
    Mask,
    /// A keyed digest: two values can be told apart and not read.
    Digest,
    Hide,
}

/// Redaction per slot. What it does not mention is hidden.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RedactionRules(pub BTreeMap<String, RedactionMethod>);

impl RedactionRules {
    /// How this slot is shown. Unmentioned slots are hidden.
    #[must_use]
    pub fn method_for(&self, slot: &str) -> RedactionMethod {
        let is_own = is_extension(slot) && !SERVER_SLOTS.contains(&slot);
        let fallback = || if is_own { self.0.get(EXTENSIONS) } else { None };
        self.0.get(slot).or_else(fallback).copied().unwrap_or(RedactionMethod::Hide)
    }
}

/// How much an operator's answer tells. Ordered from nothing to all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DetailLevel {
    None,
    /// Status and time left.
    Summary,
    /// Also intent, target (redacted), pending items and the last command.
    Standard,
    /// Also slots, readings and history.
    Full,
}

/// The `ooc` section of a pack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OocRules {
    /// The ceiling for everyone.
    pub detail: DetailLevel,
    /// What each role may see, below that ceiling. A role that is not listed sees nothing.
    pub roles: BTreeMap<String, DetailLevel>,
}

impl OocRules {
    /// The detail for someone who holds these roles: the best of them, never above the ceiling.
    pub fn detail_for<'a>(&self, roles: impl IntoIterator<Item = &'a str>) -> DetailLevel {
        roles
            .into_iter()
            .filter_map(|role| self.roles.get(role).copied())
            .max()
            .unwrap_or(DetailLevel::None)
            .min(self.detail)
    }
}
