//! The promises, checked after every step of every test. Written from the promises and not from the code.

use std::collections::{BTreeMap, BTreeSet};

use cscp::domain::context::State;
use cscp::domain::decide::{Decision, Rules};
use cscp::domain::event::{Event, LastQuestion};
use cscp::domain::fingerprint::{fingerprint, material};
use cscp::domain::id::{ItemId, MessageId};
use cscp::domain::item::{FingerprintOrigin, ItemState, PendingItem, Question};
use cscp::domain::message::{MessageEvent, MessageKind};
use cscp::domain::operation::{Answer, Operation, Target};
use cscp::domain::policy::SlotStorage;
use cscp::domain::prompt::read_button_id;
use cscp::domain::slots::pending_slot;
use cscp::domain::time::Timestamp;
use cscp::domain::verdict::{Reason, Verdict};
use cscp::domain::world::{World, is_live};

use crate::harness::is_due_event;
use crate::invariants_time::{
    invariant_absolute_deadline, invariant_frames_immutable, invariant_no_deadline_lengthened,
    invariant_s3_nothing_after_the_deadline,
};

/// One decision with the worlds around it.
pub(crate) struct Step<'a> {
    pub(crate) before: &'a World,
    pub(crate) after: &'a World,
    pub(crate) operation: &'a Operation,
    pub(crate) decision: &'a Decision,
    pub(crate) rules: &'a Rules<'a>,
    pub(crate) now: Timestamp,
}

impl Step<'_> {
    pub(crate) fn message(&self) -> Option<&MessageEvent> {
        match self.operation {
            Operation::Ingest(message) => Some(message),
            _ => None,
        }
    }

    fn turn(&self) -> Option<(&Verdict, bool)> {
        match &self.decision.result {
            Ok(Answer::Turn { verdict, duplicate, .. }) => Some((verdict, *duplicate)),
            _ => None,
        }
    }

    /// Items that an answer changed: granted, refused, selected, or approved once more.
    pub(crate) fn answered(&self) -> Vec<&PendingItem> {
        let events = self.decision.events.iter().filter_map(|recorded| match &recorded.event {
            Event::ItemSettled { item_id, state, .. } if is_answer(state) => Some(item_id),
            Event::ApprovalGiven { item_id, .. } => Some(item_id),
            _ => None,
        });
        events.map(|id| &self.before.items[id]).collect()
    }

    pub(crate) fn spent(&self) -> Vec<&PendingItem> {
        let spent = |item: &&PendingItem| matches!(item.state, ItemState::Spent { .. });
        let now = self.after.items.values().filter(spent);
        now.filter_map(|item| self.before.items.get(&item.item_id)).filter(|item| !spent(item)).collect()
    }
}

fn is_answer(state: &ItemState) -> bool {
    matches!(state, ItemState::Granted { .. } | ItemState::Refused { .. } | ItemState::Selected { .. })
}

pub(crate) fn check(step: &Step<'_>) {
    invariant_refusal_without_events_changes_nothing(step);
    invariant_s1_only_the_named_item(step);
    invariant_s2_bare_only_under_conditions(step);
    invariant_s3_nothing_after_the_deadline(step);
    invariant_s4_items_move_along_the_table(step);
    invariant_s4_one_binding(step);
    invariant_s5_duplicates_change_nothing(step);
    invariant_s7_bound_is_what_was_agreed(step);
    invariant_s10_identity_change_voids(step);
    invariant_status_mirrors_questions(step);
    invariant_one_open_context(step);
    invariant_slots_mirror_the_question(step);
    invariant_absolute_deadline(step);
    invariant_no_deadline_lengthened(step);
    invariant_frames_immutable(step);
}

fn invariant_refusal_without_events_changes_nothing(step: &Step<'_>) {
    if step.decision.result.is_err() && step.decision.events.is_empty() {
        assert!(step.before == step.after, "a refusal changed the world");
    }
}

/// The one item that a message can be about, by what it carries: our nonce, else a quoted prompt, else the open
/// question of its context, else (a refusal only) the question heard last.
fn named<'a>(world: &'a World, message: &MessageEvent) -> Option<&'a PendingItem> {
    let taps = matches!(message.kind, MessageKind::Interactive | MessageKind::Button);
    if let Some(button) = message.button_id.as_deref().filter(|_| taps).and_then(read_button_id) {
        let mut found = world.items.values().filter(|item| item.nonce_digest == button.nonce_digest);
        let item = found.next();
        assert!(found.next().is_none(), "two items with one nonce");
        let elsewhere = message.reply_to.as_ref().and_then(|id| prompted(world, id));
        return item.filter(|item| elsewhere.is_none_or(|other| other.item_id == item.item_id));
    }
    if let Some(quoted) = &message.reply_to {
        return prompted(world, quoted);
    }
    let own = world.open_context(&message.conversation_id, &message.actor_id).and_then(|context| context.question());
    let heard = world.conversations.get(&message.conversation_id).and_then(|c| match &c.last_question {
        Some(LastQuestion::Item(id)) => Some(id),
        _ => None,
    });
    own.or(heard).and_then(|id| world.items.get(id))
}

