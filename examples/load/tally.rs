//! What was measured: times for each kind of request, counts, and what went wrong.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::histogram::Histogram;

/// What a request was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// An ordinary message, or the one that asks for a command.
    Message,
    /// The same message, delivered again.
    Duplicate,
    /// A confirmation is asked for.
    Ask,
    /// The same request with the same `Idempotency-Key`.
    AskAgain,
    /// The prompt was sent: its message id becomes known.
    Prompt,
    /// A status of the prompt names the same message id again.
    Status,
    /// Yes, by button.
    YesTap,
    /// "sim", quoting the prompt.
    YesQuote,
    /// "sim", and nothing else.
    YesBare,
    /// No, in any of these ways.
    No,
    /// A command is bound.
    Bind,
    /// Another worker tries to bind it at the same time and must not succeed, or must be the only one.
    BindRace,
    /// The same attempt again.
    BindAgain,
    /// The command's result is recorded.
    Result,
    /// The same request with the same `Idempotency-Key`.
    ResultAgain,
    /// The business' reply is registered before it is sent.
    Reply,
    /// The button of a question that was answered long ago.
    LateTap,
}

impl Kind {
    /// All of them, in the order in which they are shown.
    pub(crate) const ALL: [Self; 17] = [
        Self::Message,
        Self::Duplicate,
        Self::Ask,
        Self::AskAgain,
        Self::Prompt,
        Self::Status,
        Self::YesTap,
        Self::YesQuote,
        Self::YesBare,
        Self::No,
        Self::Bind,
        Self::BindRace,
        Self::BindAgain,
        Self::Result,
        Self::ResultAgain,
        Self::Reply,
        Self::LateTap,
    ];

    /// Its name in the report.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Duplicate => "duplicate",
            Self::Ask => "ask",
            Self::AskAgain => "ask again",
            Self::Prompt => "prompt-message",
            Self::Status => "status of prompt",
            Self::YesTap => "yes by button",
            Self::YesQuote => "yes quoting",
            Self::YesBare => "bare sim",
            Self::No => "no",
            Self::Bind => "bind",
            Self::BindRace => "bind, raced",
            Self::BindAgain => "bind again",
            Self::Result => "result",
            Self::ResultAgain => "result again",
            Self::Reply => "reply",
            Self::LateTap => "late tap",
        }
    }
}

/// Counts of things that are not requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Inbound messages that were interpreted and acted upon to the end.
    pub(crate) turns: u64,
    /// Events that a webhook would have received: deliveries and statuses.
    pub(crate) webhook_events: u64,
    /// Of these, statuses.
    pub(crate) statuses: u64,
    /// Commands bound and their results recorded.
    pub(crate) commands: u64,
    /// Turns that were given up: after the last retry, or after an answer that was not the expected one.
    pub(crate) given_up: u64,
    /// Turns that were due and not begun when the time was over.
    pub(crate) not_begun: u64,
    /// Turns that found no place among those under way and waited for one.
    pub(crate) waited: u64,
}

/// Times, counts and errors.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    times: BTreeMap<Kind, Histogram>,
    /// From the moment a turn was meant to begin to the last answer that it needed.
    pub(crate) turns: Histogram,
    /// From the moment a turn was meant to begin to the moment it began.
    pub(crate) delays: Histogram,
    /// What was counted.
    pub(crate) counts: Counts,
    /// Answers that were not the expected ones.
    pub(crate) wrong: BTreeMap<String, u64>,
    /// Answers 503 and 429: come back later.
    pub(crate) refused: BTreeMap<String, u64>,
    /// Requests without an answer.
    pub(crate) broken: BTreeMap<String, u64>,
}

/// Microseconds of a duration.
pub(crate) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

fn count(errors: &mut BTreeMap<String, u64>, what: String) {
    *errors.entry(what).or_default() += 1;
}

impl Tally {
    /// A request that was answered as expected.
    pub(crate) fn right(&mut self, kind: Kind, took: Duration) {
        self.times.entry(kind).or_default().record(micros(took));
    }

    /// A request that was answered otherwise.
    pub(crate) fn wrong(&mut self, kind: Kind, what: &str) {
        count(&mut self.wrong, format!("{}: {what}", kind.name()));
    }

    /// A request that the server could not take now.
    pub(crate) fn refused(&mut self, kind: Kind, what: &str) {
        count(&mut self.refused, format!("{}: {what}", kind.name()));
    }

    /// A request that nobody answered.
    pub(crate) fn broken(&mut self, what: String) {
        count(&mut self.broken, what);
    }

    /// Takes over what another worker measured.
    pub(crate) fn add(&mut self, other: Self) {
        for (kind, times) in &other.times {
            self.times.entry(*kind).or_default().add(times);
        }
        self.turns.add(&other.turns);
        self.delays.add(&other.delays);
        let (mine, theirs) = (&mut self.counts, other.counts);
        mine.turns += theirs.turns;
        mine.webhook_events += theirs.webhook_events;
        mine.statuses += theirs.statuses;
        mine.commands += theirs.commands;
        mine.given_up += theirs.given_up;
        mine.not_begun += theirs.not_begun;
        mine.waited += theirs.waited;
        for (mine, theirs) in
            [(&mut self.wrong, other.wrong), (&mut self.refused, other.refused), (&mut self.broken, other.broken)]
        {
            for (what, count) in theirs {
                *mine.entry(what).or_default() += count;
            }
        }
    }

    /// How many answers were right.
    pub(crate) fn requests(&self) -> u64 {
        self.times.values().map(Histogram::total).sum()
    }

    /// The times of the requests of one kind, if there were any.
    pub(crate) fn times(&self, kind: Kind) -> Option<&Histogram> {
        self.times.get(&kind)
    }

    /// The times of all requests.
    pub(crate) fn all_times(&self) -> Histogram {
        let mut all = Histogram::default();
        self.times.values().for_each(|times| all.add(times));
        all
    }
}

/// The sum of what is in a table of errors.
pub(crate) fn sum(errors: &BTreeMap<String, u64>) -> u64 {
    errors.values().sum()
}
