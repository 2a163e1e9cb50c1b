//! Tables of folded phrases, looked up by whole tokens.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::hearing::Heard;
use super::normalise::{prolongs, squeeze};
use super::{LexiconVersion, Reading};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Polarity {
    Affirmative,
    Negative,
}

impl Polarity {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Affirmative => "affirmative",
            Self::Negative => "negative",
        }
    }
}

/// One answer of one file.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) polarity: Polarity,
    pub(super) source: LexiconVersion,
    pub(super) written: String,
    pub(super) folded: String,
    pub(super) squeezed: String,
}

impl Entry {
    pub(super) fn plain(&self) -> Reading {
        let (locale, entry, version) = self.parts();
        match self.polarity {
            Polarity::Affirmative => Reading::Affirmative { locale, entry, version },
            Polarity::Negative => Reading::Negative { locale, entry, version },
        }
    }

    pub(super) fn qualified(&self) -> Reading {
        let (locale, entry, version) = self.parts();
        Reading::Qualified { locale, entry, version }
    }

    /// How many tokens the entry has, and with it every text that is read as it.
    pub(super) fn tokens(&self) -> usize {
        self.folded.split(' ').count()
    }

    fn parts(&self) -> (String, String, String) {
        let LexiconVersion { locale, version } = self.source.clone();
        (locale, self.written.clone(), version)
    }
}

/// All answers of a lexicon.
#[derive(Debug, Clone, Default)]
pub(super) struct Entries {
    by_squeezed: BTreeMap<String, Vec<Entry>>,
    as_written_only: BTreeSet<String>,
    longest: usize,
}

impl Entries {
    /// Makes prolonged forms of this folded word match no entry.
    pub(super) fn keep_as_written(&mut self, other_word: &str) {
        self.as_written_only.insert(squeeze(other_word));
    }

    /// A table with the same words kept as written, and no entry.
    pub(super) fn without_entries(&self) -> Self {
        Self { as_written_only: self.as_written_only.clone(), ..Self::default() }
    }

    /// Adds an entry, or gives the one of the other polarity that reads like it. The first of two
    /// that fold alike stays.
    pub(super) fn add(&mut self, entry: Entry) -> Result<(), Conflict> {
        let alike = self.by_squeezed.entry(entry.squeezed.clone()).or_default();
        if let Some(opposite) = alike.iter().find(|known| known.polarity != entry.polarity) {
            let opposite = Box::new(opposite.clone());
            return Err(Conflict { entry: Box::new(entry), opposite });
        }
        self.longest = self.longest.max(entry.tokens());
        if alike.iter().all(|known| known.folded != entry.folded) {
            alike.push(entry);
        }
        Ok(())
    }

    /// The entry these tokens are: as written, else with letters repeated.
    pub(super) fn get(&self, tokens: &[&str]) -> Option<&Entry> {
        if tokens.is_empty() || tokens.len() > self.longest {
            return None;
        }
        let text = tokens.join(" ");
        let squeezed = squeeze(&text);
        let alike = self.by_squeezed.get(&squeezed)?;
        let exact = alike.iter().find(|entry| entry.folded == text);
        if exact.is_some() || self.as_written_only.contains(&squeezed) {
            return exact;
        }
        alike.iter().find(|entry| prolongs(&text, &entry.folded) && !hesitates(&text, entry))
    }

    /// The longest entry that the tokens begin with, other than all of them.
    pub(super) fn leading(&self, tokens: &[&str]) -> Option<&Entry> {
        (1..tokens.len().min(self.longest + 1)).rev().find_map(|n| self.get(tokens.get(..n)?))
    }

    /// The longest entry that the tokens end with, other than all of them.
    pub(super) fn trailing(&self, tokens: &[&str]) -> Option<&Entry> {
        let last = tokens.len();
        (1..last.min(self.longest + 1)).rev().find_map(|n| self.get(tokens.get(last - n..)?))
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Entry> {
        self.by_squeezed.values().flatten()
    }
}

/// Whether a yes is dragged out from its first letter on: "oook", "yyyes". What is dragged out later ("siiim", "okkk") is a yes.
fn hesitates(text: &str, entry: &Entry) -> bool {
    let is_letter = entry.folded.chars().nth(1).is_none_or(|second| !second.is_alphabetic());
    entry.polarity == Polarity::Affirmative && !is_letter && first_run(text) > first_run(&entry.folded)
}

fn first_run(text: &str) -> usize {
    let first = text.chars().next();
    text.chars().take_while(|c| Some(*c) == first).count()
}

/// Two entries that read alike and say the opposite.
#[derive(Debug)]
pub(super) struct Conflict {
    pub(super) entry: Box<Entry>,
    pub(super) opposite: Box<Entry>,
}

/// A set of folded phrases.
#[derive(Debug, Clone, Default)]
pub(super) struct Phrases {
    folded: BTreeSet<String>,
    longest: usize,
}

impl Phrases {
    pub(super) fn add(&mut self, folded: String) {
        self.longest = self.longest.max(folded.split(' ').count());
        self.folded.insert(folded);
    }

