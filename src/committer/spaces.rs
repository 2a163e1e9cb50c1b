//! Fact spaces in a batch: their rows and their decisions.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::preparing::{LargeSpaces, Ready};
use super::work::inconsistent;
use crate::domain::decide::Rules;
use crate::domain::event::{About, Recorded, StreamKey};
use crate::domain::id::{FactUid, Ids, ReadingId, RoleName, SpaceId, TenantId};
use crate::domain::operation::Needs;
use crate::domain::principal::PrincipalKind;
use crate::domain::time::Timestamp;
use crate::domain::world::World;
use crate::state_layer::assembly::SavedPack;
use crate::state_layer::authority::AuthorityOrder;
use crate::state_layer::decide::{Foreseen, SpaceDecision, SpaceRules, decide_foreseen, foresee};
use crate::state_layer::event::SpaceEvent;
use crate::state_layer::fact::Fact;
use crate::state_layer::ledger::LedgerRules;
use crate::state_layer::operation::{SpaceAnswer, SpaceOperation, WriterStanding};
use crate::state_layer::refusal::SpaceRefusal;
use crate::state_layer::space::{Space, SpaceRecord, Touched};
use crate::storage::{ChangedSpace, SpaceRow, SpaceWant, StorageError, Store, Transaction, Want, Writes};

/// The locks of an operation on a space: its stream, and the registration of its writer.
pub(super) fn stream_of(operation: &SpaceOperation) -> Needs {
    Needs {
        streams: vec![StreamKey::FactSpace(operation.space_id.clone())],
        principals: operation.writer.principal_id.iter().cloned().collect(),
        ..Needs::default()
    }
}

/// Rows of spaces, and the spaces that are loaded completely.
#[derive(Debug, Default)]
pub(super) struct Loaded {
    rows: Vec<(TenantId, SpaceId, SpaceRow)>,
    whole: BTreeSet<(TenantId, SpaceId)>,
}

/// Loads the spaces of a batch whose streams are held. A fact stated late is folded into its place in time, which needs
/// the whole space; only the first step shows which facts are late, so the rest is loaded in a second one.
///
/// The space of a prepared operation is already there; one whose preparation is outdated loads nothing.
pub(super) async fn load(
    transaction: &mut dyn Transaction,
    wants: &[Want],
    streams: &[Option<Vec<StreamKey>>],
    ready: &Ready,
) -> Result<Loaded, StorageError> {
    let held = wants
        .iter()
        .zip(streams)
        .enumerate()
        .filter(|(place, (_, streams))| streams.is_some() && !ready.stale.contains(place));
    let wants: Vec<(&Want, Option<&Space>)> = held
        .filter(|(_, (want, _))| want.space.is_some())
        .map(|(place, (want, _))| (want, ready.tried.get(&place).map(|tried| &tried.space)))
        .collect();
    if wants.is_empty() {
        return Ok(Loaded::default());
    }
    let first = first_wants(&wants);
    let mut rows = if first.is_empty() { Vec::new() } else { transaction.load_spaces(&first).await? };
    let whole = late(&wants, newest(&rows));
    if !whole.is_empty() {
        rows.extend(transaction.load_spaces(&whole_wants(&whole)).await?);
    }
    Ok(Loaded { rows, whole })
}

/// Loads what one operation needs, without a lock.
pub(super) async fn look(store: &dyn Store, want: &Want) -> Result<Loaded, StorageError> {
    let mut loaded = Loaded::default();
    let wants = [(want, None)];
    // All at once where that is known beforehand.
    let needs_whole = want.space.as_ref().is_some_and(|(_, needs)| needs.whole);
    let mut first = first_wants(&wants);
    if needs_whole {
        first.iter_mut().filter(|asked| asked.live).for_each(|asked| asked.whole = true);
    }
    loaded.rows = rows_of(store, &want.tenant_id, &first).await?;
    loaded.whole = late(&wants, newest(&loaded.rows));
    if !loaded.whole.is_empty() && !needs_whole {
        loaded.rows.extend(rows_of(store, &want.tenant_id, &whole_wants(&loaded.whole)).await?);
    }
    Ok(loaded)
}

