//! Cells where two rules meet: each of them once went wrong.

use cscp::domain::command::Outcome;
use cscp::domain::event::{BindRefusal, Event};
use cscp::domain::item::{ItemState, VoidReason};
use cscp::domain::message::{IdentityChange, MessageKind};
use cscp::domain::operation::{Answer, AskWhat, Operation, Target};
use cscp::domain::policy::SafetyClass;
use cscp::domain::principal::PrincipalKind;
use cscp::domain::refusal::Refusal;
use cscp::domain::verdict::{Reason, VerdictCode};
use serde_json::json;

use crate::harness::{Stage, expect};
use crate::house::Pack;
use crate::operations::{approve, ask, attach, bind, op, options, person, result, spec, target};

#[test]
fn spending_an_earlier_grant_leaves_the_slot_of_the_open_question() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    stage.confirmed(&context_id, "c-1", "order.cancel");
    stage.confirm(&context_id, "c-2", "order.cancel");
    stage.done(&op(bind(&context_id, spec("c-1", "order.cancel", target()), "a-1")));
    assert!(stage.context(&context_id).slots.contains_key("pending_confirmation"));
}

#[test]
fn one_prompt_belongs_to_one_question() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    let first = stage.confirm(&context_id, "c-1", "order.cancel");
    let mut second = ask(&context_id, AskWhat::Confirmation(spec("c-2", "order.cancel", target())));
    second.supersede = true;
    let second = stage.asked(second);
    let refusal = stage.refused(&attach(&second.id, &first.prompt));
    assert_eq!(refusal, Refusal::PromptAlreadyAttached);
    assert!(!stage.item(&second.id).was_prompted_by(&crate::messages::message_id(&first.prompt)));
}

#[test]
fn a_tap_that_quotes_another_question_names_neither() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    let first = stage.confirm(&context_id, "c-1", "order.cancel");
    let mut second = ask(&context_id, AskWhat::Confirmation(spec("c-2", "order.cancel", target())));
    second.supersede = true;
    let second = stage.prompted(second);
    stage.wait(2);
    let tap = stage.tap(&second.yes()).quoting(&first.prompt).op();
    expect(&stage.verdict(&tap), VerdictCode::Ambiguous, Reason::QuotesOtherMessage);
    assert!(stage.item(&second.id).is_open());
}

#[test]
fn a_choice_keeps_the_target_in_the_form_that_policy_wants() {
    let mut stage = Stage::new(Pack::Wary);
    let context_id = stage.greet();
    let asked = stage.prompted(ask(&context_id, options()));
    stage.wait(2);
    let tap = stage.tap(&asked.option(2)).op();
    expect(&stage.verdict(&tap), VerdictCode::Selected, Reason::Nonce);
    let kept = &stage.context(&context_id).slots["active_target"];
    assert!(kept["digest"].as_str().unwrap().starts_with("hmac-sha256:"), "policy keeps a digest: {kept}");
    let mut stage = Stage::new(Pack::Strong);
    let context_id = stage.greet();
    let choice = AskWhat::Disambiguation(vec![("One".to_owned(), json!("not an id!")), ("Two".to_owned(), json!("b"))]);
    let refusal = stage.refused(&Operation::Ask(Box::new(ask(&context_id, choice))));
    assert_eq!(refusal.code(), "slot");
}

#[test]
fn any_number_of_options_is_refused_or_asked() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    for (count, fits) in [(0, false), (1, true), (10, true), (11, false), (255, false), (256, false), (300, false)] {
        let choices = (0..count).map(|n| (format!("Order {}", "x".repeat(1 + n % 14)), json!(format!("o-{n}"))));
        let choices = choices.collect();
        let mut request = ask(&context_id, AskWhat::Disambiguation(choices));
        request.supersede = true;
        let asked = stage.decide(&Operation::Ask(Box::new(request))).result;
        assert_eq!(asked.is_ok(), fits, "{count} options: {asked:?}");
    }
}

