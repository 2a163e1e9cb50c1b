//! Commands whose name refuses elsewhere, requests that come while a question is open, and the locale that picks the words.

use cscp::domain::item::ItemState;
use cscp::domain::operation::{AskWhat, Operation};
use cscp::domain::prompt::{Button, ButtonAction};
use cscp::domain::verdict::{Next, Reason, VerdictCode};

use crate::harness::{Stage, expect};
use crate::house::Pack;
use crate::operations::{Asked, ask, spec, target};

const CANCEL: &str = "order.cancel";
const ADDRESS: &str = "address.update";

/// A stage on which a command is asked about, some seconds ago.
fn asked(command: &str) -> (Stage, Asked) {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    let asked = stage.confirm(&context_id, "c-1", command);
    stage.wait(3);
    (stage, asked)
}

/// What the words come to under a command, bare and quoting the question.
fn said(command: &str, text: &str) -> [(VerdictCode, Reason, Next); 2] {
    [false, true].map(|quotes| {
        let (mut stage, asked) = asked(command);
        let mut message = stage.text(text);
        if quotes {
            message = message.quoting(&asked.prompt);
        }
        let verdict = stage.verdict(&message.op());
        (verdict.code, verdict.reason, verdict.next)
    })
}

#[test]
fn words_that_name_the_command_are_asked_about_by_button() {
    let unclear = (VerdictCode::Ambiguous, Reason::NamesCommand, Next::AskAgain);
    for text in [
        "cancelar",
        "Cancela",
        "cancela!",
        "CANCELAAA",
        "cancele",
        "pode cancelar",
        "quero cancelar",
        "cancela por favor",
        "oi, cancela",
        "ok, cancela",
        "ok cancel",
        "👍 cancelar",
        "cancel",
        "cancel it",
        "Cancel it please",
        "please cancel",
        "cancélalo",
        "puede cancelar",
        "no, cancela",
        "não, cancela",
        "no cancel",
        "no, cancel it",
        "cancela tudo",
        "anular",
        "cancela isso",
        "cancela agora",
    ] {
        assert_eq!(said(CANCEL, text), [unclear; 2], "{text}");
    }
    for text in ["estorna", "reembolsar", "refund", "refund it please", "devolver"] {
        assert_eq!(said("refund.issue", text), [unclear; 2], "{text}");
    }
}

#[test]
fn a_clear_yes_or_no_beside_the_name_counts_as_such() {
    for text in [
        "sim, pode cancelar",
        "sim cancela",
        "Sim, cancelar!",
        "cancela sim",
        "sim, por favor, cancela",
        "bom dia, sim, pode cancelar",
        "yes, cancel it",
        "yes cancel",
        "sure, cancel it please",
        "sí, cancélalo",
        "sí, cancela",
        "claro, puede cancelar",
        "sim",
        "yes",
        "sim, quero cancelar",
    ] {
        let [_, quoted] = said(CANCEL, text);
        assert_eq!((quoted.0, quoted.1), (VerdictCode::Confirmed, Reason::Quote), "{text}");
    }
    for text in [
        "não",
        "no",
        "don't cancel",
        "please don't cancel it",
        "não quero cancelar",
        "no quiero cancelar",
        "não, obrigado",
    ] {
        let [_, quoted] = said(CANCEL, text);
        assert_eq!((quoted.0, quoted.1), (VerdictCode::Declined, Reason::Quote), "{text}");
    }
}

/// Whatever else is said beside the name settles nothing.
#[test]
fn what_says_more_beside_the_name_neither_confirms_nor_declines() {
    for text in [
        "não cancela",
        "no cancelar",
        "sim, cancela amanhã",
        "yes cancel the other one",
        "sim, mas não cancela",
        "cancela não",
        "cancela sim?",
        "sim, cancelar o quê?",
        "yes, cancel...",
        "~sim, cancela~",
        "eu disse sim, cancela o outro",
        "se cancelar, sim",
        "yes cancel order 456",
        "sim sim não cancela",
        "claro que cancela se for grátis",
        "cancelou?",
        "vou cancelar amanhã",
    ] {
        for (code, ..) in said(CANCEL, text) {
            assert!(!code.is_acceptance(), "{text}: {code:?}");
        }
    }
}

/// A yes to one thing is none to stopping it, to stopping everything, or to stopping what is about to be stopped.
#[test]
fn a_yes_beside_words_that_stop_something_else_is_no_yes() {
    for command in [CANCEL, ADDRESS, "refund.issue"] {
        for text in [
            "yes, stop the cancellation",
            "yes stop it all",
            "sim, cancela tudo",
            "sim, pare o cancelamento",
            "sí, cancela todo",
            "sí, detén la cancelación",
        ] {
            for (code, ..) in said(command, text) {
                assert!(!code.is_acceptance(), "{command}: {text}: {code:?}");
            }
        }
    }
}

