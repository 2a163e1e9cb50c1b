//! What was measured: a time for each request, and what went wrong.

use std::collections::BTreeMap;
use std::time::Duration;

/// What a request was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    /// An ordinary message.
    Message,
    /// The same message, delivered again.
    Duplicate,
    /// A confirmation is asked for.
    Ask,
    /// The prompt's message id becomes known.
    Attach,
    /// "Yes", and nothing else.
    BareYes,
    /// "Yes", quoting the prompt.
    QuotedYes,
    /// The command is bound.
    Bind,
    /// Its result is recorded.
    Result,
}

impl Step {
    const ALL: [Self; 8] = [
        Self::Message,
        Self::Duplicate,
        Self::Ask,
        Self::Attach,
        Self::BareYes,
        Self::QuotedYes,
        Self::Bind,
        Self::Result,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Duplicate => "duplicate",
            Self::Ask => "ask",
            Self::Attach => "prompt-message",
            Self::BareYes => "bare yes",
            Self::QuotedYes => "quoted yes",
            Self::Bind => "bind",
            Self::Result => "result",
        }
    }

    /// Whether it is a message that was interpreted: a turn.
    fn is_turn(self) -> bool {
        matches!(self, Self::Message | Self::Duplicate | Self::BareYes | Self::QuotedYes)
    }
}

/// Times and errors.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    micros: BTreeMap<Step, Vec<u32>>,
    errors: BTreeMap<String, u64>,
}

impl Tally {
    /// A request that was answered as expected.
    pub(crate) fn right(&mut self, step: Step, took: Duration) {
        self.micros.entry(step).or_default().push(u32::try_from(took.as_micros()).unwrap_or(u32::MAX));
    }

    /// A request that was not.
    pub(crate) fn wrong(&mut self, step: Step, what: &str) {
        *self.errors.entry(format!("{}: {what}", step.name())).or_default() += 1;
    }

    /// Takes over what another client measured.
    pub(crate) fn add(&mut self, other: Self) {
        for (step, micros) in other.micros {
            self.micros.entry(step).or_default().extend(micros);
        }
        for (what, count) in other.errors {
            *self.errors.entry(what).or_default() += count;
        }
    }

    /// How many answers were wrong.
    pub(crate) fn errors(&self) -> u64 {
        self.errors.values().sum()
    }

    /// How many answers were right.
    pub(crate) fn requests(&self) -> u64 {
        self.count(|_| true)
    }

    /// How many conversations went from the message to the result.
    pub(crate) fn exchanges(&self) -> u64 {
        self.count(|step| step == Step::Result)
    }

    fn count(&self, wanted: impl Fn(Step) -> bool) -> u64 {
        let counted = self.micros.iter().filter(|(step, _)| wanted(**step));
        counted.map(|(_, micros)| u64::try_from(micros.len()).unwrap_or(u64::MAX)).sum()
    }

    /// The report.
    #[expect(clippy::cast_precision_loss, reason = "printed rounded")]
    pub(crate) fn print(&mut self, seconds: f64) {
        let rate = |count: u64| count as f64 / seconds;
        println!(
            "{:.0} requests/s, {:.0} turns/s, {:.0} exchanges/s, {} errors",
            rate(self.requests()),
            rate(self.count(Step::is_turn)),
            rate(self.exchanges()),
            self.errors()
        );
        println!("{:<16}{:>9}{:>9}{:>9}{:>9}{:>9}  ms", "", "count", "p50", "p90", "p99", "p99.9");
        let mut all: Vec<u32> = self.micros.values().flatten().copied().collect();
        print_row("all", &mut all);
        for step in Step::ALL {
            if let Some(micros) = self.micros.get_mut(&step) {
                print_row(step.name(), micros);
            }
        }
        for (what, count) in &self.errors {
            println!("error  {count:>6}  {what}");
        }
    }
}

fn print_row(name: &str, micros: &mut [u32]) {
    micros.sort_unstable();
    let at = |thousandths: usize| {
        let index = (micros.len() * thousandths / 1_000).min(micros.len().saturating_sub(1));
        f64::from(micros.get(index).copied().unwrap_or_default()) / 1_000.0
    };
    println!("{name:<16}{:>9}{:>9.2}{:>9.2}{:>9.2}{:>9.2}", micros.len(), at(500), at(900), at(990), at(999));
}
