//! Which erased payloads the disposal stream accounts for. Verification of a chain asks this for each missing payload.

use std::collections::BTreeMap;

use crate::domain::disposal::DisposalEvent;
use crate::domain::id::StreamId;
use crate::domain::time::Timestamp;
use crate::evidence::entry::{LogEntry, Logged, Payload};

/// Entries of a stream that an entry of the disposal stream lists as erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Named {
    first: u64,
    last: u64,
    /// The time of the erasure: payloads written later are not covered.
    at: Timestamp,
}

/// Ranges of entries whose payloads were erased, stream by stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Erasures(BTreeMap<StreamId, Vec<Named>>);

impl Erasures {
    /// Adds an entry of the disposal stream, in the order of the stream. Entries of other kinds are ignored.
    ///
    /// The caller verifies the chain of the disposal stream itself.
    pub fn learn(&mut self, entry: &LogEntry) {
        if entry.header.kind != DisposalEvent::RECORDS_ERASED {
            return;
        }
        let payload = entry.body.as_ref().and_then(|body| serde_json::from_str::<Payload>(&body.payload).ok());
        let Some(Logged::Disposal(DisposalEvent::RecordsErased { payloads, .. })) = payload.map(|read| read.event)
        else {
            return;
        };
        // The disposal stream itself is never erased.
        for range in payloads.into_iter().filter(|range| range.stream_id != entry.header.stream_id) {
            let new = Named { first: range.first, last: range.last, at: entry.header.at };
            let known = self.0.entry(range.stream_id).or_default();
            // Later entries of the disposal stream have later times, so the wider range replaces the narrower ones.
            known.retain(|old| !(new.first <= old.first && old.last <= new.last && old.at <= new.at));
            match known.last_mut() {
                Some(last) if last.at == new.at && last.last.checked_add(1) == Some(new.first) => last.last = new.last,
                _ => known.push(new),
            }
        }
    }

    /// Whether the disposal stream lists the payload of this entry as erased.
    #[must_use]
    pub fn explain(&self, stream_id: &StreamId, seq: u64, at: Timestamp) -> bool {
        let named = self.0.get(stream_id).map_or(&[][..], Vec::as_slice);
        named.iter().any(|range| (range.first..=range.last).contains(&seq) && at <= range.at)
    }
}
