//! Records which log payloads a deletion erased, entry by entry. Without that list, one deleted fact would excuse the
//! loss of another fact's evidence.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::disposal::ErasedRange;
use crate::domain::id::{SpaceId, StreamId, TenantId};
use crate::domain::policy::PolicyRef;
use crate::evidence::entry::{Appended, StreamHead};
use crate::state_layer::event::SpaceEvent;

/// What was deleted in a batch, by space.
pub(super) type Accounts = BTreeMap<(TenantId, SpaceId), Account>;

/// What was deleted in one space.
pub(super) struct Account {
    /// The policy pack of the batch's first deletion.
    pub(super) policy: PolicyRef,
    /// The sequence number in the space's stream at which the batch's first deletion starts.
    since: u64,
    /// Deleted facts, and the readings about them.
    ids: BTreeSet<String>,
}

/// Notes what an operation deleted, before its entries are appended to the space's stream.
pub(super) fn open(
    accounts: &mut Accounts,
    space: (TenantId, SpaceId),
    forgotten: BTreeSet<String>,
    policy: &PolicyRef,
    head: Option<&StreamHead>,
) {
    let since = head.map_or(1, |head| head.seq.saturating_add(1));
    let new = || Account { policy: policy.clone(), since, ids: BTreeSet::new() };
    accounts.entry(space).or_insert_with(new).ids.extend(forgotten);
}

impl Account {
    /// The ids by which entries that mention the deletion are searched.
    pub(super) fn ids(&self) -> Vec<String> {
        self.ids.iter().cloned().collect()
    }

    /// The event that lists the erased payloads: stored ones, and those this batch removed before storing them.
    pub(super) fn event(
        &self,
        space_id: &SpaceId,
        stream_id: &StreamId,
        stored: &[(StreamId, u64)],
        written: &[Appended],
    ) -> SpaceEvent {
        let mut places: BTreeMap<&StreamId, BTreeSet<u64>> = BTreeMap::new();
        for (stream, seq) in stored {
            places.entry(stream).or_default().insert(*seq);
        }
        for Appended { entry, about } in written {
            let tells = about.of_fact().is_some_and(|id| self.ids.contains(id));
            if tells && entry.body.is_none() && entry.header.stream_id == *stream_id {
                places.entry(&entry.header.stream_id).or_default().insert(entry.header.seq);
            }
        }
        let ranges =
            |(stream, seqs): (&StreamId, BTreeSet<u64>)| ErasedRange::of(stream, &seqs.into_iter().collect::<Vec<_>>());
        let payloads = places.into_iter().flat_map(ranges).collect();
        SpaceEvent::EvidenceErased { space_id: space_id.clone(), since: self.since, payloads }
    }
}