async fn rows_of(store: &dyn Store, tenant_id: &TenantId, wants: &[SpaceWant]) -> Result<Rows, StorageError> {
    let rows = store.spaces(wants).await?;
    Ok(rows.into_iter().map(|(space_id, row)| (tenant_id.clone(), space_id, row)).collect())
}

type Rows = Vec<(TenantId, SpaceId, SpaceRow)>;

/// When the newest statement of each space was made.
fn newest(rows: &Rows) -> BTreeMap<(TenantId, SpaceId), Timestamp> {
    let newest = rows.iter().filter_map(|(tenant, space, row)| match row {
        SpaceRow::Space(record) => Some(((tenant.clone(), space.clone()), record.newest?)),
        _ => None,
    });
    newest.collect()
}

fn whole_wants(whole: &BTreeSet<(TenantId, SpaceId)>) -> Vec<SpaceWant> {
    let all = whole.iter().map(|(tenant_id, space_id)| SpaceWant {
        tenant_id: tenant_id.clone(),
        space_id: space_id.clone(),
        live: false,
        whole: true,
        named: Vec::new(),
    });
    all.collect()
}

/// The first step: current facts of each space, and the facts that are named in it or in a wider one. Nothing of a space that is
/// already loaded.
fn first_wants(wants: &[(&Want, Option<&Space>)]) -> Vec<SpaceWant> {
    let mut asked: BTreeMap<(TenantId, SpaceId), (bool, BTreeSet<String>)> = BTreeMap::new();
    for (want, there) in wants {
        let Some((space_id, needs)) = &want.space else { continue };
        if there.is_none() {
            let own = asked.entry((want.tenant_id.clone(), space_id.clone())).or_default();
            own.0 = true;
            own.1.extend(needs.named.iter().map(|pointer| pointer.0.clone()));
        }
        for (wider, pointer) in &needs.wider {
            let wider = asked.entry((want.tenant_id.clone(), wider.clone())).or_default();
            wider.1.insert(pointer.0.clone());
        }
    }
    let want = |((tenant_id, space_id), (live, named)): ((TenantId, SpaceId), (bool, BTreeSet<String>))| SpaceWant {
        tenant_id,
        space_id,
        live,
        whole: false,
        named: named.into_iter().collect(),
    };
    asked.into_iter().map(want).collect()
}

/// Spaces that get a fact dated before their newest one, counting earlier operations of this batch.
fn late(
    wants: &[(&Want, Option<&Space>)],
    mut newest: BTreeMap<(TenantId, SpaceId), Timestamp>,
) -> BTreeSet<(TenantId, SpaceId)> {
    let mut whole = BTreeSet::new();
    for (want, there) in wants {
        let Some((space_id, needs)) = &want.space else { continue };
        let key = (want.tenant_id.clone(), space_id.clone());
        let known = there.and_then(|space| space.record.as_ref()).and_then(|record| record.newest);
        let last = newest.get(&key).copied().max(known);
        if needs.is_whole(last) && !there.is_some_and(|space| space.whole) {
            whole.insert(key.clone());
        }
        // A fact without a date of its own gets the time of the decision, which is not known yet: it counts as the
        // newest.
        let latest = needs.latest.unwrap_or(Timestamp::from_micros(i64::MAX));
        newest.insert(key, last.map_or(latest, |last| last.max(latest)));
    }
    whole
}

#[derive(Debug, Default)]
pub(super) struct Spaces {
    spaces: BTreeMap<(TenantId, SpaceId), Space>,
}

impl Spaces {
    pub(super) fn take(&mut self, loaded: Loaded) {
        for (tenant_id, space_id, row) in loaded.rows {
            row.put(self.spaces.entry((tenant_id, space_id)).or_default());
        }
        for key in loaded.whole {
            self.spaces.entry(key).or_default().whole = true;
        }
    }

    /// Takes a space that was loaded beforehand. Rows that were loaded since are the same.
    pub(super) fn take_ready(&mut self, tenant_id: &TenantId, space_id: &SpaceId, mut space: Space) {
        let own = self.spaces.entry((tenant_id.clone(), space_id.clone())).or_default();
        space.whole |= own.whole;
        let loaded = std::mem::replace(own, space);
        own.facts.extend(loaded.facts);
        own.readings.extend(loaded.readings);
        own.rulings.extend(loaded.rulings);
    }

