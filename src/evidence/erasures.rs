//! What the record says about payloads that are gone: read from the disposal stream, asked by whoever verifies a chain.

use std::collections::BTreeMap;

use crate::domain::disposal::DisposalEvent;
use crate::domain::id::StreamId;
use crate::domain::time::Timestamp;
use crate::evidence::entry::{LogEntry, Logged, Payload};

/// Entries of a stream that one entry of the disposal stream names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Named {
    first: u64,
    last: u64,
    /// When they were erased: what was written later was not.
    at: Timestamp,
}

/// Ranges of entries whose payloads were erased, stream by stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Erasures(BTreeMap<StreamId, Vec<Named>>);

impl Erasures {
    /// Takes in an entry of the disposal stream, in the order of the stream. Entries of other kinds say nothing.
    ///
    /// Whether the entry is what was written is for the chain's verification to say.
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
            // Later entries of the disposal stream are never earlier in time: the wider range says all that the
            // narrower ones have said.
            known.retain(|old| !(new.first <= old.first && old.last <= new.last && old.at <= new.at));
            match known.last_mut() {
                Some(last) if last.at == new.at && last.last.checked_add(1) == Some(new.first) => last.last = new.last,
                _ => known.push(new),
            }
        }
    }

    /// Whether the payload of this entry was erased, as the record says.
    #[must_use]
    pub fn explain(&self, stream_id: &StreamId, seq: u64, at: Timestamp) -> bool {
        let named = self.0.get(stream_id).map_or(&[][..], Vec::as_slice);
        named.iter().any(|range| (range.first..=range.last).contains(&seq) && at <= range.at)
    }
}
