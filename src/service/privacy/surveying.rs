//! Counts what an erasure would erase, and finds holds that forbid it.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{Caller, Service, ServiceError};
use super::batch::{Batch, OfConversations};
use super::subject::{Search, Selector, Subject};
use crate::domain::event::StreamKey;
use crate::domain::id::StreamId;
use crate::storage::{HoldSet, Table};

/// The order in which tables are searched. Payloads come before the rows made from them: a missing frame is explained
/// by its erased payload.
pub(super) const ORDER: [Table; 9] = [
    Table::LogPayloads,
    Table::Claims,
    Table::SpaceRecords,
    Table::Frames,
    Table::Commands,
    Table::Items,
    Table::Messages,
    Table::Contexts,
    Table::Principals,
];

/// The result of a dry run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Survey {
    /// How many records of each kind there are.
    pub counts: BTreeMap<String, u64>,
    /// Whether a legal hold covers any of it.
    pub held: bool,
}

/// Whether a hold forbids the erasure of this person, or of these streams.
pub(super) fn stands_in_the_way(held: &HoldSet, subject: &Subject, streams: &BTreeSet<StreamKey>) -> bool {
    if held.is_empty() {
        return false;
    }
    subject.people.iter().any(|person| held.holds_principal(person))
        || subject.conversations.iter().any(|id| held.holds_conversation(id))
        || streams.iter().any(|stream| held.holds_stream(stream))
}

impl Service {
    /// Counts what an erasure would erase.
    pub(super) async fn survey(&self, caller: &Caller, selector: &Selector) -> Result<Survey, ServiceError> {
        let tenant_id = &caller.tenant.tenant_id;
        let subject = self.subject(tenant_id, selector).await?;
        let held = self.store.held(tenant_id).await?;
        let (mut own, mut streams) = (OfConversations::new(), BTreeSet::new());
        let (mut locks, mut counts) = (BTreeSet::new(), BTreeMap::new());
        for table in ORDER {
            let mut search = Search::new(self.store.as_ref(), tenant_id, table, &subject.identifiers);
            while let Some(page) = search.next().await? {
                let batch = Batch::of(table, page, &subject, &mut own);
                batch.count(&mut counts);
                streams.extend(batch.payloads.into_keys());
                locks.extend(batch.locks);
            }
        }
        for batch in own.values() {
            batch.count(&mut counts);
        }
        let streams: Vec<StreamId> = streams.into_iter().collect();
        for page in streams.chunks(500) {
            locks.extend(self.store.named_streams(tenant_id, page).await?.into_iter().map(|(key, _)| key));
        }
        let mut registered = 0;
        for id in &subject.people {
            registered += usize::from(self.store.principal(tenant_id, id.as_str()).await?.is_some());
        }
        let sizes = [
            ("conversations", subject.conversations.len()),
            ("spaces", subject.spaces.len()),
            ("principals", registered),
        ];
        for (kind, size) in sizes.into_iter().filter(|(_, size)| *size > 0) {
            counts.insert(kind.to_owned(), u64::try_from(size).unwrap_or(u64::MAX));
        }
        Ok(Survey { counts, held: stands_in_the_way(&held, &subject, &locks) })
    }
}