    /// How many facts of a space are there.
    pub(super) fn facts(&self, tenant_id: &TenantId, space_id: &SpaceId) -> usize {
        self.spaces.get(&(tenant_id.clone(), space_id.clone())).map_or(0, |space| space.facts.len())
    }

    /// Whether a space is being erased.
    pub(super) fn is_going(&self, tenant_id: &TenantId, space_id: &SpaceId) -> bool {
        let space = self.spaces.get(&(tenant_id.clone(), space_id.clone()));
        space.and_then(|space| space.record.as_ref()).is_some_and(SpaceRecord::is_going)
    }

    /// Hands a space over.
    pub(super) fn remove(&mut self, tenant_id: &TenantId, space_id: &SpaceId) -> Option<Space> {
        self.spaces.remove(&(tenant_id.clone(), space_id.clone()))
    }

    /// Notes which spaces are large.
    pub(super) fn note(&self, large: &LargeSpaces) {
        for ((tenant_id, space_id), space) in &self.spaces {
            large.note(tenant_id, space_id, space.facts.len());
        }
    }

    pub(super) fn foresee(
        &mut self,
        world: &World,
        operation: &SpaceOperation,
        rules: &Rules<'_>,
        now: Timestamp,
        ids: &mut Ids<'_>,
    ) -> Option<Foreseen> {
        let rules = self.rules(world, operation, rules);
        let space = self.spaces.entry((world.tenant_id.clone(), operation.space_id.clone())).or_default();
        foresee(space, &operation.space_id, operation, &rules, now, ids)
    }

    /// What a decision goes by beside the space.
    fn rules<'a>(&self, world: &World, operation: &SpaceOperation, rules: &Rules<'a>) -> SpaceRules<'a> {
        let settings = &rules.policy.pack().state_layer;
        SpaceRules {
            ledger: LedgerRules {
                order: AuthorityOrder::new(&settings.authority_order),
                time_sensitive_keys: settings.time_sensitive_keys.clone(),
            },
            policy: rules.policy.reference(),
            writer: writer(world, operation),
            wider: self.wider(&world.tenant_id, operation),
            item_ttl_seconds: settings.working_item_seconds,
        }
    }

    /// Decides one operation. A panic in a decision would be a bug; it costs that one operation an answer, not the
    /// server its writer.
    #[expect(clippy::type_complexity, reason = "events and answer, as in every decision")]
    pub(super) fn decide(
        &mut self,
        world: &World,
        operation: &SpaceOperation,
        rules: &Rules<'_>,
        foreseen: Option<Foreseen>,
        now: Timestamp,
        ids: &mut Ids<'_>,
    ) -> Result<(Vec<Recorded<SpaceEvent>>, Result<SpaceAnswer, SpaceRefusal>), StorageError> {
        let rules = self.rules(world, operation, rules);
        let space = self.spaces.entry((world.tenant_id.clone(), operation.space_id.clone())).or_default();
        // Another operation of this batch has changed the space since.
        let foreseen = foreseen.filter(|_| space.touched == Touched::default());
        let prepared = foreseen.is_some();
        let run =
            AssertUnwindSafe(|| decide_foreseen(space, &operation.space_id, operation, &rules, foreseen, now, ids));
        let (SpaceDecision { events, result }, came_true) =
            catch_unwind(run).map_err(|_| inconsistent("the decision panicked"))?;
        if prepared {
            let outcome = if came_true { "used" } else { "differs" };
            metrics::counter!("cscp_prepared_operations_total", "outcome" => outcome).increment(1);
        }
        let recorded = events.into_iter().map(|event| recorded(&operation.space_id, event)).collect();
        Ok((recorded, result))
    }

    /// The facts of a space that this batch has deleted so far, and the readings about them.
    pub(super) fn forgotten(&self, tenant_id: &TenantId, space_id: &SpaceId) -> BTreeSet<String> {
        let space = self.spaces.get(&(tenant_id.clone(), space_id.clone()));
        let touched = space.map(|space| &space.touched).into_iter();
        let named = touched.flat_map(|touched| {
            let facts = touched.forgotten_facts.iter().map(FactUid::as_str);
            facts.chain(touched.forgotten_readings.iter().map(ReadingId::as_str))
        });
        named.map(str::to_owned).collect()
    }

    /// Drops packs saved in this batch that contain one of these: they would show deleted values.
    pub(super) fn withdraw_packs(&mut self, tenant_id: &TenantId, forgotten: &BTreeSet<String>) {
        let own = self.spaces.iter_mut().filter(|((tenant, _), _)| tenant == tenant_id);
        for (_, space) in own {
            space.packs.retain(|_, pack| {
                let body = SpaceRow::Pack(pack.clone()).body();
                !forgotten.iter().any(|id| body.contains(id.as_str()))
            });
        }
    }

    /// The wider spaces that an operation names, where they exist.
    fn wider(&self, tenant_id: &TenantId, operation: &SpaceOperation) -> Vec<(SpaceRecord, Vec<Fact>)> {
        let named: BTreeSet<SpaceId> = operation.needs().wider.into_iter().map(|(space_id, _)| space_id).collect();
        let found = named.into_iter().filter_map(|space_id| {
            let space = self.spaces.get(&(tenant_id.clone(), space_id))?;
            let record = space.record.clone().filter(|record| !record.is_going())?;
            Some((record, space.facts.values().cloned().collect()))
        });
        found.collect()
    }

    /// Adds the changed rows to what will be written.
    pub(super) fn into_writes(self, writes: &mut Writes) {
        for ((tenant_id, space_id), space) in self.spaces {
            let facts = space.touched.forgotten_facts.iter().map(FactUid::as_str);
            let named = facts.chain(space.touched.forgotten_readings.iter().map(ReadingId::as_str));
            writes.forgotten.extend(named.map(|id| (tenant_id.clone(), space_id.clone(), id.to_owned())));
            let changed = ChangedSpace::of(space);
            let rows = changed.rows.into_iter().map(|row| (tenant_id.clone(), space_id.clone(), row));
            writes.space_rows.extend(rows);
            let gone = changed.gone.into_iter().map(|(kind, id)| (tenant_id.clone(), space_id.clone(), kind, id));
            writes.gone_space_rows.extend(gone);
        }
    }
}

