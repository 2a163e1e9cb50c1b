//! `cscp purge`: reports records past their time, or erases them now.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::{Value, json};

use super::{Failure, open};
use crate::config::Settings;
use crate::domain::id::TenantId;
use crate::service::retention::{Disposed, Mode, Retention, Round};
use crate::storage::{StorageError, Store, Tenant};
use crate::system::{SystemClock, SystemEntropy};

/// How often progress is shown.
const PROGRESS: Duration = Duration::from_secs(2);
/// Pause between turns, so that a server on the same database goes first.
const PACE: Duration = Duration::from_millis(10);
/// How often a batch is tried again while another process has locked its streams.
const PATIENCE: u32 = 5;

#[derive(Debug, Args)]
pub(crate) struct PurgeArguments {
    /// Change nothing; only say what would go
    #[arg(long)]
    dry_run: bool,
    /// Erase although the clock shows a time long after a server last recorded that it lived
    #[arg(long)]
    the_clock_is_right: bool,
    /// Only this tenant's records
    #[arg(long)]
    tenant: Option<String>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// `cscp purge`. It can be stopped at any time: an unfinished batch is rolled back.
pub(super) async fn run(settings: &Settings, arguments: &PurgeArguments) -> Result<ExitCode, Failure> {
    let folder = open::folder(settings)?;
    let store = open::existing(settings).await?;
    let (_, rules) = match folder {
        Some(folder) => folder,
        None => open::published(&store).await?,
    };
    let retention = Retention::new(Arc::clone(&store), rules, Arc::new(SystemClock), Box::new(SystemEntropy));
    let mode = if arguments.dry_run { Mode::Dry } else { Mode::Live };
    let tenants = tenants(store.as_ref(), arguments).await?;
    if mode == Mode::Live {
        believe_the_clock(&retention, arguments.the_clock_is_right).await?;
    }
    let done = go_through(&retention, tenants, mode).await;
    store.close().await;
    let done = done?;
    if arguments.json {
        let tenants: Vec<Value> = done.iter().map(|(tenant, disposed)| as_json(tenant, disposed)).collect();
        println!("{}", json!({"dry_run": arguments.dry_run, "tenants": tenants}));
    } else {
        for (tenant, disposed) in &done {
            print(tenant, disposed, mode);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Refuses to erase if the clock is not trusted: erasing by a wrong clock cannot be undone.
async fn believe_the_clock(retention: &Retention, it_is_right: bool) -> Result<(), Failure> {
    match retention.proven().await? {
        Err(why) if !it_is_right => Err(Failure::new(format!(
            "nothing is erased: {why}. Set the clock right; if it is right, and all servers were away for more than 7 days, \
             say so with --the-clock-is-right"
        ))),
        _ => Ok(retention.vouch().await?),
    }
}

async fn tenants(store: &dyn Store, arguments: &PurgeArguments) -> Result<Vec<Tenant>, Failure> {
    let wanted = arguments.tenant.as_deref().map(TenantId::new).transpose();
    let wanted = wanted.map_err(|error| Failure::new(format!("--tenant {error}")))?;
    let mut tenants = store.tenants().await?;
    if let Some(wanted) = wanted {
        tenants.retain(|tenant| tenant.tenant_id == wanted);
        if tenants.is_empty() {
            return Err(Failure::new(format!("there is no tenant {wanted}")));
        }
    }
    Ok(tenants)
}

/// Erases for all tenants in turn until nothing past its time is left.
async fn go_through(
    retention: &Retention,
    tenants: Vec<Tenant>,
    mode: Mode,
) -> Result<Vec<(TenantId, Disposed)>, Failure> {
    let mut rounds: Vec<Round> = tenants.into_iter().map(|tenant| Retention::round(tenant, mode)).collect();
    let mut told = Instant::now();
    let mut pace = tokio::time::interval(PACE);
    pace.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    while rounds.iter().any(|round| !round.is_over()) {
        for round in rounds.iter_mut().filter(|round| !round.is_over()) {
            step(retention, round).await?;
        }
        if told.elapsed() >= PROGRESS {
            told = Instant::now();
            let records: u64 = rounds.iter().flat_map(|round| round.disposed().records.values()).sum();
            eprintln!("{} so far", super::counted(records, "record"));
        }
        pace.tick().await;
    }
    Ok(rounds.into_iter().map(|round| (round.tenant_id().clone(), round.disposed().clone())).collect())
}

async fn step(retention: &Retention, round: &mut Round) -> Result<(), Failure> {
    for _ in 1..PATIENCE {
        match retention.step(round).await {
            // The call has already waited for the lock.
            Err(StorageError::Contended | StorageError::Conflict) => {}
            stepped => return Ok(stepped?),
        }
    }
    Ok(retention.step(round).await?)
}

fn as_json(tenant: &TenantId, disposed: &Disposed) -> Value {
    json!({
        "tenant": tenant, "records": disposed.records, "rows": disposed.rows, "kept": disposed.kept,
        "batches": disposed.batches,
    })
}

fn print(tenant: &TenantId, disposed: &Disposed, mode: Mode) {
    let went = if mode == Mode::Dry { "would go" } else { "went" };
    if disposed.is_empty() {
        println!("{tenant}: nothing is past its time");
    } else {
        println!("{tenant}:");
    }
    for (kind, count) in &disposed.records {
        println!("  {}: {count} {went}", kind.as_str());
    }
    for (kind, count) in &disposed.kept {
        println!("  {}: {count} past their time stay: held, or still in use", kind.as_str());
    }
    if !disposed.rows.is_empty() {
        let rows: Vec<String> = disposed.rows.iter().map(|(table, count)| format!("{count} {table}")).collect();
        println!("  rows: {}", rows.join(", "));
    }
}
