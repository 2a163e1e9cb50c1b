//! The message event that cscp accepts, as this caller writes it.
//!
//! `message_id`, `conversation_id`, `actor_id` and `reply_to` contain personal data: a `wamid` carries the customer's
//! phone number in base64, and the other two are built from it. They belong in a request body and nowhere else: not in
//! a URL, a log line, a metric or an error text. That is why `Debug` here shows none of them.

use std::fmt;

use serde::Serialize;

/// Who uttered the message: the customer, or the business to the customer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Direction {
    /// From the customer.
    Inbound,
    /// From the business: what this handler sends, and what a person types in the WhatsApp Business app.
    Outbound,
}

/// What sort of message it is. cscp decides by kind what may ever count as an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Text,
    Interactive,
    Button,
    Reaction,
    Audio,
    Image,
    Video,
    Document,
    Sticker,
    Location,
    Contacts,
    Order,
    Flow,
    System,
    Edit,
    Revoke,
    /// Meta said so, or this handler does not know the type, or the type came without its content.
    Unsupported,
}

/// A change of who is behind an identity. It voids that actor's open questions.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub(crate) struct SystemChange {
    #[serde(rename = "type")]
    pub(crate) change: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) previous: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) current: Option<String>,
}

/// The body of `POST /v1/messages`. Absent members are left out: cscp refuses members that it does not know.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub(crate) struct MessageEvent {
    pub(crate) message_id: String,
    pub(crate) conversation_id: String,
    pub(crate) actor_id: String,
    /// RFC 3339, UTC: when the phone sent it, not when it arrived here.
    pub(crate) sent_at: String,
    pub(crate) direction: Direction,
    pub(crate) kind: Kind,
    pub(crate) channel: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) button_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reply_to: Option<String>,
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) forwarded: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) system: Option<SystemChange>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expects_reply: Option<bool>,
}

/// The only channel of this handler.
pub(crate) const CHANNEL: &str = "whatsapp";

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands the member over by reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl fmt::Debug for MessageEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageEvent")
            .field("direction", &self.direction)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

/// Where a reply goes. Kept beside the event because cscp's ids are opaque and must not be taken apart again.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Address {
    /// A phone number or a business-scoped user id.
    Person(String),
    /// A group.
    Group(String),
}

/// An event together with where its reply goes.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Addressed {
    pub(crate) event: MessageEvent,
    pub(crate) address: Address,
}

impl fmt::Debug for Addressed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.event.fmt(f)
    }
}
