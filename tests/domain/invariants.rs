//! The promises, checked after every step of every test. Written from the promises and not from the code.

use std::collections::{BTreeMap, BTreeSet};

use cscp::domain::command::ExecutionState;
use cscp::domain::context::{BlockedOn, ContextRecord, State};
use cscp::domain::decide::{Decision, Rules};
use cscp::domain::event::{Event, LastQuestion};
use cscp::domain::fingerprint::{fingerprint, material};
use cscp::domain::id::{ItemId, ItemKind, MessageId, PrincipalId};
use cscp::domain::item::{FingerprintOrigin, ItemState, PendingItem, Question, VoidReason};
use cscp::domain::lexicon::Naming;
use cscp::domain::message::{Direction, MessageEvent, MessageKind};
use cscp::domain::operation::{Answer, Operation, Target};
use cscp::domain::policy::SlotStorage;
use cscp::domain::principal::Principal;
use cscp::domain::prompt::read_button_id;
use cscp::domain::slots::pending_slot;
use cscp::domain::time::Timestamp;
use cscp::domain::verdict::{Next, Reason, Verdict, VerdictCode};
use cscp::domain::world::{World, is_live};

use crate::harness::{SECOND, is_due_event};
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
    invariant_taken_back_by_its_giver(step);
    invariant_left_to_the_operator(step);
    invariant_own_questions_are_named(step);
    invariant_one_owner_executes(step);
    invariant_enough_people_approved(step);
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
        && !takes_back(verdict)
    {
        assert_eq!(verdict.item_id.as_ref(), expected, "the verdict names another item");
        assert_eq!(step.answered().len(), 1, "an acceptance answers one item");
    }
}

fn takes_back(verdict: &Verdict) -> bool {
    matches!(verdict.reason, Reason::TakenBack | Reason::Postponed) && verdict.code.is_acceptance()
}

/// What a message takes back waited to be bound, and whoever wrote the message had given it. Whoever says a plain no or
/// "wait" after a yes leaves no yes behind.
fn invariant_taken_back_by_its_giver(step: &Step<'_>) {
    let Some(message) = step.message().filter(|message| message.direction == Direction::Inbound) else { return };
    let voided = |id: &ItemId| {
        let now = &step.after.items[id].state;
        let before = step.before.items.get(id).map(|item| &item.state);
        matches!(now, ItemState::Voided { reason: VoidReason::TakenBack, .. }) && before != Some(now)
    };
    let taken: Vec<&PendingItem> = step.before.items.values().filter(|item| voided(&item.item_id)).collect();
    for item in &taken {
        let own = if let Question::Approval { approvals, .. } = &item.question {
            approvals.iter().any(|given| given.approver_id == message.actor_id)
        } else {
            // The no button of the question itself may be tapped from elsewhere.
            let here = item.conversation_id == message.conversation_id;
            item.actor_id == message.actor_id && (here || message.button_id.is_some())
        };
        assert!(own, "somebody else took an answer back");
        let open_approval = matches!(item.question, Question::Approval { .. }) && item.is_open();
        assert!(matches!(item.state, ItemState::Granted { .. }) || open_approval, "nothing to take back");
    }
    let Some((verdict, false)) = step.turn() else { return };
    assert_eq!(takes_back(verdict), !taken.is_empty(), "a take-back is told exactly where there is one: {verdict:?}");
    if takes_back(verdict) {
        assert!(voided(verdict.item_id.as_ref().unwrap()), "the verdict names what it took back");
    }
    let says = message.kind == MessageKind::Text && message.reply_to.is_none();
    let stops = says && step.rules.lexicon.withdrawal(message.text.as_deref().unwrap_or("")).is_some();
    let answered_another = verdict.code == VerdictCode::Declined && !takes_back(verdict);
    if stops && !answered_another {
        let given = |item: &&PendingItem| {
            let own = item.actor_id == message.actor_id && item.conversation_id == message.conversation_id;
            let waits = matches!(item.state, ItemState::Granted { bind_by, .. } if step.now < bind_by);
            // "Yes, cancel it" is a yes to cancelling.
            let says = item.command().map(|command| step.rules.policy.says(command.name.as_str())).unwrap_or_default();
            let text = message.text.as_deref().unwrap_or("");
            let repeats = matches!(step.rules.lexicon.read_naming(text, &says), Some(Naming::Yes(_)));
            own && waits && !repeats && matches!(item.question, Question::Confirmation { .. })
        };
        assert_eq!(step.after.items.values().filter(given).count(), 0, "a yes is left after a no");
    }
}

