//! The chains of a tenant, all verified in one pass over the log, then each to its head.

use std::collections::HashMap;

use super::naming::{self, Naming, Readers};
use super::{TenantReport, pages};
use crate::domain::id::{StreamId, TenantId};
use crate::evidence::entry::{LogEntry, StreamHead};
use crate::evidence::erasures::Erasures;
use crate::evidence::verify::{Broken, ChainCheck, Fault, Looked};
use crate::storage::{StorageError, Store, StreamName};

/// Heads, or entries of one chain, per read.
const PAGE: u32 = 500;
/// How often a chain is checked again if it changed meanwhile.
const LOOKS: usize = 5;

/// A chain that is being verified.
struct Chain {
    check: ChainCheck,
    naming: Naming,
    broken: Option<Broken>,
}

impl Chain {
    fn new(stream_id: StreamId) -> Self {
        Self { check: ChainCheck::new(stream_id), naming: Naming::default(), broken: None }
    }

    /// Only the first fault is kept.
    fn take(&mut self, entry: &LogEntry, looked: &Looked, erasures: &Erasures) {
        if self.broken.is_none() {
            self.broken = self.check.take(entry, looked, erasures).err();
            self.naming.take(entry, looked);
        }
    }

    fn finish(&mut self, head: &StreamHead) {
        if self.broken.is_none() {
            self.broken = self.check.finish(head).err();
        }
    }

    /// Compares the stored name of a chain with the name that its entries imply.
    fn is_called(&mut self, name: Option<&StreamName>, readers: &Readers) {
        if self.broken.is_none() && !name.is_some_and(|name| self.naming.fits(name, readers)) {
            self.broken = Some(Broken { seq: self.check.head().seq, artifact_id: None, fault: Fault::Name });
        }
    }

    fn is_sound(&self) -> bool {
        self.broken.is_none() && self.check.missing() == 0
    }
}

/// The erasures recorded up to some entry of the disposal stream.
#[derive(Default)]
struct Known {
    head: Option<StreamHead>,
    erasures: Erasures,
}

/// What to do with the next entry of a chain.
type Take<'a> = dyn FnMut(&mut Chain, &LogEntry, &Looked) + Send + 'a;

/// All chains of a tenant.
pub(super) struct Chains<'a> {
    store: &'a dyn Store,
    tenant_id: &'a TenantId,
    known: Known,
    readers: Readers,
    followed: HashMap<StreamId, Chain>,
}

impl<'a> Chains<'a> {
    /// Starts by reading the recorded erasures from the disposal stream.
    pub(super) async fn new(store: &'a dyn Store, tenant_id: &'a TenantId) -> Result<Self, StorageError> {
        let (known, readers, followed) = (Known::default(), Readers::new(), HashMap::new());
        let mut chains = Self { store, tenant_id, known, readers, followed };
        chains.learn().await?;
        Ok(chains)
    }

    /// Adds the next entry of the log.
    pub(super) fn take(&mut self, entry: &LogEntry, looked: &Looked) {
        let stream_id = &entry.header.stream_id;
        if !self.followed.contains_key(stream_id) {
            self.followed.insert(stream_id.clone(), Chain::new(stream_id.clone()));
        }
        if let Some(chain) = self.followed.get_mut(stream_id) {
            chain.take(entry, looked, &self.known.erasures);
        }
    }

    /// Follows every chain to its head, including entries that wait for a leaf.
    pub(super) async fn finish(mut self, report: &mut TenantReport) -> Result<(), StorageError> {
        self.readers = naming::readers(self.store, self.tenant_id).await?;
        let mut after: Option<StreamId> = None;
        loop {
            let heads = self.store.heads(self.tenant_id, after.as_ref(), PAGE).await?;
            if heads.is_empty() {
                break;
            }
            let ids: Vec<StreamId> = heads.iter().map(|head| head.stream_id.clone()).collect();
            let names = naming::names(self.store, self.tenant_id, &ids).await?;
            for head in heads {
                let mut chain =
                    self.followed.remove(&head.stream_id).unwrap_or_else(|| Chain::new(head.stream_id.clone()));
                self.follow(&mut chain, &head).await?;
                chain.is_called(names.get(&head.stream_id), &self.readers);
                if !chain.is_sound() {
                    chain = self.settled(chain, after.as_ref(), &head).await?;
                }
                report.streams += 1;
                add(report, chain);
                after = Some(head.stream_id);
            }
        }
        // Chains without a stream row: their heads were deleted.
        for mut chain in std::mem::take(&mut self.followed).into_values() {
            let head = StreamHead::new(chain.check.head().stream_id.clone());
            chain.finish(&head);
            add(report, chain);
        }
        report.broken.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(())
    }

