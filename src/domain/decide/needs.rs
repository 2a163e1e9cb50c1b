//! What each operation has to lock and load, named before locking.

use crate::domain::canonical::Digest;
use crate::domain::event::StreamKey;
use crate::domain::id::{Channel, MessageId};
use crate::domain::message::{Direction, MessageEvent, MessageKind};
use crate::domain::operation::{AskWhat, ItemRef, Needs, Operation};
use crate::domain::prompt::read_button_id;

impl Operation {
    /// What has to be locked and loaded before [`super::decide`]. `message_key` gives the dedupe key of a message id.
    #[must_use]
    pub fn needs(&self, message_key: impl Fn(&Channel, &MessageId) -> Digest) -> Needs {
        match self {
            Self::Ingest(message) => ingest_needs(message, |id| message_key(&message.channel, id)),
            Self::OpenContext(request) => Needs {
                streams: vec![StreamKey::Conversation(request.conversation_id.clone())],
                principals: vec![request.actor_id.clone()],
                ..Needs::default()
            },
            Self::ChangeSlots(request) => Needs { context: Some(request.context_id.clone()), ..Needs::default() },
            Self::Transition(request) => Needs { context: Some(request.context_id.clone()), ..Needs::default() },
            Self::Ask(request) => {
                let spec = match &request.what {
                    AskWhat::Confirmation(spec) | AskWhat::Approval(spec) => Some(spec),
                    AskWhat::Disambiguation(_) => None,
                };
                Needs {
                    context: Some(request.context_id.clone()),
                    command: spec.map(|spec| spec.command_id.clone()),
                    idempotency_key: spec.map(|spec| spec.idempotency_key.clone()),
                    ..Needs::default()
                }
            }
            Self::AttachPrompt(request) => Needs {
                items: vec![ItemRef::Id(request.item_id.clone())],
                seen: vec![ItemRef::Prompt(request.message_id.clone())],
                messages: vec![request.message_key],
                ..Needs::default()
            },
            Self::Cancel(request) => of_item(&request.item_id),
            Self::DecideApproval(request) => {
                Needs { principals: vec![request.approver_id.clone()], ..of_item(&request.item_id) }
            }
            Self::Bind(request) => Needs {
                context: Some(request.context_id.clone()),
                command: Some(request.command.command_id.clone()),
                idempotency_key: Some(request.command.idempotency_key.clone()),
                attempt: Some(request.attempt_id.clone()),
                messages: request.message_ids.iter().map(|(_, key)| *key).collect(),
                ..Needs::default()
            },
            Self::TakeOver(request) => Needs {
                command: Some(request.command.command_id.clone()),
                lock_command: true,
                attempt: Some(request.attempt_id.clone()),
                ..Needs::default()
            },
            Self::RecordResult(request) => {
                Needs { command: Some(request.command_id.clone()), lock_command: true, ..Needs::default() }
            }
            Self::PutPrincipal(request) => Needs {
                streams: vec![StreamKey::Principal(request.principal_id.clone())],
                principals: vec![request.principal_id.clone()],
                ..Needs::default()
            },
            Self::Sweep(request) => {
                Needs { streams: vec![StreamKey::Conversation(request.conversation_id.clone())], ..Needs::default() }
            }
            Self::RecordRead(request) => {
                Needs { streams: vec![StreamKey::Access(request.reader.clone())], ..Needs::default() }
            }
        }
    }
}

fn of_item(item_id: &crate::domain::id::ItemId) -> Needs {
    Needs { items: vec![ItemRef::Id(item_id.clone())], ..Needs::default() }
}

/// A tap or a quote may name an item of another conversation (an approver answers where the approver writes), so
/// what it names is looked up before locking: at most one item, hence at most two conversations.
fn ingest_needs(message: &MessageEvent, key_of: impl Fn(&MessageId) -> Digest) -> Needs {
    let tapped =
        message.button_id.as_deref().and_then(read_button_id).map(|button| ItemRef::Nonce(button.nonce_digest));
    let quoted = message.reply_to.clone().map(ItemRef::Prompt);
    let asked_again = message.prompt_for.clone().map(ItemRef::Id);
    let mut streams = vec![StreamKey::Conversation(message.conversation_id.clone())];
    let news = message.kind == MessageKind::System;
    // The message that is deleted or edited may have answered an item of another conversation, as a tap may.
    let withdrawn = message.withdrawn_id().filter(|_| message.direction == Direction::Inbound).map(&key_of);
    if news {
        streams.push(StreamKey::Principal(message.actor_id.clone()));
    }
    // A tap that quotes another question names two, hence neither for certain; and it may stop either.
    let named: Vec<ItemRef> = match message.direction {
        Direction::Outbound => asked_again.into_iter().collect(),
        Direction::Inbound if news => Vec::new(),
        Direction::Inbound => tapped.into_iter().chain(quoted).collect(),
    };
    // So may the own message be that somebody quotes to take it back.
    let quoted_own = message.reply_to.as_ref().filter(|_| message.direction == Direction::Inbound).map(&key_of);
    let answered = withdrawn.or(quoted_own).map(ItemRef::AnsweredBy);
    Needs {
        streams,
        items: named.into_iter().chain(answered).collect(),
        messages: std::iter::once(key_of(&message.message_id)).chain(quoted_own).collect(),
        principals: vec![message.actor_id.clone()],
        ..Needs::default()
    }
}
