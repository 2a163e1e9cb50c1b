//! What two conversations race for at once, one name at a time, and how it went.

use cscp::committer::{Busy, Committed, Committer, Submission};
use cscp::domain::canonical::Digest;
use cscp::domain::id::{AttemptId, Channel, CommandName, ContextId, IdempotencyKey, ItemId, MessageId};
use cscp::domain::idempotency::Claim;
use cscp::domain::item::ItemState;
use cscp::domain::message::message_key;
use cscp::domain::operation::{Answer, Ask, AskWhat, AttachPrompt, Bind, CommandSpec, Envelope, Operation};
use cscp::domain::prompt::{Button, ButtonAction, ShownPrompt};
use cscp::storage::LiveTable;
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::harness::{House, code};

/// So many tries are prepared together. Each is raced by itself, so that nothing but the two is in the writers' way.
const PREPARED: usize = 40;

/// Which name two conversations claim at once.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Prize {
    /// Two bindings, and what of them is the same.
    Binding { command: bool, key: bool, attempt: bool },
    /// Two questions about one command.
    Question,
    /// The message that became a prompt: of two confirmations, or of a confirmation and a disambiguation.
    Prompt { of_two_kinds: bool },
    /// The id of an inbound message.
    Message { same_body: bool },
    /// The `Idempotency-Key` of two requests.
    Request { same_request: bool },
}

pub(crate) const PRIZES: [Prize; 12] = [
    Prize::Binding { command: true, key: false, attempt: false },
    Prize::Binding { command: true, key: true, attempt: false },
    Prize::Binding { command: true, key: true, attempt: true },
    Prize::Binding { command: false, key: true, attempt: false },
    Prize::Binding { command: false, key: false, attempt: true },
    Prize::Question,
    Prize::Prompt { of_two_kinds: false },
    Prize::Prompt { of_two_kinds: true },
    Prize::Message { same_body: true },
    Prize::Message { same_body: false },
    Prize::Request { same_request: true },
    Prize::Request { same_request: false },
];

/// One of the two.
struct Side {
    conversation: String,
    context_id: ContextId,
    item: Option<ItemId>,
    operation: Operation,
    claim: Option<Claim>,
}

/// How a race went, try by try.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// One got the name and the other its proper refusal, and that is what the rows say.
    pub(crate) one: usize,
    /// Both were told that they had got it.
    pub(crate) doubles: usize,
    /// Anything else.
    pub(crate) odd: Vec<String>,
}

/// Repeats what the server asks to have repeated.
pub(crate) async fn insist(
    house: &House,
    committer: &Committer,
    operation: &Operation,
    claim: Option<Claim>,
) -> Committed {
    loop {
        let submission = Submission { tenant: house.tenant.clone(), operation: operation.clone(), claim };
        match committer.submit(submission).await {
            Ok(done) => return done,
            Err(Busy::Contended | Busy::Full { .. }) => tokio::task::yield_now().await,
            Err(other) => panic!("{other:?}"),
        }
    }
}

/// Asks, and answers with the item and its first button.
async fn asked(house: &House, context_id: &ContextId, what: AskWhat) -> (ItemId, String) {
    match insist(house, &house.committer, &question(context_id, what), None).await.result {
        Ok(Answer::Asked { item, mut button_ids, .. }) => (item.item_id, button_ids.swap_remove(0)),
        other => panic!("nothing was asked: {other:?}"),
    }
}

/// The question whether this is to be done.
pub(crate) fn question(context_id: &ContextId, what: AskWhat) -> Operation {
    let button = |title: &str, action| Button { title: title.to_owned(), action };
    let buttons = match what {
        AskWhat::Disambiguation(_) => Vec::new(),
        _ => vec![button("Yes", ButtonAction::Accept), button("No", ButtonAction::Refuse)],
    };
    let ask = Ask {
        context_id: context_id.clone(),
        what,
        prompt: ShownPrompt { text: "Sure?".to_owned(), buttons },
        supersede: true,
        ttl_seconds: None,
        correlation_id: None,
    };
    Operation::Ask(Box::new(ask))
}

fn name(what: &str, number: usize, side: usize, same: bool) -> String {
    if same { format!("{what}-{number}") } else { format!("{what}-{number}-{side}") }
}

