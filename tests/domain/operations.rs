//! Operations other than messages.

use cscp::domain::canonical::Digest;
use cscp::domain::command::Outcome;
use cscp::domain::context::{BlockedOn, CloseReason};
use cscp::domain::id::{AttemptId, CommandId, CommandName, ContextId, IdempotencyKey, ItemId, MessageId, RoleName};
use cscp::domain::operation::{
    Answer, Ask, AskWhat, AttachPrompt, Bind, Cancel, ChangeSlots, CommandSpec, CredentialKind, DecideApproval,
    Envelope, Move, Operation, PutPrincipal, RecordResult, Sweep, TakeOver, Target, Transition,
};
use cscp::domain::principal::{Alias, AliasKind, PrincipalKind};
use cscp::domain::prompt::{Button, ButtonAction, ShownPrompt};
use serde_json::{Value, json};

use crate::harness::Stage;
use crate::messages::{HERE, conversation, message_id, message_key_of, principal};

/// What was asked, with all that a person could send back.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) id: ItemId,
    pub(crate) nonce: String,
    pub(crate) prompt: String,
}

impl Asked {
    pub(crate) fn yes(&self) -> String {
        format!("cscp1.y.{}", self.nonce)
    }

    pub(crate) fn no(&self) -> String {
        format!("cscp1.n.{}", self.nonce)
    }

    pub(crate) fn option(&self, number: u8) -> String {
        format!("cscp1.{number}.{}", self.nonce)
    }
}

pub(crate) fn spec(command: &str, name: &str, target: Value) -> CommandSpec {
    CommandSpec {
        command_id: CommandId::new(command).unwrap(),
        name: CommandName::new(name).unwrap(),
        idempotency_key: IdempotencyKey::new(format!("key-{command}")).unwrap(),
        raised_class: None,
        target: Target::Clear(target),
    }
}

/// What the commands of the packs are done to.
pub(crate) fn target() -> Value {
    json!({"order_id": "o-1", "amount": "82000", "payee": "p-1", "address_id": "a-1"})
}

pub(crate) fn ask(context_id: &ContextId, what: AskWhat) -> Ask {
    let buttons = match what {
        AskWhat::Disambiguation(_) => Vec::new(),
        AskWhat::Confirmation(_) | AskWhat::Approval(_) => vec![
            Button { title: "Yes".to_owned(), action: ButtonAction::Accept },
            Button { title: "No".to_owned(), action: ButtonAction::Refuse },
        ],
    };
    Ask {
        context_id: context_id.clone(),
        what,
        prompt: ShownPrompt { text: "Shall it be done?".to_owned(), buttons },
        supersede: false,
        ttl_seconds: None,
        correlation_id: None,
    }
}

pub(crate) fn options() -> AskWhat {
    AskWhat::Disambiguation(vec![("Blue order".to_owned(), json!("o-blue")), ("Red order".to_owned(), json!("o-red"))])
}

pub(crate) fn attach(item: &ItemId, id: &str) -> Operation {
    Operation::AttachPrompt(AttachPrompt {
        item_id: item.clone(),
        message_id: message_id(id),
        channel: crate::messages::channel(),
        message_key: message_key_of(id),
        sent_at: None,
    })
}

pub(crate) fn cancel(item: &ItemId) -> Operation {
    Operation::Cancel(Cancel { item_id: item.clone() })
}

pub(crate) fn approve(item: &ItemId, who: &str, approve: bool) -> Operation {
    Operation::DecideApproval(DecideApproval { item_id: item.clone(), approver_id: principal(who), approve })
}

pub(crate) fn bind(context_id: &ContextId, command: CommandSpec, attempt: &str) -> Bind {
    Bind {
        context_id: context_id.clone(),
        attempt_id: AttemptId::new(attempt).unwrap(),
        command,
        envelope: Envelope::Clear(json!({"do": "it"})),
        context_pack: None,
        message_ids: Vec::new(),
        correlation_id: None,
    }
}

