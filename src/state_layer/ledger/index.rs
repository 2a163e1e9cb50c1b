//! Where to look: facts by what they are called, quote and depend on. Hashes prefilter; whoever asks compares.

use std::collections::{BTreeMap, BTreeSet};

use super::{inferring, writing};
use crate::domain::id::FactUid;
use crate::state_layer::fact::{Fact, Standing};
use crate::state_layer::language::folding::plain;

/// What an entry is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Facet {
    /// A fact that stands, by its key.
    Key,
    /// A fact that stands, by its label.
    Label,
    /// A fact that no longer stands, by its key.
    PastKey,
    /// A fact that no longer stands, by its label.
    PastLabel,
    /// A fact that stands, by the stem that sibling keys share.
    Stem,
    /// A fact that stands, by the words of its key but those for newer and older.
    Lineage,
    /// A fact that stands, by a word of its key.
    Word,
    /// A fact that stands, by its scope id.
    Scope,
    /// A fact that stands, by a fact it depends on.
    Base,
    /// A fact that stands, by a fact that contests it.
    Contester,
    /// A fact that stands, by a name it depends on and that nothing answers to yet.
    Waiting,
    /// A fact that stands, by a number or weekday in it.
    Value,
    /// A fact that stands, by its first two words.
    Opening,
}

/// FNV-1a, 64 bits: fast, the same everywhere, and never trusted to tell two texts apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Hashed(u64);

impl Hashed {
    pub(super) fn new(facet: Facet) -> Self {
        Self(0xcbf2_9ce4_8422_2325).byte(facet as u8)
    }