    pub(super) fn contains(&self, folded: &str) -> bool {
        self.folded.contains(folded)
    }

    /// Whether the tokens begin with one of the phrases.
    pub(super) fn begin(&self, tokens: &[&str]) -> bool {
        (1..=self.longest).any(|n| tokens.get(..n).is_some_and(|words| self.folded.contains(&words.join(" "))))
    }

    /// The first phrase that stands anywhere among the tokens.
    pub(super) fn find_in(&self, tokens: &[&str]) -> Option<&str> {
        let lengths = 1..=self.longest;
        lengths
            .flat_map(|n| tokens.windows(n))
            .find_map(|window| self.folded.get(&window.join(" ")).map(String::as_str))
    }
}

/// The most tokens of one piece beside the phrases.
const LONGEST_PIECE: usize = 4;

/// A token of a folded text, with its repeated letters cut.
#[derive(Debug)]
pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    squeezed: String,
}

impl<'a> Token<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, squeezed: squeeze(text) }
    }
}

/// Phrases that are also recognised with letters repeated, wherever they stand.
#[derive(Debug, Clone, Default)]
pub(super) struct SpokenPhrases {
    /// By their first token, squeezed.
    by_first: BTreeMap<String, Vec<Vec<String>>>,
    /// Words that only look like one of the phrases with letters repeated.
    other_words: BTreeSet<String>,
}

impl SpokenPhrases {
    pub(super) fn new(folded: &Phrases, other_words: &Phrases) -> Self {
        let mut phrases = Self { by_first: BTreeMap::new(), other_words: other_words.folded.clone() };
        for phrase in &folded.folded {
            let tokens: Vec<String> = phrase.split(' ').map(str::to_owned).collect();
            if let Some(first) = tokens.first() {
                phrases.by_first.entry(squeeze(first)).or_default().push(tokens);
            }
        }
        phrases
    }

    /// Where the phrases stand among the tokens.
    pub(super) fn find(&self, tokens: &[Token<'_>]) -> Vec<Range<usize>> {
        let starts = 0..tokens.len();
        starts.flat_map(|start| self.lengths_at(tokens, start).map(move |length| start..start + length)).collect()
    }

    /// Whether the tokens are nothing but phrases, one after the other, and pieces that `is_piece` accepts. At least
    /// one of them is a phrase.
    pub(super) fn cover(&self, tokens: &[Token<'_>], is_piece: impl Fn(&[Token<'_>]) -> bool) -> bool {
        // Whether the first n tokens are covered, without and with a phrase among them.
        let mut covered = vec![(false, false); tokens.len() + 1];
        if let Some(nothing) = covered.first_mut() {
            nothing.0 = true;
        }
        for start in 0..tokens.len() {
            let Some(before) = covered.get(start).copied().filter(|before| before.0 || before.1) else { continue };
            for length in self.lengths_at(tokens, start) {
                if let Some(after) = covered.get_mut(start + length) {
                    after.1 = true;
                }
            }
            let longest = LONGEST_PIECE.min(tokens.len() - start);
            for end in start + 1..=start + longest {
                if let Some(after) = covered.get_mut(end)
                    && tokens.get(start..end).is_some_and(&is_piece)
                {
                    *after = (after.0 || before.0, after.1 || before.1);
                }
            }
        }
        covered.last().is_some_and(|all| all.1)
    }

    /// How many of these tokens each phrase covers that they begin with, the longest first.
    pub(super) fn lengths_of(&self, heard: &[Heard<'_>]) -> Vec<usize> {
        let phrases = heard.first().and_then(|first| self.by_first.get(&first.token.squeezed));
        let tokens = || heard.iter().map(|heard| &heard.token);
        let begins = |phrase: &&Vec<String>| heard.len() >= phrase.len() && self.is_same(tokens(), phrase);
        let mut lengths: Vec<usize> = phrases.into_iter().flatten().filter(begins).map(Vec::len).collect();
        lengths.sort_unstable_by(|a, b| b.cmp(a));
        lengths.dedup();
        lengths
    }

    pub(super) fn lengths_at<'a>(&'a self, tokens: &'a [Token<'_>], start: usize) -> impl Iterator<Item = usize> + 'a {
        let rest = tokens.get(start..).unwrap_or_default();
        let phrases = rest.first().and_then(|first| self.by_first.get(&first.squeezed));
        phrases.into_iter().flatten().filter(|phrase| self.begins_with(rest, phrase)).map(Vec::len)
    }

    fn begins_with(&self, tokens: &[Token<'_>], phrase: &[String]) -> bool {
        tokens.len() >= phrase.len() && self.is_same(tokens.iter(), phrase)
    }

    fn is_same<'a>(&self, tokens: impl Iterator<Item = &'a Token<'a>>, phrase: &[String]) -> bool {
        let is_same = |(token, word): (&Token<'_>, &String)| {
            token.text == word || (!self.other_words.contains(token.text) && prolongs(token.text, word))
        };
        tokens.zip(phrase).all(is_same)
    }
}
