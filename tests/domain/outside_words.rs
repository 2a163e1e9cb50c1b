//! What was found from outside about words, labels and the order in which they come, as cases of their classes.

use cscp::domain::item::{ItemState, VoidReason};
use cscp::domain::message::{MessageKind, Transcript};
use cscp::domain::operation::{AskWhat, Operation};
use cscp::domain::prompt::{Button, ButtonAction, ShownPrompt};
use cscp::domain::time::Timestamp;
use cscp::domain::verdict::{Reason, VerdictCode};

use crate::harness::{SECOND, Stage, expect};
use crate::house::Pack;
use crate::operations::{Asked, ask, bind, op, spec, target};

fn at(stage: &Stage, seconds: i64) -> Timestamp {
    Timestamp::from_micros(stage.now + seconds * SECOND)
}

fn is_taken_back(stage: &Stage, asked: &Asked) -> bool {
    matches!(stage.item(&asked.id).state, ItemState::Voided { reason: VoidReason::TakenBack, .. })
}

/// A label whose reader sees something else than its button does is refused before it is shown.
#[test]
fn a_label_says_what_its_button_does() {
    for (title, fits) in [
        ("Sim", true),
        ("Confirmar", true),
        ("👍🏽", true),
        ("👨\u{200D}👩\u{200D}👧 Sim", true),
        // The yes of a command that calls something off.
        ("Cancelar pedido", true),
        ("Sí, cancelar", true),
        ("Postpone delivery", true),
        ("Pausar assinatura", true),
        // "No" is "in the" in Portuguese, and "sem" says what is left out.
        ("Pagar no Pix", true),
        ("No cartão", true),
        ("Sem cebola", true),
        ("No-fee transfer", true),
        ("Nº 12", true),
        ("N\u{200B}o", false),
        ("N\u{AD}o", false),
        ("No\u{FE0F}", false),
        ("\u{202E}oãN", false),
        ("\u{3164}", false),
        ("Não", false),
        ("Do not confirm", false),
        ("Quero não", false),
        ("Ainda não", false),
        ("Espera", false),
        ("Wait", false),
    ] {
        let mut stage = Stage::new(Pack::House);
        let context_id = stage.greet();
        let mut ask = ask(&context_id, AskWhat::Confirmation(spec("c-1", "order.cancel", target())));
        ask.prompt.buttons = vec![
            Button { title: title.to_owned(), action: ButtonAction::Accept },
            Button { title: "Voltar".to_owned(), action: ButtonAction::Refuse },
        ];
        let asked = stage.decide(&Operation::Ask(Box::new(ask))).result;
        assert_eq!(asked.is_ok(), fits, "{title:?}: {asked:?}");
    }
    for (text, fits) in
        [("A\nB\tC", true), ("\u{2067}שלום\u{2069}", true), ("a\0b", false), ("\u{1B}[2J", false), ("\u{202E}a", false)]
    {
        let prompt = ShownPrompt { text: text.to_owned(), buttons: Vec::new() };
        assert_eq!(prompt.check(false).is_ok(), fits, "{text:?}");
    }
}

/// A tap whose label says something else than its button does confirms nothing.
#[test]
fn a_tap_counts_only_with_a_label_that_says_so() {
    for (text, counts) in [
        ("", true),
        ("Yes", true),
        ("Cancelar pedido", true),
        ("espera", false),
        ("can\u{200B}cel", false),
        ("N\u{200B}o", false),
        ("não\0", false),
        ("cancela não", false),
        ("Pagar no Pix", true),
    ] {
        let mut stage = Stage::new(Pack::House);
        let context_id = stage.greet();
        let asked = stage.confirm(&context_id, "c-1", "order.cancel");
        stage.wait(2);
        let mut tap = stage.tap(&asked.yes());
        tap.0.text = Some(text.to_owned());
        let verdict = stage.verdict(&tap.op());
        assert_eq!(verdict.code == VerdictCode::Confirmed, counts, "{text:?}: {verdict:?}");
    }
}

/// The yes of one question takes nothing back, whatever its label calls off: not its own when it is tapped twice, and not
/// the yes to another one.
#[test]
fn a_yes_button_stops_nothing() {
    for label in ["Sim, cancelar", "Cancelar pedido", "Yes, cancel it", "Undo", "❌ Cancelar pedido"] {
        let mut stage = Stage::new(Pack::House);
        let context_id = stage.greet();
        let given = stage.confirm(&context_id, "c-1", "order.cancel");
        stage.wait(2);
        let mut tap = |asked: &Asked| {
            let mut tap = stage.tap(&asked.yes());
            tap.0.text = Some(label.to_owned());
            stage.verdict(&tap.op())
        };
        let first = tap(&given);
        let again = tap(&given);
        assert_eq!(first.code, VerdictCode::Confirmed, "{label}");
        expect(&again, VerdictCode::AlreadyDecided, Reason::AlreadyGranted);
        let other = stage.confirm(&context_id, "c-2", "order.cancel");
        stage.wait(2);
        let mut tap = stage.tap(&other.yes());
        tap.0.text = Some(label.to_owned());
        stage.done(&tap.op());
        assert!(!is_taken_back(&stage, &given), "{label}");
    }
}

