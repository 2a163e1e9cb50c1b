//! `cscp verify`: follows every hash chain in a database.

use std::process::ExitCode;

use clap::Args;

use super::{Failure, open};
use crate::config::Settings;
use crate::domain::id::TenantId;
use crate::service::{TenantReport, verify_tenant};

/// What was found of a tree, for machines.
fn tree(report: &TenantReport) -> serde_json::Value {
    let faults: Vec<String> = report.tree.faults.iter().map(ToString::to_string).collect();
    serde_json::json!({"size": report.tree.size, "waiting": report.tree.waiting, "faults": faults})
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// Only this tenant's log
    #[arg(long)]
    tenant: Option<String>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// `cscp verify`. Ends with 0 when every chain holds, with 1 otherwise.
pub(super) async fn run(settings: &Settings, arguments: &VerifyArguments) -> Result<ExitCode, Failure> {
    if let crate::config::DatabaseUrl::Sqlite(path) = &settings.database
        && !path.exists()
    {
        return Err(Failure::new(format!("there is no database {}", path.display())));
    }
    let store = open::store(settings).await?;
    let wanted = arguments.tenant.as_deref().map(TenantId::new).transpose();
    let wanted = wanted.map_err(|error| Failure::new(format!("--tenant {error}")))?;
    let mut sound = true;
    let mut found = Vec::new();
    for tenant in store.tenants().await? {
        if wanted.as_ref().is_some_and(|wanted| *wanted != tenant.tenant_id) {
            continue;
        }
        let report = verify_tenant(store.as_ref(), &tenant.tenant_id).await?;
        sound &= report.is_sound();
        found.push((tenant.tenant_id, report));
    }
    store.close().await;
    if found.is_empty() {
        let why = if wanted.is_some() { "there is no such tenant" } else { "there is no database of cscp: no tenant" };
        return Err(Failure::new(why));
    }
    if arguments.json {
        let tenants: Vec<_> = found
            .iter()
            .map(|(tenant, report)| {
                let broken: Vec<_> = report
                    .broken
                    .iter()
                    .map(|(stream, broken)| {
                        serde_json::json!({"stream_id": stream, "seq": broken.seq, "artifact_id": broken.artifact_id, "fault": broken.fault.to_string()})
                    })
                    .collect();
                serde_json::json!({"tenant": tenant, "streams": report.streams, "entries": report.entries, "erased": report.erased, "missing": report.missing, "broken": broken, "tree": tree(report)})
            })
            .collect();
        println!("{}", serde_json::json!({"sound": sound, "tenants": tenants}));
    } else {
        for (tenant, report) in &found {
            println!("{tenant}: {} entries in {} streams", report.entries, report.streams);
            if report.erased > 0 {
                println!("  the payloads of {} entries were erased, as later entries say", report.erased);
            }
            if report.missing > 0 {
                println!("  MISSING the payloads of {} entries, and nothing says why", report.missing);
            }
            report.broken.iter().for_each(|(stream, broken)| println!("  BROKEN {stream}: {broken}"));
            println!(
                "  the log's tree: {} leaves, {} entries wait for their place",
                report.tree.size, report.tree.waiting
            );
            report.tree.faults.iter().for_each(|fault| println!("  BROKEN TREE: {fault}"));
        }
        println!(
            "{}",
            if sound {
                "Every chain holds. Every tree holds. Every frame is what was captured."
            } else {
                "The record was changed."
            }
        );
    }
    Ok(if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