impl Prize {
    async fn side(self, house: &House, number: usize, side: usize) -> Side {
        let conversation = format!("talk-{number}-{side}");
        let said = json!({"text": "hello there", "conversation_id": conversation});
        let hello = Operation::Ingest(Box::new(house.message(&format!("wamid.hello.{number}.{side}"), &said)));
        let Ok(Answer::Turn { context: Some(context), .. }) =
            insist(house, &house.committer, &hello, None).await.result
        else {
            panic!("no context")
        };
        let context_id = context.context_id;
        let (item, operation, claim) = match self {
            Self::Binding { .. } => {
                let (item, bind) = self.binding(house, &conversation, &context_id, number, side).await;
                (item, bind, None)
            }
            Self::Question => {
                let what = AskWhat::Confirmation(House::spec(&name("c", number, side, true), json!({"order_id": "1"})));
                (None, question(&context_id, what), None)
            }
            Self::Prompt { of_two_kinds } => {
                let target = json!({"order_id": "1"});
                let what = if of_two_kinds && side == 1 {
                    AskWhat::Disambiguation(vec![
                        ("The first".to_owned(), target.clone()),
                        ("Another".to_owned(), target),
                    ])
                } else {
                    AskWhat::Confirmation(House::spec(&name("c", number, side, false), target))
                };
                let (item, _) = asked(house, &context_id, what).await;
                let message_id = MessageId::new(name("wamid.prompt", number, side, true)).unwrap();
                let message_key = key_of(house, message_id.as_str());
                let channel = Channel::default();
                let attach = AttachPrompt { item_id: item.clone(), message_id, channel, message_key, sent_at: None };
                (Some(item), Operation::AttachPrompt(attach), None)
            }
            Self::Message { .. } => (None, self.message(house, &conversation, number, side), None),
            Self::Request { same_request } => {
                let claim = house.claim(&format!("request-{number}"), &name("body", number, side, same_request));
                (None, self.message(house, &conversation, number, side), Some(claim))
            }
        };
        Side { conversation, context_id, item, operation, claim }
    }

    /// A binding of a command that was asked about and confirmed there. A command that is asked for in one place is not
    /// asked for in another one, so one that both sides bind is of a class that nobody is asked about.
    async fn binding(
        self,
        house: &House,
        conversation: &str,
        context_id: &ContextId,
        number: usize,
        side: usize,
    ) -> (Option<ItemId>, Operation) {
        let Self::Binding { command, key, attempt } = self else { panic!("no binding") };
        let key = IdempotencyKey::new(name("key", number, side, key)).unwrap();
        let target = json!({"order_id": number});
        let mut spec = CommandSpec { idempotency_key: key, ..House::spec(&name("c", number, side, command), target) };
        let item = if command {
            spec.name = CommandName::new("order.status").unwrap();
            None
        } else {
            let (item, button) = asked(house, context_id, AskWhat::Confirmation(spec.clone())).await;
            let tap = json!({"button_id": button, "conversation_id": conversation});
            let tap = house.message(&format!("wamid.tap.{number}.{side}"), &tap);
            let turn = insist(house, &house.committer, &Operation::Ingest(Box::new(tap)), None).await.result.unwrap();
            assert_eq!(code(&turn), "confirmed");
            Some(item)
        };
        let bind = Bind {
            context_id: context_id.clone(),
            attempt_id: AttemptId::new(name("a", number, side, attempt)).unwrap(),
            command: spec,
            envelope: Envelope::Clear(json!({"cancel": number})),
            context_pack: None,
            message_ids: Vec::new(),
            correlation_id: None,
        };
        (item, Operation::Bind(Box::new(bind)))
    }

    fn message(self, house: &House, conversation: &str, number: usize, side: usize) -> Operation {
        let (is_one, same_body) = match self {
            Self::Message { same_body } => (true, same_body),
            _ => (false, false),
        };
        let said = json!({"text": "and now", "conversation_id": conversation});
        let mut message = house.message(&name("wamid.raced", number, side, is_one), &said);
        if same_body {
            message.body_digest = house.message(&name("wamid.raced", number, side, is_one), &json!({})).body_digest;
        }
        Operation::Ingest(Box::new(message))
    }

