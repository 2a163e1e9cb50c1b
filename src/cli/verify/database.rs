//! Verifies every chain, frame and tree of a database.

use serde_json::json;

use super::super::open;
use super::{Failure, VerifyArguments};
use crate::config::Settings;
use crate::domain::id::TenantId;
use crate::evidence::auditing::Flaw;
use crate::service::{TenantReport, check_checkpoint, verify_policies, verify_signed};

/// The result for a tree, as JSON.
fn tree(report: &TenantReport) -> serde_json::Value {
    let faults: Vec<String> = report.tree.faults.iter().map(ToString::to_string).collect();
    let tree = &report.tree;
    json!({"size": tree.size, "checkpoints": tree.checkpoints, "cosignatures": tree.cosignatures,
        "waiting": tree.waiting, "faults": faults})
}

/// Returns whether everything is valid.
pub(super) async fn run(settings: &Settings, arguments: &VerifyArguments) -> Result<bool, Failure> {
    let trusted = arguments.trusted()?;
    if (!trusted.keys.is_empty() || trusted.kept.is_some()) && arguments.tenant.is_none() {
        return Err(Failure::new("--key and --kept are of one tenant's log: name it with --tenant"));
    }
    if trusted.kept.is_some() && trusted.keys.is_empty() {
        return Err(Failure::new("--kept needs --key: who has signed it?"));
    }
    if trusted.asked.is_some() || arguments.unauthenticated || !trusted.witnesses.is_empty() {
        let what = "--expect, --witness and --unauthenticated are of a bundle: name its file, or a --server";
        return Err(Failure::new(what));
    }
    let store = open::existing(settings).await?;
    let wanted = arguments.tenant.as_deref().map(TenantId::new).transpose();
    let wanted = wanted.map_err(|error| Failure::new(format!("--tenant {error}")))?;
    let mut sound = true;
    let mut found = Vec::new();
    let mut outside = None;
    for tenant in store.tenants().await? {
        if wanted.as_ref().is_some_and(|wanted| *wanted != tenant.tenant_id) {
            continue;
        }
        let report = verify_signed(store.as_ref(), &tenant.tenant_id, &trusted.keys).await?;
        outside = check_checkpoint(store.as_ref(), &tenant.tenant_id, &trusted).await?;
        sound &= report.is_sound() && outside.is_none();
        found.push((tenant.tenant_id, report));
    }
    let policies = verify_policies(store.as_ref()).await?;
    sound &= policies.is_empty();
    store.close().await;
    if found.is_empty() {
        return Err(open::no_tenant(wanted.as_ref()));
    }
    if arguments.json {
        let tenants: Vec<_> = found.iter().map(|(tenant, report)| as_json(tenant, report)).collect();
        let policies: Vec<_> = policies.iter().map(ToString::to_string).collect();
        let checkpoint = outside.map(Flaw::code);
        println!("{}", json!({"sound": sound, "checkpoint": checkpoint, "policies": policies, "tenants": tenants}));
        return Ok(sound);
    }
    for (tenant, report) in &found {
        tell(tenant, report);
    }
    if let Some(flaw) = outside {
        println!("  BROKEN CHECKPOINT: {flaw}");
    }
    for fault in &policies {
        println!("BROKEN ROW: {fault}");
    }
    let holds = "Every chain holds. Every tree holds. Every frame is what was captured.";
    println!("{}", if sound { holds } else { "The record was changed." });
    Ok(sound)
}

fn as_json(tenant: &TenantId, report: &TenantReport) -> serde_json::Value {
    let broken = report.broken.iter().map(|(stream, broken)| {
        json!({"stream_id": stream, "seq": broken.seq, "artifact_id": broken.artifact_id, "fault": broken.fault.to_string()})
    });
    json!({
        "tenant": tenant, "streams": report.streams, "entries": report.entries, "erased": report.erased,
        "undetermined": report.undetermined, "missing": report.missing, "broken": broken.collect::<Vec<_>>(), "tree": tree(report),
        "rows": report.rows.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

fn tell(tenant: &TenantId, report: &TenantReport) {
    println!("{tenant}: {} entries in {} streams", report.entries, report.streams);
    if report.erased > 0 {
        println!("  the payloads of {} entries were erased, as later entries say", report.erased);
    }
    if report.undetermined > 0 {
        println!(
            "  of {} of them it is only known that facts were deleted, and not what went with those",
            report.undetermined
        );
    }
    if report.missing > 0 {
        println!("  MISSING the payloads of {} entries, and nothing says why", report.missing);
    }
    report.broken.iter().for_each(|(stream, broken)| println!("  BROKEN {stream}: {broken}"));
    let tree = &report.tree;
    println!(
        "  the log's tree: {} leaves, {} checkpoints, {} cosignatures, {} entries wait for their place",
        tree.size, tree.checkpoints, tree.cosignatures, tree.waiting
    );
    report.tree.faults.iter().for_each(|fault| println!("  BROKEN TREE: {fault}"));
    report.rows.iter().for_each(|fault| println!("  BROKEN ROW: {fault}"));
}
