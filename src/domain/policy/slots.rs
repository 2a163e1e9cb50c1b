//! How slots are stored, and what may be written into them (RFC-WF-0034 VI.B, XI.A, XII).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Slots that the server fills and callers only read.
pub(super) const SERVER_SLOTS: [&str; 4] =
    ["pending_confirmation", "pending_approval", "x_pending_disambiguation", "last_result"];

/// Slots of the RFC's minimum set that callers write.
pub(super) const CALLER_SLOTS: [&str; 3] = ["active_intent", "active_target", "work_item_id"];

/// Key of [`SlotRules::storage`] that stands for every `x_*` slot without a line of its own.
pub(super) const DEFAULT_EXTENSION: &str = "default_extension";

/// Whether this is a slot name that callers may add: `x_` and 1 to 61 of `a-z`, `0-9`, `_`.
pub(super) fn is_extension(name: &str) -> bool {
    name.strip_prefix("x_").is_some_and(|rest| {
        (1..=61).contains(&rest.len())
            && rest.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    })
}

/// Whether callers may write this slot.
pub(super) fn is_writable(name: &str) -> bool {
    !SERVER_SLOTS.contains(&name) && (CALLER_SLOTS.contains(&name) || is_extension(name))
}

/// What is kept of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SlotStorage {
    /// The value is kept.
    Stored,
    /// Nothing is kept; the value is worked out when it is read. Only for slots that the server fills.
    Derived,
    /// Only a keyed digest is kept: equality can be told, the value cannot be read.
    Digest,
    /// Writing the slot is refused.
    Refuse,
}

/// The `slots` section of a pack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlotRules {
    /// Storage per slot name; `default_extension` stands for every other `x_*` slot.
    pub storage: BTreeMap<String, SlotStorage>,
    /// What may be written, per slot name.
    #[serde(default)]
    pub shapes: BTreeMap<String, SlotShape>,
}

impl SlotRules {
    /// How this slot is stored. Slots that the pack does not mention are `stored`.
    #[must_use]
    pub fn storage_of(&self, slot: &str) -> SlotStorage {
        let is_own = is_extension(slot) && !SERVER_SLOTS.contains(&slot);
        let fallback = || {
            if is_own { self.storage.get(DEFAULT_EXTENSION) } else { None }
        };
        self.storage.get(slot).or_else(fallback).copied().unwrap_or(SlotStorage::Stored)
    }
}

impl SlotRules {
    /// How a member of `extensions` is stored: as the `x_*` slot of its name, and under any other name as every slot
    /// that the pack does not mention.
    #[must_use]
    pub fn storage_of_member(&self, name: &str) -> SlotStorage {
        let slot = if is_extension(name) && !SERVER_SLOTS.contains(&name) { name } else { DEFAULT_EXTENSION };
        match self.storage_of(slot) {
            // Nothing of a caller's can be worked out.
            SlotStorage::Derived => SlotStorage::Refuse,
            storage => storage,
        }
    }
}

/// The JSON type that a slot takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShapeType {
    String,
    Object,
    Any,
}

/// What may be written into one slot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlotShape {
    #[serde(rename = "type")]
    pub kind: ShapeType,
    /// Longest value, in bytes of its compact JSON text.
    pub max_bytes: u32,
    /// For strings: a regular expression that must be found in the value (anchor it with `^` and `$`).
    /// The engine is linear, so look-around and back-references do not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
}
