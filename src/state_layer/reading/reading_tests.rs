//! Readings of single sentences.

use proptest::prelude::*;

use super::*;
use crate::domain::id::ReadingId;
use crate::domain::time::Timestamp;

fn read_as(speaker: &str, text: &str) -> Reading {
    let at = Timestamp::from_micros(0);
    let utterance = Utterance { speaker: speaker.to_owned(), text: text.to_owned(), at, authority: None };
    read(&utterance, ReadingId::parse("rdg_01890000000070008000000000000001").unwrap(), at, Digest::from_bytes([7; 32]))
}

#[test]
fn stances_in_three_languages() {
    for (text, stance) in [
        ("The deadline is Thursday.", Stance::Assertion),
        ("o prazo é quinta", Stance::Assertion),
        ("el plazo es el jueves", Stance::Assertion),
        ("Is the deadline Thursday?", Stance::Question),
        ("o prazo é quinta?", Stance::Question),
        ("¿el plazo es el jueves?", Stance::Question),
        ("If it rains, the deadline is Thursday", Stance::Hypothetical),
        ("se chover, o prazo é quinta", Stance::Hypothetical),
        ("si llueve, el plazo es el jueves", Stance::Hypothetical),
        ("maybe the deadline is Thursday", Stance::Draft),
        ("[DRAFT] the deadline is Thursday", Stance::Draft),
        ("acho que o prazo é quinta", Stance::Draft),
        ("ojalá el plazo sea el jueves", Stance::Draft),
        ("last month the deadline was Thursday", Stance::Narrative),
        ("mês passado o prazo foi quinta", Stance::Narrative),
        ("el mes pasado el plazo fue el jueves", Stance::Narrative),
        ("the deadline is Thursday just this once", Stance::Exception),
        ("só dessa vez o prazo é quinta", Stance::Exception),
        ("por esta vez el plazo es el jueves", Stance::Exception),
        ("the deadline is still Thursday", Stance::Confirmation),
        ("o prazo continua sendo quinta", Stance::Confirmation),
        ("el plazo sigue siendo el jueves", Stance::Confirmation),
        ("don't move the deadline", Stance::Confirmation),
        ("[Vendor] the deadline is Thursday", Stance::NotCounted),
    ] {
        let reading = read_as("user", text);
        assert_eq!(reading.stance, stance, "{text}");
        assert_eq!(reading.claims.is_empty(), stance != Stance::Assertion, "{text}");
    }
    assert_eq!(read_as("assistant", "The deadline is Thursday.").stance, Stance::NotCounted);
}

#[test]
fn a_claim_holds_what_is_new_what_is_old_and_what_it_is_about() {
    let reading = read_as("user", "Actually, the deadline is Thursday, not Friday.");
    let [claim] = reading.claims.as_slice() else { panic!("{reading:?}") };
    assert_eq!(claim.cue.as_deref(), Some("not_but"));
    assert_eq!(claim.new.as_deref(), Some("Thursday"));
    assert_eq!(claim.new_value.as_ref().map(|(_, form)| form.as_str()), Some("weekday-4"));
    assert_eq!(claim.old_value.as_ref().map(|(_, form)| form.as_str()), Some("weekday-5"));
    assert!(claim.about.iter().any(|term| term == "#deadline"), "{claim:?}");
}

#[test]
fn found_a_sentence_of_many_words_is_the_head_of_what_replaces_it_in_part() {
    let text = "𘠀\"A[𞊐is moved cancel em vez de . não now R$ instead of ";
    assert!(read_as("user", text).claims.iter().all(|claim| claim.head.len() <= 8));
}

proptest! {
    #[test]
    fn invariant_a_reading_is_small_and_sorted_whatever_is_said(text in "(\\PC{0,12}|não |no, |, |is |moved |to |para |em vez de |instead of |[0-9]{1,5}|R\\$ |é |a las |cancel |now |Ana |\\. |\\? ){0,40}") {
        let reading = read_as("user", &text);
        prop_assert!(reading.claims.len() <= 8);
        for claim in &reading.claims {
            prop_assert!(claim.about.len() <= 24 && claim.about.is_sorted());
            prop_assert!(claim.names.len() <= 8 && claim.others.len() <= 8 && claim.head.len() <= 8);
            prop_assert!(claim.act == Act::Cancel || claim.new.is_some());
        }
        prop_assert_eq!(&reading, &read_as("user", &text));
    }
}

/// Who knows what may have been said, and not the salt, finds out nothing; and what is said again is still known as such.
#[test]
fn what_was_said_cannot_be_guessed_from_its_digest() {
    let said = Utterance {
        speaker: "user".to_owned(),
        text: "my document number is 529982247".to_owned(),
        at: Timestamp::from_micros(0),
        authority: None,
    };
    let id = || ReadingId::parse("rdg_01890000000070008000000000000001").unwrap();
    let reading = |salt: u8| read(&said, id(), said.at, Digest::from_bytes([salt; 32]));
    let (one, other) = (reading(1), reading(2));
    assert!(one.echo.is_some() && one.salt.is_some());
    assert_ne!(one.echo, other.echo, "two readings of one text have nothing in common");
    assert_ne!(one.echo, super::claims::echo_of(&said.text, None));
    assert_eq!(one.echo, super::claims::echo_of(&said.text, one.salt.as_ref()));
}
