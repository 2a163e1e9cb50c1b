//! The history, ordered by what the rules ask for.
//!
//! Requests overlap, and an answer that never came says nothing. So a request took effect at some moment between the
//! first time that it was sent and the first answer to it, and a rule may only say that one came after another where
//! the one was sent after the other had been answered.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::clock::{NEVER, SECOND, moment};
use super::contract::Promises;
use super::record::{History, Kind, Op, Record, Said, Sense, Spec};
use super::seen::{Seen, Verdict};

/// What the servers' clock may differ beyond what was measured.
const DOUBT: i64 = SECOND / 4;

/// When a request took effect, if it did: not before `since`, not after `end`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    pub(crate) since: i64,
    pub(crate) end: i64,
}

impl Window {
    /// Whether this one certainly came after the other.
    pub(crate) fn after(self, other: Self) -> bool {
        self.since > other.end
    }
}

/// A question that was acknowledged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) record: &'a Record,
    pub(crate) window: Window,
    pub(crate) kind: Kind,
    pub(crate) context: &'a str,
    pub(crate) conversation: &'a str,
    pub(crate) actor: &'a str,
    pub(crate) spec: Option<&'a Spec>,
    pub(crate) seen: &'a Seen,
}

/// A message that was acknowledged with a verdict.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Judged<'a> {
    pub(crate) record: &'a Record,
    pub(crate) window: Window,
    pub(crate) said: &'a Said,
    pub(crate) verdict: &'a Verdict,
}

impl Judged<'_> {
    /// The question that the verdict is about; empty if about none.
    pub(crate) fn item(&self) -> &str {
        self.verdict.item().map_or("", |item| item.id())
    }
}

/// A binding or a take-over that was acknowledged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bound<'a> {
    pub(crate) record: &'a Record,
    pub(crate) window: Window,
    pub(crate) command: &'a str,
    /// Of the request.
    pub(crate) attempt: &'a str,
    /// What was asked to be bound; none for a take-over.
    pub(crate) spec: Option<&'a Spec>,
    /// The attempt that was taken over from.
    pub(crate) replaces: Option<&'a str>,
    /// Whether the caller was told to execute.
    pub(crate) execute: bool,
    pub(crate) seen: &'a Seen,
}

/// The history by what it is about.
pub(crate) struct Facts<'a> {
    pub(crate) history: &'a History,
    pub(crate) promises: &'a Promises,
    pub(crate) asked: HashMap<&'a str, Asked<'a>>,
    /// Every question that was ever sent about a command, answered or not.
    pub(crate) specs: HashMap<&'a str, Vec<&'a Spec>>,
    pub(crate) judged: Vec<Judged<'a>>,
    pub(crate) judged_by_item: HashMap<&'a str, Vec<Judged<'a>>>,
    pub(crate) bound: Vec<Bound<'a>>,
    pub(crate) bound_by_command: HashMap<&'a str, Vec<Bound<'a>>>,
    /// By what the bound command spent: confirmations and approvals.
    pub(crate) bound_by_item: HashMap<&'a str, Vec<Bound<'a>>>,
    /// Attachments that were acknowledged, by message.
    pub(crate) attached: HashMap<&'a str, Vec<(&'a str, &'a Record)>>,
    /// When an attempt tried to bind a command for the first time.
    pub(crate) first_tried: HashMap<(&'a str, &'a str), i64>,
    /// When somebody said yes to anything in a conversation for the first time.
    pub(crate) first_yes: HashMap<(&'a str, &'a str), i64>,
    windows: HashMap<u64, Window>,
    offset: Option<(i64, i64)>,
}

fn digest(identity: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    identity.hash(&mut hasher);
    hasher.finish()
}

