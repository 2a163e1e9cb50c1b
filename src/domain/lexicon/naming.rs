//! Commands whose name is a word of refusal: "Cancel order 1?" — "cancel".

use std::collections::BTreeMap;

use super::composing::{Grammar, Part, Parts, Piece};
use super::composition::BesideClass;
use super::hearing::{Heard, hear};
use super::normalise::normalise;
use super::phrases::{Entry, Phrases, SpokenPhrases, Token};
use super::plain::is_plain;
use super::reading::squeeze_symbols;
use super::{Lexicon, Reading};

/// The words by which people name a command, by language (`commands[].says` of a policy pack).
#[derive(Debug, Clone, Default)]
pub struct Says {
    phrases: SpokenPhrases,
    named: Vec<Named>,
}

/// One of them, as the pack writes it.
#[derive(Debug, Clone)]
struct Named {
    locale: String,
    written: String,
    folded: String,
    version: String,
}

/// What a text that names the command says about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Naming {
    /// "Yes, cancel it."
    Yes(Reading),
    /// "Don't cancel it."
    No(Reading),
    /// "Cancel it": it may mean the command, or a refusal of it. So may "looks good", which names neither.
    Unclear(Reading),
}

impl Naming {
    /// The reading that stands for it: an unclear one is qualified, and names the words that name the command.
    #[must_use]
    pub fn reading(&self) -> &Reading {
        match self {
            Self::Yes(reading) | Self::No(reading) | Self::Unclear(reading) => reading,
        }
    }
}

impl Says {
    /// Adds the words that a pack of this version lists, by language.
    pub fn add(&mut self, words: &BTreeMap<String, Vec<String>>, version: &str) {
        for (locale, written) in words.iter().flat_map(|(locale, list)| list.iter().map(move |word| (locale, word))) {
            let named = Named {
                locale: locale.clone(),
                written: written.clone(),
                folded: normalise(written),
                version: version.to_owned(),
            };
            self.named.push(named);
        }
        self.index();
    }

    fn index(&mut self) {
        let mut folded = Phrases::default();
        self.named.iter().filter(|named| !named.folded.is_empty()).for_each(|named| folded.add(named.folded.clone()));
        self.phrases = SpokenPhrases::new(&folded, &Phrases::default());
    }

    /// The words of both.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.named.extend(other.named.iter().cloned());
        self.index();
        self
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.named.is_empty()
    }

    fn reading(&self, tokens: &[Token<'_>]) -> Option<Reading> {
        let found = self.phrases.find(tokens).into_iter().max_by_key(|span| (span.len(), usize::MAX - span.start))?;
        let words: Vec<&str> = tokens.get(found)?.iter().map(|token| token.text).collect();
        let said = words.join(" ");
        let named = self.named.iter().find(|named| named.folded == said);
        let named =
            named.or_else(|| self.named.iter().find(|named| super::normalise::prolongs(&said, &named.folded)))?;
        let (locale, entry, version) = (named.locale.clone(), named.written.clone(), named.version.clone());
        Some(Reading::Qualified { locale, entry, version })
    }
}

impl Lexicon {
    /// What the text says about a command that `says` names; none if it does not name it, or says something else about it.
    /// Words that say that things go on, and no clear yes, are unclear: such a command undoes something.
    ///
    /// A clear yes beside the name, with or without courtesies, is a yes; a no that is more than the bare word and stands
    /// right before the name is a no. The name alone is neither, whatever it says where no such command is asked about.
    #[must_use]
    pub fn read_naming(&self, text: &str, says: &Says) -> Option<Naming> {
        if says.is_empty() {
            return None;
        }
        let folded = normalise(text);
        let words = squeeze_symbols(&folded);
        let tokens: Vec<Token<'_>> = words.iter().map(|word| Token::new(word)).collect();
        let read = self.read(text);
        let Some(name) = says.reading(&tokens) else { return self.carries_on(text, &folded, read) };
        let unclear = Naming::Unclear(name);
        let alone = matches!(read, Reading::Affirmative { .. } | Reading::Negative { .. });
        let named = hear(text, &folded).and_then(|heard| self.named(&heard, says));
        match named {
            Some(NamedBy::Yes(entry)) if is_plain(text) && !self.has_other_form(text) => {
                Some(Naming::Yes(entry.plain()))
            }
            Some(NamedBy::No(entry)) if is_plain(text) => Some(Naming::No(entry.plain())),
            Some(NamedBy::Name | NamedBy::Yes(_) | NamedBy::No(_)) => Some(unclear),
            None => alone.then_some(unclear),
        }
    }