/// Where a person has taken over, the handler is told to stay silent, and nowhere else.
fn invariant_left_to_the_operator(step: &Step<'_>) {
    let (Some((verdict, false)), Some(message)) = (step.turn(), step.message()) else { return };
    let context = step.before.open_context(&message.conversation_id, &message.actor_id);
    let handed_over = context.filter(|context| {
        let to_operator = matches!(context.state, State::Blocked { on: BlockedOn::Operator, .. });
        to_operator && step.now < context.expires_at && message.direction == Direction::Inbound
    });
    let item = verdict.item_id.as_ref().and_then(|id| step.after.items.get(id));
    let elsewhere = |context: &ContextRecord| item.is_some_and(|item| item.context_id != context.context_id);
    let told = handed_over.is_some_and(|context| !verdict.code.is_acceptance() || !elsewhere(context));
    assert_eq!(verdict.next == Next::LeaveToOperator, told, "{verdict:?}");
}

/// A message that answers a question of the caller's own names it: one that was put to its writer in this conversation, and that was
/// registered before.
fn invariant_own_questions_are_named(step: &Step<'_>) {
    let (Some((verdict, false)), Some(message)) = (step.turn(), step.message()) else { return };
    let names = verdict.question_message_id.as_ref();
    assert_eq!(names.is_some(), verdict.reason == Reason::AnswersOtherQuestion, "{verdict:?}");
    let Some(question_id) = names else { return };
    assert!(step.answered().is_empty() && verdict.code == VerdictCode::NotAnAnswer, "{verdict:?}");
    let asked =
        step.before.messages.values().find(|known| known.message_id == *question_id).expect("it was registered");
    assert_eq!(asked.verdict.reason, Reason::QuestionRegistered);
    assert_eq!((&asked.conversation_id, &asked.actor_id), (&message.conversation_id, &message.actor_id));
    assert!(asked.received_at.whole_seconds() <= message.sent_at.whole_seconds() || message.reply_to.is_some());
}

/// One attempt at a time may execute, and it changes only by a take-over of what is unknown.
fn invariant_one_owner_executes(step: &Step<'_>) {
    let Ok(Answer::Bound { command, execute, .. }) = &step.decision.result else { return };
    let attempt = match step.operation {
        Operation::Bind(request) => &request.attempt_id,
        Operation::TakeOver(request) => &request.attempt_id,
        other => panic!("bound by {other:?}"),
    };
    if !execute {
        return;
    }
    assert_eq!(command.attempt_id, *attempt, "another attempt was told to execute");
    assert_eq!(command.execution_state(step.now), ExecutionState::Executing);
    let Some(before) = step.before.commands.get(&command.command_id) else { return };
    if before.attempt_id == *attempt {
        assert_eq!(
            before.execution_state(step.now),
            ExecutionState::Executing,
            "told again after a report or too late"
        );
        return;
    }
    let Operation::TakeOver(request) = step.operation else { panic!("the owner changed without a take-over") };
    assert_eq!(request.replaces, before.attempt_id, "another owner was replaced than the one that was named");
    assert_eq!(before.execution_state(step.now), ExecutionState::Unknown, "taken over from an owner that had time");
    assert!(!before.knows_attempt(attempt), "an attempt came back");
}

/// A spent approval has as many different people behind it as its rule demands, none of them the requester.
fn invariant_enough_people_approved(step: &Step<'_>) {
    for item in step.spent() {
        let Question::Approval { approvals, rule, .. } = &item.question else { continue };
        let who = |id: &PrincipalId| step.before.principals.get(id).cloned();
        let mut people: Vec<Vec<Principal>> = Vec::new();
        for approver in approvals.iter().filter_map(|given| who(&given.approver_id)) {
            let (mut own, others): (Vec<_>, Vec<_>) =
                people.into_iter().partition(|group| group.iter().any(|known| one_person(known, &approver)));
            own.push(vec![approver]);
            people = others;
            people.push(own.concat());
        }
        assert!(people.len() >= usize::try_from(rule.required).unwrap(), "too few people approved {item:?}");
        if let Some(requester) = who(&item.actor_id).filter(|_| rule.separate_person) {
            let others = people.iter().filter(|group| !group.iter().any(|known| one_person(known, &requester)));
            assert!(others.count() >= usize::try_from(rule.required).unwrap(), "the requester approved");
        }
    }
}