/// A no to the open question that calls everything off is about an earlier yes, too; a plain no is about the question.
#[test]
fn a_call_off_is_about_more_than_the_open_question() {
    for (words, everything) in
        [("cancel everything", true), ("cancela tudo", true), ("não", false), ("no thanks", false)]
    {
        let mut stage = Stage::new(Pack::House);
        let context_id = stage.greet();
        let given = stage.confirmed(&context_id, "c-1", "order.cancel");
        let open = stage.confirm(&context_id, "c-2", "address.update");
        stage.wait(2);
        let no = stage.text(words).op();
        let verdict = stage.verdict(&no);
        assert_eq!(verdict.code, VerdictCode::Declined, "{words}");
        assert_eq!(stage.item(&open.id).is_open(), everything, "what stops the one leaves the other open: {words}");
        assert_eq!(is_taken_back(&stage, &given), everything, "{words}: {verdict:?}");
        let bound = stage.decide(&op(bind(&context_id, spec("c-1", "order.cancel", target()), "a-1"))).result;
        assert_eq!(bound.is_err(), everything, "{words}");
    }
}

/// What was typed to a voice note is read with what was spoken.
#[test]
fn a_voice_note_is_read_with_what_was_typed_to_it() {
    for (typed, confirms) in [("", true), ("sim", true), ("não", false), ("espera", false), ("talvez", false)] {
        let mut stage = Stage::new(Pack::Loose);
        let context_id = stage.greet();
        let asked = stage.confirm(&context_id, "c-1", "address.update");
        stage.wait(2);
        let mut voice = stage.voice("sim", 0.95).quoting(&asked.prompt);
        voice.0.text = Some(typed.to_owned());
        assert_eq!(stage.verdict(&voice.op()).code == VerdictCode::Confirmed, confirms, "{typed:?}");
        if confirms {
            stage.wait(2);
            let mut stop = stage.voice("sim", 0.95);
            stop.0.text = Some("não, cancela".to_owned());
            expect(&stage.verdict(&stop.op()), VerdictCode::Declined, Reason::TakenBack);
        }
    }
}

/// There is one reaction of a person on a message: the one that was put there last.
#[test]
fn a_reaction_that_was_replaced_counts_in_no_order() {
    for last in ["❤️", "😡", "👎", ""] {
        for in_order in [true, false] {
            let mut stage = Stage::new(Pack::Loose);
            let context_id = stage.greet();
            let asked = stage.confirm(&context_id, "c-1", "address.update");
            stage.wait(9);
            let (earlier, later) = (at(&stage, -5), at(&stage, -2));
            let mut react = |emoji: &str, sent| {
                let mut reaction = stage.message(MessageKind::Reaction);
                reaction.0.text = Some(emoji.to_owned());
                reaction.quoting(&asked.prompt).sent(sent).op()
            };
            let (yes, other) = (react("👍", earlier), react(last, later));
            let (first, second) = if in_order { (&yes, &other) } else { (&other, &yes) };
            stage.done(first);
            stage.done(second);
            let bound = stage.decide(&op(bind(&context_id, spec("c-1", "address.update", target()), "a-1"))).result;
            assert!(bound.is_err(), "{last:?}, in order: {in_order}");
        }
    }
}

/// When a message from the future was sent is not known: what was said against it before it came is taken for the later word.
#[test]
fn a_yes_from_the_future_is_later_than_nothing() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    let asked = stage.confirm(&context_id, "c-1", "order.cancel");
    stage.wait(2);
    let stop = stage.text("espera").op();
    stage.done(&stop);
    stage.wait(1);
    let future = at(&stage, 500);
    let yes = stage.tap(&asked.yes()).sent(future).op();
    expect(&stage.verdict(&yes), VerdictCode::Ambiguous, Reason::TakenBack);
}

/// The longest transcript is heard to its end.
#[test]
fn a_stop_is_heard_at_the_end_of_the_longest_transcript() {
    for length in [100, 5_000, 65_000] {
        let mut stage = Stage::new(Pack::House);
        let context_id = stage.greet();
        let asked = stage.confirmed(&context_id, "c-1", "order.cancel");
        stage.wait(2);
        let mut text = "a encomenda chegou bem e ".repeat(length / 25);
        text.push_str("cancela, não quero");
        let mut voice = stage.message(MessageKind::Audio);
        voice.0.transcript = Some(Transcript { text, confidence: 0.9 });
        stage.done(&voice.op());
        assert!(is_taken_back(&stage, &asked), "{length}");
    }
}

/// Notices that repeat one deletion make no room among those that are remembered.
#[test]
fn a_deletion_that_is_told_again_and_again_pushes_nothing_out() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    let asked = stage.confirm(&context_id, "c-1", "order.cancel");
    stage.wait(2);
    let yes = stage.tap(&asked.yes());
    let deletion = stage.message(MessageKind::Revoke).quoting(yes.0.message_id.as_str()).op();
    stage.done(&deletion);
    for _ in 0..40 {
        let again = stage.message(MessageKind::Revoke).of("eve").quoting("wamid.unknown").op();
        stage.done(&again);
    }
    expect(&stage.verdict(&yes.op()), VerdictCode::Ambiguous, Reason::TakenBack);
}

/// A yes with a condition, after a plain one, puts the condition on it.
#[test]
fn a_condition_after_a_yes_postpones_it() {
    for (words, stops) in [
        ("sim mas amanhã", true),
        ("yes if it's free", true),
        ("yes but tomorrow", true),
        ("sí pero mañana", true),
        ("sim", false),
        ("sim obrigado", false),
    ] {
        let mut stage = Stage::new(Pack::House);
        let context_id = stage.greet();
        let asked = stage.confirmed(&context_id, "c-1", "order.cancel");
        stage.wait(2);
        let said = stage.text(words).op();
        stage.done(&said);
        assert_eq!(is_taken_back(&stage, &asked), stops, "{words}");
    }
}
