//! What must not come back: values that were replaced, overruled, restricted or said under another scope, and where a
//! text repeats them.
//!
//! A value is dead as a whole: `$50` is not in `$500`. What is specific (an amount, a code, a phrase) is dead wherever
//! it is said; what could be about anything (a weekday, a bare number, a single word, and whatever a living fact says
//! too) is dead only in a sentence that speaks of the same thing.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;

use super::clean::core_text;
use super::said::{Said, Word, carries_meaning, stem_set, words};
use crate::state_layer::fact::Fact;
use crate::state_layer::language::tags::tagged;
use crate::state_layer::language::terms::{Language, sentences};
use crate::state_layer::language::value::{ValueKind, values};

/// The most dead values that are looked for in one pack; the newest of the most relevant facts come first.
const MAX_DEAD: usize = 4096;
/// A text of so many words that carry meaning is a statement rather than a value.
const STATEMENT: usize = 5;
/// The most words of one dead phrase.
const MAX_WORDS: usize = 120;

/// What replaced a value, or kept it from being shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Because {
    /// Something newer stands in its place.
    Replaced,
    /// The viewer may not see it, or its scope is not the question's.
    Withheld,
}

type Figure = (ValueKind, String);

/// A dead value, ready to be looked for.
#[derive(Debug)]
struct Dead {
    because: Because,
    /// Words that say what it is about, as text: stems are made when they are needed.
    topic: String,
    stems: OnceCell<BTreeSet<String>>,
}

/// All dead values of a pack.
#[derive(Debug, Default)]
pub(super) struct DeadValues {
    dead: Vec<Dead>,
    /// Phrases by their first word: the words, whether they are dead wherever they are said, whose they are.
    phrases: HashMap<String, Vec<(Vec<String>, bool, usize)>>,
    figures: BTreeMap<Figure, Vec<usize>>,
    names: HashMap<String, Vec<usize>>,
    /// Figures that living facts have too.
    shared: BTreeSet<Figure>,
    /// The words of the figures as they were written, and one bit for each digit that one of them begins with: most
    /// texts can be told from these alone to repeat none.
    figure_words: HashSet<String>,
    first_digits: u16,
    language: Option<Language>,
}

/// What living texts say: what of it a dead value has too, is not dead for itself.
#[derive(Debug, Default)]
pub(super) struct Living {
    figures: BTreeSet<Figure>,
    words: BTreeSet<String>,
}

impl Living {
    /// Adds what a living text says now.
    pub fn add(&mut self, text: &str) {
        self.figures.extend(figures(text));
        self.words.extend(words(text).into_iter().map(|word| word.form));
    }
}

fn figures(text: &str) -> impl Iterator<Item = Figure> {
    values(text).into_iter().filter(|value| value.kind != ValueKind::Word).map(|value| (value.kind, value.canonical))
}

impl DeadValues {
    /// None yet, for a question in this language.
    pub fn new(language: Language) -> Self {
        Self { language: Some(language), ..Self::default() }
    }

    fn language(&self) -> Language {
        self.language.unwrap_or(Language::English)
    }

    /// Whether nothing is dead.
    pub fn is_empty(&self) -> bool {
        self.dead.is_empty()
    }

    /// Notes what a living fact replaced.
    pub fn add_former(&mut self, fact: &Fact, text: &str, living: &Living) {
        let body = tagged(text).body;
        let core = core_text(body);
        for former in &fact.former {
            self.add_replaced(
                &fact.key,
                fact.supersedes.as_ref().map(|pointer| pointer.0.as_str()),
                &core,
                &former.text,
                living,
            );
        }
    }

    /// Notes one value that `now` has replaced.
    pub fn add_replaced(&mut self, key: &str, old_key: Option<&str>, now: &str, old: &str, living: &Living) {
        let tag = tagged(old);
        let (old_words, now_words) = (words(tag.body), words(now));
        if old_words.is_empty() || forms(&old_words) == forms(&now_words) || self.dead.len() >= MAX_DEAD {
            return;
        }
        let (old_figures, now_figures): (Vec<Figure>, BTreeSet<Figure>) =
            (figures(tag.body).collect(), figures(now).collect());
        if !self.is_related((key, old_key), (&old_words, &old_figures), (&now_words, &now_figures)) {
            return;
        }
        let mut topic = format!("{key} {} {now} {}", old_key.unwrap_or_default(), tag.body);
        tag.title.iter().for_each(|title| topic.extend([" ", title]));
        let index = self.note(Because::Replaced, topic);
        self.add_phrases(index, tag.body, Some(&now_words));
        for figure in old_figures.into_iter().filter(|figure| !now_figures.contains(figure)) {
            if living.figures.contains(&figure) {
                self.shared.insert(figure.clone());
            }
            self.figures.entry(figure).or_default().push(index);
        }
        self.add_figure_words(tag.body);
        self.add_names(index, tag.body, &now_words, living);
        // Whoever was overruled is not asked again.
        for name in tag.name.iter().filter(|name| words(name).iter().all(|word| !living.words.contains(&word.form))) {
            for word in words(name).into_iter().filter(|word| carries_meaning(&word.form)) {
                self.names.entry(word.form).or_default().push(index);
            }
        }
    }

