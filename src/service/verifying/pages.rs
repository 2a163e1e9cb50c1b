//! Reads the log page by page, and checks each entry by itself.

use crate::domain::id::{StreamId, TenantId};
use crate::evidence::entry::LogEntry;
use crate::evidence::tree::{Tile, TileId};
use crate::evidence::verify::{Fault, Looked, look};
use crate::storage::{Filed, StorageError, Store, StoredCheckpoint};

pub(super) const TILE: u64 = 256;
/// Leaves per page: whole tiles.
const PAGE: u64 = 2 * TILE;
/// Pages in flight. Memory holds no more of the log than these.
pub(super) const AT_ONCE: usize = 6;

pub(super) struct Page {
    pub(super) from: u64,
    /// The first leaf of the next page.
    pub(super) until: u64,
    /// The entries by their leaves. Missing ones are left out.
    pub(super) entries: Vec<(u64, LogEntry, Looked)>,
    /// The tiles that contain the leaves' hashes.
    pub(super) tiles: Vec<Tile>,
    /// The signed checkpoints whose size is in this page.
    pub(super) checkpoints: Vec<StoredCheckpoint>,
}

/// The first leaves of the pages of a tree of this size.
pub(super) fn of(size: u64) -> impl Iterator<Item = u64> {
    (0..size.div_ceil(PAGE)).map(|page| page * PAGE)
}

/// Reads a page and checks its entries.
pub(super) async fn read(store: &dyn Store, tenant_id: &TenantId, from: u64, size: u64) -> Result<Page, StorageError> {
    let until = size.min(from + PAGE);
    let ids: Vec<TileId> = (from / TILE..until.div_ceil(TILE)).map(|index| TileId { level: 0, index }).collect();
    let tiles = store.tiles(tenant_id, &ids).await?;
    let limit = u32::try_from(until - from).unwrap_or(u32::MAX);
    let logged = store.logged(tenant_id, from, limit).await?;
    // If leaves are missing, the query returns later ones instead, which belong to the next pages.
    let (places, entries): (Vec<u64>, Vec<LogEntry>) = logged.into_iter().filter(|(leaf, _)| *leaf < until).unzip();
    let looked = look_at(store, tenant_id, entries).await?;
    let entries = places.into_iter().zip(looked).map(|(leaf, (entry, looked))| (leaf, entry, looked)).collect();
    let checkpoints = store.checkpoints(tenant_id, from, until).await?;
    Ok(Page { from, until, entries, tiles, checkpoints })
}

/// Checks entries and their captured frames on another thread.
pub(super) async fn look_at(
    store: &dyn Store,
    tenant_id: &TenantId,
    entries: Vec<LogEntry>,
) -> Result<Vec<(LogEntry, Looked)>, StorageError> {
    let own = tenant_id.clone();
    let all = move || entries.into_iter().map(|entry| (look(&own, &entry), entry)).collect::<Vec<_>>();
    let looked = tokio::task::spawn_blocking(all).await;
    let looked = looked.map_err(|_| StorageError::Unavailable("the verification was stopped".to_owned()))?;
    let places: Vec<(StreamId, u64)> =
        looked.iter().map(|(_, entry)| (entry.header.stream_id.clone(), entry.header.seq)).collect();
    let filed = store.filed(tenant_id, &places).await?;
    let mut whole = Vec::with_capacity(looked.len());
    for ((mut looked, entry), filed) in looked.into_iter().zip(filed) {
        if !is_filed(&entry, &looked, filed.as_ref()) {
            looked = looked.or_fault(Fault::Filed);
        }
        if !frame_stands(store, tenant_id, &looked).await? {
            looked = looked.or_fault(Fault::Frame);
        }
        whole.push((entry, looked));
    }
    Ok(whole)
}

/// Whether a payload is indexed under the subjects that it names. An invalid payload cannot be compared; with an erased
/// one the index columns are erased too.
fn is_filed(entry: &LogEntry, looked: &Looked, filed: Option<&Filed<String>>) -> bool {
    let Some(told) = &looked.told else { return true };
    filed.is_some_and(|filed| filed.as_str() == Filed::of(&entry.header, &told.about))
}

/// Whether the stored frame is the one that the entry captured.
async fn frame_stands(store: &dyn Store, tenant_id: &TenantId, looked: &Looked) -> Result<bool, StorageError> {
    let Some(captured) = &looked.captured else { return Ok(true) };
    let stored = store.frame(tenant_id, &captured.id).await?;
    Ok(stored.is_some_and(|stored| captured.is(&stored)))
}
