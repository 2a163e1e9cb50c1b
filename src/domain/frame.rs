//! Context frames: what was known when a command was formed (RFC-WF-0034 IV and VIII.A).

use serde::{Deserialize, Serialize};

use super::canonical::{Digest, Purpose, canonical, commit};
use super::id::{
    CommandId, ContextFrameId, ContextId, ConversationId, CorrelationId, ItemId, MessageId, PackId, PrincipalId,
    TenantId,
};
use super::lifecycle::Status;
use super::policy::PolicyRef;
use super::slots::Slots;
use super::time::Timestamp;

/// What points to a frozen context, as it goes into a command envelope and into evidence (RFC-WF-0034 IX).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameRef {
    pub context_id: ContextId,
    pub context_frame_id: ContextFrameId,
    /// The hash of that form.
    pub context_hash: String,
    /// The context's deadline when it was frozen.
    pub expires_at: Timestamp,
}

/// The context pack that a command was formed from: what a model was shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CitedPack {
    pub pack_id: PackId,
    /// Its hash: the text that was shown, as of when, and who counted.
    pub pack_hash: String,
}

/// An immutable snapshot of a context record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContextFrame {
    /// The format of the hashed form.
    pub v: u32,
    pub context_frame_id: ContextFrameId,
    pub context_id: ContextId,
    pub tenant_id: TenantId,
    pub conversation_id: ConversationId,
    pub actor_id: PrincipalId,
    /// Status when it was frozen.
    pub status: Status,
    pub revision: u64,
    /// The slots in their stored, minimised form.
    pub slots: Slots,
    /// The messages used for interpretation.
    pub message_ids: Vec<MessageId>,
    /// The command formed from it.
    pub command_id: CommandId,
    /// The pack it was formed from, if the caller cites one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_pack: Option<CitedPack>,
    /// The confirmation spent, if one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmation_id: Option<ItemId>,
    /// The approval spent, if one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<ItemId>,
    /// The caller's correlation id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<CorrelationId>,
    pub expires_at: Timestamp,
    /// When it was frozen.
    pub created_at: Timestamp,
    /// The pack in force.
    pub policy: PolicyRef,
}

/// The current value of [`ContextFrame::v`].
pub const FRAME_VERSION: u32 = 1;

impl ContextFrame {
    /// `context_hash`: a salted commitment to the canonical frame. Without the salt it proves nothing about a
    /// person, with it anyone can recompute it.
    #[must_use]
    pub fn context_hash(&self, salt: &Digest) -> String {
        commit(Purpose::Frame, salt, &canonical(self)).prefixed()
    }
}
