//! The result, for people and for machines.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Value, json};

use crate::check::Checked;
use crate::histogram::Histogram;
use crate::options::Options;
use crate::tally::{Kind, Tally, sum};
use crate::watch::Watched;

/// A count as a number to calculate with.
#[expect(clippy::cast_precision_loss, reason = "printed with a few digits")]
pub(crate) fn float(count: u64) -> f64 {
    count as f64
}

/// Milliseconds of microseconds.
pub(crate) fn millis(micros: u64) -> f64 {
    float(micros) / 1_000.0
}

/// All that there is to report.
pub(crate) struct Report<'a> {
    pub(crate) options: &'a Options,
    pub(crate) tally: &'a Tally,
    /// From the end of the warm-up to the end of the last turn.
    pub(crate) seconds: f64,
    pub(crate) watched: &'a Watched,
    /// How long preloading took, in seconds, if there was any.
    pub(crate) preloaded: Option<f64>,
    pub(crate) checked: &'a Checked,
}

/// The percentiles that are shown, in thousandths.
const SHOWN: [(u64, &str); 4] = [(500, "p50"), (900, "p90"), (990, "p99"), (999, "p99.9")];

impl Report<'_> {
    fn rate(&self, count: u64) -> f64 {
        float(count) / self.seconds
    }

    /// The rows of times: name and histogram.
    fn rows(&self) -> Vec<(&'static str, Histogram)> {
        let mut rows = vec![("turn", self.tally.turns.clone()), ("all requests", self.tally.all_times())];
        let times = |kind: Kind| self.tally.times(kind).map(|times| (kind.name(), times.clone()));
        rows.extend(Kind::ALL.into_iter().filter_map(times));
        if self.options.rate.is_some() {
            rows.push(("start delay", self.tally.delays.clone()));
        }
        rows
    }

    fn setting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options = self.options;
        let how = match options.rate {
            Some(rate) => format!("open loop, {rate} turns/s due, at most {} under way", options.max_inflight),
            None => format!("closed loop, {} clients", options.clients),
        };
        writeln!(
            f,
            "{how}; {} servers, {} conversations, {} % hot; seed {}, {} s warm-up, {:.1} s measured",
            options.urls.len(),
            options.conversations,
            options.hot_share,
            options.seed,
            options.warmup,
            self.seconds
        )?;
        if let Some(took) = self.preloaded {
            let rate = f64::from(options.preload) / took.max(0.001);
            writeln!(f, "preloaded {} conversations in {took:.1} s, {rate:.0} a second", options.preload)?;
        }
        Ok(())
    }

    fn watched(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mebibytes = |bytes: u64| float(bytes) / 1_048_576.0;
        for process in &self.watched.processes {
            let peak = if process.after.peak > 0 {
                format!(", at most {:.1} MiB ever", mebibytes(process.after.peak))
            } else {
                String::new()
            };
            writeln!(
                f,
                "{:<17}memory {:.1} MiB before, {:.1} MiB after{peak}; processor {:.2} s, {:.0} µs per request",
                process.name,
                mebibytes(process.before.memory),
                mebibytes(process.after.memory),
                process.processor(),
                process.processor() * 1e6 / float(self.tally.requests().max(1))
            )?;
        }
        let turns = self.tally.counts.turns.max(1);
        for store in &self.watched.stores {
            let grown = store.grown();
            writeln!(
                f,
                "{:<17}{:.1} MiB after, grown by {} bytes per turn",
                store.name,
                mebibytes(store.after),
                grown / turns
            )?;
        }
        Ok(())
    }

    fn errors(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tally = self.tally;
        writeln!(
            f,
            "{} wrong answers; {} refused for now (503, 429); {} unanswered; {} turns given up",
            sum(&tally.wrong),
            sum(&tally.refused),
            sum(&tally.broken),
            tally.counts.given_up
        )?;
        for (what, errors) in [("WRONG", &tally.wrong), ("refused", &tally.refused), ("unanswered", &tally.broken)] {
            for (which, count) in errors {
                writeln!(f, "{what:<11}{count:>8}  {which}")?;
            }
        }
        let Checked { sampled, looked_up, found, once, wrong } = self.checked;
        let once = once.map(|once| format!(", {once} once in the evidence")).unwrap_or_default();
        let of = if looked_up < sampled { format!(" (time was over before all {sampled})") } else { String::new() };
        writeln!(f, "check: of {looked_up} acknowledged bindings{of} {found} found as acknowledged{once}")?;
        for wrong in wrong {
            writeln!(f, "WRONG                {wrong}")?;
        }
        Ok(())
    }

    /// For machines. Times are in milliseconds, memory and storage in bytes, processor time in seconds.
    pub(crate) fn json(&self) -> Value {
        let (options, tally, counts) = (self.options, self.tally, &self.tally.counts);
        let times: BTreeMap<&str, Value> =
            self.rows().iter().map(|(name, times)| (*name, distribution(times))).collect();
        let stores: Vec<Value> = self.watched.stores.iter().map(|store| store.json(counts.turns)).collect();
        let processes: Vec<Value> =
            self.watched.processes.iter().map(|process| process.json(tally.requests())).collect();
        json!({
            "options": {
                "loop": if options.rate.is_some() { "open" } else { "closed" },
                "rate": options.rate, "clients": options.at_once(), "servers": options.urls.len(),
                "conversations": options.conversations, "hot_share": options.hot_share, "preload": options.preload,
                "seed": options.seed, "warmup": options.warmup, "seconds": options.seconds,
                "threads": options.threads, "questions": options.mix.questions, "declines": options.mix.declines,
                "bare": options.mix.bare, "quotes": options.mix.quotes, "drop_statuses": options.mix.drop_statuses,
                "drop_replies": options.mix.drop_replies, "retries": options.retries,
            },
            "seconds": self.seconds,
            "preload_seconds": self.preloaded,
            "turns": counts.turns, "requests": tally.requests(), "webhook_events": counts.webhook_events,
            "statuses": counts.statuses, "commands": counts.commands,
            "turns_per_second": self.rate(counts.turns), "requests_per_second": self.rate(tally.requests()),
            "webhook_events_per_second": self.rate(counts.webhook_events),
            "given_up": counts.given_up, "not_begun": counts.not_begun, "waited": counts.waited,
            "wrong": tally.wrong, "refused": tally.refused, "unanswered": tally.broken,
            "milliseconds": times,
            "processes": processes,
            "stores": stores,
            "check": {
                "sampled": self.checked.sampled, "looked_up": self.checked.looked_up, "found": self.checked.found, "once": self.checked.once,
                "wrong": self.checked.wrong,
            },
        })
    }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.setting(f)?;
        let counts = &self.tally.counts;
        writeln!(
            f,
            "{:.0} turns/s, {:.0} requests/s, {:.0} webhook events/s, {:.0} commands/s",
            self.rate(counts.turns),
            self.rate(self.tally.requests()),
            self.rate(counts.webhook_events),
            self.rate(counts.commands)
        )?;
        writeln!(
            f,
            "{} turns made {} requests; a webhook would have received {} events: {} messages and {} statuses",
            counts.turns,
            self.tally.requests(),
            counts.webhook_events,
            counts.webhook_events - counts.statuses,
            counts.statuses
        )?;
        writeln!(f, "{:<17}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}  ms", "", "count", "p50", "p90", "p99", "p99.9", "max")?;
        for (name, times) in self.rows() {
            let [p50, p90, p99, p999] = SHOWN.map(|(thousandths, _)| millis(times.at(thousandths)));
            let longest = millis(times.longest());
            writeln!(f, "{name:<17}{:>9}{p50:>9.2}{p90:>9.2}{p99:>9.2}{p999:>9.2}{longest:>9.2}", times.total())?;
        }
        if self.options.rate.is_some() {
            writeln!(f, "open loop: {} turns waited for a place, {} were not begun", counts.waited, counts.not_begun)?;
        }
        self.watched(f)?;
        self.errors(f)
    }
}

fn distribution(times: &Histogram) -> Value {
    let mut shown: BTreeMap<&str, Value> =
        SHOWN.into_iter().map(|(thousandths, name)| (name, json!(millis(times.at(thousandths))))).collect();
    shown.insert("count", json!(times.total()));
    shown.insert("max", json!(millis(times.longest())));
    shown.insert("mean", json!(millis(times.mean())));
    json!(shown)
}