    /// Notes a text that is not shown: restricted, or said under another scope.
    pub fn add_withheld(&mut self, text: &str, living: &Living) {
        let body = tagged(text).body;
        if self.dead.len() >= MAX_DEAD {
            return;
        }
        let index = self.note(Because::Withheld, body.to_owned());
        self.add_phrases(index, body, None);
        for figure in figures(body).filter(|figure| !living.figures.contains(figure)) {
            self.figures.entry(figure).or_default().push(index);
        }
        self.add_figure_words(body);
    }

    fn add_figure_words(&mut self, text: &str) {
        for value in values(text) {
            self.first_digits |= first_digit(&value.text);
            self.figure_words.extend(words(&value.text).into_iter().map(|word| word.form));
        }
    }

    /// Whether a text could repeat something dead: no more than a look at its words.
    pub fn may_touch(&self, text: &str) -> bool {
        !self.is_empty()
            && words(text).iter().any(|Word { form, .. }| {
                self.phrases.contains_key(form) || self.names.contains_key(form) || self.may_be_figure(form)
            })
    }

    fn may_be_figure(&self, form: &str) -> bool {
        first_digit(form) & self.first_digits != 0 || self.figure_words.contains(form)
    }

    fn note(&mut self, because: Because, topic: String) -> usize {
        self.dead.push(Dead { because, topic, stems: OnceCell::new() });
        self.dead.len() - 1
    }

    /// Whether one value can have replaced the other in what it says, too. A pointer alone does not say so: programs
    /// number the statements of a conversation and let each name the one before it. Such statements are long, have
    /// keys of their own, give no values of one kind and share few words.
    fn is_related(
        &self,
        keys: (&str, Option<&str>),
        old: (&[Word], &[Figure]),
        now: (&[Word], &BTreeSet<Figure>),
    ) -> bool {
        let lineage = keys.1.is_none_or(|old_key| base_key(old_key) == base_key(keys.0));
        if lineage || old.1.iter().any(|(kind, _)| now.1.iter().any(|(other, _)| other == kind)) {
            return true;
        }
        let (old, now) = (stem_set(old.0, self.language()), stem_set(now.0, self.language()));
        old.len().min(now.len()) < STATEMENT || old.intersection(&now).count() * 2 >= old.len()
    }

    /// Notes the sentences of a dead text as phrases.
    fn add_phrases(&mut self, index: usize, body: &str, now: Option<&[Word]>) {
        let whole = sentences(body);
        for sentence in whole.iter().copied().chain(labelled(body)) {
            let phrase: Vec<String> = words(sentence).into_iter().take(MAX_WORDS).map(|word| word.form).collect();
            let contained = now.is_some_and(|now| contains(&forms(now), &phrase));
            let Some(first) = phrase.first().filter(|_| !contained).cloned() else { continue };
            let meaning = phrase.iter().filter(|form| carries_meaning(form)).count();
            if meaning == 0 && phrase.len() < 3 && !phrase.iter().any(|form| has_digit(form)) {
                continue;
            }
            let sure = meaning >= 2 || phrase.iter().any(|form| is_marked(form));
            self.phrases.entry(first).or_default().push((phrase, sure, index));
        }
    }

    /// Notes the names in a dead text that no living text has.
    fn add_names(&mut self, index: usize, body: &str, now: &[Word], living: &Living) {
        for (place, word) in words(body).into_iter().enumerate() {
            let written = body.get(word.span.clone()).unwrap_or_default();
            let capital = written.chars().next().is_some_and(char::is_uppercase) && place > 0;
            let inner = written.chars().skip(1).any(char::is_uppercase) && written.chars().any(char::is_lowercase);
            let known = living.words.contains(&word.form) || now.iter().any(|other| other.form == word.form);
            if (capital || inner) && !known && carries_meaning(&word.form) {
                self.names.entry(word.form).or_default().push(index);
            }
        }
    }

