//! The budget: what must be there first, then what fits, and skipping what does not. Sizes add up over lines.

use super::lines::Line;
use super::tokens::Counter;
use super::{ContextPack, Omission, Omitted, PackRefusal, PackRequest, Segment, TokenSummary};
use crate::domain::id::FactUid;
use crate::state_layer::fact::Fact;

/// No line is shorter than this, in tokens.
const SHORTEST: u32 = 4;
/// After so many facts in a row that did not fit, the others are not even counted.
const MISSES: u32 = 256;

/// A section of a pack, in the order in which they stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Identity,
    /// The present and what comes from outside.
    Environment,
    /// What equals disagree about.
    Conflicts,
    Constraints,
    /// What must be recomputed.
    NeedsReview,
    Facts,
    /// What the task holds.
    WorkingSet,
    Turns,
    /// What no longer stands, where that was asked for.
    Superseded,
}

impl Part {
    const ALL: [Self; 9] = [
        Self::Identity,
        Self::Environment,
        Self::Conflicts,
        Self::Constraints,
        Self::NeedsReview,
        Self::Facts,
        Self::WorkingSet,
        Self::Turns,
        Self::Superseded,
    ];

    fn heading(self) -> &'static str {
        match self {
            Self::Identity => "## User\n",
            Self::Environment => "## Now\n",
            Self::Conflicts => "## Conflicts\n",
            Self::Constraints => "## Constraints\n",
            Self::NeedsReview => "## Recompute\n",
            Self::Facts => "## Facts\n",
            Self::WorkingSet => "## Working set\n",
            Self::Turns => "## Said\n",
            Self::Superseded => "## Superseded\n",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Environment => "environment",
            Self::Conflicts => "conflicts",
            Self::Constraints => "constraints",
            Self::NeedsReview => "needs_review",
            Self::Facts => "facts",
            Self::WorkingSet => "working_set",
            Self::Turns => "turns",
            Self::Superseded => "superseded",
        }
    }
}

/// A line with what it shows.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    line: Line,
    facts: Vec<FactUid>,
    name: Option<String>,
}

impl Entry {
    /// A line that shows nothing that could be left out.
    pub(super) fn bare(line: Line) -> Self {
        Self { line, facts: Vec::new(), name: None }
    }

    /// A line that shows a fact.
    pub(super) fn of(line: Line, fact: &Fact) -> Self {
        Self::of_all(line, &[fact])
    }

    /// A line that shows several facts.
    pub(super) fn of_all(line: Line, facts: &[&Fact]) -> Self {
        Self { line, facts: facts.iter().map(|fact| fact.uid.clone()).collect(), name: None }
    }

    /// A line that shows something else, under the name by which it is left out.
    pub(super) fn named(line: Line, name: String) -> Self {
        Self { line, facts: Vec::new(), name: Some(name) }
    }

    fn id(&self) -> Option<String> {
        self.name.clone().or_else(|| self.facts.first().map(|uid| uid.as_str().to_owned()))
    }
}

/// A pack that is being filled.
#[derive(Debug)]
pub(super) struct Admission {
    counter: Counter,
    budget: u32,
    used: u32,
    /// What facts may still take, and have taken.
    facts_left: u32,
    facts_used: u32,
    signals_left: u32,
    misses: u32,
    /// Entries by section, with their place in it.
    parts: Vec<Vec<(usize, Entry)>>,
    headings: [u32; Part::ALL.len()],
    omitted: Vec<Omitted>,
}

impl Admission {
    pub(super) fn new(counter: Counter, budget: u32) -> Self {
        Self {
            counter,
            budget,
            used: 0,
            facts_left: 0,
            facts_used: 0,
            signals_left: 0,
            misses: 0,
            parts: vec![Vec::new(); Part::ALL.len()],
            headings: Part::ALL.map(|part| counter.count(part.heading())),
            omitted: Vec::new(),
        }
    }

    /// Tokens used so far.
    pub(super) fn used(&self) -> u32 {
        self.used
    }