    /// Reads the rest of a chain up to its head.
    async fn follow(&self, chain: &mut Chain, head: &StreamHead) -> Result<(), StorageError> {
        let erasures = &self.known.erasures;
        self.walk(chain, head, &mut |chain, entry, looked| chain.take(entry, looked, erasures)).await
    }

    /// Reads the rest of a chain up to the head read earlier. Entries appended since are ignored.
    async fn walk(&self, chain: &mut Chain, head: &StreamHead, take: &mut Take<'_>) -> Result<(), StorageError> {
        let mut after = chain.check.head().seq;
        while chain.broken.is_none() && after < head.seq {
            let entries = self.store.stream(self.tenant_id, &head.stream_id, after, PAGE).await?;
            let Some(newest) = entries.last() else { break };
            after = newest.header.seq;
            let entries = entries.into_iter().filter(|entry| entry.header.seq <= head.seq).collect();
            for (entry, looked) in pages::look_at(self.store, self.tenant_id, entries).await? {
                take(chain, &entry, &looked);
            }
        }
        chain.finish(head);
        Ok(())
    }

    /// Checks a faulty chain again from its beginning while it keeps changing: an erasure between two reads is not a
    /// fault.
    async fn settled(
        &mut self,
        mut chain: Chain,
        before: Option<&StreamId>,
        head: &StreamHead,
    ) -> Result<Chain, StorageError> {
        let mut head = head.clone();
        for _ in 0..LOOKS {
            let changed = self.learn().await?;
            // A stream that was created meanwhile may sort before it.
            let near = self.store.heads(self.tenant_id, before, PAGE).await?;
            let Some(now) = near.into_iter().find(|now| now.stream_id == head.stream_id) else { break };
            if !changed && now == head {
                break;
            }
            head = now;
            chain = Chain::new(head.stream_id.clone());
            self.follow(&mut chain, &head).await?;
            let names = naming::names(self.store, self.tenant_id, std::slice::from_ref(&head.stream_id)).await?;
            chain.is_called(names.get(&head.stream_id), &self.readers);
            if chain.is_sound() {
                break;
            }
        }
        Ok(chain)
    }

    /// Reads new erasures; returns whether there are any. An invalid disposal stream is reported with its own chain,
    /// and explains nothing.
    async fn learn(&mut self) -> Result<bool, StorageError> {
        let head = self.store.disposal_head(self.tenant_id).await?;
        if head == self.known.head {
            return Ok(false);
        }
        let mut erasures = Erasures::default();
        if let Some(head) = &head {
            let mut chain = Chain::new(head.stream_id.clone());
            let mut take = |chain: &mut Chain, entry: &LogEntry, looked: &Looked| {
                chain.take(entry, looked, &Erasures::default());
                erasures.learn(entry);
            };
            self.walk(&mut chain, head, &mut take).await?;
            if chain.broken.is_some() {
                erasures = Erasures::default();
            }
        }
        self.known = Known { head, erasures };
        Ok(true)
    }
}

fn add(report: &mut TenantReport, chain: Chain) {
    report.entries += chain.check.entries;
    report.erased += chain.check.erased();
    report.undetermined += chain.check.undetermined();
    report.missing += chain.check.missing();
    if let Some(broken) = chain.broken {
        report.broken.push((chain.check.head().stream_id.to_string(), broken));
    }
}