/// What has happened is news, not a yes to doing it.
#[test]
fn a_yes_beside_what_has_happened_is_no_yes() {
    let unclear = (VerdictCode::Ambiguous, Reason::NamesCommand, Next::AskAgain);
    for text in [
        "yes cancelled",
        "yes cancelled thanks",
        "definitely cancelled",
        "sim, cancelado",
        "sí, cancelado",
        "claro cancelado",
        "cancelado",
        "sí, canceló",
        "sí, cancelé",
        "lamentablemente sí canceló",
        // An apology between a yes and the name takes the yes back.
        "yes. sorry, cancel that",
        "sim, desculpa, cancela isso",
        "sí, perdón, cancélalo",
    ] {
        assert_eq!(said(CANCEL, text), [unclear; 2], "{text}");
    }
}

/// The words of a command count in every language, and what says that it has happened does, too.
#[test]
fn what_has_happened_is_heard_in_every_language() {
    for (text, locale) in [
        ("ya cancelé", "en-US"),
        ("ya cancelado", "en-US"),
        ("ya cancelo", "en-US"),
        ("ya cancela", "en-US"),
        ("yes, cancelled", "pt-BR"),
        ("yes, cancelled", "es-MX"),
        ("sim, cancelado", "en-US"),
    ] {
        let (mut stage, asked) = asked(CANCEL);
        let mut message = stage.text(text).quoting(&asked.prompt);
        message.0.locale = Some(locale.to_owned());
        let verdict = stage.verdict(&message.op());
        assert!(!verdict.code.is_acceptance(), "{text} in {locale}: {verdict:?}");
    }
}

/// "Send it" and "looks good" may mean the order that is to be cancelled.
#[test]
fn what_lets_things_go_on_is_no_yes_to_undoing_them() {
    let unclear = (VerdictCode::Ambiguous, Reason::NamesCommand, Next::AskAgain);
    for text in [
        "pode mandar",
        "tá bom, pode mandar",
        "pode finalizar",
        "tá tudo certo",
        "está todo bien",
        "puede continuar",
        "looks good",
        "ok, looks good to me",
        "that's great",
    ] {
        assert_eq!(said(CANCEL, text), [unclear; 2], "{text}");
        let [_, elsewhere] = said(ADDRESS, text);
        assert_eq!(elsewhere.0, VerdictCode::Confirmed, "{text}");
    }
    let [_, clear] = said(CANCEL, "sim, pode continuar");
    assert_eq!(clear.0, VerdictCode::Confirmed);
}

/// A Spanish *si* without its accent stays a condition beside the name.
#[test]
fn a_condition_beside_the_name_is_no_yes() {
    for text in ["que si cancelo", "que si cancela", "que si puedes cancelar", "puedes cancelar si", "cancela si"] {
        for (code, ..) in said(CANCEL, text) {
            assert!(!code.is_acceptance(), "{text}: {code:?}");
        }
    }
}

/// Elsewhere the same words refuse, as before.
#[test]
fn the_words_refuse_where_they_name_nothing() {
    for text in ["cancelar", "pode cancelar", "cancel it", "cancélalo", "stop"] {
        let [bare, quoted] = said(ADDRESS, text);
        assert_eq!((bare.0, quoted.0), (VerdictCode::Declined, VerdictCode::Declined), "{text}");
    }
}

#[test]
fn a_button_may_name_the_command_if_it_means_yes() {
    for (command, yes, no, fits) in [
        (CANCEL, "Cancelar", "Manter", true),
        (CANCEL, "Pode cancelar", "Não", true),
        (CANCEL, "Sim, cancelar", "Não cancelar", true),
        (CANCEL, "Não cancelar", "Manter", false),
        (CANCEL, "Sim", "Cancelar", false),
        (CANCEL, "Sim", "Sim, cancelar", false),
        (ADDRESS, "Cancelar", "Manter", false),
        (ADDRESS, "Sim", "Cancelar", true),
    ] {
        let mut stage = Stage::new(Pack::House);
        let context_id = stage.greet();
        let mut ask = ask(&context_id, AskWhat::Confirmation(spec("c-1", command, target())));
        ask.prompt.buttons = vec![
            Button { title: yes.to_owned(), action: ButtonAction::Accept },
            Button { title: no.to_owned(), action: ButtonAction::Refuse },
        ];
        let result = stage.decide(&Operation::Ask(Box::new(ask))).result;
        assert_eq!(result.is_ok(), fits, "{command}: {yes} / {no}: {result:?}");
    }
}

/// The label of the yes confirms when it is tapped and not when it is typed, and takes nothing back.
#[test]
fn the_name_on_a_button_confirms_and_typed_it_does_not() {
    let (mut stage, asked) = asked(CANCEL);
    let typed = stage.text("Cancelar").quoting(&asked.prompt);
    expect(&stage.verdict(&typed.op()), VerdictCode::Ambiguous, Reason::NamesCommand);
    let mut tap = stage.tap(&asked.yes());
    tap.0.text = Some("Cancelar".to_owned());
    let verdict = stage.verdict(&tap.op());
    assert_eq!(verdict.code, VerdictCode::Confirmed, "words that name the command are no objection to it: {verdict:?}");
    stage.wait(2);
    let again = stage.text("sim, pode cancelar").quoting(&asked.prompt);
    expect(&stage.verdict(&again.op()), VerdictCode::AlreadyDecided, Reason::AlreadyGranted);
    let bare = stage.text("sim, pode cancelar");
    let _said = stage.verdict(&bare.op());
    assert!(matches!(stage.item(&asked.id).state, ItemState::Granted { .. }));
    // What stops is heard more easily than what starts.
    let stop = stage.text("não, não cancela");
    assert_eq!(stage.verdict(&stop.op()).code, VerdictCode::Declined);
}