#[test]
fn a_stranger_is_not_shown_whose_question_it_is() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    let asked = stage.confirm(&context_id, "c-1", "order.cancel");
    stage.wait(2);
    let tries = [
        stage.text("yes").quoting(&asked.prompt).of("eve").in_conversation("conv-2"),
        stage.text("yes but later").quoting(&asked.prompt).of("eve").in_conversation("conv-2"),
        stage.tap(&asked.yes()).of("eve").forwarded(),
        stage.text("yes").quoting(&asked.prompt).of("eve").forwarded(),
        stage.voice("yes", 0.99).quoting(&asked.prompt).of("eve"),
    ];
    for message in tries {
        let operation = message.op();
        let Answer::Turn { item, verdict, .. } = stage.done(&operation) else { panic!("no turn") };
        assert_eq!(verdict.code, VerdictCode::Ambiguous);
        assert_eq!(item, None, "shown to a stranger after {:?}", verdict.reason);
    }
}

#[test]
fn a_qualified_voice_note_is_no_ordinary_message() {
    let mut stage = Stage::new(Pack::Loose);
    let context_id = stage.greet();
    stage.confirm(&context_id, "c-1", "address.update");
    stage.wait(2);
    let note = stage.voice("yes but later", 0.99).op();
    expect(&stage.verdict(&note), VerdictCode::Ambiguous, Reason::QualifiedAnswer);
    let unsure = stage.voice("yes", f64::NAN).op();
    expect(&stage.verdict(&unsure), VerdictCode::Ambiguous, Reason::LowConfidence);
}

#[test]
fn a_caption_that_picks_an_option_is_not_accepted() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    stage.prompted(ask(&context_id, options()));
    stage.wait(2);
    let mut picture = stage.message(MessageKind::Image);
    picture.0.text = Some("2".to_owned());
    expect(&stage.verdict(&picture.op()), VerdictCode::Ambiguous, Reason::KindNotAccepted);
}

#[test]
fn a_grant_of_an_earlier_identity_is_void_wherever_it_is_looked_at() {
    let mut stage = Stage::new(Pack::House);
    stage.put("ana", &[], Some("p-ana"));
    let context_id = stage.greet();
    let asked = stage.confirmed(&context_id, "c-1", "order.cancel");
    let elsewhere = stage.news(IdentityChange::UserChangedNumber).in_conversation("conv-9").op();
    stage.done(&elsewhere);
    let tap = stage.tap(&asked.no()).op();
    expect(&stage.verdict(&tap), VerdictCode::Superseded, Reason::IdentityChanged);
    let decision = stage.decide(&op(bind(&context_id, spec("c-1", "order.cancel", target()), "a-1")));
    assert_eq!(decision.result, Err(Refusal::IdentityChanged));
    let evidence = &decision.events.last().unwrap().event;
    assert!(matches!(evidence, Event::CommandRefused { reason: BindRefusal::IdentityChanged, .. }));
}

#[test]
fn a_yes_under_mild_rules_does_not_bind_under_strict_ones() {
    // Asked as S1 and confirmed by a bare yes; bound as S3.
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    stage.confirm(&context_id, "c-1", "address.update");
    stage.wait(2);
    let yes = stage.text("yes").op();
    expect(&stage.verdict(&yes), VerdictCode::Confirmed, Reason::Bare);
    let mut raised = spec("c-1", "address.update", target());
    raised.raised_class = Some(SafetyClass::S3);
    assert_eq!(stage.refused(&op(bind(&context_id, raised, "a-1"))), Refusal::ConfirmationRequired);
    // Today's pack accepts no bare yes for S1 at all.
    stage.pack = Pack::Tight;
    let plain = spec("c-1", "address.update", target());
    assert_eq!(stage.refused(&op(bind(&context_id, plain.clone(), "a-1"))), Refusal::ConfirmationRequired);
    stage.pack = Pack::House;
    stage.done(&op(bind(&context_id, plain, "a-1")));
}

#[test]
fn a_bare_yes_needs_the_leave_of_todays_pack_too() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    stage.confirm(&context_id, "c-1", "address.update");
    stage.prompted({
        let mut request = ask(&context_id, options());
        request.supersede = true;
        request
    });
    stage.wait(2);
    stage.pack = Pack::Named;
    let number = stage.text("2").op();
    expect(&stage.verdict(&number), VerdictCode::Ambiguous, Reason::BareAnswerNotAllowed);
    let mut request = ask(&context_id, AskWhat::Confirmation(spec("c-2", "address.update", target())));
    request.supersede = true;
    stage.prompted(request);
    stage.wait(2);
    stage.pack = Pack::Tight;
    let yes = stage.text("yes").op();
    expect(&stage.verdict(&yes), VerdictCode::Ambiguous, Reason::BareAnswerNotAllowed);
}