    pub(super) fn byte(self, byte: u8) -> Self {
        Self((self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
    }

    pub(super) fn text(self, text: &str) -> Self {
        text.bytes().fold(self, Self::byte)
    }

    /// A text without case and accents.
    pub(super) fn plain(self, text: &str) -> Self {
        text.chars().map(plain).flat_map(|letter| u32::from(letter).to_le_bytes()).fold(self, Self::byte)
    }

    pub(super) fn get(self) -> u64 {
        self.0
    }
}

/// The index of a ledger.
#[derive(Debug, Clone, Default)]
pub(super) struct Index {
    /// Sorted as far as the index was made of facts that were there; later ones follow.
    uids: Vec<FactUid>,
    sorted: usize,
    later: BTreeMap<FactUid, u32>,
    /// By names and links: what a step looks at that changes anything. Most utterances change nothing.
    names: Option<BTreeSet<Entry>>,
    /// By the words of keys and values: what only a written fact looks at, made when the first one does.
    words: Option<BTreeSet<Entry>>,
    /// Names that facts have taken while others waited for them, and that those may not have heard of.
    unheard: BTreeSet<String>,
}

/// Hash, time for past names and nothing for others, fact.
type Entry = (u64, i64, u32);

impl Index {
    /// Makes sure that facts are found by their names.
    pub(super) fn by_names(&mut self, facts: &BTreeMap<FactUid, Fact>) {
        if self.names.is_some() {
            return;
        }
        let mut names = Vec::with_capacity(facts.len() * 2);
        for (slot, fact) in (0..u32::MAX).zip(facts.values()) {
            each_name(fact, |hash, at| names.push((hash, at, slot)));
        }
        self.uids = facts.keys().cloned().collect();
        self.sorted = facts.len();
        self.names = Some(names.into_iter().collect());
        for name in facts.values().filter(|fact| fact.is_valid()).flat_map(waiting) {
            let taken = [Facet::Key, Facet::Label, Facet::PastKey, Facet::PastLabel];
            if taken.into_iter().any(|facet| self.of_text(facet, name).next().is_some()) {
                self.unheard.insert(name.to_owned());
            }
        }
    }

    /// Notes that a new fact has taken its names.
    pub(super) fn note_names(&mut self, fact: &Fact) {
        let label = fact.label.as_ref().map(crate::domain::id::FactLabel::as_str);
        for name in [Some(fact.uid.as_str()), label, Some(fact.key.as_str())].into_iter().flatten() {
            if self.of_text(Facet::Waiting, name).next().is_some() {
                self.unheard.insert(name.to_owned());
            }
        }
    }

    /// Whether somebody who waits for this name may not have heard that it is taken.
    pub(super) fn is_unheard(&self, name: &str) -> bool {
        self.unheard.contains(name)
    }

    /// Makes sure that facts are found by their words too.
    pub(super) fn by_words(&mut self, facts: &BTreeMap<FactUid, Fact>) {
        self.by_names(facts);
        if self.words.is_some() {
            return;
        }
        let mut words = Vec::with_capacity(facts.len() * 6);
        for fact in facts.values() {
            let slot = self.slot(&fact.uid);
            each_word(fact, |hash| words.push((hash, 0, slot)));
        }
        self.words = Some(words.into_iter().collect());
    }

    fn slot(&mut self, uid: &FactUid) -> u32 {
        let sorted = self.uids.get(..self.sorted).unwrap_or_default();
        if let Some(slot) = sorted.binary_search(uid).ok().and_then(|slot| u32::try_from(slot).ok()) {
            return slot;
        }
        if let Some(slot) = self.later.get(uid) {
            return *slot;
        }
        let slot = u32::try_from(self.uids.len()).unwrap_or(u32::MAX);
        self.uids.push(uid.clone());
        self.later.insert(uid.clone(), slot);
        slot
    }

    /// Takes a fact in as it stands. What is not indexed yet will be, with all others.
    pub(super) fn add(&mut self, fact: &Fact) {
        if self.names.is_none() {
            return;
        }
        let slot = self.slot(&fact.uid);
        if let Some(names) = &mut self.names {
            each_name(fact, |hash, at| {
                names.insert((hash, at, slot));
            });
        }
        if let Some(words) = &mut self.words {
            each_word(fact, |hash| {
                words.insert((hash, 0, slot));
            });
        }
    }

    /// Forgets a fact as it stands.
    pub(super) fn remove(&mut self, fact: &Fact) {
        if self.names.is_none() {
            return;
        }
        let slot = self.slot(&fact.uid);
        if let Some(names) = &mut self.names {
            each_name(fact, |hash, at| {
                names.remove(&(hash, at, slot));
            });
        }
        if let Some(words) = &mut self.words {
            each_word(fact, |hash| {
                words.remove(&(hash, 0, slot));
            });
        }
    }

    /// A fact that stands depends on a fact, and no longer waits for a name.
    pub(super) fn answer(&mut self, uid: &FactUid, name: &str, base: &FactUid) {
        if self.names.is_none() {
            return;
        }
        let slot = self.slot(uid);
        if let Some(names) = &mut self.names {
            names.remove(&(Hashed::new(Facet::Waiting).text(name).get(), 0, slot));
            names.insert((Hashed::new(Facet::Base).text(base.as_str()).get(), 0, slot));
        }
    }

    fn found<'a>(
        &'a self,
        entries: &'a BTreeSet<Entry>,
        hash: u64,
    ) -> impl DoubleEndedIterator<Item = (i64, &'a FactUid)> {
        entries
            .range((hash, i64::MIN, 0)..=(hash, i64::MAX, u32::MAX))
            .filter_map(|(_, at, slot)| Some((*at, self.uids.get(usize::try_from(*slot).ok()?)?)))
    }

    fn named(&self, facet: Facet, name: &str) -> impl DoubleEndedIterator<Item = (i64, &FactUid)> {
        let hash = Hashed::new(facet).text(name).get();
        self.names.iter().flat_map(move |names| self.found(names, hash))
    }

    /// The facts filed under a name or a link, after [`Index::by_names`]; some may be filed there by chance.
    pub(super) fn of_text(&self, facet: Facet, text: &str) -> impl Iterator<Item = &FactUid> {
        self.named(facet, text).map(|(_, uid)| uid)
    }

    /// The facts filed under words, after [`Index::by_words`]; some may be filed there by chance.
    pub(super) fn of_words(&self, hashed: Hashed) -> impl Iterator<Item = &FactUid> {
        self.words.iter().flat_map(move |words| self.found(words, hashed.get())).map(|(_, uid)| uid)
    }

    /// Facts of a name that no longer stand, the latest first.
    pub(super) fn past(&self, facet: Facet, name: &str) -> impl Iterator<Item = (i64, &FactUid)> {
        self.named(facet, name).rev()
    }

    /// The facts that depend on a fact and stand, in no order of meaning.
    pub(super) fn dependents(&self, uid: &FactUid, facts: &BTreeMap<FactUid, Fact>) -> Vec<FactUid> {
        self.of_text(Facet::Base, uid.as_str())
            .filter(|dependent| facts.get(*dependent).is_some_and(|fact| bases(fact).any(|base| base == uid)))
            .cloned()
            .collect()
    }
}

/// The facts of its own space that a fact depends on, as far as they are known.
pub(super) fn bases(fact: &Fact) -> impl Iterator<Item = &FactUid> {
    fact.depends_on
        .iter()
        .filter(|dependency| dependency.space.is_none())
        .filter_map(|dependency| dependency.uid.as_ref())
}

/// Names of its own space that a fact depends on and that nothing answers to.
fn waiting(fact: &Fact) -> impl Iterator<Item = &str> {
    fact.depends_on
        .iter()
        .filter(|dependency| dependency.space.is_none() && dependency.uid.is_none())
        .map(|dependency| dependency.pointer.0.as_str())
}

fn each_name(fact: &Fact, mut file: impl FnMut(u64, i64)) {
    let of = |facet: Facet, text: &str| Hashed::new(facet).text(text).get();
    if let Standing::Superseded { .. } = fact.standing {
        let at = fact.at.as_micros();
        file(of(Facet::PastKey, &fact.key), at);
        if let Some(label) = &fact.label {
            file(of(Facet::PastLabel, label.as_str()), at);
        }
        return;
    }
    file(of(Facet::Key, &fact.key), 0);
    if let Some(label) = &fact.label {
        file(of(Facet::Label, label.as_str()), 0);
    }
    if let Some(stem) = super::keys::sibling_stem(&fact.key) {
        file(of(Facet::Stem, stem), 0);
    }
    if let Some(scope_id) = &fact.scope_id {
        file(of(Facet::Scope, scope_id), 0);
    }
    for base in bases(fact) {
        file(of(Facet::Base, base.as_str()), 0);
    }
    for name in waiting(fact) {
        file(of(Facet::Waiting, name), 0);
    }
    for contest in &fact.contested {
        file(of(Facet::Contester, contest.by.as_str()), 0);
    }
}

fn each_word(fact: &Fact, mut file: impl FnMut(u64)) {
    if fact.is_valid() {
        writing::each_kinship(&fact.key, |hashed| file(hashed.get()));
        inferring::each_mark(fact, |hashed| file(hashed.get()));
    }
}