fn prompted<'a>(world: &'a World, id: &MessageId) -> Option<&'a PendingItem> {
    let mut found = world.items.values().filter(|item| item.was_prompted_by(id));
    let item = found.next();
    assert!(found.next().is_none(), "two items with one prompt");
    item
}

/// S1: an answer resolves only the item it names, and at most one.
fn invariant_s1_only_the_named_item(step: &Step<'_>) {
    let answered = step.answered();
    let expected: Option<&ItemId> = match step.operation {
        Operation::Ingest(message) => named(step.before, message).map(|item| &item.item_id),
        Operation::DecideApproval(request) => Some(&request.item_id),
        _ => None,
    };
    for item in answered {
        assert_eq!(Some(&item.item_id), expected, "answered an item that was not named");
        if let Some(message) = step.message() {
            assert!(!message.forwarded, "a forwarded message answered");
            let approval = matches!(item.question, Question::Approval { .. });
            let own = item.actor_id == message.actor_id && item.conversation_id == message.conversation_id;
            assert!(approval || own, "somebody else answered");
        }
    }
    if let Some((verdict, false)) = step.turn()
        && verdict.code.is_acceptance()
    {
        assert_eq!(verdict.item_id.as_ref(), expected, "the verdict names another item");
        assert_eq!(step.answered().len(), 1, "an acceptance answers one item");
    }
}

/// S2: a bare answer only where every condition of a bare answer holds.
fn invariant_s2_bare_only_under_conditions(step: &Step<'_>) {
    let (Some((verdict, false)), Some(message)) = (step.turn(), step.message()) else { return };
    if !verdict.code.is_acceptance() || verdict.reason != Reason::Bare {
        return;
    }
    let item = &step.before.items[verdict.item_id.as_ref().unwrap()];
    let heard = step.before.conversations[&item.conversation_id].last_question.clone();
    assert_eq!(heard, Some(LastQuestion::Item(item.item_id.clone())), "another question was heard since");
    let prompt = item.prompts.last().unwrap();
    let prompted = prompt.message_id.as_ref().and(prompt.sent_at).expect("its prompt is attached");
    assert!(message.sent_at.whole_seconds() > prompted.whole_seconds(), "sent before the question");
    let tolerance = step.rules.policy.pack().answers.future_tolerance_seconds;
    assert!(message.sent_at <= step.now.plus_seconds(tolerance), "sent in the future");
    assert!(matches!(message.kind, MessageKind::Text | MessageKind::Audio), "{:?} is no bare answer", message.kind);
    assert!(message.reply_to.is_none(), "it quotes something");
    let open = step.after.items.values().filter(|other| other.context_id == item.context_id && other.is_open());
    assert_eq!(open.count(), 0, "more than one question was open");
    match &item.question {
        // The class guards a yes; a no that stops what was granted needs no button.
        Question::Confirmation { .. }
            if verdict.code == cscp::domain::verdict::VerdictCode::Declined && !item.is_open() => {}
        Question::Confirmation { command } => {
            let today = step.rules.policy.command(command.name.as_str(), Some(command.rules.class));
            assert!(command.rules.bare_answers && today.bare_answers, "policy wants more than a bare yes");
        }
        Question::Disambiguation { bare_answers, .. } => assert!(bare_answers),
        Question::Approval { .. } => panic!("a bare yes approved"),
    }
}

/// S4: one outcome per item.
fn invariant_s4_items_move_along_the_table(step: &Step<'_>) {
    use ItemState::{Expired, Granted, Open, Refused, Selected, Spent, Voided};
    for (id, item) in &step.after.items {
        let Some(earlier) = step.before.items.get(id) else {
            assert_eq!(item.state, Open, "an item begins open");
            continue;
        };
        let legal = earlier.state == item.state
            || matches!(
                (&earlier.state, &item.state),
                (
                    Open,
                    Granted { .. } | Refused { revoked: false, .. } | Selected { .. } | Expired { .. } | Voided { .. }
                ) | (Granted { .. }, Refused { revoked: true, .. } | Spent { .. } | Voided { .. })
            );
        assert!(legal, "{:?} became {:?}", earlier.state, item.state);
    }
    assert!(step.before.items.keys().all(|id| step.after.items.contains_key(id)), "an item vanished");
}

/// S4: one binding per command and per idempotency key; an item is spent by the command that names it.
fn invariant_s4_one_binding(step: &Step<'_>) {
    let mut keys = BTreeSet::new();
    for command in step.after.commands.values() {
        assert!(keys.insert(command.idempotency_key.as_str()), "two commands with one idempotency key");
        if let Some(earlier) = step.before.commands.get(&command.command_id) {
            let mut same = command.clone();
            same.results.clone_from(&earlier.results);
            assert!(same == *earlier, "a bound command changed");
        }
    }
    for item in step.after.items.values() {
        let ItemState::Spent { attempt_id, .. } = &item.state else { continue };
        let command = &step.after.commands[&item.command().unwrap().command_id];
        assert_eq!(command.attempt_id, *attempt_id, "spent by another attempt");
        assert!([&command.confirmation_id, &command.approval_id].contains(&&Some(item.item_id.clone())));
    }
}

