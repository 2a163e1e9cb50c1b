//! Dependencies that nobody named: a fact that says it was derived, or that quotes another one whole.

use std::collections::BTreeSet;

use super::Ledger;
use super::index::{Facet, Hashed};
use super::keys::same_reach;
use super::ordering::later;
use crate::domain::id::FactUid;
use crate::state_layer::fact::Fact;
use crate::state_layer::language::folding::plain;
use crate::state_layer::language::terms::{folded, language, stems};
use crate::state_layer::language::value::{TypedValue, ValueKind, values};

/// What is looked at of a fact's text, in bytes: a value that somebody quotes is short.
const LOOKED_AT: usize = 256;
/// A text that is quoted whole has at least so many words.
const QUOTED_WORDS: usize = 3;
/// The most numbers and weekdays of a text by which it is found.
const MARKS: usize = 8;
/// A value that more facts than this have in common tells none of them apart.
const COMMON: usize = 8;

/// Words in a key or a source's kind that say that something was derived.
const DERIVED: &[&str] = &[
    "derived",
    "derivation",
    "computed",
    "calculated",
    "calculation",
    "conclusion",
    "inferred",
    "inference",
    "estimate",
    "estimated",
    "estimation",
    "forecast",
    "projection",
    "projected",
    "derivado",
    "derivada",
    "calculado",
    "calculada",
    "calculo",
    "conclusao",
    "inferido",
    "inferida",
    "estimativa",
    "previsao",
    "projecao",
    "estimado",
    "estimada",
    "estimacion",
    "pronostico",
    "proyeccion",
    "previsto",
    "prevista",
];

/// Words with which a text says that what follows is no longer valid.
const INVALIDATED: &[&str] =
    &["invalidated", "invalid", "invalidado", "invalidada", "invalido", "invalida", "anulado", "anulada"];

/// Weekdays and their short forms, folded, in English, Portuguese and Spanish.
const WEEKDAYS: &[(&str, u8)] = &[
    ("monday", 1),
    ("mon", 1),
    ("segunda", 1),
    ("lunes", 1),
    ("tuesday", 2),
    ("tue", 2),
    ("tues", 2),
    ("terca", 2),
    ("martes", 2),
    ("wednesday", 3),
    ("wed", 3),
    ("quarta", 3),
    ("miercoles", 3),
    ("thursday", 4),
    ("thu", 4),
    ("thurs", 4),
    ("quinta", 4),
    ("jueves", 4),
    ("friday", 5),
    ("fri", 5),
    ("sexta", 5),
    ("viernes", 5),
    ("saturday", 6),
    ("sat", 6),
    ("sabado", 6),
    ("sunday", 7),
    ("sun", 7),
    ("domingo", 7),
];

/// Whether a fact's value begins with a mark that takes an earlier conclusion back.
pub(super) fn is_invalidation(fact: &Fact) -> bool {
    let serde_json::Value::String(text) = &fact.value else { return false };
    let Some(mark) = text.trim_start().strip_prefix('[') else { return false };
    let word: String = mark.chars().take_while(|letter| letter.is_alphabetic()).map(plain).collect();
    INVALIDATED.contains(&word.as_str())
}

/// Whether a fact says of itself that it was derived.
fn says_derived(fact: &Fact) -> bool {
    let told =
        |text: &str| folded(text).split(|sign: char| !sign.is_alphanumeric()).any(|word| DERIVED.contains(&word));
    told(&fact.key) || told(&fact.source.kind)
}

/// The beginning of a fact's text, if it is one.
fn beginning(fact: &Fact) -> &str {
    match &fact.value {
        serde_json::Value::String(text) => text.get(..text.floor_char_boundary(LOOKED_AT)).unwrap_or_default(),
        _ => "",
    }
}

