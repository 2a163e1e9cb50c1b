//! Replaying the log: every stream is folded into fresh projections, which are compared with the stored rows.
//!
//! The fold is the one that decisions use ([`World::apply`](crate::domain::world::World::apply),
//! [`Space::apply`](crate::state_layer::space::Space::apply)). Nothing is written. A live server may continue writing:
//! a stream is read to its end and then its rows; if the stream has grown meanwhile, the rest of it and its rows are
//! read again. A difference in a stream that has not grown is checked once more from the beginning, because payloads
//! and rows can be erased without an entry in that stream.

mod compare;
mod orphans;
mod projection;
mod report;
mod rows;
mod space;

pub use compare::covered;
pub use report::{Difference, How, ReplayReport};

use self::projection::Projection;
use super::privacy::pseudonym;
use std::collections::{BTreeMap, BTreeSet};

use crate::domain::disposal::{DisposalEvent, ErasedRows, ErasureCause};
use crate::domain::event::StreamKey;
use crate::domain::id::{StreamId, TenantId};
use crate::domain::time::Timestamp;
use crate::storage::{LiveRow, LiveTable, StorageError, Store, Tenant};

/// Entries and rows read at once; memory does not grow with the log.
const PAGE: u32 = 500;
/// Rows looked up at once.
const CHUNK: usize = 200;
/// How often a growing stream is read on before it is reported as not compared.
const TRIES: usize = 8;
/// How far the clocks of servers that delete messages may be ahead of this one, in seconds.
const CLOCKS_APART: u32 = 300;

/// Progress of a replay, reported after each page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Entries folded so far.
    pub folded: u64,
    /// Entries in the log at the beginning.
    pub entries: u64,
}

/// Folds every stream of a tenant and compares the result with the stored rows. `now` is the present: messages past
/// their time may be deleted.
pub async fn replay_tenant(
    store: &dyn Store,
    tenant: &Tenant,
    now: Timestamp,
    told: &mut (dyn FnMut(Progress) + Send),
) -> Result<ReplayReport, StorageError> {
    let disposed = disposed(store, &tenant.tenant_id).await?;
    let replay = Replay { store, tenant, now, entries: store.entry_count(&tenant.tenant_id).await?, disposed };
    let mut report = ReplayReport::default();
    let mut after: Option<StreamId> = None;
    loop {
        let streams = store.streams(&tenant.tenant_id, after.as_ref(), PAGE).await?;
        let Some((_, last)) = streams.last() else { break };
        after = Some(last.stream_id.clone());
        for (key, head) in streams {
            let part = replay.stream(key, head.stream_id, report.entries, told).await?;
            report.join(part);
        }
    }
    let part = replay.orphans(&report.differences).await?;
    report.join(part);
    report.settle(&replay.disposed.counted);
    Ok(report)
}

/// What was erased, according to the tenant's disposal stream.
#[derive(Debug, Default)]
struct Disposed {
    /// Numbers of erased rows by table, from entries of versions that did not list the rows.
    counted: BTreeMap<LiveTable, u64>,
    /// The erased rows, from entries of later versions.
    named: ErasedRows,
    /// Since when entries list the rows.
    since: Option<Timestamp>,
    /// Messages of which only the dedupe key was kept.
    tombstones: u64,
    /// Pseudonyms that replace erased names.
    pseudonyms: BTreeSet<String>,
}

async fn disposed(store: &dyn Store, tenant_id: &TenantId) -> Result<Disposed, StorageError> {
    let mut disposed = Disposed::default();
    let Some(head) = store.disposal_head(tenant_id).await? else { return Ok(disposed) };
    let mut after = 0;
    loop {
        let entries = store.stream(tenant_id, &head.stream_id, after, PAGE).await?;
        let Some(last) = entries.last() else { return Ok(disposed) };
        after = last.header.seq;
        for entry in &entries {
            let event = entry.body.as_ref().and_then(|body| projection::event_of(&body.payload));
            disposed.learn(entry.header.at, event);
        }
    }
}

