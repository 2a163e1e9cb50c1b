//! `cscp replay`: folds the evidence log and compares the result with the stored rows.

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::{Value, json};

use super::{Failure, fail, open};
use crate::config::Settings;
use crate::domain::id::TenantId;
use crate::domain::time::Clock as _;
use crate::service::{Difference, How, Progress, ReplayReport, covered, replay_tenant};
use crate::storage::LiveTable;
use crate::system::SystemClock;

/// The exit code if the comparison could not be completed.
const NOT_MADE: u8 = 2;
/// How often progress is shown at most.
const TELL_EVERY: Duration = Duration::from_secs(1);

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch on the command line")]
pub(crate) struct ReplayArguments {
    /// Compare what the log says with the rows that are there; the only thing that a replay does
    #[arg(long)]
    verify: bool,
    /// Only this tenant
    #[arg(long)]
    tenant: Option<String>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
    /// Name rows by ids that callers chose, too: they may be personal
    #[arg(long)]
    show_ids: bool,
    /// Tell how far it has come even where nobody watches
    #[arg(long)]
    progress: bool,
}

/// `cscp replay`. Exits with 0 if every row agrees with the log, with 1 if one does not, with 2 if that is unknown.
pub(super) async fn run(settings: &Settings, arguments: &ReplayArguments) -> ExitCode {
    match replay(settings, arguments).await {
        Ok(code) => code,
        Err(failure) => {
            fail(&failure);
            ExitCode::from(NOT_MADE)
        }
    }
}

async fn replay(settings: &Settings, arguments: &ReplayArguments) -> Result<ExitCode, Failure> {
    if !arguments.verify {
        return Err(Failure::new(
            "rebuilding rows from the log in place is not offered; `cscp replay --verify` compares and changes nothing",
        ));
    }
    let wanted = arguments.tenant.as_deref().map(TenantId::new).transpose();
    let wanted = wanted.map_err(|error| Failure::new(format!("--tenant {error}")))?;
    let store = open::existing(settings).await?;
    let mut watched = Watched::new(arguments.progress || std::io::stderr().is_terminal());
    let mut found = Vec::new();
    for tenant in store.tenants().await? {
        if wanted.as_ref().is_some_and(|wanted| *wanted != tenant.tenant_id) {
            continue;
        }
        let now = SystemClock.now();
        let report = replay_tenant(store.as_ref(), &tenant, now, &mut |progress| watched.tell(progress)).await?;
        found.push((tenant.tenant_id, report));
    }
    watched.end();
    store.close().await;
    if found.is_empty() {
        return Err(open::no_tenant(wanted.as_ref()));
    }
    if arguments.json {
        let equal = found.iter().all(|(_, report)| report.is_equal());
        let tenants: Vec<Value> =
            found.iter().map(|(tenant, report)| in_json(tenant, report, arguments.show_ids)).collect();
        println!("{}", json!({"equal": equal, "tenants": tenants}));
    } else {
        for (tenant, report) in &found {
            in_words(tenant, report, arguments.show_ids);
        }
        println!("{}", verdict(&found));
    }
    Ok(match () {
        () if found.iter().any(|(_, report)| report.different > 0) => ExitCode::FAILURE,
        () if found.iter().all(|(_, report)| report.is_equal()) => ExitCode::SUCCESS,
        () => ExitCode::from(NOT_MADE),
    })
}

fn verdict(found: &[(TenantId, ReplayReport)]) -> &'static str {
    if found.iter().any(|(_, report)| report.different > 0) {
        "Rows are not as the log says."
    } else if found.iter().all(|(_, report)| report.is_equal()) {
        "Every row that the log can tell of is as the log says."
    } else {
        "Some streams never stood still: run it again when less is written."
    }
}

/// The shown name of a row: its id if this server made it; ids of callers only on request.
fn name(difference: &Difference, show_ids: bool) -> Option<&str> {
    let shown = difference.table.is_some_and(LiveTable::mints_ids) || show_ids;
    Some(difference.row_id.as_str()).filter(|id| shown && !id.is_empty())
}

fn places(how: &How, show_ids: bool) -> (Vec<String>, &[String]) {
    let How::Changed { members, columns } = how else { return (Vec::new(), &[]) };
    let told = |member: &String| if show_ids { member.clone() } else { covered(member) };
    (members.iter().map(told).collect(), columns)
}

fn code(how: &How) -> &'static str {
    match how {
        How::Missing => "missing",
        How::Unfounded => "unfounded",
        How::Changed { .. } => "changed",
        How::Unmade => "unmade",
        How::Unreadable => "unreadable",
    }
}