#[test]
fn a_shorter_window_to_bind_counts_at_once() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    stage.confirmed(&context_id, "c-1", "order.cancel");
    stage.pack = Pack::Tight;
    stage.wait(10);
    let late = stage.refused(&op(bind(&context_id, spec("c-1", "order.cancel", target()), "a-1")));
    assert_eq!(late.code(), "confirmation_expired");
    stage.now -= 1;
    stage.done(&op(bind(&context_id, spec("c-1", "order.cancel", target()), "a-1")));
}

#[test]
fn a_computed_fingerprint_cannot_be_echoed_back() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    let asked = stage.confirmed(&context_id, "c-1", "address.update");
    let mut echo = spec("c-1", "address.update", target());
    echo.target = Target::Asserted(stage.item(&asked.id).command().unwrap().fingerprint.value.clone());
    assert_eq!(stage.refused(&op(bind(&context_id, echo, "a-1"))), Refusal::TargetMismatch);
}

#[test]
fn an_approval_that_was_asked_counts_whatever_the_command_is_called_later() {
    let mut stage = Stage::new(Pack::House);
    stage.put("boss", &["approver"], Some("p-boss"));
    let context_id = stage.greet();
    let asked = stage.approval(&context_id, "c-1", "wire.send");
    stage.done(&approve(&asked.id, "boss", false));
    let disguised = spec("c-1", "order.status", target());
    assert_eq!(stage.refused(&op(bind(&context_id, disguised, "a-1"))).code(), "approval_required");
}

#[test]
fn two_principals_that_turn_out_to_be_one_person_are_one_approval() {
    let mut stage = Stage::new(Pack::House);
    stage.put("boss", &["approver"], Some("p-1"));
    stage.put("boss-private", &["approver"], Some("p-2"));
    let context_id = stage.greet();
    stage.confirmed(&context_id, "c-1", "wire.big");
    let asked = stage.approval(&context_id, "c-1", "wire.big");
    stage.done(&approve(&asked.id, "boss", true));
    stage.done(&approve(&asked.id, "boss-private", true));
    stage.put("boss-private", &["approver"], Some("p-1"));
    let refusal = stage.refused(&op(bind(&context_id, spec("c-1", "wire.big", target()), "a-1")));
    assert_eq!(refusal.code(), "approval_required");
}

#[test]
fn an_agent_proposes_and_never_approves() {
    let mut stage = Stage::new(Pack::House);
    let mut agent = person("bot", &["approver"], None, "bot-1");
    agent.kind = PrincipalKind::Agent;
    stage.done(&Operation::PutPrincipal(agent));
    let context_id = stage.greet();
    let asked = stage.approval(&context_id, "c-1", "wire.send");
    assert_eq!(stage.refused(&approve(&asked.id, "bot", true)), Refusal::ApproverNotEntitled);
}

#[test]
fn a_binding_ends_whatever_else_was_granted_for_the_command() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    let first = stage.confirmed(&context_id, "c-1", "order.cancel");
    let second = stage.confirmed(&context_id, "c-1", "order.cancel");
    stage.done(&op(bind(&context_id, spec("c-1", "order.cancel", target()), "a-1")));
    assert!(matches!(stage.item(&second.id).state, ItemState::Spent { .. }));
    let ended = &stage.item(&first.id).state;
    assert!(matches!(ended, ItemState::Voided { reason: VoidReason::CommandEnded, .. }), "{ended:?}");
}

#[test]
fn an_attempt_replays_under_rules_that_have_become_stricter() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    let mut asserted = spec("c-1", "order.status", target());
    asserted.target = Target::Asserted("mine".to_owned());
    let operation = op(bind(&context_id, asserted, "a-1"));
    stage.done(&operation);
    let mut pack = crate::house::house_pack();
    pack.commands.iter_mut().filter(|entry| entry.name == "order.status").for_each(|entry| {
        entry.class = SafetyClass::S2;
    });
    stage.book = Some(crate::house::book_of(pack, "later"));
    assert!(matches!(stage.done(&operation), Answer::Bound { replayed: true, .. }));
    stage.done(&Operation::RecordResult(result("c-1", Outcome::Succeeded, None)));
}