impl Disposed {
    fn learn(&mut self, at: Timestamp, event: Option<DisposalEvent>) {
        let Some(DisposalEvent::RecordsErased { cause, counts, rows, .. }) = event else { return };
        self.tombstones += counts.get("tombstones").copied().unwrap_or(0);
        if let Some(rows) = rows {
            self.since = self.since.or(Some(at));
            self.named.join(rows);
        } else {
            for (table, count) in counts.iter().filter_map(|(kind, count)| Some((table_of(kind)?, count))) {
                *self.counted.entry(table).or_default() += count;
            }
        }
        if let ErasureCause::Subject { erasure_id } = cause {
            self.pseudonyms.insert(pseudonym(&erasure_id));
        }
    }
}

/// The table of a kind of erased record.
fn table_of(kind: &str) -> Option<LiveTable> {
    Some(match kind {
        "conversations" => LiveTable::Conversations,
        "contexts" => LiveTable::Contexts,
        "items" => LiveTable::Items,
        "prompts" => LiveTable::ItemPrompts,
        "commands" => LiveTable::Commands,
        "attempts" => LiveTable::CommandAttempts,
        "messages" | "tombstones" => LiveTable::Messages,
        "principals" => LiveTable::Principals,
        "aliases" => LiveTable::PrincipalAliases,
        "roles" => LiveTable::PrincipalRoles,
        "frames" => LiveTable::Frames,
        "space_records" => LiveTable::SpaceRecords,
        _ => return None,
    })
}

struct Replay<'a> {
    store: &'a dyn Store,
    tenant: &'a Tenant,
    now: Timestamp,
    entries: u64,
    disposed: Disposed,
}

impl Replay<'_> {
    async fn stream(
        &self,
        key: StreamKey,
        stream_id: StreamId,
        before: u64,
        told: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<ReplayReport, StorageError> {
        let fresh = || Projection::new(&self.tenant.tenant_id, self.tenant.key, key.clone(), stream_id.clone());
        let mut projection = fresh();
        let mut again = false;
        self.read_on(&mut projection, before, told).await?;
        for _ in 0..TRIES {
            let mut found = match projection.key {
                StreamKey::Conversation(_) | StreamKey::Principal(_) => self.compare_core(&projection).await?,
                StreamKey::FactSpace(_) => self.compare_space(&projection).await?,
                StreamKey::Access(_) | StreamKey::Disposal => ReplayReport::default(),
            };
            if self.read_on(&mut projection, before, told).await? {
                continue;
            }
            projection.faults.iter().cloned().for_each(|fault| found.add(fault));
            if found.is_clean() || again {
                (found.streams, found.entries, found.erased) = (1, projection.seq, projection.erased);
                return Ok(found);
            }
            again = true;
            projection = fresh();
            self.read_on(&mut projection, before, told).await?;
        }
        let restless = vec![projection.stream_id.clone()];
        let (entries, erased) = (projection.seq, projection.erased);
        Ok(ReplayReport { streams: 1, entries, erased, restless, ..ReplayReport::default() })
    }

    /// Folds the new entries of a stream; returns whether there were any.
    async fn read_on(
        &self,
        projection: &mut Projection,
        before: u64,
        told: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<bool, StorageError> {
        let mut any = false;
        loop {
            let (tenant_id, stream_id) = (&self.tenant.tenant_id, &projection.stream_id);
            let entries = self.store.stream(tenant_id, stream_id, projection.seq, PAGE).await?;
            any |= !entries.is_empty();
            for entry in &entries {
                projection.take(entry);
            }
            told(Progress { folded: before.saturating_add(projection.seq), entries: self.entries });
            if entries.len() < PAGE as usize {
                return Ok(any);
            }
        }
    }
}

/// Whether a message was past its time, so that it may have been deleted. Earlier versions deleted messages without
/// listing them.
fn is_forgotten(message: &LiveRow, now: Timestamp, named_since: Option<Timestamp>) -> bool {
    let by = named_since.unwrap_or_else(|| now.plus_seconds(CLOCKS_APART));
    let keep_until = message.columns.get("keep_until").and_then(serde_json::Value::as_i64);
    keep_until.is_some_and(|keep_until| keep_until <= by.as_micros())
}