    /// Where a sentence repeats what is dead. `shown` texts of facts are held only against what was replaced.
    pub fn spans(&self, said: &Said<'_>, is_fact: bool) -> Vec<Range<usize>> {
        let mut spans = Vec::new();
        if self.is_empty() {
            return spans;
        }
        let counts =
            |index: usize| self.dead.get(index).is_some_and(|dead| !is_fact || dead.because == Because::Replaced);
        for (place, word) in said.words.iter().enumerate() {
            for (phrase, sure, index) in self.phrases.get(&word.form).into_iter().flatten() {
                let found = said.words.get(place..place + phrase.len()).filter(|found| forms(found).eq(phrase));
                if let Some(span) = found.and_then(span_of)
                    && counts(*index)
                    && (*sure || self.same_topic(*index, said, &span))
                {
                    spans.push(span);
                }
            }
            for index in self.names.get(&word.form).into_iter().flatten() {
                if counts(*index) && self.same_topic(*index, said, &word.span) {
                    spans.push(word.span.clone());
                }
            }
        }
        if self.figures.is_empty() || !said.words.iter().any(|word| self.may_be_figure(&word.form)) {
            return spans;
        }
        for value in said.values() {
            let figure = (value.kind, value.canonical.clone());
            let sure = is_specific(&figure) && !self.shared.contains(&figure);
            for index in self.figures.get(&figure).into_iter().flatten() {
                let withheld = self.dead.get(*index).is_some_and(|dead| dead.because == Because::Withheld);
                if counts(*index) && (sure && !withheld || self.same_topic(*index, said, &value.span)) {
                    spans.push(value.span.clone());
                }
            }
        }
        spans
    }

    /// Whether a sentence speaks of what a dead value was about: it shares a word with it beside the value, or has no
    /// other word to share.
    fn same_topic(&self, index: usize, said: &Said<'_>, span: &Range<usize>) -> bool {
        let Some(dead) = self.dead.get(index) else { return false };
        let stems = dead.stems.get_or_init(|| stem_set(&words(&dead.topic), self.language()));
        let beside: Vec<Word> = said
            .words
            .iter()
            .filter(|word| word.span.end <= span.start || word.span.start >= span.end)
            .cloned()
            .collect();
        let beside: BTreeSet<String> =
            stem_set(&beside, self.language()).into_iter().filter(|stem| !has_digit(stem)).collect();
        beside.is_empty() || beside.iter().any(|stem| stems.contains(stem))
    }
}

/// A key without what only numbers its versions.
pub(super) fn base_key(key: &str) -> String {
    const VERSIONS: &[&str] =
        &["corrected", "updated", "new", "revised", "final", "current", "corrigido", "novo", "corregido", "nuevo"];
    let parts: Vec<&str> = key.split('_').collect();
    let version = |part: &&&str| {
        let number = part
            .strip_prefix(['v', 'V'])
            .is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()));
        number || VERSIONS.contains(&part.to_lowercase().as_str())
    };
    let kept = parts.len() - parts.iter().rev().take_while(version).count();
    parts.get(..kept.max(1)).unwrap_or_default().join("_")
}

/// The parts of a text after a label and between semicolons: `ideas: a; b` says `a`.
fn labelled(body: &str) -> Option<&str> {
    let (label, rest) = body.split_once(": ")?;
    (label.split_whitespace().count() <= 3 && !rest.trim().is_empty())
        .then(|| sentences(rest).first().copied())
        .flatten()
}

fn forms(words: &[Word]) -> Vec<String> {
    words.iter().map(|word| word.form.clone()).collect()
}

fn contains(row: &[String], phrase: &[String]) -> bool {
    !phrase.is_empty() && row.windows(phrase.len()).any(|window| window == phrase)
}

fn span_of(words: &[Word]) -> Option<Range<usize>> {
    Some(words.first()?.span.start..words.last()?.span.end)
}

fn has_digit(form: &str) -> bool {
    form.bytes().any(|byte| byte.is_ascii_digit())
}

/// A bit for the first digit of a text; none without a digit.
fn first_digit(text: &str) -> u16 {
    text.bytes().find(u8::is_ascii_digit).map_or(0, |digit| 1 << (digit - b'0'))
}

/// A word that is a value by its looks: an amount, a share, a code.
fn is_marked(form: &str) -> bool {
    has_digit(form) && form.bytes().any(|byte| !byte.is_ascii_digit())
}

/// Whether a value is one of its own: not a weekday, an hour or a bare number, which could be about anything.
fn is_specific((kind, canonical): &Figure) -> bool {
    match kind {
        ValueKind::Money | ValueKind::Percent | ValueKind::Code | ValueKind::Place | ValueKind::Contact => true,
        ValueKind::Date => canonical.bytes().any(|byte| byte.is_ascii_digit()),
        ValueKind::Time | ValueKind::Duration | ValueKind::Number | ValueKind::Word => false,
    }
}
