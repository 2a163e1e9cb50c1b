//! Messages, as a webhook handler would post them.

use cscp::domain::canonical::{Digest, Purpose, hash};
use cscp::domain::id::{Channel, ConversationId, ItemId, MessageId, PrincipalId};
use cscp::domain::message::{
    Direction, IdentityChange, MessageEvent, MessageKind, SystemNews, Transcript, message_key,
};
use cscp::domain::operation::Operation;
use cscp::domain::time::Timestamp;

use crate::harness::Stage;

pub(crate) fn conversation(name: &str) -> ConversationId {
    ConversationId::new(name).unwrap()
}

pub(crate) fn principal(name: &str) -> PrincipalId {
    PrincipalId::new(name).unwrap()
}

pub(crate) fn message_id(name: &str) -> MessageId {
    MessageId::new(name).unwrap()
}

/// The dedupe key of a message of the default channel.
pub(crate) fn message_key_of(name: &str) -> Digest {
    message_key(&crate::harness::empty_world().tenant_key, &Channel::new(CHANNEL).unwrap(), &message_id(name))
}

/// The channel of every message.
const CHANNEL: &str = "line-1";

/// The customer of most scenarios.
pub(crate) const ANA: &str = "ana";
/// Where Ana writes.
pub(crate) const HERE: &str = "conv-1";

pub(crate) fn channel() -> Channel {
    Channel::new(CHANNEL).unwrap()
}

/// A message in the making.
#[derive(Debug, Clone)]
pub(crate) struct Message(pub(crate) MessageEvent);

impl Stage {
    /// A message of Ana's in her conversation, sent now.
    pub(crate) fn message(&mut self, kind: MessageKind) -> Message {
        let id = format!("wamid.{}", self.next());
        let body_digest = hash(Purpose::Request, &[id.as_bytes()]);
        let salt = Digest::from_bytes([3; 32]);
        Message(MessageEvent {
            message_id: message_id(&id),
            channel: Channel::new(CHANNEL).unwrap(),
            conversation_id: conversation(HERE),
            actor_id: principal(ANA),
            sent_at: self.at(),
            direction: Direction::Inbound,
            kind,
            text: None,
            button_id: None,
            reply_to: None,
            forwarded: false,
            transcript: None,
            system: None,
            expects_reply: true,
            prompt_for: None,
            locale: None,
            correlation_id: None,
            extensions: serde_json::Map::new(),
            body_digest,
            content_digest: salt,
            content_salt: salt,
        })
    }

    pub(crate) fn text(&mut self, text: &str) -> Message {
        let mut message = self.message(MessageKind::Text);
        message.0.text = Some(text.to_owned());
        message
    }

    pub(crate) fn tap(&mut self, button_id: &str) -> Message {
        let mut message = self.message(MessageKind::Interactive);
        message.0.button_id = Some(button_id.to_owned());
        message
    }

    pub(crate) fn voice(&mut self, text: &str, confidence: f64) -> Message {
        let mut message = self.message(MessageKind::Audio);
        message.0.transcript = Some(Transcript { text: text.to_owned(), confidence });
        message
    }

    pub(crate) fn news(&mut self, change: IdentityChange) -> Message {
        let mut message = self.message(MessageKind::System);
        message.0.system = Some(SystemNews { change, previous: None, current: None });
        message
    }

    pub(crate) fn outbound(&mut self, prompt_for: Option<&ItemId>) -> Message {
        let mut message = self.message(MessageKind::Text);
        message.0.direction = Direction::Outbound;
        message.0.prompt_for = prompt_for.cloned();
        message
    }

    /// Ana says something ordinary, which opens her context.
    pub(crate) fn greet(&mut self) -> cscp::domain::id::ContextId {
        let hello = self.text("hello there").op();
        self.done(&hello);
        self.world.open_context(&conversation(HERE), &principal(ANA)).unwrap().context_id.clone()
    }

    /// The dedupe key of a message.
    pub(crate) fn key(&self, message: &MessageEvent) -> Digest {
        message_key(&self.world.tenant_key, &message.channel, &message.message_id)
    }
}

impl Message {
    pub(crate) fn of(mut self, actor: &str) -> Self {
        self.0.actor_id = principal(actor);
        self
    }

    pub(crate) fn in_conversation(mut self, name: &str) -> Self {
        self.0.conversation_id = conversation(name);
        self
    }

    pub(crate) fn quoting(mut self, id: &str) -> Self {
        self.0.reply_to = Some(message_id(id));
        self
    }

    pub(crate) fn sent(mut self, at: Timestamp) -> Self {
        self.0.sent_at = at;
        self
    }

    pub(crate) fn forwarded(mut self) -> Self {
        self.0.forwarded = true;
        self
    }

    pub(crate) fn statement(mut self) -> Self {
        self.0.expects_reply = false;
        self
    }

    pub(crate) fn op(self) -> Operation {
        Operation::Ingest(Box::new(self.0))
    }
}