fn one_person(one: &Principal, another: &Principal) -> bool {
    match (&one.person_id, &another.person_id) {
        _ if one.principal_id == another.principal_id => true,
        (Some(one), Some(another)) => one == another,
        _ => one.aliases.iter().any(|alias| another.aliases.contains(alias)),
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
    // The prompt was attached before this message arrived: `step.before` has it.
    let (said, asked) = (message.sent_at.as_micros(), prompted.as_micros());
    let unclear = said % SECOND == 0 && said == asked - asked % SECOND;
    assert!(said >= asked || unclear, "sent before the question");
    let tolerance = step.rules.policy.pack().answers.future_tolerance_seconds;
    assert!(message.sent_at <= step.now.plus_seconds(tolerance), "sent in the future");
    assert!(matches!(message.kind, MessageKind::Text | MessageKind::Audio), "{:?} is no bare answer", message.kind);
    assert!(message.reply_to.is_none(), "it quotes something");
    let asked = |other: &&PendingItem| {
        let to_actor = !matches!(other.question, Question::Approval { .. });
        other.context_id == item.context_id && other.is_open() && to_actor
    };
    assert_eq!(step.after.items.values().filter(asked).count(), 0, "more than one question to the actor was open");
    match &item.question {
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
                ) | (Granted { .. }, Granted { .. } | Refused { revoked: true, .. } | Spent { .. } | Voided { .. })
            );
        assert!(legal, "{:?} became {:?}", earlier.state, item.state);
    }
    assert!(step.before.items.keys().all(|id| step.after.items.contains_key(id)), "an item vanished");
}

/// S4: one binding per command, per idempotency key and per attempt; an item is spent by the command that names it.
fn invariant_s4_one_binding(step: &Step<'_>) {
    let (mut keys, mut attempts) = (BTreeSet::new(), BTreeSet::new());
    for command in step.after.commands.values() {
        assert!(attempts.insert(command.attempt_id.as_str()), "one attempt bound two commands");
        assert_eq!(step.after.attempts.get(&command.attempt_id), Some(&command.command_id), "an attempt is remembered");
        assert!(keys.insert(command.idempotency_key.as_str()), "two commands with one idempotency key");
        if let Some(earlier) = step.before.commands.get(&command.command_id) {
            let mut same = command.clone();
            same.results.clone_from(&earlier.results);
            if matches!(step.operation, Operation::TakeOver(_)) && step.decision.result.is_ok() {
                same.attempt_id = earlier.attempt_id.clone();
                same.execution.clone_from(&earlier.execution);
            }
            assert!(same == *earlier, "a bound command changed");
        }
    }
    for item in step.after.items.values() {
        let ItemState::Spent { attempt_id, .. } = &item.state else { continue };
        let command = &step.after.commands[&item.command().unwrap().command_id];
        assert!(command.knows_attempt(attempt_id), "spent by another attempt");
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
        let own = |kinds: &[ItemKind]| questions.iter().filter(|id| kinds.contains(&id.kind())).copied().collect();
        let asked: Vec<&ItemId> = own(&[ItemKind::Confirmation, ItemKind::Disambiguation]);
        let approvals: Vec<&ItemId> = own(&[ItemKind::Approval]);
        match &context.state {
            State::Pending(open) => {
                assert!(!questions.is_empty(), "pending on nothing");
                assert_eq!(asked, Vec::from_iter(open.question()), "pending on exactly this question to the actor");
                assert_eq!(approvals, Vec::from_iter(open.approval()), "pending on exactly this approval");
            }
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
        for kind in cscp::domain::id::ItemKind::ALL {
            let name = pending_slot(kind);
            let shown = context.slots.get(name).map(|copy| copy["item_id"].as_str().unwrap());
            let open = context.open_items().and_then(|open| open.in_place_of(kind));
            let expected = open.filter(|id| id.kind() == kind).map(ItemId::as_str);
            if slots.storage_of(name) == SlotStorage::Stored || shown.is_some() {
                assert_eq!(shown, expected, "the slot {name} and the open question differ");
            }
        }
    }
}