    /// The code of the refusal that is due to the one who loses; none where it gets the winner's answer instead.
    fn due(self) -> Option<&'static str> {
        match self {
            Self::Binding { command: true, attempt: false, .. } => Some("already_bound"),
            Self::Binding { command: true, .. } | Self::Binding { key: true, .. } => Some("command_conflict"),
            Self::Binding { .. } => Some("attempt_id_reused"),
            Self::Question => Some("command_asked_elsewhere"),
            Self::Prompt { .. } => Some("prompt_already_attached"),
            Self::Message { same_body: false } => Some("message_id_reused"),
            Self::Request { same_request: false } => Some("idempotency_key_reused"),
            Self::Message { .. } | Self::Request { .. } => None,
        }
    }

    /// Whether this side got the name; none if its answer is neither that nor what is due to the other one.
    fn won(self, committed: &Committed) -> Option<bool> {
        let again = match &committed.result {
            Err(refusal) => return (self.due() == Some(refusal.code().as_str())).then_some(false),
            Ok(Answer::Bound { replayed, .. }) => *replayed,
            Ok(Answer::Turn { duplicate, .. }) => *duplicate || committed.replayed,
            Ok(_) => false,
        };
        (!again || self.due().is_none()).then_some(!again)
    }

    /// What the rows say that is not as it should be, where this side won and that one lost.
    async fn wrong(self, house: &House, won: &Side, lost: &Side) -> Option<String> {
        let (store, tenant) = (&house.store, &house.tenant.tenant_id);
        let led = async |table, id: &str| -> Value {
            let rows = store.live_rows(tenant, table, &[id.to_owned()]).await.unwrap();
            rows.first().map_or(Value::Null, |row| row.columns.clone())
        };
        let (told, right) = match (&won.operation, &lost.operation) {
            (Operation::Bind(own), Operation::Bind(other)) => {
                let command = store.command(tenant, &own.command.command_id).await.unwrap()?;
                let others = store.command(tenant, &other.command.command_id).await.unwrap();
                let spent = store.item(tenant, won.item.as_ref()?).await.unwrap()?;
                let kept = store.item(tenant, lost.item.as_ref()?).await.unwrap()?;
                let attempt = led(LiveTable::CommandAttempts, own.attempt_id.as_str()).await;
                let right = command.context_id == won.context_id
                    && command.attempt_id == own.attempt_id
                    && others
                        .as_ref()
                        .is_none_or(|row| row.command_id == command.command_id && row.context_id == won.context_id)
                    && matches!((&spent.state, &kept.state), (ItemState::Spent { .. }, ItemState::Granted { .. }))
                    && attempt == json!({"command_id": own.command.command_id});
                (format!("{command:?} {others:?} {spent:?} {kept:?} {attempt}"), right)
            }
            (Operation::Ask(_), Operation::Ask(_)) => {
                let asked = store.items_of(tenant, &won.context_id).await.unwrap();
                let silent = store.items_of(tenant, &lost.context_id).await.unwrap();
                (format!("{asked:?} {silent:?}"), asked.len() == 1 && silent.is_empty())
            }
            (Operation::AttachPrompt(own), Operation::AttachPrompt(other)) => {
                let asked = store.item(tenant, &own.item_id).await.unwrap()?;
                let silent = store.item(tenant, &other.item_id).await.unwrap()?;
                let leads_to = led(LiveTable::ItemPrompts, own.message_id.as_str()).await;
                let right = asked.was_prompted_by(&own.message_id)
                    && !silent.was_prompted_by(&own.message_id)
                    && leads_to == json!({"item_id": own.item_id});
                (format!("{asked:?} {silent:?} {leads_to}"), right)
            }
            (Operation::Ingest(own), Operation::Ingest(other)) => {
                let mut keys = vec![key_of(house, own.message_id.as_str()), key_of(house, other.message_id.as_str())];
                keys.dedup();
                let rows = store.messages(tenant, &keys).await.unwrap();
                let right = rows.len() == 1 && rows[0].conversation_id.as_str() == won.conversation;
                (format!("{rows:?}"), right)
            }
            _ => (String::new(), false),
        };
        (!right).then(|| format!("the rows of {} and {}: {told}", won.conversation, lost.conversation))
    }

    /// Runs the race for this name so many times, through two committers.
    pub(crate) async fn race(self, house: &House, committers: [&Committer; 2], tries: std::ops::Range<usize>) -> Tally {
        let mut tally = Tally::default();
        let all: Vec<usize> = tries.collect();
        for chunk in all.chunks(PREPARED) {
            let pairs =
                join_all(chunk.iter().map(|number| async move {
                    tokio::join!(self.side(house, *number, 0), self.side(house, *number, 1))
                }));
            for (one, other) in pairs.await {
                let (first, second) = tokio::join!(
                    insist(house, committers[0], &one.operation, one.claim),
                    insist(house, committers[1], &other.operation, other.claim)
                );
                let odd = match (self.won(&first), self.won(&second)) {
                    (Some(true), Some(true)) => {
                        tally.doubles += 1;
                        continue;
                    }
                    (Some(true), Some(false)) => self.wrong(house, &one, &other).await,
                    (Some(false), Some(true)) => self.wrong(house, &other, &one).await,
                    _ => Some(format!("{:?} and {:?}", first.result, second.result)),
                };
                match odd {
                    Some(odd) => tally.odd.push(odd),
                    None => tally.one += 1,
                }
            }
        }
        tally
    }
}

fn key_of(house: &House, message_id: &str) -> Digest {
    let message = house.message(message_id, &json!({}));
    message_key(&house.tenant.key, &message.channel, &message.message_id)
}
