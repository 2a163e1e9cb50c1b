//! The wire forms of messages and verdicts, and their conversion.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::parts::{MAX_LOCALE, SentAt, bounded, extensions, printable};
use super::progress::Progress;
use super::view::{AboutCommand, ContextWire, Ended, NamedId, bind_by};
use crate::domain::canonical::{Purpose, canonical, commit};
use crate::domain::id::{Channel, ContextId, ConversationId, CorrelationId, ItemId, ItemKind, MessageId, PrincipalId};
use crate::domain::item::{ItemState, PendingItem, Question};
use crate::domain::lexicon::Reading;
use crate::domain::message::{Direction, IdentityChange, MessageEvent, MessageKind, SystemNews, Transcript};
use crate::domain::operation::Answer;
use crate::domain::time::Timestamp;
use crate::domain::verdict::{Next, Reason, Verdict, VerdictCode};
use crate::http::body::{Object, Wire};
use crate::http::extract::Call;
use crate::http::problem::Problem;
use crate::http::respond::unexpected;
use crate::service::Committed;

/// The longest text, in bytes. It is not stored.
pub(super) const MAX_TEXT: usize = 65_536;
/// The longest button id.
const MAX_BUTTON_ID: usize = 1_024;
/// The longest number, id or key in news about a person.
const MAX_ALIAS: usize = 256;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MessageWire {
    message_id: MessageId,
    conversation_id: ConversationId,
    actor_id: PrincipalId,
    sent_at: SentAt,
    direction: Option<Direction>,
    kind: MessageKind,
    text: Option<String>,
    button_id: Option<String>,
    reply_to: Option<MessageId>,
    forwarded: Option<bool>,
    transcript: Option<Object<TranscriptWire>>,
    system: Option<Object<SystemWire>>,
    expects_reply: Option<bool>,
    prompt_for: Option<ItemId>,
    locale: Option<String>,
    channel: Option<Channel>,
    correlation_id: Option<CorrelationId>,
    extensions: Option<Map<String, Value>>,
}

impl Wire for MessageWire {}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TranscriptWire {
    text: String,
    confidence: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SystemWire {
    #[serde(rename = "type")]
    change: String,
    previous: Option<String>,
    current: Option<String>,
}

impl MessageWire {
    /// The conversation in which the order of messages counts.
    pub(super) fn conversation_id(&self) -> &ConversationId {
        &self.conversation_id
    }

    /// The domain's event. `body` is the body as sent, for digests.
    pub(super) fn event(self, call: &Call, body: &Value) -> Result<MessageEvent, Problem> {
        self.check()?;
        let salt = call.app.service.fresh_secret();
        let content = json!({
            "kind": self.kind, "text": self.text, "button_id": self.button_id, "reply_to": self.reply_to,
            "transcript": self.transcript.as_ref().map(|heard| &heard.0.text),
        });
        let channel = self.channel.unwrap_or_default();
        Ok(MessageEvent {
            message_id: self.message_id,
            channel,
            conversation_id: self.conversation_id,
            actor_id: self.actor_id,
            sent_at: self.sent_at.0,
            direction: self.direction.unwrap_or_default(),
            kind: self.kind,
            text: self.text,
            button_id: self.button_id,
            reply_to: self.reply_to,
            forwarded: self.forwarded.unwrap_or(false),
            transcript: self.transcript.map(|heard| Transcript { text: heard.0.text, confidence: heard.0.confidence }),
            system: self.system.map(|news| news.0.news()),
            expects_reply: self.expects_reply.unwrap_or(true),
            prompt_for: self.prompt_for,
            locale: self.locale,
            correlation_id: self.correlation_id,
            extensions: extensions(self.extensions)?,
            body_digest: call.caller.keyed(Purpose::Request, &canonical(&lasting(body))),
            content_digest: commit(Purpose::Message, &salt, &canonical(&content)),
            content_salt: salt,
        })
    }

