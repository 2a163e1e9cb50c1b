//! Approvals: by name only, by entitled persons, checked again when they are spent.

use cscp::domain::event::Event;
use cscp::domain::id::ContextId;
use cscp::domain::item::{ItemState, Question};
use cscp::domain::message::IdentityChange;
use cscp::domain::refusal::Refusal;
use cscp::domain::verdict::{Next, Reason, VerdictCode};

use crate::harness::{Stage, expect};
use crate::house::Pack;
use crate::operations::{Asked, approve, attach, bind, op, spec, target};

/// Ana wants `name`; there are two bosses, and Ana's other account holds the role too.
fn wanting(name: &str) -> (Stage, ContextId, Asked) {
    let mut stage = Stage::new(Pack::House);
    stage.put("ana", &["approver"], Some("p-ana"));
    stage.put("ana-private", &["approver"], Some("p-ana"));
    stage.put("boss", &["approver"], Some("p-boss"));
    stage.put("boss-private", &["approver"], Some("p-boss"));
    stage.put("chief", &["approver"], Some("p-chief"));
    stage.put("clerk", &["clerk"], Some("p-clerk"));
    let context_id = stage.greet();
    let asked = stage.approval(&context_id, "c-1", name);
    stage.wait(2);
    (stage, context_id, asked)
}

fn given(stage: &Stage, asked: &Asked) -> usize {
    match &stage.item(&asked.id).question {
        Question::Approval { approvals, .. } => approvals.len(),
        _ => 0,
    }
}

#[test]
fn duties_are_separated_by_person_and_not_by_address() {
    for (who, entitled) in
        [("ana", false), ("ana-private", false), ("clerk", false), ("nobody", false), ("boss", true), ("chief", true)]
    {
        let (mut stage, _, asked) = wanting("wire.send");
        let decision = stage.decide(&approve(&asked.id, who, true));
        assert_eq!(decision.result.is_ok(), entitled, "{who}");
        assert_eq!(given(&stage, &asked), usize::from(entitled), "{who}");
        if !entitled {
            assert_eq!(decision.result, Err(Refusal::ApproverNotEntitled));
            assert_eq!(Stage::types(&decision), ["approval.decision_refused"], "{who} leaves evidence");
        }
        let tap = stage.tap(&asked.yes()).of(who).in_conversation("conv-b").op();
        let decision = stage.decide(&tap);
        let refused = decision.events.iter().any(|r| matches!(r.event, Event::DecisionRefused { .. }));
        assert_eq!(refused, !entitled, "{who} by button");
    }
}

#[test]
fn a_requester_who_changes_person_is_still_the_requester() {
    let (mut stage, _, asked) = wanting("wire.send");
    stage.put("ana", &[], Some("p-new"));
    assert_eq!(stage.refused(&approve(&asked.id, "ana-private", true)), Refusal::ApproverNotEntitled);
    let (mut stage, _, asked) = wanting("wire.send");
    stage.put("ana", &[], Some("p-boss"));
    assert_eq!(stage.refused(&approve(&asked.id, "boss", true)), Refusal::ApproverNotEntitled);
}

#[test]
fn two_approvals_are_two_persons() {
    let (mut stage, context_id, asked) = wanting("wire.big");
    let first = stage.tap(&asked.yes()).of("boss").in_conversation("conv-b").op();
    let verdict = stage.verdict(&first);
    expect(&verdict, VerdictCode::Approved, Reason::Nonce);
    assert_eq!(verdict.next, Next::AwaitApprovals);
    let again = stage.tap(&asked.yes()).of("boss-private").in_conversation("conv-c").op();
    expect(&stage.verdict(&again), VerdictCode::AlreadyDecided, Reason::AlreadyApprovedByThisPerson);
    assert_eq!(stage.refused(&approve(&asked.id, "boss-private", true)).code(), "already_decided");
    let early = stage.refused(&op(bind(&context_id, spec("c-1", "wire.big", target()), "a-0")));
    assert_eq!(early.code(), "confirmation_required");
    let second = stage.tap(&asked.yes()).of("chief").in_conversation("conv-d").op();
    let verdict = stage.verdict(&second);
    assert_eq!(verdict.next, Next::AskConfirmation);
    assert!(matches!(stage.item(&asked.id).state, ItemState::Granted { .. }));
    stage.confirmed(&context_id, "c-1", "wire.big");
    stage.done(&op(bind(&context_id, spec("c-1", "wire.big", target()), "a-1")));
    assert!(matches!(stage.item(&asked.id).state, ItemState::Spent { .. }));
}

