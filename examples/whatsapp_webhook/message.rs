//! One WhatsApp message as one cscp event.

use serde_json::Value;

use crate::event::{Addressed, CHANNEL, Direction, Kind, MessageEvent, SystemChange};
use crate::identity::{Customer, Scope};
use crate::normalise::Reason;
use crate::payload::{sent_at, text};
use crate::signature::AppSecret;

/// What a message says, apart from who, when and where.
struct Content {
    kind: Kind,
    text: Option<String>,
    button_id: Option<String>,
    target: Option<String>,
    system: Option<SystemChange>,
}

impl Content {
    fn of(kind: Kind) -> Self {
        Self { kind, text: None, button_id: None, target: None, system: None }
    }

    fn with_text(self, text: Option<&str>) -> Self {
        Self { text: text.map(str::to_owned), ..self }
    }

    fn about(self, message_id: &str) -> Self {
        Self { target: Some(message_id.to_owned()), ..self }
    }
}

/// A message from the customer.
pub(crate) fn inbound(message: &Value, scope: &Scope<'_>) -> Result<Addressed, Reason> {
    if text(message, "type") == Some("system") {
        return system(message, scope);
    }
    let customer = scope.customer(message, "from_user_id", "from").ok_or(Reason::NoSender)?;
    event(message, scope, &customer, Direction::Inbound, content(message))
}

/// A message that a person of the business typed in the WhatsApp Business app. It is registered like everything else
/// that the customer gets to read: when a colleague has asked something in between, a bare "yes" is about that.
pub(crate) fn echo(message: &Value, scope: &Scope<'_>) -> Result<Addressed, Reason> {
    let customer = scope.customer(message, "to_user_id", "to").ok_or(Reason::NoSender)?;
    event(message, scope, &customer, Direction::Outbound, content(message))
}

/// An element of `user_id_update`: the only place where Meta links an old BSUID to its successor.
///
/// It goes to cscp as a system message *of the old identity*, since that one's open questions must be voided. It has
/// no message id, so one is derived from what it says; Meta's repeats then have the same id.
pub(crate) fn user_id_update(update: &Value, scope: &Scope<'_>, secret: &AppSecret) -> Result<Addressed, Reason> {
    let ids = update.get("user_id").ok_or(Reason::NoContent)?;
    let (previous, current) = (text(ids, "previous"), text(ids, "current"));
    let actor = previous.or(current).ok_or(Reason::NoSender)?;
    let customer = Customer { actor, reachable: text(update, "wa_id").unwrap_or(actor) };
    let time = sent_at(update).ok_or(Reason::BadTimestamp)?;
    let said = format!("{}\0{}\0{time}", previous.unwrap_or_default(), current.unwrap_or_default());
    let content = Content {
        system: Some(SystemChange {
            change: "user_changed_user_id".to_owned(),
            previous: previous.map(str::to_owned),
            current: current.map(str::to_owned),
        }),
        ..Content::of(Kind::System)
    };
    let id = secret.derived_id("identity", &said);
    build(&id, time, update, scope, &customer, Direction::Inbound, content)
}

/// A system message speaks *about* an identity, and the members that name its sender may already hold the new one.
/// `from` is the old number when it is there; without any sender the message is about the only id it mentions.
fn system(message: &Value, scope: &Scope<'_>) -> Result<Addressed, Reason> {
    let body = message.get("system");
    let current = body.and_then(|body| text(body, "user_id").or_else(|| text(body, "wa_id")));
    let said_previous = body.and_then(|body| text(body, "previous_user_id"));
    let sender = scope.customer(message, "from_user_id", "from");
    let number = text(message, "from");
    let actor = said_previous
        .or_else(|| sender.as_ref().map(|sender| sender.actor).filter(|actor| Some(*actor) != current))
        .or(number)
        .or(current)
        .ok_or(Reason::NoSender)?;
    let customer = Customer { actor, reachable: number.unwrap_or(actor) };
    let content = match body.and_then(|body| text(body, "type")) {
        None => Content::of(Kind::Unsupported),
        Some(change) => Content {
            system: Some(SystemChange {
                change: change.to_owned(),
                previous: current.and(Some(actor)).filter(|actor| Some(*actor) != current).map(str::to_owned),
                current: current.map(str::to_owned),
            }),
            ..Content::of(Kind::System)
        },
    };
    event(message, scope, &customer, Direction::Inbound, content)
}

