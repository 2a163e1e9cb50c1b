//! What must not come back: values that were replaced, overruled, restricted or said under another scope.
//!
//! A value is dead as a whole: `$50` is not in `$500`. What is specific (an amount, a code, a phrase, a name) is dead
//! wherever it is said; what could be about anything (a weekday, a bare number, a plain word, and whatever a living
//! fact says too) is dead only in a sentence that speaks of the same thing.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::clean::{core_text, cue_before};
use super::said::{Word, carries_meaning, words};
use super::stems::{Stem, Stems};
use crate::state_layer::fact::Fact;
use crate::state_layer::language::tags::tagged;
use crate::state_layer::language::terms::sentences;
use crate::state_layer::language::value::{TypedValue, ValueKind, values};

/// The most dead values that are looked for in one pack; those of the most relevant facts come first.
const MAX_DEAD: usize = 2048;
/// The most dead values that one word or figure leads to, so that no text is held against all of them.
const MAX_LEADS: usize = 16;
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

/// Where a dead phrase is dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Wherever it is said.
    Anywhere,
    /// Where it is written as a name, and else on its topic.
    AsName,
    /// Where its topic is spoken of.
    OnTopic,
}

pub(super) type Figure = (ValueKind, String);

#[derive(Debug)]
struct Dead {
    because: Because,
    /// Words that say what it is about, as text: stems are made when they are needed.
    topic: String,
    stems: OnceCell<BTreeSet<Stem>>,
}

/// A phrase that is dead.
#[derive(Debug)]
pub(super) struct Phrase {
    pub forms: Vec<String>,
    /// Where it is dead.
    pub reach: Reach,
    /// Of which dead value.
    pub index: usize,
}

/// All dead values of a pack, by what could give them away in a text.
#[derive(Debug)]
pub(super) struct DeadValues<'a> {
    /// The stems of the pack.
    pub stems: &'a Stems,
    dead: Vec<Dead>,
    /// Phrases by their first word.
    pub(super) phrases: HashMap<String, Vec<Phrase>>,
    pub(super) figures: BTreeMap<Figure, Vec<usize>>,
    /// Names that no living text has.
    pub(super) names: HashMap<String, Vec<usize>>,
    /// Figures that living facts have too.
    pub(super) shared: BTreeSet<Figure>,
    /// The words of the figures as they were written, and one bit for each digit that one of them begins with: most
    /// texts can be told from these alone to repeat none.
    figure_words: HashSet<String>,
    first_digits: u16,
}

fn figures(text: &str) -> Vec<Figure> {
    let typed = values(text).into_iter().filter(|value| value.kind != ValueKind::Word);
    typed.map(|value| (value.kind, value.canonical)).collect()
}

/// Notes where a word leads, up to a bound.
fn lead(leads: &mut Vec<usize>, index: usize) {
    if leads.len() < MAX_LEADS {
        leads.push(index);
    }
}

impl<'a> DeadValues<'a> {
    pub(super) fn new(stems: &'a Stems) -> Self {
        Self {
            stems,
            dead: Vec::new(),
            phrases: HashMap::new(),
            figures: BTreeMap::new(),
            names: HashMap::new(),
            shared: BTreeSet::new(),
            figure_words: HashSet::new(),
            first_digits: 0,
        }
    }

    /// Whether nothing is dead.
    pub(super) fn is_empty(&self) -> bool {
        self.dead.is_empty()
    }

    /// Notes what a living fact replaced.
    pub(super) fn add_former(&mut self, fact: &Fact, text: &str) {
        if fact.former.is_empty() {
            return;
        }
        let now = Now::new(&core_text(tagged(text).body));
        let old_key = fact.supersedes.as_ref().map(|pointer| pointer.0.as_str());
        fact.former.iter().for_each(|former| self.add(&fact.key, old_key, &now, &former.text));
    }

    /// Notes one value that `now` has replaced.
    pub(super) fn add_replaced(&mut self, key: &str, now: &str, old: &str) {
        self.add(key, None, &Now::new(now), old);
    }