    fn check(&self) -> Result<(), Problem> {
        bounded(self.text.as_ref(), "/text", MAX_TEXT)?;
        bounded(self.button_id.as_ref(), "/button_id", MAX_BUTTON_ID)?;
        if let Some(locale) = &self.locale {
            printable(locale, "/locale", MAX_LOCALE)?;
        }
        if let Some(Object(heard)) = &self.transcript {
            bounded(Some(&heard.text), "/transcript/text", MAX_TEXT)?;
            if !(0.0..=1.0).contains(&heard.confidence) {
                return Err(Problem::invalid("/transcript/confidence", "must lie between 0 and 1"));
            }
        }
        if let Some(Object(news)) = &self.system {
            printable(&news.change, "/system/type", MAX_ALIAS)?;
            bounded(news.previous.as_ref(), "/system/previous", MAX_ALIAS)?;
            bounded(news.current.as_ref(), "/system/current", MAX_ALIAS)?;
        }
        if self.button_id.is_some() && !matches!(self.kind, MessageKind::Interactive | MessageKind::Button) {
            return Err(Problem::invalid("/button_id", "belongs to a message of kind interactive or button"));
        }
        if self.system.is_some() && self.kind != MessageKind::System {
            return Err(Problem::invalid("/system", "belongs to a message of kind system"));
        }
        if self.transcript.is_some() && self.kind != MessageKind::Audio {
            return Err(Problem::invalid("/transcript", "belongs to a message of kind audio"));
        }
        let outbound = self.direction == Some(Direction::Outbound);
        if !outbound && self.prompt_for.is_some() {
            return Err(Problem::invalid("/prompt_for", "belongs to an outbound message; say direction: outbound"));
        }
        if !outbound && self.expects_reply.is_some() {
            return Err(Problem::invalid("/expects_reply", "belongs to an outbound message; say direction: outbound"));
        }
        Ok(())
    }
}

/// The parts of a message that stay the same in a redelivery, however the caller writes it then: everything except
/// nulls, defaults and the correlation id, with the time in one form.
fn lasting(body: &Value) -> Value {
    let Value::Object(members) = body else { return body.clone() };
    let says_something = |name: &str, value: &Value| match name {
        "correlation_id" => false,
        "direction" => value != "inbound",
        "forwarded" => value != &Value::Bool(false),
        "channel" => value.as_str() != Some(Channel::default().as_str()),
        "extensions" => value.as_object().is_none_or(|members| !members.is_empty()),
        _ => !value.is_null(),
    };
    let spelt_once = |name: &str, value: &Value| match value.as_str().map(SentAt::parse) {
        Some(Ok(SentAt(instant))) if name == "sent_at" => Value::String(instant.to_string()),
        _ => value.clone(),
    };
    let kept = members.iter().filter(|(name, value)| !value.is_null() && says_something(name, value));
    Value::Object(kept.map(|(name, value)| (name.clone(), spelt_once(name, value))).collect())
}

impl SystemWire {
    fn news(self) -> SystemNews {
        let change = match self.change.as_str() {
            "user_changed_number" => IdentityChange::UserChangedNumber,
            "user_changed_user_id" => IdentityChange::UserChangedUserId,
            "customer_identity_changed" => IdentityChange::CustomerIdentityChanged,
            _ => IdentityChange::Other,
        };
        SystemNews { change, previous: self.previous, current: self.current }
    }
}

/// The answer to a message.
#[derive(Debug, Serialize)]
pub(super) struct TurnWire {
    verdict: VerdictWire,
    reading: ReadingWire,
    context: Option<ContextWire>,
    duplicate: bool,
}

/// How the words were read, whatever they answer.
#[derive(Debug, Serialize)]
#[serde(tag = "polarity", rename_all = "snake_case")]
pub(super) enum ReadingWire {
    Affirmative { language: String, entry: String },
    Negative { language: String, entry: String },
    Qualified { language: String, entry: String },
    Other,
}

impl ReadingWire {
    pub(super) fn of(reading: Reading) -> Self {
        match reading {
            Reading::Affirmative { locale: language, entry, .. } => Self::Affirmative { language, entry },
            Reading::Negative { locale: language, entry, .. } => Self::Negative { language, entry },
            Reading::Qualified { locale: language, entry, .. } => Self::Qualified { language, entry },
            Reading::Other => Self::Other,
        }
    }
}

#[derive(Debug, Serialize)]
struct VerdictWire {
    code: VerdictCode,
    reason: Reason,
    next: Next,
    #[serde(skip_serializing_if = "Option::is_none")]
    question_message_id: Option<MessageId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    confirmation: Option<Subject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    approval: Option<Subject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disambiguation: Option<Subject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    selection: Option<Selection>,
}

/// The item of a verdict, in its current state.
#[derive(Debug, Serialize)]
struct Subject {
    #[serde(flatten)]
    id: NamedId,
    kind: ItemKind,
    state: &'static str,
    context_id: ContextId,
    conversation_id: ConversationId,
    #[serde(flatten)]
    command: Option<AboutCommand>,
    #[serde(flatten)]
    progress: Option<Progress>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bind_by: Option<Timestamp>,
    #[serde(flatten)]
    ended: Ended,
}

#[derive(Debug, Serialize)]
struct Selection {
    disambiguation_id: ItemId,
    option: u32,
    target: Value,
}

impl TurnWire {
    /// The answer to a message that was decided.
    pub(super) fn of(call: &Call, done: Committed<Answer>) -> Result<Self, Problem> {
        let Answer::Turn { reading, verdict, item, context, duplicate } = done.result else { return Err(unexpected()) };
        let at = done.at;
        metrics::counter!("cscp_verdicts_total", "code" => verdict.code.as_str(), "reason" => verdict.reason.code())
            .increment(1);
        Ok(Self {
            verdict: VerdictWire::of(call, &verdict, item.as_deref()),
            reading: ReadingWire::of(reading),
            context: context.map(|context| ContextWire::written(call, *context, at)),
            duplicate,
        })
    }
}

impl VerdictWire {
    fn of(call: &Call, verdict: &Verdict, item: Option<&PendingItem>) -> Self {
        let mut wire = Self {
            code: verdict.code,
            reason: verdict.reason,
            next: verdict.next,
            question_message_id: verdict.question_message_id.clone(),
            confirmation: None,
            approval: None,
            disambiguation: None,
            selection: None,
        };
        let Some(item) = item else { return wire };
        let subject = Subject {
            id: NamedId::from(&item.item_id),
            kind: item.kind(),
            state: item.state_word(),
            context_id: item.context_id.clone(),
            conversation_id: item.conversation_id.clone(),
            command: AboutCommand::of(item),
            progress: Progress::of(item),
            bind_by: bind_by(&item.state),
            ended: Ended::of(&item.state),
        };
        match item.kind() {
            ItemKind::Confirmation => wire.confirmation = Some(subject),
            ItemKind::Approval => wire.approval = Some(subject),
            ItemKind::Disambiguation => wire.disambiguation = Some(subject),
        }
        if verdict.code == VerdictCode::Selected {
            wire.selection = selection(call, item);
        }
        wire
    }
}

fn selection(call: &Call, item: &PendingItem) -> Option<Selection> {
    let (Question::Disambiguation { options, .. }, ItemState::Selected { option, .. }) = (&item.question, &item.state)
    else {
        return None;
    };
    let index = usize::try_from(*option).ok()?.checked_sub(1)?;
    let target = call.app.service.cover_target(&call.caller, options.get(index)?.target.clone());
    Some(Selection { disambiguation_id: item.item_id.clone(), option: *option, target })
}