fn event(
    message: &Value,
    scope: &Scope<'_>,
    customer: &Customer<'_>,
    direction: Direction,
    content: Content,
) -> Result<Addressed, Reason> {
    let id = text(message, "id").ok_or(Reason::NoMessageId)?;
    let time = sent_at(message).ok_or(Reason::BadTimestamp)?;
    build(id, time, message, scope, customer, direction, content)
}

fn build(
    id: &str,
    sent_at: String,
    message: &Value,
    scope: &Scope<'_>,
    customer: &Customer<'_>,
    direction: Direction,
    content: Content,
) -> Result<Addressed, Reason> {
    let (conversation_id, address) =
        scope.conversation(customer, text(message, "group_id")).ok_or(Reason::NoChannel)?;
    let quote = message.get("context");
    let flag = |name: &str| quote.and_then(|quote| quote.get(name)).and_then(Value::as_bool) == Some(true);
    let quoted = quote.and_then(|quote| text(quote, "id")).map(str::to_owned);
    let event = MessageEvent {
        message_id: id.to_owned(),
        conversation_id,
        actor_id: customer.actor.to_owned(),
        sent_at,
        direction,
        kind: content.kind,
        channel: CHANNEL,
        text: content.text,
        button_id: content.button_id,
        reply_to: content.target.or(quoted),
        forwarded: flag("forwarded") || flag("frequently_forwarded"),
        system: content.system,
        expects_reply: None,
    };
    Ok(Addressed { event, address })
}

/// What the message says. A type without its content, like an `interactive` message without `interactive`, is
/// `unsupported`: a tap that cannot be read is not a tap.
fn content(message: &Value) -> Content {
    let name = text(message, "type").unwrap_or_default();
    let body = message.get(name).unwrap_or(&Value::Null);
    let media = |kind| Content::of(kind).with_text(text(body, "caption"));
    match name {
        "text" => text(body, "body").map(|said| Content::of(Kind::Text).with_text(Some(said))),
        "interactive" => interactive(body),
        "button" => text(body, "payload").map(|id| tap(Kind::Button, id, text(body, "text"))),
        // A removed reaction has an empty emoji, or none.
        "reaction" => text(body, "message_id")
            .map(|target| Content::of(Kind::Reaction).with_text(text(body, "emoji")).about(target)),
        // No transcript: reading a voice note is a decision with a confidence, taken elsewhere.
        "audio" => Some(Content::of(Kind::Audio)),
        "image" => Some(media(Kind::Image)),
        "video" => Some(media(Kind::Video)),
        "document" => Some(media(Kind::Document)),
        "sticker" => Some(Content::of(Kind::Sticker)),
        "location" => Some(Content::of(Kind::Location)),
        "contacts" => Some(Content::of(Kind::Contacts)),
        "order" => Some(Content::of(Kind::Order)),
        // The new text of an edit cannot say yes to anything. It can take a yes back, and so can the edit itself.
        "edit" => text(body, "original_message_id").map(|target| {
            let said = body.pointer("/message/text/body").and_then(Value::as_str);
            Content::of(Kind::Edit).with_text(said).about(target)
        }),
        "revoke" => text(body, "original_message_id").map(|target| Content::of(Kind::Revoke).about(target)),
        _ => None,
    }
    .unwrap_or_else(|| Content::of(Kind::Unsupported))
}

/// A tap on a reply button or a list row, or a completed Flow.
///
/// What was filled into a Flow belongs to whoever sent it, and `response_json` need not even hold an object. cscp is
/// told that one came back, and nothing of what it says.
fn interactive(body: &Value) -> Option<Content> {
    match text(body, "type")? {
        reply @ ("button_reply" | "list_reply") => {
            let reply = body.get(reply)?;
            Some(tap(Kind::Interactive, text(reply, "id")?, text(reply, "title")))
        }
        "nfm_reply" => Some(Content::of(Kind::Flow)),
        _ => None,
    }
}

/// The id decides; the title is a label that somebody may also type.
fn tap(kind: Kind, id: &str, title: Option<&str>) -> Content {
    Content { button_id: Some(id.to_owned()), ..Content::of(kind).with_text(title) }
}
