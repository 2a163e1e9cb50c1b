//! Answers of several pieces: "bom dia, pode sim, obrigada".
//!
//! A text is a composed answer if it is nothing but entries of one polarity and words that may stand beside them, all of
//! one language. Every word must be known: what the files do not list never answers.

use std::collections::BTreeSet;

use super::composition::BesideClass;
use super::hearing::Heard;
use super::normalise::is_symbol;
use super::phrases::{Entries, Entry, Phrases, Polarity, SpokenPhrases, Token};

/// How many pieces may be tried for one text before it is taken for no composed answer.
const MAX_TRIED: u32 = 4_000;

/// What answers in one language, and what may stand beside it.
#[derive(Debug, Clone, Default)]
pub(super) struct Grammar {
    pub(super) entries: Entries,
    /// Folded entries that say nothing but yes, or nothing but no: other entries may stand directly beside them.
    pub(super) particles: BTreeSet<String>,
    /// Folded entries that are other words in other languages.
    pub(super) only_here: BTreeSet<String>,
    /// Folded entries that also say no more than "I have heard".
    pub(super) acknowledgements: BTreeSet<String>,
    /// Folded entries that with "please" may ask for a confirmation.
    pub(super) asks_too: BTreeSet<String>,
    /// Folded entries that say something of the word beside them: "indeed", "isso".
    pub(super) leaning: BTreeSet<String>,
    /// Folded entries that say that things are right or go on, and not which: "looks good".
    pub(super) carry_on: BTreeSet<String>,
    /// Folded entries that also say what somebody else did: "agreed".
    pub(super) reported: BTreeSet<String>,
    /// Words that open a condition if they are written just so and more follows.
    pub(super) conditions: BTreeSet<String>,
    pub(super) apart: Phrases,
    pub(super) negations: Phrases,
    pub(super) beside: Vec<(BesideClass, SpokenPhrases)>,
    /// What a no may be put to: "that", "everything".
    pub(super) objects: SpokenPhrases,
    /// Negative entries that ask to stop something, to which an object may be put.
    pub(super) call_offs: SpokenPhrases,
}

/// One piece of a text.
#[derive(Debug, Clone, Copy)]
pub(super) enum Piece<'a> {
    Entry(&'a Entry),
    Beside(BesideClass),
    /// "Everything" after "cancel".
    Object,
    /// Words that name the command which is asked about.
    Named,
}

/// A piece and the tokens it stands on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) piece: Piece<'a>,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The pieces that a text falls into.
pub(super) type Parts<'a> = Vec<Part<'a>>;

