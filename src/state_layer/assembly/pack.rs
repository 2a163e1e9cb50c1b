//! Putting a pack together: gate, freshness, ranking, dead values, lines, budget.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::admit::{Admission, Entry, Part};
use super::clean::{clean_fact, core_text};
use super::dead::DeadValues;
use super::gate::{Gated, Shown, gate};
use super::lines::{Line, flat};
use super::order::{Order, Placed};
use super::rank::Query;
use super::repair::{Successors, void};
use super::signals::{Fresh, fresh, signal_text};
use super::stems::Stems;
use super::tokens::Counter;
use super::turns::{Against, Printed, filtered};
use super::{ContextPack, Omission, PackRefusal, PackRequest, Sources};
use crate::domain::time::Timestamp;
use crate::state_layer::authority::AuthorityOrder;
use crate::state_layer::language::tags::tagged;
use crate::state_layer::language::terms::language;
use crate::state_layer::space::Identity;

/// How many of the most relevant facts are asked whether a dead value is alive in another.
const LIVING_CONSIDERED: usize = 512;
/// How many facts lend their words to the question when turns are ranked.
const ANSWERS: usize = 3;

/// Everything that lines are made from.
struct Draft<'a> {
    request: &'a PackRequest,
    counter: Counter,
    stems: &'a Stems,
    order: Order,
    gated: Gated<'a>,
    fresh: Fresh<'a>,
    dead: DeadValues<'a>,
}

/// Assembles a pack: what must be there, then what fits, most relevant first, never more than the budget.
///
/// The result depends on what was said and when, not on the order in which it is handed in, nor on ids.
pub fn assemble(
    request: &PackRequest,
    sources: &Sources<'_>,
    order: &AuthorityOrder,
) -> Result<ContextPack, PackRefusal> {
    let gated = gate(request, sources, order)?;
    let stems = Stems::new(language(&request.query));
    let fresh = fresh(&sources.signals, request.as_of, &stems);
    let placed = Order::new(&gated.facts, &Query::new(&request.query), order);
    let dead = dead_values(&gated, &fresh, &placed, &stems);
    let draft =
        Draft { request, counter: request.estimator.counter(), stems: &stems, order: placed, gated, fresh, dead };
    draft.pack(sources.identity)
}

/// Collects what must not come back.
fn dead_values<'a>(gated: &Gated<'_>, fresh: &Fresh<'_>, order: &Order, stems: &'a Stems) -> DeadValues<'a> {
    let mut dead = DeadValues::new(stems);
    let facts = || order.by_relevance.iter().filter_map(|place| gated.facts.get(*place));
    for shown in facts() {
        dead.add_former(shown.fact, &shown.text);
        if let Some(void) = void(&shown.text) {
            dead.add_replaced(&shown.fact.key, "", void.conclusion);
            void.ground.iter().for_each(|ground| dead.add_replaced(&shown.fact.key, "", ground));
        } else if shown.fact.review.is_some() {
            dead.add_replaced(&shown.fact.key, "", &shown.text);
        }
    }
    gated.superseded.iter().for_each(|shown| dead.add_replaced(&shown.fact.key, "", &shown.text));
    fresh.replaced.iter().for_each(|(now, old)| dead.add_replaced("", now, old));
    gated.withheld.iter().for_each(|text| dead.add_withheld(text));
    if !dead.is_empty() {
        let standing = |shown: &&Shown<'_>| shown.fact.review.is_none() && void(&shown.text).is_none();
        let of_facts = facts().filter(standing).take(LIVING_CONSIDERED).map(|shown| core_text(&shown.text).into());
        let of_signals = fresh.shown.iter().map(|signal| core_text(&signal_text(signal)).into());
        let of_items = gated.items.iter().map(|(_, text)| Cow::Borrowed(text.as_str()));
        dead.settle(of_facts.chain(of_signals).chain(of_items));
    }
    dead
}

