//! Ways to a wrong yes that a review found, each by its story.

use cscp::domain::command::Outcome;
use cscp::domain::event::Event;
use cscp::domain::message::{IdentityChange, MessageKind};
use cscp::domain::operation::{AskWhat, Operation};
use cscp::domain::prompt::{Button, ButtonAction};
use cscp::domain::refusal::Refusal;
use cscp::domain::verdict::{Next, Reason, VerdictCode};

use crate::harness::{Stage, expect};
use crate::house::Pack;
use crate::operations::{approve, ask, attach, bind, op, person, result, spec, target};

#[test]
fn a_foreign_button_that_quotes_our_prompt_confirms_nothing_and_a_bare_label_does() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    let asked = stage.confirm(&context_id, "c-1", "order.cancel");
    stage.wait(2);
    let mut foreign = stage.message(MessageKind::Button).quoting(&asked.prompt);
    foreign.0.button_id = Some("other-flow:delete-all".to_owned());
    foreign.0.text = Some("Sim".to_owned());
    expect(&stage.verdict(&foreign.op()), VerdictCode::Ambiguous, Reason::ForeignButton);
    assert!(stage.item(&asked.id).is_open());
    let mut label = stage.message(MessageKind::Button).quoting(&asked.prompt);
    label.0.button_id = Some("Sim".to_owned());
    label.0.text = Some("Sim".to_owned());
    expect(&stage.verdict(&label.op()), VerdictCode::Confirmed, Reason::Quote);
}

#[test]
fn a_title_that_is_asked_about_or_struck_out_chooses_nothing() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    let titles = ["Conta corrente", "Poupança"].map(|title| (title.to_owned(), title.into()));
    let asked = stage.prompted(ask(&context_id, AskWhat::Disambiguation(titles.to_vec())));
    stage.wait(2);
    for text in ["Conta corrente?", "conta corrente ?!", "~Conta corrente~", "> conta corrente", "!conta corrente"] {
        let said = stage.text(text).op();
        assert_ne!(stage.verdict(&said).code, VerdictCode::Selected, "{text}");
        assert!(stage.item(&asked.id).is_open(), "{text}");
    }
    let said = stage.text("conta CORRENTE").op();
    expect(&stage.verdict(&said), VerdictCode::Selected, Reason::Bare);
}

#[test]
fn a_button_says_what_it_does_and_no_two_say_the_same() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    let button = |title: &str, action| Button { title: title.to_owned(), action };
    let (yes, no) = (ButtonAction::Accept, ButtonAction::Refuse);
    for buttons in [
        vec![button("Sim", yes), button("sim!", no)],
        vec![button("Não", yes)],
        vec![button("Vamos", yes), button("Sim", no)],
        vec![button("Cancelar pedido", yes), button("Cancelar  pedido", yes)],
    ] {
        let mut request = ask(&context_id, AskWhat::Confirmation(spec("c-1", "order.cancel", target())));
        request.prompt.buttons = buttons.clone();
        let refusal = stage.refused(&Operation::Ask(Box::new(request)));
        assert!(matches!(refusal, Refusal::Prompt(_)), "{buttons:?}: {refusal:?}");
    }
}

#[test]
fn a_message_that_is_known_as_something_else_is_no_prompt() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    let newsletter = stage.outbound(None);
    let hello = stage.text("good morning to you all");
    let ids = [newsletter.0.message_id.as_str().to_owned(), hello.0.message_id.as_str().to_owned()];
    stage.done(&newsletter.op());
    stage.done(&hello.op());
    let asked = stage.asked(ask(&context_id, AskWhat::Confirmation(spec("c-1", "order.cancel", target()))));
    for id in &ids {
        assert_eq!(stage.refused(&attach(&asked.id, id)), Refusal::PromptAlreadyAttached, "{id}");
    }
    let again = stage.outbound(Some(&asked.id));
    let id = again.0.message_id.as_str().to_owned();
    stage.done(&again.op());
    stage.done(&attach(&asked.id, &id));
}