impl<'a> Facts<'a> {
    /// Reads a history.
    pub(crate) fn of(history: &'a History, promises: &'a Promises, offset: Option<(i64, i64)>) -> Self {
        let mut facts = Self {
            history,
            promises,
            asked: HashMap::new(),
            specs: HashMap::new(),
            judged: Vec::new(),
            judged_by_item: HashMap::new(),
            bound: Vec::new(),
            bound_by_command: HashMap::new(),
            bound_by_item: HashMap::new(),
            attached: HashMap::new(),
            first_tried: HashMap::new(),
            first_yes: HashMap::new(),
            windows: HashMap::new(),
            offset,
        };
        for record in &history.records {
            let window = facts.windows.entry(digest(&record.call.identity()));
            let window = window.or_insert(Window { since: record.since, end: NEVER });
            window.since = window.since.min(record.since);
            if record.acknowledged().is_some() {
                window.end = window.end.min(record.end);
            }
        }
        for record in &history.records {
            facts.take(record);
        }
        for bound in &facts.bound {
            facts.bound_by_command.entry(bound.command).or_default().push(*bound);
            for item in [&bound.seen.item.confirmation_id, &bound.seen.item.approval_id] {
                if !item.is_empty() {
                    facts.bound_by_item.entry(item).or_default().push(*bound);
                }
            }
        }
        for judged in &facts.judged {
            if let Some(item) = judged.verdict.item() {
                facts.judged_by_item.entry(item.id()).or_default().push(*judged);
            }
        }
        facts
    }

    /// When the request of this record took effect.
    pub(crate) fn window(&self, record: &Record) -> Window {
        let own = Window { since: record.since, end: record.end };
        self.windows.get(&digest(&record.call.identity())).copied().unwrap_or(own)
    }

    fn take(&mut self, record: &'a Record) {
        let earlier = |first: &mut i64| *first = record.since.min(*first);
        match &record.call.op {
            Op::Ask { spec: Some(spec), .. } => self.specs.entry(&spec.command_id).or_default().push(spec),
            Op::Bind { attempt, spec, .. } => {
                self.first_tried.entry((&spec.command_id, attempt)).and_modify(earlier).or_insert(record.since);
            }
            Op::Say(said) if said.sense == Sense::Yes => {
                let whose = (said.conversation.as_str(), said.actor.as_str());
                self.first_yes.entry(whose).and_modify(earlier).or_insert(record.since);
            }
            _ => {}
        }
        let Some(seen) = record.done() else { return };
        let window = self.window(record);
        match &record.call.op {
            Op::Say(said) => {
                if let Some(verdict) = &seen.verdict {
                    self.judged.push(Judged { record, window, said, verdict });
                }
            }
            Op::Ask { kind, context, conversation, actor, spec } if !seen.item.id().is_empty() => {
                let spec = spec.as_ref();
                let (kind, id) = (*kind, seen.item.id());
                let asked = Asked { record, window, kind, context, conversation, actor, spec, seen };
                self.asked.entry(id).or_insert(asked);
            }
            Op::Attach { item, prompt } => self.attached.entry(prompt).or_default().push((item, record)),
            Op::Bind { attempt, spec, .. } => {
                let (command, execute) = (&spec.command_id, told_to_execute(seen));
                let spec = Some(spec);
                self.bound.push(Bound { record, window, command, attempt, spec, replaces: None, execute, seen });
            }
            Op::TakeOver { command, attempt, replaces } => {
                let (replaces, execute) = (Some(replaces.as_str()), told_to_execute(seen));
                self.bound.push(Bound { record, window, command, attempt, spec: None, replaces, execute, seen });
            }
            _ => {}
        }
    }

