//! Tables of folded phrases, looked up by whole tokens.

use std::collections::{BTreeMap, BTreeSet};

use super::normalise::{prolongs, squeeze};
use super::{LexiconVersion, Reading};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Polarity {
    Affirmative,
    Negative,
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

    /// Adds an entry, or gives the one of the other polarity that reads like it. The first of two
    /// that fold alike stays.
    pub(super) fn add(&mut self, entry: Entry) -> Result<(), Conflict> {
        let alike = self.by_squeezed.entry(entry.squeezed.clone()).or_default();
        if let Some(opposite) = alike.iter().find(|known| known.polarity != entry.polarity) {
            let opposite = Box::new(opposite.clone());
            return Err(Conflict { entry: Box::new(entry), opposite });
        }
        self.longest = self.longest.max(entry.folded.split(' ').count());
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
        alike.iter().find(|entry| prolongs(&text, &entry.folded))
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

    /// The first phrase that stands anywhere among the tokens.
    pub(super) fn find_in(&self, tokens: &[&str]) -> Option<&str> {
        let lengths = 1..=self.longest;
        lengths
            .flat_map(|n| tokens.windows(n))
            .find_map(|window| self.folded.get(&window.join(" ")).map(String::as_str))
    }
}