impl Draft<'_> {
    fn pack(mut self, identity: Option<&Identity>) -> Result<ContextPack, PackRefusal> {
        let mut admission = Admission::new(self.counter, self.request.token_budget);
        if let Some(identity) = identity {
            admission.require(Part::Identity, Entry::bare(self.line(&identity_text(identity))));
        }
        admission.require(Part::Environment, Entry::bare(self.line(&format!("now: {}", minute(self.request.as_of)))));
        let fixed = admission.used();
        let mandatory = self.mandatory(&mut admission);
        admission.settle(fixed, self.request.facts_share)?;
        self.signals(&mut admission);
        self.facts(&mut admission, &mandatory);
        self.items(&mut admission);
        if !self.request.recent_turns.is_empty() {
            self.turns(&mut admission);
        }
        self.superseded(&mut admission);
        let omitted = std::mem::take(&mut self.gated.omitted);
        let stale = self.fresh.omitted.iter().map(|(signal, reason)| (format!("signal:{}", signal.key), *reason));
        Ok(admission.finish(self.request, omitted.into_iter().chain(stale)))
    }

    fn line(&self, content: &str) -> Line {
        Line::new(self.counter, &flat(content))
    }

    /// A fact's line: key and value, and who says so where that matters.
    fn fact_line(&self, shown: &Shown<'_>, flag: &str, with_source: bool) -> Line {
        let text = flat(&clean_fact(&shown.text, &self.dead));
        let source =
            if with_source && tagged(&shown.text).title.is_none() { source_text(shown) } else { String::new() };
        Line::new(self.counter, &format!("{flag}{}: {text}{source}", flat(&shown.fact.key)))
    }

    fn shown(&self, place: usize) -> Option<&Shown<'_>> {
        self.gated.facts.get(place)
    }

    fn flag(&self, place: usize) -> &'static str {
        if self.order.contested.contains_key(&place) { "[contested] " } else { "" }
    }

    /// What must be there: conflicts, constraints, conclusions to recompute, and what the caller includes. Returns the
    /// facts that are printed by it.
    fn mandatory(&self, admission: &mut Admission) -> BTreeSet<usize> {
        let mut done = BTreeSet::new();
        for group in &self.order.conflicts {
            let facts: Vec<&Shown<'_>> = group.iter().filter_map(|place| self.shown(*place)).collect();
            admission.require(Part::Conflicts, Entry::bare(self.line(&conflict_text(&facts))));
            for shown in facts {
                admission.require(Part::Conflicts, Entry::of(self.fact_line(shown, "", true), shown.fact));
            }
            done.extend(group.iter().copied());
        }
        let of = |class: Placed| {
            self.order.by_relevance.iter().copied().filter(move |place| self.order.class(*place) == class)
        };
        for place in of(Placed::Constraint) {
            if let Some(shown) = self.shown(place).filter(|_| done.insert(place)) {
                admission
                    .require(Part::Constraints, Entry::of(self.fact_line(shown, self.flag(place), false), shown.fact));
            }
        }
        let review: Vec<usize> = of(Placed::Review).collect();
        if !review.is_empty() {
            self.review(admission, &review, &mut done);
        }
        for place in of(Placed::Fact) {
            if let Some(shown) = self.shown(place).filter(|shown| shown.included && !done.contains(&place)) {
                done.insert(place);
                admission.require(Part::Facts, Entry::of(self.fact_line(shown, self.flag(place), false), shown.fact));
            }
        }
        done
    }

    /// Conclusions to recompute, each with what stands now in the place of its ground.
    fn review(&self, admission: &mut Admission, review: &[usize], done: &mut BTreeSet<usize>) {
        let successors = Successors::new(&self.gated.facts, &self.order.by_relevance);
        done.extend(review.iter().copied());
        for place in review {
            let Some(shown) = self.shown(*place) else { continue };
            let mut text = format!("{}: invalid, recompute", flat(&shown.fact.key));
            let mut facts = vec![shown.fact];
            let mut bases = successors.of(shown);
            bases.sort_by_key(|base| self.order.position(*base));
            bases.dedup();
            for (index, base) in bases.into_iter().filter(|base| base != place).enumerate() {
                let Some(base_shown) = self.shown(base) else { continue };
                text.push_str(if index == 0 { " from " } else { "; " });
                text.push_str(&flat(&base_shown.fact.key));
                if done.insert(base) {
                    text.push_str(": ");
                    text.push_str(&flat(&clean_fact(&base_shown.text, &self.dead)));
                    facts.push(base_shown.fact);
                }
            }
            admission.require(Part::NeedsReview, Entry::of_all(Line::new(self.counter, &text), &facts));
        }
    }

    fn signals(&self, admission: &mut Admission) {
        for signal in &self.fresh.shown {
            let text = clean_fact(&signal_text(signal), &self.dead);
            let line = Line::new(self.counter, &format!("{}: {}", flat(&signal.key), flat(&text)));
            admission.offer(Part::Environment, Entry::named(line, format!("signal:{}", signal.key)));
        }
    }

    fn facts(&self, admission: &mut Admission, done: &BTreeSet<usize>) {
        for place in self.order.printed().filter(|place| !done.contains(place)) {
            let Some(shown) = self.shown(place) else { continue };
            if admission.facts_are_full() {
                admission.leave(shown.fact.uid.as_str(), Omission::FactsShare);
            } else {
                admission.offer(Part::Facts, Entry::of(self.fact_line(shown, self.flag(place), false), shown.fact));
            }
        }
    }

    fn items(&self, admission: &mut Admission) {
        for (item, text) in &self.gated.items {
            let kept = super::turns::clean_text(text, &self.dead);
            let Some(text) = kept else {
                admission.leave(&format!("item:{}", item.key), Omission::Superseded);
                continue;
            };
            let kind = if item.item_type.is_empty() || item.item_type == "context" {
                String::new()
            } else {
                format!("{}: ", item.item_type)
            };
            let line = self.line(&format!("{kind}{text}"));
            admission.offer(Part::WorkingSet, Entry::named(line, format!("item:{}", item.key)));
        }
    }

    fn turns(&self, admission: &mut Admission) {
        let mut printed = Printed::new(self.stems);
        admission.texts().for_each(|text| printed.add(text));
        let against = Against {
            query: &self.request.query,
            stems: self.stems,
            as_of: self.request.as_of,
            dead: &self.dead,
            printed: &printed,
        };
        let (kept, omitted) = filtered(&self.request.recent_turns, &against);
        for (place, reason) in omitted {
            admission.leave(&format!("turn:{place}"), reason);
        }
        let answers: Vec<String> = self
            .order
            .best(ANSWERS)
            .filter_map(|place| self.shown(place))
            .map(|shown| format!("{} {}", shown.fact.key, shown.text))
            .collect();
        let scores = Query::with_answers(&self.request.query, &answers)
            .relevance(kept.iter().map(|turn| ["", turn.text.as_str()]));
        let mut ranked: Vec<(u64, usize)> = scores.into_iter().zip(0..).collect();
        // Of equals the newer one; the order of time is total up to the words.
        ranked.sort_unstable_by_key(|(score, index)| (std::cmp::Reverse(*score), std::cmp::Reverse(*index)));
        for (_, index) in ranked {
            let Some(turn) = kept.get(index) else { continue };
            let line = Line::new(self.counter, &turn.text);
            admission.offer_at(Part::Turns, Entry::named(line, format!("turn:{}", turn.place)), index);
        }
    }

    fn superseded(&self, admission: &mut Admission) {
        for shown in &self.gated.superseded {
            let line =
                Line::new(self.counter, &format!("[superseded] {}: {}", flat(&shown.fact.key), flat(&shown.text)));
            admission.offer(Part::Superseded, Entry::of(line, shown.fact));
        }
    }
}