    fn add(&mut self, key: &str, old_key: Option<&str>, now: &Now, old: &str) {
        let tag = tagged(old);
        let old_words = words(tag.body);
        if old_words.is_empty() || forms(&old_words) == now.forms || self.dead.len() >= MAX_DEAD {
            return;
        }
        let old_figures = figures(tag.body);
        if !self.is_related((key, old_key), (&old_words, &old_figures), now) {
            return;
        }
        let mut topic = format!("{key} {} {} {}", old_key.unwrap_or_default(), now.forms.join(" "), tag.body);
        tag.title.iter().for_each(|title| topic.extend([" ", title]));
        let index = self.note(Because::Replaced, topic);
        self.add_phrases(index, tag.body, now);
        let gone: Vec<Figure> = old_figures.into_iter().filter(|figure| !now.figures.contains(figure)).collect();
        self.add_figures(index, tag.body, gone);
        self.add_names(index, tag.body, &now.forms);
        // Whoever was overruled is not asked again.
        for word in tag.name.iter().flat_map(|name| words(name)) {
            if carries_meaning(&word.form) && !now.forms.contains(&word.form) {
                lead(self.names.entry(word.form).or_default(), index);
            }
        }
    }

    /// Notes a text that is not shown: restricted, or said under another scope.
    pub(super) fn add_withheld(&mut self, text: &str) {
        let body = tagged(text).body;
        if self.dead.len() >= MAX_DEAD {
            return;
        }
        let index = self.note(Because::Withheld, body.to_owned());
        self.add_phrases(index, body, &Now::new(""));
        self.add_figures(index, body, figures(body));
    }

    /// Takes notice of what living texts say: a name of theirs is not dead, and a figure of theirs is dead only on its
    /// topic.
    pub(super) fn settle<'t>(&mut self, living: impl Iterator<Item = std::borrow::Cow<'t, str>>) {
        for text in living {
            let words = words(&text);
            for word in &words {
                self.names.remove(&word.form);
            }
            if words.iter().any(|word| self.may_be_figure(&word.form)) {
                self.shared.extend(figures(&text).into_iter().filter(|figure| self.figures.contains_key(figure)));
            }
        }
    }

    fn note(&mut self, because: Because, topic: String) -> usize {
        self.dead.push(Dead { because, topic, stems: OnceCell::new() });
        self.dead.len() - 1
    }

    /// Whether one value can have replaced the other in what it says, too. A pointer alone does not say so: programs
    /// number the statements of a conversation and let each name the one before it. Such statements are long, have
    /// keys of their own, give no values of one kind and share few words.
    fn is_related(&self, (key, old_key): (&str, Option<&str>), old: (&[Word], &[Figure]), now: &Now) -> bool {
        let lineage = old_key.is_none_or(|old_key| base_key(old_key) == base_key(key));
        if lineage || old.1.iter().any(|(kind, _)| now.figures.iter().chain(&now.named).any(|(other, _)| other == kind))
        {
            return true;
        }
        let stems: BTreeSet<Stem> = now.forms.iter().filter_map(|form| self.stems.of(form)).collect();
        let old = self.stems.set(old.0);
        old.len().min(stems.len()) < STATEMENT || old.intersection(&stems).count() * 2 >= old.len()
    }

    /// Notes the sentences of a dead text as phrases, with and without its asides.
    fn add_phrases(&mut self, index: usize, body: &str, now: &Now) {
        let core = core_text(body);
        let aside = (core != body).then_some(core.as_str());
        for sentence in sentences(body).into_iter().chain(aside.into_iter().flat_map(sentences)).chain(labelled(body)) {
            let phrase: Vec<Word> = words(sentence).into_iter().take(MAX_WORDS).collect();
            let forms = forms(&phrase);
            let Some(first) = forms.first().filter(|_| !now.says(&forms)).cloned() else { continue };
            let meaning = forms.iter().filter(|form| carries_meaning(form)).count();
            let marked = forms.iter().any(|form| is_marked(form));
            if meaning == 0 && forms.len() < 3 && !forms.iter().any(|form| has_digit(form)) {
                continue;
            }
            let reach = match meaning {
                _ if marked || meaning >= 2 => Reach::Anywhere,
                _ if forms.len() == 1 && values(sentence).is_empty() => Reach::AsName,
                _ => Reach::OnTopic,
            };
            let phrases = self.phrases.entry(first).or_default();
            if phrases.len() < MAX_LEADS {
                phrases.push(Phrase { forms, reach, index });
            }
        }
    }

    fn add_figures(&mut self, index: usize, body: &str, figures: Vec<Figure>) {
        if figures.is_empty() {
            return;
        }
        for figure in figures {
            lead(self.figures.entry(figure).or_default(), index);
        }
        for value in values(body) {
            self.first_digits |= first_digit(&value.text);
            self.figure_words.extend(words(&value.text).into_iter().map(|word| word.form));
        }
    }

    /// Notes the names in a dead text that what replaced it does not have.
    fn add_names(&mut self, index: usize, body: &str, now: &[String]) {
        for (place, word) in words(body).into_iter().enumerate() {
            let written = body.get(word.span.clone()).unwrap_or_default();
            let capital = place > 0 && written.chars().next().is_some_and(char::is_uppercase);
            if (capital || is_camel(written)) && !now.contains(&word.form) && carries_meaning(&word.form) {
                lead(self.names.entry(word.form).or_default(), index);
            }
        }
    }

    /// Whether a text could repeat something dead: no more than a look at its words.
    pub(super) fn may_touch(&self, text: &str) -> bool {
        !self.dead.is_empty()
            && words(text).iter().any(|Word { form, .. }| {
                self.phrases.contains_key(form) || self.names.contains_key(form) || self.may_be_figure(form)
            })
    }

    /// Whether a word could belong to a dead figure, however it is written.
    pub(super) fn may_be_figure(&self, form: &str) -> bool {
        first_digit(form) & self.first_digits != 0 || self.figure_words.contains(form)
    }

    /// Why a value is dead.
    pub(super) fn because(&self, index: usize) -> Option<Because> {
        self.dead.get(index).map(|dead| dead.because)
    }

    /// What a dead value is about.
    pub(super) fn topic(&self, index: usize) -> Option<&BTreeSet<Stem>> {
        self.dead.get(index).map(|dead| dead.stems.get_or_init(|| self.stems.of_text(&dead.topic)))
    }
}