    /// The texts that are in it so far.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().flatten().map(|(_, entry)| entry.line.text.as_str())
    }

    /// What a line costs, with its section's heading if it is the first.
    fn cost(&self, part: Part, line: &Line) -> u32 {
        let first = self.parts.get(part as usize).is_none_or(Vec::is_empty);
        let heading = if first { self.headings.get(part as usize).copied().unwrap_or(0) } else { 0 };
        line.tokens.saturating_add(heading)
    }

    fn push(&mut self, part: Part, entry: Entry, place: usize) {
        let cost = self.cost(part, &entry.line);
        self.used = self.used.saturating_add(cost);
        if is_of_facts(part) {
            self.facts_used = self.facts_used.saturating_add(cost);
        }
        if let Some(lines) = self.parts.get_mut(part as usize) {
            lines.push((place, entry));
        }
    }

    /// Adds what must be there.
    pub(super) fn require(&mut self, part: Part, entry: Entry) {
        let place = self.parts.get(part as usize).map_or(0, Vec::len);
        self.push(part, entry, place);
    }

    /// Says whether what must be there fits, and divides the rest: `fixed` tokens of it are identity and the present.
    pub(super) fn settle(&mut self, fixed: u32, facts_share: f64) -> Result<(), PackRefusal> {
        if self.used > self.budget {
            return Err(PackRefusal::BudgetTooSmall { required: self.used });
        }
        let rest = self.budget.saturating_sub(fixed);
        self.facts_left = share_of(rest, facts_share).saturating_sub(self.facts_used);
        // What comes from outside has no bound of its own: it may take half of what is free.
        self.signals_left = (self.budget - self.used) / 2;
        Ok(())
    }

    /// Adds a line behind the others of its section, if it fits.
    pub(super) fn offer(&mut self, part: Part, entry: Entry) {
        let place = self.parts.get(part as usize).map_or(0, Vec::len);
        self.offer_at(part, entry, place);
    }

    /// Adds a line at a place in its section, if it fits.
    pub(super) fn offer_at(&mut self, part: Part, entry: Entry, place: usize) {
        let cost = self.cost(part, &entry.line);
        let free = self.budget.saturating_sub(self.used);
        let limit = match part {
            Part::Environment => self.signals_left,
            part if is_of_facts(part) => self.facts_left,
            _ => free,
        };
        if cost > free.min(limit) {
            let reason = if cost <= free && is_of_facts(part) { Omission::FactsShare } else { Omission::Budget };
            self.misses = self.misses.saturating_add(u32::from(is_of_facts(part)));
            entry.id().into_iter().for_each(|id| self.leave(&id, reason));
            return;
        }
        match part {
            Part::Environment => self.signals_left -= cost,
            part if is_of_facts(part) => (self.facts_left, self.misses) = (self.facts_left - cost, 0),
            _ => {}
        }
        self.push(part, entry, place);
    }

    /// Whether no further fact is worth counting.
    pub(super) fn facts_are_full(&self) -> bool {
        self.facts_left.min(self.budget.saturating_sub(self.used)) < SHORTEST || self.misses >= MISSES
    }

    /// Notes what is left out.
    pub(super) fn leave(&mut self, id: &str, reason: Omission) {
        self.omitted.push(Omitted { id: id.to_owned(), reason });
    }

    pub(super) fn finish(
        mut self,
        request: &PackRequest,
        omitted: impl Iterator<Item = (String, Omission)>,
    ) -> ContextPack {
        self.omitted.extend(omitted.map(|(id, reason)| Omitted { id, reason }));
        self.parts.iter_mut().for_each(|lines| lines.sort_by_key(|(place, _)| *place));
        let (mut segments, mut context) = self.render();
        let mut used = self.counter.count(&context);
        // Sizes add up, so this does not happen; a pack over budget must not happen even then.
        while used > self.budget && self.drop_last() {
            (segments, context) = self.render();
            used = self.counter.count(&context);
        }
        self.omitted.sort_unstable();
        self.omitted.dedup();
        let estimator_id = request.estimator.id();
        let facts = segments
            .iter()
            .zip(self.filled())
            .filter(|(_, part)| is_of_facts(*part))
            .map(|(segment, _)| segment.tokens)
            .sum();
        let mut pack = ContextPack {
            pack_hash: String::new(),
            facts_included: self.parts.iter().flatten().flat_map(|(_, entry)| entry.facts.iter().cloned()).collect(),
            token_summary: TokenSummary {
                budget: self.budget,
                used,
                remaining: self.budget.saturating_sub(used),
                facts,
            },
            segments,
            context,
            omitted: self.omitted,
            estimator_id,
        };
        pack.pack_hash = pack.commitment(request.as_of);
        pack
    }

    fn filled(&self) -> impl Iterator<Item = Part> {
        Part::ALL.into_iter().zip(&self.parts).filter(|(_, lines)| !lines.is_empty()).map(|(part, _)| part)
    }

    fn render(&self) -> (Vec<Segment>, String) {
        let mut segments = Vec::new();
        for (part, lines) in Part::ALL.into_iter().zip(&self.parts).filter(|(_, lines)| !lines.is_empty()) {
            let mut text = part.heading().to_owned();
            text.extend(lines.iter().map(|(_, entry)| entry.line.text.as_str()));
            let tokens = self.counter.count(&text);
            segments.push(Segment { section: part.name().to_owned(), text, tokens });
        }
        let context = segments.iter().map(|segment| segment.text.as_str()).collect();
        (segments, context)
    }

    /// Drops the last line of the last section that may go.
    fn drop_last(&mut self) -> bool {
        const OPTIONAL: [Part; 4] = [Part::Superseded, Part::Turns, Part::WorkingSet, Part::Facts];
        let dropped = OPTIONAL.into_iter().find_map(|part| self.parts.get_mut(part as usize)?.pop());
        if let Some(id) = dropped.as_ref().and_then(|(_, entry)| entry.id()) {
            self.leave(&id, Omission::Budget);
        }
        dropped.is_some()
    }
}

fn is_of_facts(part: Part) -> bool {
    matches!(part, Part::Conflicts | Part::Constraints | Part::NeedsReview | Part::Facts)
}

/// A share of a number of tokens, rounded down.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most the number itself")]
fn share_of(tokens: u32, share: f64) -> u32 {
    let share = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
    (f64::from(tokens) * share).floor() as u32
}
