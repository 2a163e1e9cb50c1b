//! Rebuilds what follows from the leaves of a tree.

use serde_json::json;

use super::super::open;
use super::{Failure, VerifyArguments};
use crate::config::Settings;
use crate::domain::id::TenantId;
use crate::service::{Rebuilding, rebuild_tree};

/// Prints the differences from what follows from the leaves, and repairs them with `--write`. Returns whether
/// everything is right now.
pub(super) async fn run(settings: &Settings, arguments: &VerifyArguments) -> Result<bool, Failure> {
    let store = open::existing(settings).await?;
    let wanted = arguments.tenant.as_deref().map(TenantId::new).transpose();
    let wanted = wanted.map_err(|error| Failure::new(format!("--tenant {error}")))?;
    let mut told = Vec::new();
    let mut is_right = true;
    for tenant in store.tenants().await?.into_iter().map(|tenant| tenant.tenant_id) {
        if wanted.as_ref().is_some_and(|wanted| *wanted != tenant) {
            continue;
        }
        let rebuilt = rebuild_tree(store.as_ref(), &tenant, arguments.write).await?;
        is_right &= rebuilt.as_ref().is_ok_and(|rebuilding| arguments.write || rebuilding.is_nothing());
        told.push((tenant, rebuilt));
    }
    store.close().await;
    if told.is_empty() {
        return Err(open::no_tenant(wanted.as_ref()));
    }
    for (tenant, rebuilt) in &told {
        match rebuilt {
            Ok(rebuilding) if arguments.json => println!("{}", as_json(tenant, rebuilding, arguments.write)),
            Err(refusal) if arguments.json => println!("{}", json!({"tenant": tenant, "refused": refusal.to_string()})),
            Ok(rebuilding) => tell(tenant, rebuilding, arguments.write),
            Err(refusal) => println!("{tenant}: nothing is written: {refusal}."),
        }
    }
    Ok(is_right)
}

fn as_json(tenant: &TenantId, rebuilding: &Rebuilding, written: bool) -> serde_json::Value {
    let names = |ids: &[crate::evidence::tree::TileId]| ids.iter().map(ToString::to_string).collect::<Vec<_>>();
    json!({
        "tenant": tenant, "written": written, "tiles": names(&rebuilding.tiles), "tiles_deleted": names(&rebuilding.gone),
        "set_aside_deleted": rebuilding.set_aside, "waits_again": rebuilding.waits_again,
    })
}

fn tell(tenant: &TenantId, rebuilding: &Rebuilding, written: bool) {
    if rebuilding.is_nothing() {
        return println!("{tenant}: nothing to rebuild");
    }
    println!("{tenant}: {}", if written { "rebuilt" } else { "would be rebuilt (--write does it)" });
    rebuilding.tiles.iter().for_each(|id| println!("  tile {id}: written as it follows from the leaves"));
    rebuilding.gone.iter().for_each(|id| println!("  tile {id}: deleted, the tree does not have it"));
    if rebuilding.set_aside > 0 {
        println!("  {} waiting rows without an entry: deleted", rebuilding.set_aside);
    }
    if rebuilding.waits_again > 0 {
        println!("  {} entries that had no place and did not wait for one: wait again", rebuilding.waits_again);
    }
}