/// Who is served, in one line.
fn identity_text(identity: &Identity) -> String {
    let name = identity.user_name.as_deref().unwrap_or(&identity.user_id);
    let parts = [identity.authority.as_deref(), identity.department.as_deref(), identity.organization.as_deref()];
    let mut text = name.to_owned();
    for part in parts.into_iter().flatten().filter(|part| !part.is_empty()) {
        text.push_str(", ");
        text.push_str(part);
    }
    if let Some(style) = identity.communication_style.as_deref().filter(|style| !style.is_empty()) {
        text.push_str("; style: ");
        text.push_str(style);
    }
    text
}

fn source_text(shown: &Shown<'_>) -> String {
    let source = &shown.fact.source;
    let parts: Vec<&str> = [source.identity.as_deref(), source.authority.as_deref()].into_iter().flatten().collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", flat(&parts.join(", "))) }
}

/// What a conflict between equals is, and what to do about it.
fn conflict_text(facts: &[&Shown<'_>]) -> String {
    let mut titles: BTreeMap<String, String> = BTreeMap::new();
    for shown in facts {
        let title = tagged(&shown.text).title.or_else(|| shown.fact.source.authority.clone());
        titles.extend(title.map(|title| (title.to_lowercase(), title)));
    }
    let who = match titles.into_values().collect::<Vec<_>>().as_slice() {
        [] => String::new(),
        [title] if facts.len() == 2 => format!(" (both {title}s)"),
        titles => format!(" ({})", titles.join(", ")),
    };
    format!("conflict between equals{who}: escalate to whoever ranks above")
}

/// An instant to the minute, in UTC.
fn minute(at: Timestamp) -> String {
    let text = at.to_string();
    format!("{}Z", text.get(..16).unwrap_or(&text))
}