#[test]
fn an_approval_is_given_by_name_and_never_by_a_bare_yes() {
    let (mut stage, _, asked) = wanting("wire.send");
    let own = stage.text("yes").op();
    expect(&stage.verdict(&own), VerdictCode::NotAnAnswer, Reason::NothingPending);
    let here = stage.text("yes").of("boss").op();
    expect(&stage.verdict(&here), VerdictCode::Ambiguous, Reason::OtherActor);
    let there = stage.text("yes").of("boss").in_conversation("conv-b").op();
    expect(&stage.verdict(&there), VerdictCode::NotAnAnswer, Reason::NothingPending);
    // The prompt as the boss got it.
    stage.done(&attach(&asked.id, "prompt.boss"));
    let quoted = stage.text("yes").quoting("prompt.boss").of("boss").in_conversation("conv-b").op();
    expect(&stage.verdict(&quoted), VerdictCode::Approved, Reason::Quote);
}

#[test]
fn a_rejection_after_the_approval_takes_it_back() {
    for by_message in [true, false] {
        let (mut stage, context_id, asked) = wanting("wire.send");
        stage.done(&approve(&asked.id, "boss", true));
        stage.confirmed(&context_id, "c-1", "wire.send");
        if by_message {
            let no = stage.tap(&asked.no()).of("chief").in_conversation("conv-d").op();
            expect(&stage.verdict(&no), VerdictCode::Rejected, Reason::Nonce);
        } else {
            stage.done(&approve(&asked.id, "chief", false));
        }
        assert!(matches!(stage.item(&asked.id).state, ItemState::Refused { revoked: true, .. }));
        let refusal = stage.refused(&op(bind(&context_id, spec("c-1", "wire.send", target()), "a-1")));
        assert_eq!(refusal.code(), "approval_required");
    }
}

/// What is done to the approval before the command is bound, and what the binding then says.
const AT_BINDING: [(&str, &str); 10] = [
    ("none", "approval_required"),
    ("open", "approval_required"),
    ("granted", "bound"),
    ("rejected", "approval_required"),
    ("role lost", "approval_required"),
    ("approver's identity changed", "identity_changed"),
    ("requester's identity changed", "identity_changed"),
    ("requester is the approver's person now", "approval_required"),
    ("approver turned out to be another person", "bound"),
    ("over", "approval_expired"),
];

#[test]
fn an_approval_is_checked_again_when_it_is_spent() {
    for (what, expected) in AT_BINDING {
        let mut stage = Stage::new(Pack::House);
        stage.put("ana", &[], Some("p-ana"));
        stage.put("boss", &["approver"], Some("p-boss"));
        let context_id = stage.greet();
        let asked = (what != "none").then(|| stage.approval(&context_id, "c-1", "wire.only"));
        let decides = !matches!(what, "none" | "open");
        if let Some(asked) = asked.as_ref().filter(|_| decides) {
            stage.done(&approve(&asked.id, "boss", what != "rejected"));
        }
        match what {
            "role lost" => stage.put("boss", &["clerk"], Some("p-boss")),
            "approver's identity changed" => {
                let news = stage.news(IdentityChange::UserChangedNumber).of("boss").in_conversation("conv-b").op();
                stage.done(&news);
            }
            "requester's identity changed" => {
                let news = stage.news(IdentityChange::CustomerIdentityChanged).op();
                stage.done(&news);
            }
            "requester is the approver's person now" => stage.put("ana", &[], Some("p-boss")),
            "approver turned out to be another person" => stage.put("boss", &["approver"], Some("p-other")),
            "over" => {
                let ItemState::Granted { bind_by, .. } = stage.item(&asked.unwrap().id).state else { panic!() };
                // A sign of life lengthens the context, not the approval.
                stage.now = bind_by.as_micros() - 1;
                stage.greet();
                stage.go_to(bind_by);
            }
            _ => {}
        }
        let before = stage.world.commands.len();
        let decision = stage.decide(&op(bind(&context_id, spec("c-1", "wire.only", target()), "a-1")));
        let word = decision.result.as_ref().map_or_else(Refusal::code, |_| "bound".to_owned());
        assert_eq!(word, expected, "{what}");
        let refused = decision.events.iter().any(|r| matches!(r.event, Event::CommandRefused { .. }));
        assert_eq!(refused, expected != "bound", "{what}: evidence");
        assert_eq!(stage.world.commands.len() - before, usize::from(expected == "bound"), "{what}: effects");
    }
}

#[test]
fn a_second_approver_who_is_the_first_ones_person_does_not_grant() {
    let (mut stage, _, asked) = wanting("wire.big");
    stage.done(&approve(&asked.id, "boss", true));
    assert_eq!(stage.refused(&approve(&asked.id, "boss", true)).code(), "already_decided");
    assert_eq!(given(&stage, &asked), 1);
    assert!(stage.item(&asked.id).is_open());
}
