//! Slots: the named pieces of a context (RFC-WF-0034 VI.B and XIII).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::id::ItemKind;

/// The current intent: a label or the name of the command being considered.
pub const ACTIVE_INTENT: &str = "active_intent";
/// What the intent is about: an entity's id, or an object that names it.
pub const ACTIVE_TARGET: &str = "active_target";
/// The operator's work item.
pub const WORK_ITEM_ID: &str = "work_item_id";
/// The open confirmation, as a copy for readers.
pub const PENDING_CONFIRMATION: &str = "pending_confirmation";
/// The open approval, as a copy for readers.
pub const PENDING_APPROVAL: &str = "pending_approval";
/// The open choice. Not in the RFC's minimum set, hence the prefix.
pub const PENDING_DISAMBIGUATION: &str = "x_pending_disambiguation";
/// How the last command ended.
pub const LAST_RESULT: &str = "last_result";

/// The slot that holds the copy of an open question.
#[must_use]
pub fn pending_slot(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Confirmation => PENDING_CONFIRMATION,
        ItemKind::Approval => PENDING_APPROVAL,
        ItemKind::Disambiguation => PENDING_DISAMBIGUATION,
    }
}

/// The most slots that one context holds.
pub const MAX_SLOTS: usize = 64;
/// The largest value of one slot, in bytes of canonical JSON.
pub const MAX_VALUE_BYTES: usize = 4_096;
/// The largest total of all values, in bytes of canonical JSON.
pub const MAX_TOTAL_BYTES: usize = 32_768;

/// The slots of a context. A missing slot and a null are the same thing.
pub type Slots = BTreeMap<String, Value>;

/// What a slot name is to a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotClass {
    /// One that callers set.
    Writable,
    /// One that only the server sets.
    ReadOnly,
    /// An extension: kept as given, influences nothing.
    Extension,
    /// Neither known nor prefixed.
    Unknown,
}

/// Tells what a slot name is to a caller.
#[must_use]
pub fn classify(name: &str) -> SlotClass {
    match name {
        ACTIVE_INTENT | ACTIVE_TARGET | WORK_ITEM_ID => SlotClass::Writable,
        PENDING_CONFIRMATION | PENDING_APPROVAL | PENDING_DISAMBIGUATION | LAST_RESULT => SlotClass::ReadOnly,
        _ if is_extension(name) => SlotClass::Extension,
        _ => SlotClass::Unknown,
    }
}

/// Whether this is a name that callers may add: `x_` and 1 to 61 of `a-z`, `0-9`, `_`.
#[must_use]
pub fn is_extension(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    name.strip_prefix("x_").is_some_and(|rest| (1..=61).contains(&rest.len()) && rest.bytes().all(allowed))
}

/// Why a change of slots was refused. Names the slot, never its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum SlotError {
    /// Neither a slot of the RFC nor prefixed.
    #[error("the slot is unknown; prefix your own slots with x_")]
    Unknown,
    /// The server's own slot.
    #[error("the slot is read-only; the server keeps it")]
    ReadOnly,
    /// The credential may not write this slot.
    #[error("an agent may propose active_intent and active_target only")]
    NotForAgents,
    /// Policy forbids storing it.
    #[error("policy refuses to store this slot")]
    Refused,
    /// Not of the shape that policy or the RFC gives it.
    #[error("the value does not have the shape that this slot takes: {expected}")]
    Shape {
        /// What would be accepted.
        expected: String,
    },
    /// Over a size limit.
    #[error("the slots would exceed a limit: {limit}")]
    TooLarge { limit: String },
}
