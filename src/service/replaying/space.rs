//! Compares the rows of a fact space with its stream.

use std::collections::BTreeSet;

use serde_json::Value;

use super::compare::difference;
use super::projection::{Projection, State};
use super::report::{How, ReplayReport};
use super::{PAGE, Replay};
use crate::domain::disposal::named;
use crate::domain::event::StreamKey;
use crate::domain::id::{FactUid, PackId, ReadingId, RulingId, StreamId};
use crate::domain::query::EvidenceQuery;
use crate::state_layer::assembly::SavedPack;
use crate::state_layer::fact::{Fact, Former, MAX_FORMER};
use crate::state_layer::space::{Space, SpaceRecord};
use crate::storage::{LiveRow, LiveTable, SpaceRow, SpaceRowKind, StorageError};

const TABLE: LiveTable = LiveTable::SpaceRecords;
/// Entry types that record a statement.
const STATEMENTS: [&str; 3] = ["fact.written", "observation.read", "fact.ruled"];

/// The type of entry that makes a row of a kind.
fn maker(kind: SpaceRowKind) -> &'static str {
    match kind {
        SpaceRowKind::Space => "fact_space.described",
        SpaceRowKind::Fact => "fact.written",
        SpaceRowKind::Reading => "observation.read",
        SpaceRowKind::Ruling => "fact.ruled",
        SpaceRowKind::Signal => "environment.set",
        SpaceRowKind::Item => "working_set.set",
        SpaceRowKind::Pack => "context_pack.saved",
    }
}

/// A record that follows from the log, by its kind and id.
fn derived(space: &Space, kind: SpaceRowKind, id: &str) -> Option<SpaceRow> {
    match kind {
        SpaceRowKind::Space => space.record.clone().filter(|_| id.is_empty()).map(SpaceRow::Space),
        SpaceRowKind::Fact => space.facts.get(&FactUid::parse(id)?).cloned().map(SpaceRow::Fact),
        SpaceRowKind::Reading => space.readings.get(&ReadingId::parse(id)?).cloned().map(SpaceRow::Reading),
        SpaceRowKind::Ruling => space.rulings.get(&RulingId::parse(id)?).cloned().map(SpaceRow::Ruling),
        SpaceRowKind::Signal => space.signals.get(id).cloned().map(SpaceRow::Signal),
        SpaceRowKind::Item => space.items.get(id).cloned().map(SpaceRow::Item),
        SpaceRowKind::Pack => space.packs.get(&PackId::parse(id)?).cloned().map(SpaceRow::Pack),
    }
}

/// The ids of all records that follow from the log.
fn names(space: &Space) -> impl Iterator<Item = (SpaceRowKind, String)> {
    let record = space.record.iter().map(|_| (SpaceRowKind::Space, String::new()));
    let facts = space.facts.keys().map(|id| (SpaceRowKind::Fact, id.to_string()));
    let readings = space.readings.keys().map(|id| (SpaceRowKind::Reading, id.to_string()));
    let rulings = space.rulings.keys().map(|id| (SpaceRowKind::Ruling, id.to_string()));
    let signals = space.signals.keys().map(|key| (SpaceRowKind::Signal, key.clone()));
    let items = space.items.keys().map(|key| (SpaceRowKind::Item, key.clone()));
    let packs = space.packs.keys().map(|id| (SpaceRowKind::Pack, id.to_string()));
    record.chain(facts).chain(readings).chain(rulings).chain(signals).chain(items).chain(packs)
}