    /// A yes of nothing but words that say that things are right or go on: "looks good", "ok, pode mandar".
    fn carries_on(&self, text: &str, folded: &str, read: Reading) -> Option<Naming> {
        let Reading::Affirmative { locale, entry, version } = read else { return None };
        let heard = hear(text, folded)?;
        let goes_on = |grammar: &Grammar| {
            let parts = grammar.compose(&heard).unwrap_or_default();
            let mut entries = parts.iter().filter_map(Part::entry);
            !grammar.any_yes(&parts) && entries.any(|entry| grammar.carry_on.contains(&entry.folded))
        };
        let unclear = Naming::Unclear(Reading::Qualified { locale, entry, version });
        self.grammars.iter().any(goes_on).then_some(unclear)
    }

    fn named(&self, heard: &[Heard<'_>], says: &Says) -> Option<NamedBy<'_>> {
        // One name and nothing that is put to it: "yes, stop the cancellation" and "yes, cancel everything" ask for
        // something else than the command, and "yes, cancelled" may ask for nothing.
        let said = |grammar: &Grammar, parts: &[Part<'_>]| {
            // "Yes. Sorry, cancel that" takes the yes back.
            let spoils = |part: &Part<'_>| matches!(part.piece, Piece::Object | Piece::Beside(BesideClass::Regret));
            let is_spoilt = parts.iter().any(spoils);
            let tells = names(parts).filter_map(|at| parts.get(at)).any(|name| self.tells_a_state(heard, name));
            names(parts).count() == 1 && !is_spoilt && !tells && grammar.any_yes(parts)
        };
        let denied = |grammar: &Grammar, parts: &[Part<'_>]| {
            names(parts).next().is_some() && names(parts).all(|at| grammar.is_refused(heard, parts, at))
        };
        let any = |_: &Grammar, parts: &[Part<'_>]| names(parts).next().is_some();
        let yes = self.first_parts(heard, says, &said).and_then(|(grammar, parts)| grammar.clear_yes(&parts));
        let no = || self.first_parts(heard, says, &denied).and_then(|(grammar, parts)| grammar.spoken_no(&parts));
        let name = || self.first_parts(heard, says, &any).map(|_| NamedBy::Name);
        yes.map(NamedBy::Yes).or_else(|| no().map(NamedBy::No)).or_else(name)
    }

    /// Whether words that name the command say, in any language, that something has happened.
    fn tells_a_state(&self, heard: &[Heard<'_>], name: &Part<'_>) -> bool {
        let words = heard.get(name.start..name.end).unwrap_or_default();
        let words: Vec<&str> = words.iter().map(|heard| heard.token.text).collect();
        self.states.find_in(&words).is_some()
    }

    fn first_parts<'a>(
        &'a self,
        heard: &[Heard<'_>],
        says: &Says,
        is_meant: &dyn Fn(&Grammar, &[Part<'_>]) -> bool,
    ) -> Option<(&'a Grammar, Parts<'a>)> {
        self.grammars.iter().find_map(|grammar| {
            let parts = grammar.parts(heard, Some(&says.phrases), &|parts| is_meant(grammar, parts))?;
            Some((grammar, parts))
        })
    }

    /// The word that keeps a phrase from naming a command in this locale: it says not, or is no name but a yes, a no or an
    /// object such as "everything".
    #[must_use]
    pub fn cannot_name(&self, written: &str, locale: &str) -> Option<String> {
        let folded = normalise(written);
        let words: Vec<&str> = folded.split(' ').collect();
        let tokens: Vec<Token<'_>> = words.iter().map(|word| Token::new(word)).collect();
        let grammars = self.for_locale(Some(locale)).grammars.iter();
        let mut found = grammars.filter_map(|grammar| {
            let negation = grammar.negations.find_in(&words).map(str::to_owned);
            let is_answer = || grammar.particles.contains(&folded) || grammar.acknowledgements.contains(&folded);
            let is_object = || grammar.objects.lengths_at(&tokens, 0).any(|length| length == tokens.len());
            negation.or_else(|| (is_answer() || is_object()).then(|| folded.clone()))
        });
        found.next()
    }

    /// Whether the text asks to stop something that it names itself: "cancel order 456", also after a yes, a no or other
    /// words ("no, cancel order 456"). Then it is a request of its own, whatever was asked.
    #[must_use]
    pub fn begins_request(&self, text: &str) -> bool {
        let folded = normalise(text);
        let words = squeeze_symbols(&folded);
        let tokens: Vec<Token<'_>> = words.iter().map(|word| Token::new(word)).collect();
        let heard = hear(text, &folded);
        let pauses = |at: usize| heard.as_ref().and_then(|heard| heard.get(at)).is_some_and(|heard| heard.after_pause);
        let starts = 0..tokens.len().min(MAX_BEFORE_REQUEST + 1);
        let requests = starts.flat_map(|at| {
            // "Don't cancel order 456" asks for nothing; "no, cancel order 456" does.
            let before = at.checked_sub(1).filter(|_| !pauses(at)).and_then(|before| words.get(before..at));
            let is_denied = before.is_some_and(|before| self.grammars.iter().any(|grammar| grammar.denies(before)));
            let meant = self.grammars.iter().filter(|_| !is_denied);
            meant.filter_map(|grammar| grammar.request_at(&tokens, at)).collect::<Vec<_>>()
        });
        requests.into_iter().any(|object| {
            // A condition in whatever language. A single letter is a word of too many.
            let is_letter = object.first().is_some_and(|word| word.chars().nth(1).is_none());
            let answers = self.entries.get(&object).or_else(|| self.entries.leading(&object)).is_some();
            !answers && (is_letter || !self.qualifiers.begin(&object))
        })
    }
}

/// The words that may stand before the verb of a request.
const MAX_BEFORE_REQUEST: usize = 6;

enum NamedBy<'a> {
    Yes(&'a Entry),
    No(&'a Entry),
    Name,
}

/// Which of the parts name the command.
fn names<'a>(parts: &'a [Part<'_>]) -> impl Iterator<Item = usize> + 'a {
    parts.iter().enumerate().filter(|(_, part)| matches!(part.piece, Piece::Named)).map(|(at, _)| at)
}

impl Grammar {
    fn any_yes(&self, parts: &[Part<'_>]) -> bool {
        self.clear_yes(parts).is_some()
    }

    /// The first clear yes. The name may be of another language, and words that mean something else there are none: English
    /// "ya" before Spanish "cancelo".
    fn clear_yes<'a>(&self, parts: &[Part<'a>]) -> Option<&'a Entry> {
        let mut entries = parts.iter().filter_map(Part::entry);
        entries.find(|entry| self.is_clear_yes(entry) && !self.only_here.contains(&entry.folded))
    }

    fn spoken_no<'a>(&self, parts: &[Part<'a>]) -> Option<&'a Entry> {
        parts.iter().filter_map(Part::entry).find(|entry| self.is_spoken_no(entry))
    }

    /// Whether the part that names the command stands right after a spoken no.
    fn is_refused(&self, heard: &[Heard<'_>], parts: &[Part<'_>], at: usize) -> bool {
        let touches = parts.get(at).and_then(|name| heard.get(name.start)).is_some_and(|heard| !heard.after_pause);
        let before = at.checked_sub(1).and_then(|before| parts.get(before)).and_then(Part::entry);
        touches && before.is_some_and(|entry| self.is_spoken_no(entry))
    }
}