impl Grammar {
    /// The entries that a text is composed of, if they agree.
    pub(super) fn compose<'a>(&'a self, heard: &[Heard<'_>]) -> Option<Parts<'a>> {
        self.parts(heard, None, &|parts| self.is_answer(heard, parts))
    }

    /// The first way to divide the text into pieces that `is_meant` accepts. `named` are words that name the command; as
    /// such they are no answers.
    pub(super) fn parts<'a>(
        &'a self,
        heard: &[Heard<'_>],
        named: Option<&SpokenPhrases>,
        is_meant: &dyn Fn(&[Part<'a>]) -> bool,
    ) -> Option<Parts<'a>> {
        let words: Vec<&str> = heard.iter().map(|heard| heard.token.text).collect();
        if self.stands_apart(&words) {
            return None;
        }
        let mut walk = Walk { grammar: self, heard, named, is_meant, left: MAX_TRIED };
        let mut parts = Vec::new();
        walk.on(0, &mut parts).then_some(parts)
    }

    /// Whether words stand together that mean something else than each of them does.
    pub(super) fn stands_apart(&self, words: &[&str]) -> bool {
        self.apart.find_in(words).is_some()
    }

    fn is_answer(&self, heard: &[Heard<'_>], parts: &[Part<'_>]) -> bool {
        let entries = || parts.iter().filter_map(Part::entry);
        let Some(first) = entries().next() else { return false };
        let has = |class| parts.iter().any(|part| matches!(part.piece, Piece::Beside(found) if found == class));
        match first.polarity {
            Polarity::Negative => true,
            Polarity::Affirmative => {
                let is_strong = entries().any(|entry| !self.only_acknowledges(entry));
                let closes = has(BesideClass::Thanks) || has(BesideClass::Greeting);
                // "Yes, fine, thanks" may answer "how are you".
                let fares = has(BesideClass::Wellbeing) && closes;
                // "Thank you indeed", "legal isso": the entry belongs to the word beside it.
                let leans = parts.windows(2).any(|pair| self.lean_on_each_other(heard, pair));
                let stands = !leans || entries().any(|entry| !self.only_acknowledges(entry) && !self.leans(entry));
                let addresses =
                    has(BesideClass::Politeness) || has(BesideClass::Greeting) || has(BesideClass::Vocative);
                // "Confirma tudo certo" asks the reader to see to it.
                let praises = has(BesideClass::Praise) || has(BesideClass::Wellbeing);
                let asks = (addresses || praises) && entries().any(|entry| self.asks_too.contains(&entry.folded));
                !has(BesideClass::Regret)
                    && (is_strong || !closes)
                    && stands
                    && !fares
                    && (!asks || entries().any(|entry| self.is_clear_yes(entry)))
            }
        }
    }

    /// What a text asks to stop by a phrase that begins at this token: words that are no answer and nothing like "that".
    pub(super) fn request_at<'a>(&self, tokens: &'a [Token<'_>], start: usize) -> Option<Vec<&'a str>> {
        let mut at = start + self.call_offs.lengths_at(tokens, start).max()?;
        let object = |at: usize| self.objects.lengths_at(tokens, at).max();
        while let Some(more) = object(at).or_else(|| self.longest_beside(tokens, at)) {
            at += more;
        }
        let rest: Vec<&str> = tokens.get(at..).unwrap_or_default().iter().map(|token| token.text).collect();
        let first = rest.get(..1).unwrap_or_default();
        let undoes = self.negations.find_in(first).is_some();
        (rest.iter().any(|word| !is_symbol(word)) && !undoes).then_some(rest)
    }

    /// Whether a word says not.
    pub(super) fn denies(&self, word: &[&str]) -> bool {
        self.negations.find_in(word).is_some()
    }

    fn longest_beside(&self, tokens: &[Token<'_>], at: usize) -> Option<usize> {
        self.beside.iter().filter_map(|(_, phrases)| phrases.lengths_at(tokens, at).max()).max()
    }

    fn only_acknowledges(&self, entry: &Entry) -> bool {
        is_symbol(&entry.folded) || self.acknowledgements.contains(&entry.folded)
    }

    fn leans(&self, entry: &Entry) -> bool {
        self.leaning.contains(&entry.folded)
    }

    /// Whether one of two parts is an entry that says something of the other one, without a pause between them.
    fn lean_on_each_other(&self, heard: &[Heard<'_>], pair: &[Part<'_>]) -> bool {
        let [one, other] = pair else { return false };
        let pauses = heard.get(other.start).is_none_or(|heard| heard.after_pause);
        let leans = |entry: &Part<'_>, word: &Part<'_>| {
            let Piece::Beside(class) = word.piece else { return false };
            // "Please ji" pleads; "quero por favor" agrees.
            let may_plead = |entry: &Entry| class != BesideClass::Politeness || self.only_acknowledges(entry);
            let leans = entry.entry().is_some_and(|entry| self.leans(entry) && may_plead(entry));
            leans && class != BesideClass::Emoji
        };
        !pauses && (leans(one, other) || leans(other, one))
    }

    /// Whether the entry says nothing but yes.
    pub(super) fn is_clear_yes(&self, entry: &Entry) -> bool {
        entry.polarity == Polarity::Affirmative && self.particles.contains(&entry.folded)
    }

    /// Whether the entry says no with more than the bare word: "don't", "não quero".
    pub(super) fn is_spoken_no(&self, entry: &Entry) -> bool {
        let words: Vec<&str> = entry.folded.split(' ').collect();
        entry.polarity == Polarity::Negative
            && !self.particles.contains(&entry.folded)
            && self.negations.find_in(&words).is_some()
    }

    /// Whether one entry may follow another without a pause.
    fn may_touch(&self, one: &Entry, other: &Entry) -> bool {
        let is_particle = |entry: &Entry| self.particles.contains(&entry.folded);
        let same = one.folded == other.folded;
        match one.polarity {
            Polarity::Affirmative => {
                same || is_particle(one) || is_particle(other) || self.acknowledgements.contains(&one.folded)
            }
            // "No cancel" may mean do not cancel: a bare no takes no other word after it that does not say no itself.
            Polarity::Negative => {
                let words: Vec<&str> = other.folded.split(' ').collect();
                same || (is_particle(one) && (is_particle(other) || self.negations.find_in(&words).is_some()))
            }
        }
    }
}

impl<'a> Part<'a> {
    pub(super) fn entry(&self) -> Option<&'a Entry> {
        match self.piece {
            Piece::Entry(entry) => Some(entry),
            Piece::Beside(_) | Piece::Object | Piece::Named => None,
        }
    }
}

/// Whether an entry is one letter that says yes. Beside other words it may be anything.
fn is_lone_letter(entry: &Entry) -> bool {
    let mut letters = entry.folded.chars();
    let is_one = letters.next().is_some_and(char::is_alphabetic) && letters.next().is_none();
    is_one && entry.polarity == Polarity::Affirmative
}

struct Walk<'a, 't, 'f> {
    grammar: &'a Grammar,
    heard: &'t [Heard<'t>],
    named: Option<&'t SpokenPhrases>,
    is_meant: &'f dyn Fn(&[Part<'a>]) -> bool,
    left: u32,
}