/// The writer's registered rights. An unregistered writer is a junior without roles.
fn writer(world: &World, operation: &SpaceOperation) -> WriterStanding {
    let principal = operation.writer.principal_id.as_ref().and_then(|id| world.principals.get(id));
    principal.filter(|principal| principal.registered).map_or_else(WriterStanding::default, |principal| {
        WriterStanding {
            maturity: principal.maturity.unwrap_or_default(),
            roles: principal.roles.iter().map(RoleName::as_str).map(str::to_owned).collect(),
            is_person: principal.kind == PrincipalKind::Person,
        }
    })
}

fn recorded(space_id: &SpaceId, event: SpaceEvent) -> Recorded<SpaceEvent> {
    let fact_uid = match &event {
        SpaceEvent::FactWritten { fact } => Some(fact.uid.clone()),
        SpaceEvent::FactChanged { change, .. } => Some(change.uid.clone()),
        _ => None,
    };
    let reading_id = match &event {
        SpaceEvent::ObservationRead { reading, .. } => Some(reading.reading_id.clone()),
        _ => None,
    };
    let about = About { space_id: Some(space_id.clone()), fact_uid, reading_id, ..About::default() };
    Recorded { stream: StreamKey::FactSpace(space_id.clone()), about, event: logged(event) }
}

/// An event as it is logged. Each value is logged once, so that deleting reaches it: replaced values follow from
/// earlier facts, and the content of a saved pack is kept with the pack.
fn logged(mut event: SpaceEvent) -> SpaceEvent {
    match &mut event {
        SpaceEvent::FactWritten { fact } => fact.former.clear(),
        SpaceEvent::FactChanged { change, .. } => change.former.clear(),
        SpaceEvent::PackSaved { pack } => blank(pack),
        _ => {}
    }
    event
}

fn blank(pack: &mut SavedPack) {
    pack.pack.context.clear();
    pack.pack.segments.iter_mut().for_each(|segment| segment.text.clear());
}

/// An answer as it is kept for repetitions: without the content of a saved pack, which is read from where the pack is
/// kept.
pub(super) fn kept(mut answer: SpaceAnswer) -> SpaceAnswer {
    if let SpaceAnswer::Pack { pack } = &mut answer {
        blank(pack);
    }
    answer
}