/// S5: a duplicate gets the first verdict and changes nothing but what was due anyway.
fn invariant_s5_duplicates_change_nothing(step: &Step<'_>) {
    let (Some((verdict, duplicate)), Some(message)) = (step.turn(), step.message()) else { return };
    let key = cscp::domain::message::message_key(&step.before.tenant_key, &message.channel, &message.message_id);
    let earlier = step.before.messages.get(&key);
    assert_eq!(duplicate, earlier.is_some(), "duplicates are told");
    if let Some(earlier) = earlier {
        assert_eq!(earlier.verdict, *verdict, "another verdict than the first time");
        assert!(step.decision.events.iter().all(|recorded| is_due_event(&recorded.event)), "a duplicate did something");
    }
}

/// S7: what is bound is what every spent question said, field by field.
fn invariant_s7_bound_is_what_was_agreed(step: &Step<'_>) {
    let Operation::Bind(request) = step.operation else { return };
    for item in step.spent() {
        let agreed = item.command().unwrap();
        assert_eq!(agreed.command_id, request.command.command_id);
        assert_eq!(agreed.name, request.command.name);
        assert_eq!(agreed.idempotency_key, request.command.idempotency_key);
        match (&request.command.target, agreed.fingerprint.origin) {
            (Target::Clear(target), FingerprintOrigin::Computed) => {
                let covered = material(target, &agreed.rules.immaterial_fields);
                let value = fingerprint(&agreed.fingerprint.key, &agreed.name, &agreed.idempotency_key, &covered);
                assert_eq!(value, agreed.fingerprint.value, "another target was bound");
            }
            (Target::Asserted(digest), FingerprintOrigin::CallerAsserted) => {
                assert_eq!(*digest, agreed.fingerprint.value);
            }
            (Target::Missing, FingerprintOrigin::Computed) => {}
            (target, origin) => panic!("{target:?} was bound on {origin:?}"),
        }
    }
}

/// S10: what was asked of an earlier identity is neither answered nor spent.
fn invariant_s10_identity_change_voids(step: &Step<'_>) {
    for item in step.answered().into_iter().chain(step.spent()) {
        let epoch = step.before.identity_epoch(&item.actor_id);
        assert_eq!(item.identity_epoch, epoch, "asked of an earlier identity");
    }
    let news = |message: &&MessageEvent| message.kind == MessageKind::System;
    if let (Some(message), Some((_, false))) = (step.message().filter(news), step.turn()) {
        let asked = |item: &&PendingItem| {
            item.actor_id == message.actor_id && item.conversation_id == message.conversation_id && is_live(&item.state)
        };
        assert_eq!(step.after.items.values().filter(asked).count(), 0, "the news left a question of this person alive");
    }
    for item in step.spent() {
        let Question::Approval { approvals, .. } = &item.question else { continue };
        for given in approvals {
            assert_eq!(given.identity_epoch, step.before.identity_epoch(&given.approver_id), "approver has changed");
        }
    }
}

fn invariant_status_mirrors_questions(step: &Step<'_>) {
    let mut open: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for item in step.after.items.values().filter(|item| item.is_open()) {
        open.entry(&item.context_id).or_default().push(&item.item_id);
    }
    for context in step.after.contexts.values() {
        let questions = open.get(&context.context_id).map(Vec::as_slice).unwrap_or_default();
        match &context.state {
            State::Pending { question } => assert_eq!(questions, [question], "pending on exactly this question"),
            state => assert!(questions.is_empty(), "{state:?} with an open question"),
        }
    }
}

fn invariant_one_open_context(step: &Step<'_>) {
    let mut seen = BTreeSet::new();
    for context in step.after.contexts.values().filter(|context| context.state.status().is_open()) {
        assert!(seen.insert((&context.conversation_id, &context.actor_id)), "two open contexts of one actor");
    }
}

/// The copy of the open question in the slots is there exactly while that question is open.
fn invariant_slots_mirror_the_question(step: &Step<'_>) {
    let slots = &step.rules.policy.pack().slots;
    for context in step.after.contexts.values() {
        let question = context.question();
        for kind in cscp::domain::id::ItemKind::ALL {
            let name = pending_slot(kind);
            let shown = context.slots.get(name).map(|copy| copy["item_id"].as_str().unwrap());
            let expected = question.filter(|id| id.kind() == kind).map(ItemId::as_str);
            if slots.storage_of(name) == SlotStorage::Stored || shown.is_some() {
                assert_eq!(shown, expected, "the slot {name} and the open question differ");
            }
        }
    }
}
