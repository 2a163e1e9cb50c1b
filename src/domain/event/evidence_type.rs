//! The evidence type of each event, as the log and auditors call it (our names; `docs/CONFORMANCE.md` lists them).

use serde::Serialize;

use super::{About, Event, StreamKey};
use crate::domain::id::ItemKind;
use crate::domain::item::ItemState;
use crate::domain::lifecycle::Status;

/// What can become an entry of the evidence log.
pub trait Evidence: Serialize {
    /// The evidence type (our names; `docs/CONFORMANCE.md` lists them).
    fn evidence_type(&self) -> &'static str;

    /// The stream that the entry belongs to, as it tells by itself. A read does not tell in whose name its credential is.
    fn stream(&self, about: &About) -> Option<StreamKey>;
}

impl Evidence for Event {
    fn evidence_type(&self) -> &'static str {
        Self::evidence_type(self)
    }

    fn stream(&self, about: &About) -> Option<StreamKey> {
        match self {
            Self::ReadRecorded { .. } => None,
            Self::PrincipalChanged { .. } => about.actor_id.clone().map(StreamKey::Principal),
            _ => about.conversation_id.clone().map(StreamKey::Conversation),
        }
    }
}

/// The kind of stream that entries of a type belong to, as it is stored: all that is left to tell when a payload is gone.
#[must_use]
pub fn stream_kind(evidence_type: &str) -> &'static str {
    match evidence_type.split_once('.').map_or("", |(subject, _)| subject) {
        "access" => "access",
        "principal" => "principal",
        "records" | "erasure" | "hold" => "disposal",
        "fact_space" | "fact" | "observation" | "environment" | "working_set" | "context_pack" => "fact_space",
        _ => "conversation",
    }
}

impl Event {
    /// The evidence type (our names; `docs/CONFORMANCE.md` lists them).
    #[must_use]
    pub fn evidence_type(&self) -> &'static str {
        match self {
            Self::ContextCreated { .. } => "context.created",
            Self::ContextTransitioned { to, .. } => match to.status() {
                Status::Expired => "context.expired",
                Status::Closed => "context.closed",
                Status::Active | Status::Pending | Status::Blocked => "context.transitioned",
            },
            Self::ContextSlotsChanged { .. } => "context.slots_changed",
            Self::MessageReceived { .. } => "message.received",
            Self::MessageRegistered { .. } => "message.registered",
            Self::ItemAsked { item, .. } => match item.kind() {
                ItemKind::Confirmation => "confirmation.requested",
                ItemKind::Approval => "approval.requested",
                ItemKind::Disambiguation => "disambiguation.requested",
            },
            Self::PromptAttached { .. } => "prompt.attached",
            Self::ApprovalGiven { .. } => "approval.given",
            Self::ItemObjected { item_id, .. } => match item_id.kind() {
                ItemKind::Confirmation => "confirmation.objected",
                ItemKind::Approval => "approval.objected",
                ItemKind::Disambiguation => "disambiguation.objected",
            },
            Self::ItemSettled { item_id, state, .. } => settled_type(item_id.kind(), state),
            Self::DecisionRefused { .. } => "approval.decision_refused",
            Self::FrameCaptured { .. } => "context.frame_captured",
            Self::CommandBound { .. } => "command.bound",
            Self::CommandTakenOver { .. } => "command.taken_over",
            Self::CommandRefused { .. } => "command.refused",
            Self::ResultRecorded { .. } => "command.result_recorded",
            Self::PrincipalChanged { identity_changed: true, .. } => "principal.identity_changed",
            Self::PrincipalChanged { .. } => "principal.changed",
            Self::ReadRecorded { .. } => "access.read",
        }
    }
}

fn settled_type(kind: ItemKind, state: &ItemState) -> &'static str {
    use ItemKind::{Approval, Confirmation, Disambiguation};
    match (kind, state) {
        (Confirmation, ItemState::Open) => "confirmation.reopened",
        (Confirmation, ItemState::Granted { .. }) => "confirmation.accepted",
        (Confirmation, ItemState::Refused { revoked: false, .. }) => "confirmation.declined",
        (Confirmation, ItemState::Refused { .. }) => "confirmation.revoked",
        (Confirmation, ItemState::Spent { .. }) => "confirmation.spent",
        (Confirmation, ItemState::Expired { .. }) => "confirmation.expired",
        (Confirmation, ItemState::Selected { .. } | ItemState::Voided { .. }) => "confirmation.voided",
        (Approval, ItemState::Open) => "approval.reopened",
        (Approval, ItemState::Granted { .. }) => "approval.granted",
        (Approval, ItemState::Refused { revoked: false, .. }) => "approval.denied",
        (Approval, ItemState::Refused { .. }) => "approval.revoked",
        (Approval, ItemState::Spent { .. }) => "approval.spent",
        (Approval, ItemState::Expired { .. }) => "approval.expired",
        (Approval, ItemState::Selected { .. } | ItemState::Voided { .. }) => "approval.voided",
        (Disambiguation, ItemState::Selected { .. }) => "disambiguation.selected",
        (Disambiguation, ItemState::Expired { .. }) => "disambiguation.expired",
        (Disambiguation, ItemState::Refused { .. }) => "disambiguation.declined",
        (
            Disambiguation,
            ItemState::Open | ItemState::Granted { .. } | ItemState::Spent { .. } | ItemState::Voided { .. },
        ) => "disambiguation.voided",
    }
}