#[test]
fn a_number_that_comes_where_none_was_changes_the_identity() {
    let mut stage = Stage::new(Pack::House);
    let put = |stage: &mut Stage, phone: Option<&str>| {
        let mut request = person("ana", &[], None, phone.unwrap_or("+1 202 555 0100"));
        if phone.is_none() {
            request.aliases.clear();
        }
        stage.done(&Operation::PutPrincipal(request));
    };
    put(&mut stage, Some("+1 202 555 0100"));
    put(&mut stage, None);
    let context_id = stage.greet();
    let asked = stage.confirm(&context_id, "c-1", "order.cancel");
    put(&mut stage, Some("+1 202 555 0199"));
    stage.wait(2);
    let tap = stage.tap(&asked.yes()).op();
    expect(&stage.verdict(&tap), VerdictCode::Superseded, Reason::IdentityChanged);
}

#[test]
fn whoever_holds_an_approvers_number_now_is_no_approver_until_registered_again() {
    let mut stage = Stage::new(Pack::House);
    stage.put("boss", &["approver"], Some("p-boss"));
    let context_id = stage.greet();
    let asked = stage.approval(&context_id, "c-1", "wire.send");
    stage.wait(2);
    let news = stage.news(IdentityChange::UserChangedNumber).of("boss").in_conversation("conv-b").op();
    stage.done(&news);
    let tap = stage.tap(&asked.yes()).of("boss").in_conversation("conv-b").op();
    let decision = stage.decide(&tap);
    assert!(decision.events.iter().any(|recorded| matches!(recorded.event, Event::DecisionRefused { .. })));
    assert_eq!(stage.refused(&approve(&asked.id, "boss", true)), Refusal::ApproverNotEntitled);
    stage.put("boss", &["approver"], Some("p-boss"));
    stage.done(&approve(&asked.id, "boss", true));
}

#[test]
fn a_typed_no_stops_what_a_button_granted() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    stage.confirmed(&context_id, "c-1", "order.cancel");
    stage.wait(2);
    let no = stage.text("não").op();
    expect(&stage.verdict(&no), VerdictCode::Declined, Reason::TakenBack);
    let bind = op(bind(&context_id, spec("c-1", "order.cancel", target()), "a-1"));
    assert_eq!(stage.refused(&bind), Refusal::ConfirmationRequired);
}

#[test]
fn a_tap_whose_label_says_the_opposite_is_no_answer() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    let asked = stage.confirm(&context_id, "c-1", "order.cancel");
    stage.wait(2);
    for (id, label) in [(asked.yes(), "Não"), (asked.no(), "Sim")] {
        let mut tap = stage.tap(&id);
        tap.0.text = Some(label.to_owned());
        expect(&stage.verdict(&tap.op()), VerdictCode::Ambiguous, Reason::QualifiedAnswer);
        assert!(stage.item(&asked.id).is_open());
    }
}

#[test]
fn a_command_that_needs_both_is_told_what_is_left() {
    let mut stage = Stage::new(Pack::House);
    stage.put("boss", &["approver"], Some("p-boss"));
    let context_id = stage.greet();
    let approval = stage.approval(&context_id, "c-1", "wire.send");
    stage.wait(2);
    let tap = stage.tap(&approval.yes()).of("boss").in_conversation("conv-b").op();
    assert_eq!(stage.verdict(&tap).next, Next::AskConfirmation);
    let confirmation = stage.confirm(&context_id, "c-1", "wire.send");
    stage.wait(2);
    let tap = stage.tap(&confirmation.yes()).op();
    assert_eq!(stage.verdict(&tap).next, Next::BindCommand);
    stage.done(&op(bind(&context_id, spec("c-1", "wire.send", target()), "a-1")));
    let confirmation = stage.confirm(&context_id, "c-2", "wire.send");
    stage.wait(2);
    let tap = stage.tap(&confirmation.yes()).op();
    assert_eq!(stage.verdict(&tap).next, Next::AwaitApprovals);
}

#[test]
fn an_end_is_not_undone_by_an_earlier_stage_that_arrives_late() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    stage.confirmed(&context_id, "c-1", "order.cancel");
    stage.done(&op(bind(&context_id, spec("c-1", "order.cancel", target()), "a-1")));
    for outcome in [Outcome::Succeeded, Outcome::InProgress] {
        stage.done(&Operation::RecordResult(result("c-1", outcome, None)));
    }
    assert_eq!(stage.context(&context_id).slots["last_result"]["outcome"], "succeeded");
    let command = stage.world.commands.values().next().unwrap();
    assert_eq!((command.outcome(), command.results.len()), (Outcome::Succeeded, 2));
}
