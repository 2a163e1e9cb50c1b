//! A fact as the rules of reading compare it.

use std::sync::OnceLock;

use super::claims::echo_of;
use super::lexicon::is_state;
use super::words::{lexemes, stem_of};
use super::{Reading, classes, slots};
use crate::state_layer::fact::Fact;
use crate::state_layer::language::folding::plain_text;
use crate::state_layer::language::value::{TypedValue, ValueKind, Values, values};

/// How much of a value is compared, in bytes.
const MAX_TEXT: usize = 512;
/// How many words of a key are compared.
const KEY_WORDS: usize = 12;

/// A word of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KeyWord {
    pub stem: String,
    /// The slots that it names.
    pub slots: &'static [&'static str],
    /// Whether it names only a type.
    pub generic: bool,
}

/// What the rules need of a fact, derived once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Prepared {
    /// The words of its key.
    pub(super) key: Vec<KeyWord>,
    /// The stems of its value.
    pub(super) text: Vec<String>,
    /// The start of its value, as it is written.
    written: String,
    /// The typed values in it, read when they are first asked for.
    typed: OnceLock<Vec<TypedValue>>,
    /// The stems of the values before it.
    pub(super) former: Vec<Vec<String>>,
    /// The closed class of its value's words, if they are few and have one.
    pub(super) class: Option<&'static str>,
    /// Whether its bases have fallen already.
    pub(super) reviewed: bool,
}

/// The start of a text, cut between letters.
fn start_of(text: &str) -> &str {
    let end = (0..=MAX_TEXT.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text.get(..end).unwrap_or_default()
}

fn stems(text: &str) -> Vec<String> {
    lexemes(start_of(text)).map(stem_of).collect()
}

/// Whether a value of this kind could stand in the place of so many words with values of these kinds in them.
fn takes_in(kind: ValueKind, mut own: impl Iterator<Item = ValueKind>, words: impl Fn() -> usize) -> bool {
    use ValueKind::{Code, Contact, Date, Duration, Money, Number, Percent, Place, Word};
    if kind == Word {
        return own.all(|own| own == Word);
    }
    let mut none = true;
    let has = own.any(|own| {
        none = false;
        match (kind, own) {
            (Number, Money | Percent | Duration) | (Place | Code, Number) => true,
            (Number, Place) => words() <= 2,
            (Contact | Money | Date, Number) => words() == 1,
            (kind, own) => kind == own,
        }
    });
    has || none && matches!(kind, Place | Code)
}

/// Whether a value of this kind could stand in a fact's place: [`Prepared::takes`] for facts of which nothing else is
/// needed.
pub(super) fn takes(fact: &Fact, kind: ValueKind) -> bool {
    let text = fact.words();
    let text = start_of(&text);
    takes_in(kind, Values::of(text).map(|value| value.kind), || lexemes(text).count())
}

impl Prepared {
    /// What the rules need of a fact.
    pub(super) fn of(fact: &Fact) -> Self {
        let text = fact.words();
        let text = start_of(&text);
        let key = lexemes(&fact.key)
            .take(KEY_WORDS)
            .map(|word| {
                let stem = stem_of(word);
                KeyWord { slots: slots::of(&stem), generic: slots::is_generic(&stem), stem }
            })
            .collect();
        let stems_of_text = stems(text);
        Self {
            key,
            written: text.to_owned(),
            typed: OnceLock::new(),
            class: if stems_of_text.len() <= 3 { classes::of_words(stems_of_text.iter()) } else { None },
            text: stems_of_text,
            former: fact.former.iter().map(|former| stems(&former.text)).collect(),
            reviewed: fact.review.is_some(),
        }
    }

    /// Whether the utterance of a reading, in which these words occur, was written down as the fact or as what it
    /// replaced.
    pub(super) fn repeats(&self, reading: &Reading, words: &[String], fact: &Fact) -> bool {
        let Some(echo) = reading.echo else { return false };
        let has_all = |stems: &[String]| words.iter().all(|word| stems.contains(word));
        let own = has_all(&self.text).then(|| fact.words());
        let former = self.former.iter().zip(&fact.former).filter(|(stems, _)| has_all(stems));
        let former = former.map(|(_, former)| former.text.as_str());
        own.as_deref()
            .into_iter()
            .chain(former)
            .any(|text| echo_of(start_of(text), reading.salt.as_ref()) == Some(echo))
    }

    /// The typed values in its value.
    pub(super) fn values(&self) -> &[TypedValue] {
        self.typed.get_or_init(|| values(&self.written))
    }

    /// Whether its value is words alone, as a name or a status is.
    pub(super) fn is_worded(&self) -> bool {
        self.takes(ValueKind::Word)
    }

    /// Whether its value is a proper name and no state: "Atlantis", not "Pending".
    pub(super) fn is_name(&self) -> bool {
        let mut words = self.written.split_whitespace().peekable();
        words.peek().is_some()
            && self.is_worded()
            && self.written.split_whitespace().all(|word| {
                word.starts_with(char::is_uppercase) && word.chars().any(char::is_lowercase)
                    || matches!(word, "de" | "da" | "do" | "del" | "la" | "of" | "the" | "&")
            })
            && !self.written.split_whitespace().any(|word| is_state(&plain_text(word)))
    }

    /// Whether its key says that its value is a status.
    pub(super) fn tells_status(&self) -> bool {
        self.key.iter().any(|word| word.slots.contains(&"status"))
    }

    /// Whether a value of this kind could stand in its place. Its values are read no further than is needed to tell.
    pub(super) fn takes(&self, kind: ValueKind) -> bool {
        let words = || self.text.len();
        if let Some(typed) = self.typed.get() {
            return takes_in(kind, typed.iter().map(|value| value.kind), words);
        }
        let mut reading = Values::of(&self.written);
        let mut read = Vec::new();
        let kinds = reading.by_ref().map(|value| {
            let kind = value.kind;
            read.push(value);
            kind
        });
        let takes = takes_in(kind, kinds, words);
        if reading.is_done() {
            self.typed.get_or_init(|| read);
        }
        takes
    }

    /// Whether a value of its own is of this kind, and of this measure where the kind has measures.
    pub(super) fn is_like(&self, kind: ValueKind, form: &str) -> bool {
        let measure = |form: &str| form.split_once(' ').map(|(_, unit)| unit.to_owned());
        let mut own = self.values().iter().filter(|value| value.kind == kind);
        match kind {
            ValueKind::Word => false,
            ValueKind::Number => own.any(|value| measure(&value.canonical) == measure(form)),
            ValueKind::Place => own.any(|value| value.canonical.split(' ').next() == form.split(' ').next()),
            _ => own.next().is_some(),
        }
    }
}