#[test]
fn a_request_of_their_own_leaves_the_question_to_taps_and_quotes() {
    for text in [
        "cancel order 456",
        "cancela o pedido 33",
        "quero cancelar o pedido 33",
        "oi, cancela a compra de ontem",
        "cancelar pedido 12",
        "anula la compra 7",
        "can you cancel order 456?",
        "stop sending me promos",
        "desisto do pedido 8",
        "dar de baja mi línea",
    ] {
        for command in [ADDRESS, "refund.issue"] {
            for (code, reason, next) in said(command, text) {
                assert_eq!(
                    (code, reason, next),
                    (VerdictCode::NotAnAnswer, Reason::NewRequest, Next::Route),
                    "{command}: {text}"
                );
            }
        }
        let (mut stage, asked) = asked(ADDRESS);
        let request = stage.text(text);
        let _routed = stage.verdict(&request.op());
        assert!(stage.item(&asked.id).is_open());
        stage.wait(2);
        let bare = stage.text("sim");
        expect(&stage.verdict(&bare.op()), VerdictCode::Ambiguous, Reason::OtherQuestionSince);
        let quote = stage.text("sim").quoting(&asked.prompt);
        expect(&stage.verdict(&quote.op()), VerdictCode::Confirmed, Reason::Quote);
    }
    let (mut stage, asked) = asked(ADDRESS);
    let request = stage.text("cancel order 456");
    let _routed = stage.verdict(&request.op());
    stage.wait(2);
    let tap = stage.tap(&asked.yes());
    assert_eq!(stage.verdict(&tap.op()).code, VerdictCode::Confirmed);
}

#[test]
fn what_only_begins_like_a_request_is_none() {
    for text in
        ["cancela, mas só amanhã", "cancel it, yes", "não cancela o pedido", "cancel if it rains", "cancela sim"]
    {
        for (_, reason, _) in said(ADDRESS, text) {
            assert_ne!(reason, Reason::NewRequest, "{text}");
        }
    }
    for text in ["cancela", "cancela tudo", "cancel it now", "cancela isso agora por favor"] {
        assert_eq!(said(ADDRESS, text)[0].0, VerdictCode::Declined, "{text}");
    }
}

#[test]
fn the_locale_picks_the_words_that_answer() {
    for (locale, text, code) in [
        (None, "y", VerdictCode::NotAnAnswer),
        (Some("en"), "y", VerdictCode::Confirmed),
        (Some("en-IN"), "Y", VerdictCode::Confirmed),
        (Some("EN_us"), "y", VerdictCode::Confirmed),
        (Some("es-MX"), "y", VerdictCode::NotAnAnswer),
        (Some("pt-BR"), "tá", VerdictCode::Confirmed),
        (Some("pt"), "tá", VerdictCode::Confirmed),
        (Some("en-GB"), "ta", VerdictCode::NotAnAnswer),
        (None, "tá", VerdictCode::NotAnAnswer),
        (Some("es"), "va", VerdictCode::Confirmed),
        (None, "va", VerdictCode::NotAnAnswer),
        (Some("pt-BR"), "no", VerdictCode::NotAnAnswer),
        (None, "no", VerdictCode::Declined),
        (Some("en"), "si", VerdictCode::NotAnAnswer),
        (Some("fr"), "sim", VerdictCode::Confirmed),
        (Some("fr"), "y", VerdictCode::NotAnAnswer),
        (Some(""), "sim", VerdictCode::Confirmed),
    ] {
        let (mut stage, _) = asked(ADDRESS);
        let mut message = stage.text(text);
        message.0.locale = locale.map(str::to_owned);
        assert_eq!(stage.verdict(&message.op()).code, code, "{locale:?}: {text}");
    }
}

/// What stops is heard in every language, whatever the locale says.
#[test]
fn the_locale_keeps_nobody_from_stopping() {
    for text in ["não", "no", "espera", "cancela", "wait", "me arrepentí"] {
        for locale in ["en", "es", "pt-BR", "fr"] {
            let (mut stage, asked) = asked(ADDRESS);
            let yes = stage.tap(&asked.yes());
            assert_eq!(stage.verdict(&yes.op()).code, VerdictCode::Confirmed);
            stage.wait(2);
            let mut stop = stage.text(text);
            stop.0.locale = Some(locale.to_owned());
            assert_eq!(stage.verdict(&stop.op()).code, VerdictCode::Declined, "{locale}: {text}");
        }
    }
}
