//! The normalised message event, as a webhook handler posts it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::canonical::{Digest, Purpose, keyed};
use super::id::{Channel, ContextId, ConversationId, CorrelationId, ItemId, MessageId, PrincipalId};
use super::lexicon::Reading;
use super::time::Timestamp;
use super::verdict::Verdict;

/// What kind of message it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    Text,
    /// A tap on a reply button or a list row.
    Interactive,
    /// A tap on a template's quick reply.
    Button,
    /// An emoji put on another message.
    Reaction,
    /// A voice note or an audio file.
    Audio,
    Image,
    Video,
    Document,
    Sticker,
    Location,
    Contacts,
    Order,
    Flow,
    /// News about the user: number, BSUID or identity key.
    System,
    /// A later change of an earlier message.
    Edit,
    /// A deletion of an earlier message.
    Revoke,
    /// What the channel could not deliver, or a type this version does not know.
    Unsupported,
}

impl MessageKind {
    /// Every kind, for tables and tests.
    pub const ALL: [Self; 17] = [
        Self::Text,
        Self::Interactive,
        Self::Button,
        Self::Reaction,
        Self::Audio,
        Self::Image,
        Self::Video,
        Self::Document,
        Self::Sticker,
        Self::Location,
        Self::Contacts,
        Self::Order,
        Self::Flow,
        Self::System,
        Self::Edit,
        Self::Revoke,
        Self::Unsupported,
    ];
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    #[default]
    Inbound,
    Outbound,
}

/// What a speech-to-text step made of a voice note.
#[derive(Debug, Clone, PartialEq)]
pub struct Transcript {
    pub text: String,
    /// How sure that step was, from 0 to 1.
    pub confidence: f64,
}

/// What changed about the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdentityChange {
    /// A new phone number.
    UserChangedNumber,
    /// A new business-scoped user id.
    UserChangedUserId,
    /// A new identity key on the same number.
    CustomerIdentityChanged,
    /// Any other news; treated as a change, because not knowing is no reason to trust.
    Other,
}

/// News about the person, as the channel tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemNews {
    pub change: IdentityChange,
    /// The old number, id or key.
    pub previous: Option<String>,
    pub current: Option<String>,
}

/// A message event. Text is read and never kept.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageEvent {
    /// The channel's id; for an outbound message not sent yet, the caller's own.
    pub message_id: MessageId,
    /// Which channel account the id is unique in.
    pub channel: Channel,
    pub conversation_id: ConversationId,
    /// Who wrote it, or to whom it is written.
    pub actor_id: PrincipalId,
    /// The channel's time stamp.
    pub sent_at: Timestamp,
    pub direction: Direction,
    pub kind: MessageKind,
    /// Typed text, caption, title of a tapped button, emoji of a reaction.
    pub text: Option<String>,
    /// The id of the tapped button or row.
    pub button_id: Option<String>,
    /// The message it quotes, or reacts to.
    pub reply_to: Option<MessageId>,
    /// Whether it was forwarded.
    pub forwarded: bool,
    /// For a voice note.
    pub transcript: Option<Transcript>,
    /// For news about the person.
    pub system: Option<SystemNews>,
    /// For an outbound message: whether it asks something.
    pub expects_reply: bool,
    /// For an outbound message: the item that it asks again.
    pub prompt_for: Option<ItemId>,
    /// The language it is written in, if the caller knows it: picks the lexicons that read it as an answer.
    pub locale: Option<String>,
    /// The caller's correlation id.
    pub correlation_id: Option<CorrelationId>,
    /// Round-trips into the evidence, influences nothing.
    pub extensions: Map<String, Value>,
    /// Keyed digest of the whole request body, to tell a repetition from a reuse of the id.
    pub body_digest: Digest,
    /// Digest of the content under [`MessageEvent::content_salt`]: whoever holds the message can match it.
    pub content_digest: Digest,
    /// Salt of the content digest.
    pub content_salt: Digest,
}

/// What is kept of a message: the reading and the answer, not the words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MessageRecord {
    /// Key of the dedupe row: keyed hash of channel and message id.
    pub message_key: Digest,
    /// The id as it was given.
    pub message_id: MessageId,
    pub channel: Channel,
    pub conversation_id: ConversationId,
    pub actor_id: PrincipalId,
    pub direction: Direction,
    pub kind: MessageKind,
    /// The channel's time stamp.
    pub sent_at: Timestamp,
    /// When it was first received here.
    pub received_at: Timestamp,
    /// Until when the row is kept: longer than the channel redelivers, and as long as policy says.
    pub keep_until: Timestamp,
    /// Keyed digest of the request body.
    pub body_digest: Digest,
    /// Salted digest of the content, and its salt.
    pub content_digest: Digest,
    pub content_salt: Digest,
    /// How it was read.
    pub reading: Reading,
    /// The answer that was given, and is given again.
    pub verdict: Verdict,
    /// The context it was given in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_id: Option<ContextId>,
    /// Round-trips into the evidence.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extensions: Map<String, Value>,
}

impl MessageEvent {
    /// The message that this one deletes or edits.
    #[must_use]
    pub fn withdrawn_id(&self) -> Option<&MessageId> {
        match self.kind {
            MessageKind::Edit | MessageKind::Revoke => self.reply_to.as_ref(),
            _ => None,
        }
    }
}

/// The key of a message's dedupe row. Keyed, because an unkeyed hash of a wamid gives the phone number away.
#[must_use]
pub fn message_key(tenant_key: &Digest, channel: &Channel, message_id: &MessageId) -> Digest {
    // Neither part holds a control character, so the separator cannot occur in them.
    let name = format!("{channel}\u{0}{message_id}");
    keyed(tenant_key, Purpose::Dedupe, name.as_bytes())
}