fn lexemes(text: &str) -> impl Iterator<Item = &str> {
    text.split(|sign: char| !sign.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// Files a fact under the numbers and weekdays in it and under its first two words.
pub(super) fn each_mark(fact: &Fact, mut file: impl FnMut(Hashed)) {
    let text = beginning(fact);
    if text.is_empty() {
        return;
    }
    if fact.constraint.is_none()
        && let Some(hashed) = opening(lexemes(text).next(), lexemes(text).nth(1))
    {
        file(hashed);
    }
    for mark in marks(text) {
        file(mark);
    }
}

fn opening(first: Option<&str>, second: Option<&str>) -> Option<Hashed> {
    Some(Hashed::new(Facet::Opening).plain(first?).text(" ").plain(second?))
}

/// Numbers without their separators, and weekdays; the first few of a text.
fn marks(text: &str) -> impl Iterator<Item = Hashed> {
    text.split(|sign: char| !sign.is_alphanumeric() && sign != ',' && sign != '.').filter_map(mark).take(MARKS)
}

fn mark(piece: &str) -> Option<Hashed> {
    let mut digits = piece.bytes().filter(u8::is_ascii_digit).take(12).peekable();
    if digits.peek().is_some() {
        return Some(digits.fold(Hashed::new(Facet::Value), Hashed::byte));
    }
    weekday(piece).map(|day| Hashed::new(Facet::Value).text("weekday-").byte(day))
}

fn weekday(word: &str) -> Option<u8> {
    let trimmed = word.trim_matches(|sign: char| !sign.is_alphabetic());
    if !(3..=9).contains(&trimmed.len()) {
        return None;
    }
    let mut plain_word = [0_u8; 12];
    let mut len = 0;
    for letter in trimmed.chars().map(plain) {
        *plain_word.get_mut(len)? = u8::try_from(letter).ok()?;
        len += 1;
    }
    let word = plain_word.get(..len)?;
    WEEKDAYS.iter().find(|(name, _)| name.as_bytes() == word).map(|(_, day)| *day)
}

impl Ledger {
    /// Finds bases that a fact does not name.
    pub(super) fn infer_bases(&mut self, uid: &FactUid) {
        let Some(fact) = self.facts.get(uid) else { return };
        if beginning(fact).is_empty() {
            return;
        }
        let mut found = self.quoted_whole(fact);
        if says_derived(fact) && fact.depends_on.iter().all(|dependency| dependency.inferred) && !is_invalidation(fact)
        {
            found.extend(self.computed_from(fact));
        }
        found.sort_by(|one, other| later(one, other));
        found.dedup_by(|one, other| one.uid == other.uid);
        let found: Vec<FactUid> = found.into_iter().map(|base| base.uid.clone()).collect();
        for base in found {
            self.add_base(uid, &base);
        }
    }

    /// Facts whose whole text, of several words, stands in a new one.
    fn quoted_whole(&self, fact: &Fact) -> Vec<&Fact> {
        let text = fact.text();
        let whole = folded(&text);
        let words: Vec<&str> = lexemes(&text).collect();
        // A text may repeat itself without end: each opening is looked up once, and each fact is compared once.
        let openings: BTreeSet<Hashed> =
            words.windows(2).filter_map(|pair| opening(pair.first().copied(), pair.get(1).copied())).collect();
        let mut filed: BTreeSet<&FactUid> = BTreeSet::new();
        for hashed in openings {
            let with_it: Vec<&FactUid> = self.index.of_words(hashed).take(COMMON + 1).collect();
            if with_it.len() <= COMMON {
                filed.extend(with_it);
            }
        }
        let bases = filed.into_iter().filter_map(|uid| self.facts.get(uid)).filter(|base| may_be_base(base, fact));
        let quoted = |base: &&Fact| {
            let quoted = folded(base.text().trim());
            whole.len() > quoted.len() && lexemes(&quoted).count() >= QUOTED_WORDS && holds(&whole, &quoted)
        };
        bases.filter(quoted).collect()
    }

    /// Facts from whose values those of a derived fact follow.
    fn computed_from(&self, fact: &Fact) -> Vec<&Fact> {
        let text = beginning(fact);
        let own = values(text);
        let mut wanted: Vec<Hashed> = marks(text).collect();
        wanted.extend(followed(&own).iter().map(|number| Hashed::new(Facet::Value).text(number)));
        let mut candidates: Vec<&Fact> = Vec::new();
        for hashed in wanted {
            let filed: Vec<&FactUid> = self.index.of_words(hashed).take(COMMON + 1).collect();
            if filed.len() <= COMMON {
                let known = filed.into_iter().filter_map(|uid| self.facts.get(uid));
                candidates.extend(known.filter(|base| may_be_base(base, fact)));
            }
        }
        candidates.retain(|base| follows(fact, &own, base));
        candidates
    }
}

fn may_be_base(base: &Fact, fact: &Fact) -> bool {
    base.uid != fact.uid
        && base.is_valid()
        && base.key != fact.key
        && same_reach(base, fact)
        && base.constraint.is_none()
        && !fact.superseded.contains(&base.uid)
}

/// Whether a text holds another between words.
fn holds(text: &str, quoted: &str) -> bool {
    let inside = |sign: Option<char>| sign.is_some_and(char::is_alphanumeric);
    text.match_indices(quoted).any(|(at, found)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text.get(at + found.len()..).and_then(|after| after.chars().next());
        !inside(before) && !inside(after)
    })
}

/// The number of a value, if it is a whole one.
fn whole_number(value: &TypedValue) -> Option<i64> {
    if !matches!(value.kind, ValueKind::Money | ValueKind::Number | ValueKind::Percent) {
        return None;
    }
    let digits = value.canonical.trim_start_matches(|sign: char| !sign.is_ascii_digit());
    let digits = digits.split(' ').next().unwrap_or(digits);
    digits.parse().ok().filter(|number| (2..1_000_000_000_000).contains(number))
}

fn month_day(value: &TypedValue) -> Option<(&str, i64)> {
    let (month, day) = value.canonical.rsplit_once('-')?;
    let dated = value.kind == ValueKind::Date && day.len() == 2 && month.ends_with(|sign: char| sign.is_ascii_digit());
    dated.then(|| day.parse().ok().map(|day| (month, day))).flatten()
}

/// Whether two numbers make a third one: as sum, difference, product or quotient.
fn makes(one: i64, other: i64, third: i64) -> bool {
    let product = |a: i64, b: i64, c: i64| a.checked_mul(b) == Some(c);
    one + other == third
        || (one - other).abs() == third
        || product(one, other, third)
        || product(third, other, one)
        || product(third, one, other)
}

/// Marks of values from which those of a text follow: sums and products of its numbers, days before and after its days.
fn followed(own: &[TypedValue]) -> BTreeSet<String> {
    let numbers: Vec<i64> = own.iter().filter_map(whole_number).take(MARKS).collect();
    let mut wanted = BTreeSet::new();
    for (index, one) in numbers.iter().enumerate() {
        for other in numbers.iter().skip(index + 1) {
            let (low, high) = (one.min(other), one.max(other));
            wanted.extend([one + other, high - low].map(|number| number.to_string()));
            wanted.extend(one.checked_mul(*other).map(|number| number.to_string()));
            wanted.extend((high % low == 0).then(|| (high / low).to_string()));
        }
    }
    for (_, day) in own.iter().filter_map(month_day) {
        wanted.extend([day - 1, day + 1].map(|day| day.to_string()));
    }
    wanted
}

/// Whether a derived fact's values follow from a base's: it repeats one and is about the same thing, two of its numbers
/// make it, or it begins the day after.
fn follows(fact: &Fact, own: &[TypedValue], base: &Fact) -> bool {
    let theirs = values(beginning(base));
    let numbers: Vec<i64> = own.iter().filter_map(whole_number).take(MARKS).collect();
    let computed = theirs.iter().filter_map(whole_number).any(|base| {
        numbers
            .iter()
            .enumerate()
            .any(|(index, one)| numbers.iter().skip(index + 1).any(|other| one != other && makes(*one, *other, base)))
    });
    let next_day = theirs.iter().filter_map(month_day).any(|(month, day)| {
        own.iter().filter_map(month_day).any(|(own_month, own_day)| own_month == month && (own_day - day).abs() == 1)
    });
    let repeats =
        || theirs.iter().any(|base| own.iter().any(|own| own.kind == base.kind && own.canonical == base.canonical));
    let timed = |values: &[TypedValue]| values.iter().any(|value| value.kind == ValueKind::Time);
    computed || next_day || (repeats() && ((timed(own) && timed(&theirs)) || concerns(fact, base)))
}

/// Whether two facts have a word of meaning in common, keys included.
fn concerns(one: &Fact, other: &Fact) -> bool {
    let of = |fact: &Fact| {
        let text = format!("{} {}", fact.key.replace(['_', '-', '.'], " "), beginning(fact));
        stems(&text, language(beginning(fact)))
            .into_iter()
            .filter(|stem| !stem.bytes().any(|byte| byte.is_ascii_digit()))
            .collect::<BTreeSet<String>>()
    };
    of(one).intersection(&of(other)).next().is_some()
}
