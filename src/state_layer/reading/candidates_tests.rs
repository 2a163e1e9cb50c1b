//! The sieve before the comparison changes no outcome.

use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::Value;

use super::super::bearing::{Heard, bearings};
use super::super::{Bearing, Reading, Utterance, read};
use super::*;
use crate::domain::canonical::Digest;
use crate::domain::id::{FactUid, ReadingId};
use crate::domain::time::Timestamp;
use crate::state_layer::authority::AuthorityOrder;
use crate::state_layer::fact::{FactScope, Former, MemoryType, Source, Standing};

/// Utterances with the facts that they were written for.
const FIXTURES: &[&str] = &[
    include_str!("../../../tests/fixtures/utterances/dev.en.jsonl"),
    include_str!("../../../tests/fixtures/utterances/dev.es.jsonl"),
    include_str!("../../../tests/fixtures/utterances/dev.pt.jsonl"),
    include_str!("../../../tests/fixtures/utterances/more.en.jsonl"),
    include_str!("../../../tests/fixtures/utterances/more.es.jsonl"),
    include_str!("../../../tests/fixtures/utterances/more.pt.jsonl"),
    include_str!("../../../tests/fixtures/utterances/second.en.jsonl"),
    include_str!("../../../tests/fixtures/utterances/second.es.jsonl"),
    include_str!("../../../tests/fixtures/utterances/second.pt.jsonl"),
    include_str!("../../../tests/fixtures/utterances/third.en.jsonl"),
    include_str!("../../../tests/fixtures/utterances/third.es.jsonl"),
    include_str!("../../../tests/fixtures/utterances/third.pt.jsonl"),
];

fn fact(number: usize, key: &str, value: &str) -> Fact {
    let at = Timestamp::from_micros(i64::try_from(number).unwrap_or(0));
    Fact {
        uid: FactUid::parse(&format!("fct_0189000000007000{number:016x}")).unwrap(),
        label: None,
        key: key.to_owned(),
        value: Value::String(value.to_owned()),
        source: Source { kind: "user".to_owned(), ..Source::default() },
        writer_id: None,
        at,
        recorded_at: at,
        scope: FactScope::Global,
        scope_id: None,
        memory_type: MemoryType::User,
        abstraction: None,
        constraint: None,
        restricted_to: Vec::new(),
        supersedes: None,
        reason: None,
        superseded: Vec::new(),
        depends_on: Vec::new(),
        reading_id: None,
        standing: Standing::Valid,
        contested: Vec::new(),
        review: None,
        former: Vec::new(),
        history: Vec::new(),
    }
}

fn said(text: &str) -> Reading {
    let at = Timestamp::from_micros(10_000_000_000);
    let utterance = Utterance { speaker: "user".to_owned(), text: text.to_owned(), at, authority: None };
    read(&utterance, ReadingId::parse("rdg_01890000000070008000000000000001").unwrap(), at, Digest::from_bytes([7; 32]))
}

/// What a reading bears on when every fact is compared.
fn compared_with_all(reading: &Reading, facts: &[&Fact]) -> Vec<Bearing> {
    let order = AuthorityOrder::new(&[]);
    let heard = Heard::new(reading, facts, &order);
    heard.bearings(&heard.facts)
}

/// Keys with values, and what is said.
type Cases = (Vec<(String, String)>, Vec<String>);

fn cases() -> Cases {
    let (mut facts, mut turns) = (Vec::new(), Vec::new());
    for text in FIXTURES {
        for case in text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            facts.extend(
                case["facts"].as_array().unwrap().iter().map(|fact| (text(&fact["key"]), text(&fact["value"]))),
            );
            turns.extend(case["turns"].as_array().unwrap().iter().map(|turn| text(&turn["text"])));
        }
    }
    (facts, turns)
}

proptest! {
    /// Written utterances before facts of any of the cases.
    #[test]
    fn the_sieve_holds_nothing_back(
        picks in prop::collection::vec((0_usize..10_000, 0_usize..10_000), 1..12),
        former in prop::collection::vec(0_usize..10_000, 0..4),
        said_first in 0_usize..10_000,
    ) {
        static CASES: LazyLock<Cases> = LazyLock::new(cases);
        let (pairs, turns) = &*CASES;
        let mut facts: Vec<Fact> = picks.iter().enumerate().map(|(number, (key, value))| {
            fact(number, &pairs[key % pairs.len()].0, &pairs[value % pairs.len()].1)
        }).collect();
        for (fact, value) in facts.iter_mut().zip(former) {
            let uid = FactUid::parse(&format!("fct_0189000000007001{value:016x}")).unwrap();
            fact.former.push(Former { uid, text: turns[value % turns.len()].clone() });
        }
        let facts: Vec<&Fact> = facts.iter().collect();
        for turn in turns.iter().cycle().skip(said_first % turns.len()).take(16) {
            let reading = said(turn);
            prop_assert_eq!(
                bearings(&reading, &facts, &AuthorityOrder::new(&[])),
                compared_with_all(&reading, &facts),
                "{}: {:?}", turn, reading.claims
            );
        }
    }
}

#[test]
fn values_are_found_however_they_are_written() {
    for (text, key, value) in [
        ("the total is R$ 1.600, not R$ 1.500", "order_total", "1,5 mil reais"),
        ("actually it's seven, not five", "crates", "cinco caixas"),
        ("mudou de terça para quinta", "visit", "Tuesdays"),
        ("it's not 3pm, it's 4pm", "opening", "15h"),
        ("not room 4, room 5", "place", "sala 4"),
        ("the PO4521 now arrives on Friday", "reference", "PO-4521"),
        ("desk 2-044 moved to the window", "seat", "2-044"),
        ("o desconto não é 10%, é 12%", "rebate", "10 percent"),
    ] {
        let fact = fact(1, key, value);
        let reading = said(text);
        let asked: Vec<Asked<'_>> = reading.claims.iter().map(Asked::of).collect();
        assert!(
            !asked.is_empty() && Wanted::by(&asked).may_mean(&fact, &mut String::new()),
            "{text}: {:?}",
            reading.claims
        );
    }
}

#[test]
fn what_shares_no_word_is_held_back() {
    let reading = said("Actually the delivery address changed, it is Rua do Sol, 85 now");
    let asked: Vec<Asked<'_>> = reading.claims.iter().map(Asked::of).collect();
    let wanted = Wanted::by(&asked);
    assert!(
        !wanted.may_mean(&fact(1, "project_lead", "Dana leads team 12 until the end of March"), &mut String::new())
    );
    assert!(wanted.may_mean(&fact(2, "endereco_entrega", "Av. Central, 12"), &mut String::new()));
}

proptest! {
    /// What the openings say of a word holds for its stem.
    #[test]
    fn a_stem_opens_as_its_word_does(word in "[a-zA-Z0-9çãéªº]{1,3}(oes|aes|ciones|ies|ais|s|ing|nned|edo|a|ed|ings)?") {
        let stem = super::super::words::stem_of(&word);
        let openings: Openings = [stem.as_bytes()].into_iter().collect();
        prop_assert!(openings.may_open(word.chars().map(plain).collect::<String>().as_bytes()), "{} {}", word, stem);
        if word.is_ascii() {
            prop_assert!(openings.may_open(word.as_bytes()), "{} {}", word, stem);
        }
    }
}