impl<'a> Walk<'a, '_, '_> {
    /// Whether the text from this token on falls into pieces that fit those before it.
    fn on(&mut self, at: usize, parts: &mut Parts<'a>) -> bool {
        if at == self.heard.len() {
            return (self.is_meant)(parts);
        }
        let Some(left) = self.left.checked_sub(1) else { return false };
        self.left = left;
        for part in self.pieces(at) {
            if self.fits(parts, &part) {
                parts.push(part);
                if self.on(part.end, parts) {
                    return true;
                }
                parts.pop();
            }
        }
        false
    }

    /// Every piece that begins at this token, the longest of each kind first.
    fn pieces(&self, start: usize) -> Vec<Part<'a>> {
        let rest = self.heard.get(start..).unwrap_or_default();
        let texts: Vec<&str> = rest.iter().map(|heard| heard.token.text).collect();
        let part = |piece, length: usize| Part { piece, start, end: start + length };
        let mut pieces = Vec::new();
        let named = self.named.map(|named| named.lengths_of(rest)).unwrap_or_default();
        pieces.extend(named.into_iter().map(|length| part(Piece::Named, length)));
        for length in (1..=rest.len()).rev() {
            let entry = texts.get(..length).and_then(|texts| self.grammar.entries.get(texts));
            let entry = entry.filter(|entry| !is_lone_letter(entry) && !self.names(start, length));
            pieces.extend(entry.map(|entry| part(Piece::Entry(entry), length)));
        }
        for (class, phrases) in &self.grammar.beside {
            pieces.extend(phrases.lengths_of(rest).into_iter().map(|length| part(Piece::Beside(*class), length)));
        }
        let objects = self.grammar.objects.lengths_of(rest);
        pieces.extend(objects.into_iter().map(|length| part(Piece::Object, length)));
        pieces
    }

    /// Whether words that name the command stand anywhere among these tokens: then they are no answer.
    fn names(&self, start: usize, length: usize) -> bool {
        let Some(named) = self.named else { return false };
        (start..start + length).any(|at| {
            let rest = self.heard.get(at..start + length).unwrap_or_default();
            !named.lengths_of(rest).is_empty()
        })
    }

    fn fits(&self, before: &[Part<'a>], part: &Part<'a>) -> bool {
        let pause_since = |end: usize| (end..=part.start).any(|at| self.heard.get(at).is_some_and(|h| h.after_pause));
        let last_entry = before.iter().rev().find_map(|part| part.entry().map(|entry| (entry, part.end)));
        match part.piece {
            Piece::Entry(entry) => {
                let agrees = last_entry.is_none_or(|(last, _)| last.polarity == entry.polarity);
                let touches = last_entry.filter(|(_, end)| !pause_since(*end));
                let may_touch = touches.is_none_or(|(last, _)| self.grammar.may_touch(last, entry));
                agrees
                    && may_touch
                    && !self.tells_of_somebody(before, part)
                    && !self.follows_condition(before, part)
                    && !self.begins_condition(before, part)
            }
            Piece::Beside(BesideClass::Filler) => last_entry.is_none(),
            // "Si bien", "si todo bien"; "it is lovely", "tá lindo".
            Piece::Beside(BesideClass::Praise | BesideClass::Wellbeing) => {
                !self.follows_condition(before, part) && !self.follows_leaning(before, part)
            }
            // "Si cancela".
            Piece::Named => !self.follows_condition(before, part),
            Piece::Beside(_) => true,
            Piece::Object => before.last().is_some_and(|last| {
                let is_call_off = match last.piece {
                    Piece::Entry(entry) => {
                        entry.polarity == Polarity::Negative && self.is_call_off(last.start, last.end)
                    }
                    Piece::Named | Piece::Object => true,
                    Piece::Beside(_) => false,
                };
                is_call_off && !pause_since(last.end)
            }),
        }
    }

    fn is_call_off(&self, start: usize, end: usize) -> bool {
        let words = self.heard.get(start..end).unwrap_or_default();
        self.grammar.call_offs.lengths_of(words).contains(&(end - start))
    }

    /// Whether the token is a word that opens a condition, written just so.
    fn opens_condition(&self, at: usize) -> bool {
        let conditions = &self.grammar.conditions;
        self.heard.get(at).is_some_and(|heard| !heard.is_accented && conditions.contains(heard.token.text))
    }

    fn pauses_before(&self, at: usize) -> bool {
        self.heard.get(at).is_none_or(|heard| heard.after_pause)
    }

    /// Whether an entry stands right after a form of address and then says what that person did: "boss agreed".
    fn tells_of_somebody(&self, before: &[Part<'a>], part: &Part<'a>) -> bool {
        let named = before.last().is_some_and(|last| matches!(last.piece, Piece::Beside(BesideClass::Vocative)));
        let told = part.entry().is_some_and(|entry| self.grammar.reported.contains(&entry.folded));
        named && told && !self.pauses_before(part.start)
    }

    /// Whether praise stands right after an entry that then says it of something.
    fn follows_leaning(&self, before: &[Part<'a>], part: &Part<'a>) -> bool {
        let last = before.last().and_then(Part::entry);
        !self.pauses_before(part.start) && last.is_some_and(|entry| self.grammar.leans(entry))
    }

    /// Whether the piece stands, without a pause since, after a piece that ends with a word which then opens a condition:
    /// "si confirma", "que si está bien", "si gracias pago".
    fn follows_condition(&self, before: &[Part<'a>], part: &Part<'a>) -> bool {
        let is_same = |last: &Part<'_>| match (last.piece, part.piece) {
            (Piece::Entry(one), Piece::Entry(other)) => one.folded == other.folded,
            _ => false,
        };
        let opening = before.iter().rev().find(|last| self.opens_condition(last.end - 1));
        opening.is_some_and(|last| !is_same(last) && !(last.end..=part.start).any(|at| self.pauses_before(at)))
    }

    /// Whether the piece stands right after other words and begins with such a word, or ends the text with it: "dale si
    /// confirmo", "pago si", "señorita que si". Alone at the end, after nothing but a yes or an "ok", it is a yes: "ok si".
    fn begins_condition(&self, before: &[Part<'a>], part: &Part<'a>) -> bool {
        if before.is_empty() || self.pauses_before(part.start) {
            return false;
        }
        let is_last = part.end == self.heard.len();
        let alone = part.end - part.start == 1 && is_last;
        let is_light = |last: &Part<'_>| match last.piece {
            Piece::Entry(entry) => self.grammar.is_clear_yes(entry) || self.grammar.only_acknowledges(entry),
            Piece::Named => false,
            Piece::Beside(_) | Piece::Object => true,
        };
        let repeats = before.iter().all(|last| last.end - last.start == 1 && self.opens_condition(last.start));
        let is_yes = repeats || (alone && before.iter().all(is_light));
        let is_cut_off = is_last && !alone && self.opens_condition(part.end - 1);
        (self.opens_condition(part.start) || is_cut_off) && !is_yes
    }
}