pub(crate) fn take_over(command: CommandSpec, attempt: &str, replaces: &str) -> Operation {
    Operation::TakeOver(Box::new(TakeOver {
        attempt_id: AttemptId::new(attempt).unwrap(),
        replaces: AttemptId::new(replaces).unwrap(),
        command,
        envelope: Envelope::Clear(json!({"do": "it"})),
    }))
}

pub(crate) fn op(bind: Bind) -> Operation {
    Operation::Bind(Box::new(bind))
}

pub(crate) fn result(command: &str, outcome: Outcome, waiting_on: Option<BlockedOn>) -> RecordResult {
    RecordResult {
        attempt_id: None,
        command_id: CommandId::new(command).unwrap(),
        status: format!("ENGINE_{}", outcome.as_str()),
        outcome,
        summary: None,
        waiting_on,
        close_context: false,
    }
}

pub(crate) fn moving(context_id: &ContextId, to: Move) -> Operation {
    Operation::Transition(Transition { context_id: context_id.clone(), to, if_revision: None })
}

pub(crate) const BLOCK: Move = Move::Block(BlockedOn::Operator);
pub(crate) const CLOSE: Move = Move::Close(CloseReason::Finished);

pub(crate) fn person(who: &str, roles: &[&str], person: Option<&str>, phone: &str) -> PutPrincipal {
    PutPrincipal {
        principal_id: principal(who),
        kind: PrincipalKind::Person,
        roles: roles.iter().map(|role| RoleName::new(*role).unwrap()).collect(),
        person_id: person.map(|id| cscp::domain::id::PersonId::new(id).unwrap()),
        aliases: vec![Alias { kind: AliasKind::Phone, value: phone.to_owned() }],
        maturity: None,
        locale: None,
        if_revision: None,
    }
}

pub(crate) fn sweep() -> Operation {
    Operation::Sweep(Sweep { conversation_id: conversation(HERE) })
}

impl Stage {
    /// Asks and hands back what a person could send; the prompt is not attached yet.
    pub(crate) fn asked(&mut self, request: Ask) -> Asked {
        match self.done(&Operation::Ask(Box::new(request))) {
            Answer::Asked { item, nonce, .. } => Asked { id: item.item_id.clone(), nonce, prompt: String::new() },
            other => panic!("not asked: {other:?}"),
        }
    }

    /// Asks and attaches the prompt.
    pub(crate) fn prompted(&mut self, request: Ask) -> Asked {
        let mut asked = self.asked(request);
        asked.prompt = format!("prompt.{}", self.next());
        self.done(&attach(&asked.id, &asked.prompt));
        asked
    }

    /// Asks for a confirmation of a command on [`target`], prompt attached.
    pub(crate) fn confirm(&mut self, context_id: &ContextId, command: &str, name: &str) -> Asked {
        self.prompted(ask(context_id, AskWhat::Confirmation(spec(command, name, target()))))
    }

    /// As [`Stage::confirm`], answered by button a little later.
    pub(crate) fn confirmed(&mut self, context_id: &ContextId, command: &str, name: &str) -> Asked {
        let asked = self.confirm(context_id, command, name);
        self.wait(2);
        let tap = self.tap(&asked.yes()).op();
        self.done(&tap);
        asked
    }

    /// Asks for an approval, prompt attached.
    pub(crate) fn approval(&mut self, context_id: &ContextId, command: &str, name: &str) -> Asked {
        self.prompted(ask(context_id, AskWhat::Approval(spec(command, name, target()))))
    }

    /// Registers a principal.
    pub(crate) fn put(&mut self, who: &str, roles: &[&str], person_id: Option<&str>) {
        let phone = format!("+{who}");
        self.done(&Operation::PutPrincipal(person(who, roles, person_id, &phone)));
    }

    /// Sets slots at the present revision.
    pub(crate) fn slots(&mut self, context_id: &ContextId, patch: &Value) -> Operation {
        Operation::ChangeSlots(ChangeSlots {
            context_id: context_id.clone(),
            patch: patch.as_object().unwrap().clone(),
            if_revision: self.context(context_id).revision,
            credential: CredentialKind::Handler,
        })
    }
}

/// Message ids with keys, for a binding.
pub(crate) fn with_key(id: &MessageId, key: Digest) -> (MessageId, Digest) {
    (id.clone(), key)
}