/// What stands in the place of a dead value.
struct Now {
    words: Vec<Word>,
    forms: Vec<String>,
    figures: BTreeSet<Figure>,
    /// Figures that it names only to say that they were replaced.
    named: BTreeSet<Figure>,
}

impl Now {
    fn new(text: &str) -> Self {
        let words = words(text);
        let typed: Vec<TypedValue> = values(text).into_iter().filter(|value| value.kind != ValueKind::Word).collect();
        let of_kind = |kind: ValueKind| typed.iter().filter(|value| value.kind == kind).count();
        let (mut figures, mut named) = (BTreeSet::new(), BTreeSet::new());
        for value in &typed {
            let replaced = of_kind(value.kind) > 1 && cue_before(&words, &value.span).is_some();
            if replaced { &mut named } else { &mut figures }.insert((value.kind, value.canonical.clone()));
        }
        Self { forms: forms(&words), words, figures, named }
    }

    /// Whether it still says a phrase: not only to say that it was replaced.
    fn says(&self, phrase: &[String]) -> bool {
        let found = self.forms.windows(phrase.len().max(1)).enumerate().filter(|(_, window)| *window == phrase);
        let mut spans = found.filter_map(|(at, _)| self.words.get(at).map(|word| word.span.start..word.span.end));
        spans.any(|span| self.words.len() == phrase.len() || cue_before(&self.words, &span).is_none())
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

pub(super) fn forms(words: &[Word]) -> Vec<String> {
    words.iter().map(|word| word.form.clone()).collect()
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

/// `VendorA`, `GlobalTech`: a name by its capitals, wherever it stands.
pub(super) fn is_camel(written: &str) -> bool {
    written.chars().skip(1).any(char::is_uppercase) && written.chars().any(char::is_lowercase)
}