impl Replay<'_> {
    /// Compares the rows of a space with its stream, in both directions.
    pub(super) async fn compare_space(&self, projection: &Projection) -> Result<ReplayReport, StorageError> {
        let mut report = ReplayReport::default();
        let (State::Space(space), StreamKey::FactSpace(space_id)) = (&projection.state, &projection.key) else {
            return Ok(report);
        };
        let mut seen = BTreeSet::new();
        let mut after = (String::new(), String::new());
        loop {
            let page = self.store.live_records(&self.tenant.tenant_id, space_id, (&after.0, &after.1), PAGE).await?;
            let Some(last) = page.last().and_then(|row| row.id.split_once('/')) else { break };
            after = (last.0.to_owned(), last.1.to_owned());
            for live in page {
                let found = live.id.split_once('/').and_then(|(kind, id)| Some((SpaceRowKind::parse(kind)?, id)));
                let Some((kind, id)) = found else { continue };
                seen.insert((kind, id.to_owned()));
                match derived(space, kind, id) {
                    Some(row) => self.judge_record(projection, space, &row, live.clone(), &mut report),
                    None => unfounded(projection, kind, &live, &mut report),
                }
            }
        }
        for name in names(space).filter(|name| !seen.contains(name)) {
            self.missing(projection, space, name, &mut report).await?;
        }
        Ok(report)
    }

    fn judge_record(
        &self,
        projection: &Projection,
        space: &Space,
        row: &SpaceRow,
        mut live: LiveRow,
        report: &mut ReplayReport,
    ) {
        let mut own = Vec::new();
        let mut should = LiveRow::of_record(row);
        match row {
            SpaceRow::Fact(fact) => {
                // The log keeps each value once, so that deleting reaches it: replaced values are compared separately.
                let former = (take(&mut should.body, "former"), take(&mut live.body, "former"));
                // Values of facts past their time were erased with those facts.
                let thinned = self.disposed.counted.contains_key(&TABLE);
                let gone = |uid: &FactUid| thinned || self.is_named(projection, &format!("fact/{uid}"));
                own.extend((!former_fits(projection, space, fact, former.1, &gone)).then(|| "/former".to_owned()));
            }
            SpaceRow::Pack(_) => own.extend(strip_pack(&mut live.body)),
            _ => {}
        }
        let how = match difference(&should, &live) {
            Some(How::Changed { mut members, columns }) => {
                members.append(&mut own);
                How::Changed { members, columns }
            }
            Some(how) => how,
            None if own.is_empty() => return report.add_equal(TABLE),
            None => How::Changed { members: own, columns: Vec::new() },
        };
        let mark = projection.mark(TABLE, &should.id);
        let newest = How::Changed { members: vec!["/newest".to_owned()], columns: Vec::new() };
        let untold = row.kind() == SpaceRowKind::Space && how == newest && projection.misses(&STATEMENTS).is_some();
        if untold || projection.is_doubtful(TABLE, row.kind(), mark) {
            return report.add_underivable(TABLE);
        }
        let by = mark.map(|mark| &mark.artifact_id);
        report.add(projection.fault(Some(TABLE), should.id, by, how));
    }

    /// Reports a missing record. A saved pack is deleted with any fact in it, even one of another space, because its
    /// text contains that fact.
    async fn missing(
        &self,
        projection: &Projection,
        space: &Space,
        (kind, id): (SpaceRowKind, String),
        report: &mut ReplayReport,
    ) -> Result<(), StorageError> {
        if let Some(SpaceRow::Pack(pack)) = derived(space, kind, &id)
            && self.shows_what_is_gone(&pack).await?
        {
            report.withdrawn += 1;
            return Ok(());
        }
        // Of a space that is being erased everything may be gone but its own record.
        let going = space.record.as_ref().is_some_and(SpaceRecord::is_going) && kind != SpaceRowKind::Space;
        let id = format!("{}/{id}", kind.as_str());
        let mark = projection.mark(TABLE, &id);
        if going || self.is_named(projection, &id) {
            report.add_disposed(TABLE);
        } else if projection.is_doubtful(TABLE, kind, mark) {
            report.add_underivable(TABLE);
        } else {
            let by = mark.map(|mark| &mark.artifact_id);
            report.add(projection.fault(Some(TABLE), id, by, How::Missing));
        }
        Ok(())
    }

    /// Whether the disposal stream lists this record of the space as erased.
    fn is_named(&self, projection: &Projection, id: &str) -> bool {
        let id = format!("{}/{id}", projection.stream_id);
        self.disposed.named.names(&self.tenant.key, named::SPACE_RECORDS, &id)
    }

    async fn shows_what_is_gone(&self, pack: &SavedPack) -> Result<bool, StorageError> {
        let omitted = pack.pack.omitted.iter().filter_map(|omitted| FactUid::parse(&omitted.id));
        for uid in pack.pack.facts_included.iter().cloned().chain(omitted) {
            let written = EvidenceQuery {
                fact_uid: Some(uid),
                kind: Some("fact.written".to_owned()),
                limit: 1,
                ..EvidenceQuery::default()
            };
            let written = self.store.entries(&self.tenant.tenant_id, &written).await?;
            let Some(entry) = written.items.first() else { return Ok(true) };
            if self.is_going(&entry.header.stream_id).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a stream is that of a space that is being erased.
    async fn is_going(&self, stream_id: &StreamId) -> Result<bool, StorageError> {
        let named = self.store.named_streams(&self.tenant.tenant_id, std::slice::from_ref(stream_id)).await?;
        let going = self.store.going_spaces(&self.tenant.tenant_id).await?;
        let of = |key: &StreamKey| going.iter().any(|record| *key == StreamKey::FactSpace(record.space_id.clone()));
        Ok(named.iter().any(|(key, _)| of(key)))
    }
}

/// Reports a record that no entry made, unless an erased entry may have made it.
fn unfounded(projection: &Projection, kind: SpaceRowKind, live: &LiveRow, report: &mut ReplayReport) {
    let gone = projection.misses(&[maker(kind)]);
    let id = live.id.split_once('/').map_or("", |(_, id)| id);
    let deleted = kind == SpaceRowKind::Fact && FactUid::parse(id).is_some_and(|uid| projection.deleted.contains(&uid));
    let how = match gone {
        _ if deleted && live.body.get("value").is_some_and(|value| !value.is_null()) => {
            // Its value is unknown, but it is known to be deleted.
            How::Changed { members: vec!["/value".to_owned()], columns: Vec::new() }
        }
        Some(true) => return report.add_underivable(TABLE),
        // A deletion erases the entries about the deleted fact and about its readings, and nothing else.
        Some(false) if deleted || kind == SpaceRowKind::Reading => return report.add_underivable(TABLE),
        _ if projection.is_doubtful(TABLE, kind, None) => return report.add_underivable(TABLE),
        Some(false) | None => How::Unfounded,
    };
    report.add(projection.fault(Some(TABLE), live.id.clone(), None, how));
}

fn take(body: &mut Value, member: &str) -> Value {
    body.as_object_mut().and_then(|body| body.remove(member)).unwrap_or_default()
}

/// Whether the replaced values of a fact are right: each is the value of a fact that is not deleted, and all that the
/// fact replaced are present, up to the limit.
fn former_fits(
    projection: &Projection,
    space: &Space,
    fact: &Fact,
    live: Value,
    is_gone: &dyn Fn(&FactUid) -> bool,
) -> bool {
    let live = if live.is_null() { Value::Array(Vec::new()) } else { live };
    let Ok(former) = serde_json::from_value::<Vec<Former>>(live) else { return false };
    if fact.is_deleted() {
        return former.is_empty();
    }
    let says = |carried: &Former| match space.facts.get(&carried.uid) {
        Some(known) => carried.uid != fact.uid && Former::of(known).as_ref() == Some(carried),
        None => !projection.deleted.contains(&carried.uid) && projection.misses(&["fact.written"]).is_some(),
    };
    let text = fact.words();
    let replaced = fact.superseded.iter().filter(|uid| !is_gone(uid));
    let replaced = replaced.filter_map(|uid| Former::of(space.facts.get(uid)?));
    let mut replaced = replaced.filter(|former| former.text != text);
    // Facts deleted since counted towards the limit.
    let full = former.len().saturating_add(projection.deleted.len()) >= MAX_FORMER;
    former.iter().all(says) && (full || replaced.all(|replaced| former.contains(&replaced)))
}

/// Removes the text of a saved pack, which the log does not contain, and reports a text that does not match its
/// commitment.
fn strip_pack(body: &mut Value) -> Option<String> {
    let whole = serde_json::from_value::<SavedPack>(body.clone()).ok();
    let fault = match whole {
        Some(saved) if saved.pack.commitment(saved.as_of) != saved.pack.pack_hash => Some("/pack/context"),
        Some(saved) if !saved.pack.is_made_of_its_segments() => Some("/pack/segments"),
        Some(_) => None,
        None => Some(""),
    };
    if let Some(pack) = body.get_mut("pack") {
        pack["context"] = Value::from("");
        for segment in pack.get_mut("segments").and_then(Value::as_array_mut).into_iter().flatten() {
            segment["text"] = Value::from("");
        }
    }
    fault.map(str::to_owned)
}