    /// The records of one kind of request that were answered as done.
    pub(crate) fn done(&self, is: fn(&Op) -> bool) -> impl Iterator<Item = (&'a Record, &'a Seen)> + use<'a> {
        let records = self.history.records.iter().filter(move |record| is(&record.call.op));
        records.filter_map(|record| record.done().map(|seen| (record, seen)))
    }

    /// Whether a deadline of the servers had certainly passed when this moment of ours came.
    pub(crate) fn certainly_past(&self, deadline: &str, at: i64) -> bool {
        let (Some((least, _)), Some(deadline)) = (self.offset, moment(deadline)) else { return false };
        at.saturating_add(least).saturating_sub(DOUBT) >= deadline
    }

    /// Whether a deadline of the servers had certainly not yet passed when this moment of ours came.
    pub(crate) fn certainly_before(&self, deadline: &str, at: i64) -> bool {
        let (Some((_, most)), Some(deadline)) = (self.offset, moment(deadline)) else { return false };
        at.saturating_add(most).saturating_add(DOUBT) < deadline
    }

    /// The person behind a name.
    pub(crate) fn person<'n>(&'n self, name: &'n str) -> &'n str {
        let known = self.history.persons.iter().find(|(other, _)| other == name);
        known.map_or(name, |(_, person)| person.as_str())
    }
}

/// Servers that do not say it mean it by answering with success.
pub(crate) fn told_to_execute(seen: &Seen) -> bool {
    seen.execute.unwrap_or(true)
}

/// How far the servers' clock is ahead of ours, at least and at most: each question says when it was asked, which was
/// between its sending and its answer. None if nothing was measured, or if the servers' clock jumped.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Offset {
    bounds: Option<(i64, i64)>,
    jumped: bool,
}

impl Offset {
    /// Takes the question of a record into account.
    pub(crate) fn learn(&mut self, record: &Record) {
        let fresh = record.answer.as_ref().is_some_and(|answer| answer.status == 201 && !answer.replayed);
        if !fresh || record.since != record.begin || !matches!(record.call.op, Op::Ask { .. }) {
            return;
        }
        let Some(asked_at) = record.done().and_then(|seen| moment(&seen.asked_at)) else { return };
        let measured = (asked_at - record.end, asked_at - record.begin);
        let (least, most) = self.bounds.map_or(measured, |(least, most)| (least.max(measured.0), most.min(measured.1)));
        // Clocks drift: what no longer fits by a little is not a jump, and by much makes all of it worthless.
        self.jumped |= least > most + DOUBT;
        self.bounds = Some((least.min(most), most.max(least)));
    }

    /// The bounds, where they can be trusted.
    pub(crate) fn bounds(&self) -> Option<(i64, i64)> {
        self.bounds.filter(|_| !self.jumped)
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::super::bodies::{Line, Manner, choose};
    use super::super::record::Answer;
    use super::*;

    /// A question that was sent and answered in these seconds of ours, and asked in this one of the servers'.
    fn asked(offset: &mut Offset, sent: i64, answered: i64, asked_at: &str) {
        let line = Line { context: String::new(), conversation: String::new(), actor: String::new() };
        let call = Rc::new(choose(line, Manner { supersede: false, ttl_seconds: None }));
        let seen = Seen { asked_at: asked_at.to_owned(), ..Seen::default() };
        let answer = Some(Answer { status: 201, replayed: false, readable: true, seen });
        let (since, begin, end) = (sent * SECOND, sent * SECOND, answered * SECOND);
        offset.learn(&Record { number: 1, call, server: 0, since, begin, end, answer });
    }

    #[test]
    fn each_question_says_more_exactly_how_the_clocks_stand() {
        let mut offset = Offset::default();
        assert_eq!(offset.bounds(), None);
        asked(&mut offset, 10, 14, "1970-01-01T00:00:12Z");
        assert_eq!(offset.bounds(), Some((-2 * SECOND, 2 * SECOND)));
        asked(&mut offset, 20, 21, "1970-01-01T00:00:21Z");
        assert_eq!(offset.bounds(), Some((0, SECOND)));
    }

    #[test]
    fn a_clock_that_jumped_says_nothing() {
        let mut offset = Offset::default();
        asked(&mut offset, 10, 11, "1970-01-01T00:00:10Z");
        asked(&mut offset, 20, 21, "1970-01-01T01:00:20Z");
        assert_eq!(offset.bounds(), None);
    }
}