fn in_json(tenant: &TenantId, report: &ReplayReport, show_ids: bool) -> Value {
    let rows = |rows: &std::collections::BTreeMap<LiveTable, u64>| -> Value {
        rows.iter().map(|(table, rows)| (table.as_str().to_owned(), Value::from(*rows))).collect()
    };
    let differences: Vec<Value> = report
        .differences
        .iter()
        .map(|difference| {
            let (members, columns) = places(&difference.how, show_ids);
            json!({
                "how": code(&difference.how), "table": difference.table.map(LiveTable::as_str),
                "row_id": name(difference, show_ids), "stream_id": difference.stream_id,
                "artifact_id": difference.artifact_id, "members": members, "columns": columns,
            })
        })
        .collect();
    json!({
        "tenant": tenant, "equal": report.is_equal(), "streams": report.streams, "entries": report.entries,
        "erased": report.erased, "rows_equal": rows(&report.equal), "rows_not_derivable": rows(&report.underivable),
        "rows_erased": rows(&report.disposed), "rows_erased_by_number": rows(&report.counted),
        "messages_forgotten": report.forgotten, "packs_withdrawn": report.withdrawn,
        "streams_not_compared": report.restless, "rows_different": report.different, "differences": differences,
    })
}

fn in_words(tenant: &TenantId, report: &ReplayReport, show_ids: bool) {
    println!("{tenant}: {} entries in {} streams folded", report.entries, report.streams);
    let equal: u64 = report.equal.values().sum();
    println!("  {equal} rows are as the log says");
    for (table, rows) in &report.underivable {
        println!("  {rows} rows of {} not derivable: evidence that they need was erased", table.as_str());
    }
    for (table, rows) in &report.disposed {
        println!("  {rows} rows of {} are gone, and the record names them as erased", table.as_str());
    }
    for (table, rows) in &report.counted {
        println!(
            "  {rows} rows of {} are gone: an earlier version recorded that so many were erased, and not which",
            table.as_str()
        );
    }
    if report.forgotten > 0 {
        println!("  {} messages are gone because their time was over", report.forgotten);
    }
    if report.withdrawn > 0 {
        println!("  {} saved packs are gone with a fact that they showed", report.withdrawn);
    }
    report.restless.iter().for_each(|stream| println!("  NOT COMPARED {stream}: it was written to all the time"));
    for difference in &report.differences {
        println!("  {}", line(difference, show_ids));
    }
    let more = report.different.saturating_sub(u64::try_from(report.differences.len()).unwrap_or(u64::MAX));
    if more > 0 {
        println!("  and {more} more");
    }
}

fn line(difference: &Difference, show_ids: bool) -> String {
    let what = match &difference.how {
        How::Missing => "MISSING",
        How::Unfounded => "MADE BY NO ENTRY",
        How::Changed { .. } => "DIFFERS",
        How::Unmade => "AN ENTRY CHANGES WHAT NONE BEFORE IT MADE",
        How::Unreadable => "AN ENTRY IS NO EVENT OF ITS STREAM",
    };
    let id = name(difference, show_ids).map(|id| format!(" {id}"));
    let (members, columns) = places(&difference.how, show_ids);
    let members =
        members.into_iter().map(|it| if it.is_empty() { ", the whole body".to_owned() } else { format!(", {it}") });
    let columns = columns.iter().map(|column| format!(", column {column}"));
    let entry = difference.artifact_id.as_ref().map(|entry| format!(", entry {entry}")).unwrap_or_default();
    let stream = difference.stream_id.as_ref().map(|stream| format!(" (stream {stream}{entry})"));
    let begin = format!("{what}: {}", difference.table.map_or("log", LiveTable::as_str));
    [begin].into_iter().chain(id).chain(members).chain(columns).chain(stream).collect()
}

/// Shows progress from time to time.
struct Watched {
    told: Option<Instant>,
    wanted: bool,
}

impl Watched {
    fn new(wanted: bool) -> Self {
        Self { told: None, wanted }
    }

    fn tell(&mut self, progress: Progress) {
        if !self.wanted || self.told.is_some_and(|told| told.elapsed() < TELL_EVERY) {
            return;
        }
        self.told = Some(Instant::now());
        // Nobody may be reading standard error any more; the comparison goes on.
        drop(write!(std::io::stderr(), "\r{} of {} entries", progress.folded, progress.entries));
    }

    fn end(&self) {
        if self.told.is_some() {
            drop(writeln!(std::io::stderr()));
        }
    }
}
