//! One batch in memory: loaded state, decisions, rows to write.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::accounting::{self, Accounts};
use super::preparing::{LargeSpaces, Ready};
use super::spaces::{Spaces, stream_of};
use super::{Committed, Outcome, Submitted, Turnout};
use crate::domain::canonical::Digest;
use crate::domain::decide::{Decision, Rules, decide};
use crate::domain::event::{About, Evidence, Recorded, StreamKey};
use crate::domain::id::{Entropy, Ids, PrincipalId, SpaceId, StreamId, TenantId};
use crate::domain::operation::{Answer, Operation};
use crate::domain::refusal::Refusal;
use crate::domain::rulebook::Rulebook;
use crate::domain::time::Timestamp;
use crate::domain::verdict::Reason;
use crate::domain::world::World;
use crate::evidence::entry::{Appended, StreamHead, append};
use crate::state_layer::decide::Foreseen;
use crate::state_layer::event::SpaceEvent;
use crate::state_layer::refusal::SpaceRefusal;
use crate::state_layer::request::{Answered, Refused, Request};
use crate::storage::{Loaded, StorageError, StoredClaim, Want, Writes, rows};

/// The locks and rows that a submission needs.
pub(super) fn want(submission: &Submitted) -> Want {
    let claim = submission.claim.map(|claim| claim.key);
    match &submission.request {
        Request::Core(operation) => Want { claim, ..Want::of(&submission.tenant, operation) },
        Request::Space(operation) => Want {
            tenant_id: submission.tenant.tenant_id.clone(),
            needs: stream_of(operation),
            claim,
            space: Some((operation.space_id.clone(), operation.needs())),
        },
    }
}

/// The state of one batch in memory.
pub(super) struct Work {
    now: Timestamp,
    streams: Vec<Option<Vec<StreamKey>>>,
    worlds: BTreeMap<TenantId, World>,
    spaces: Spaces,
    heads: BTreeMap<(TenantId, StreamKey), StreamHead>,
    claims: BTreeMap<(TenantId, Digest), StoredClaim>,
    moved: BTreeSet<(TenantId, StreamKey)>,
    accounts: Accounts,
    writes: Writes,
    /// What was found out beforehand about operations of this batch, by their places.
    foreseen: BTreeMap<usize, Foreseen>,
    /// Operations that were prepared in vain.
    stale: BTreeSet<usize>,
}

impl Work {
    pub(super) fn new(submissions: &[&Submitted], loaded: Loaded, now: Timestamp) -> Self {
        let mut worlds: BTreeMap<TenantId, World> = BTreeMap::new();
        for submission in submissions {
            let tenant = &submission.tenant;
            worlds.entry(tenant.tenant_id.clone()).or_insert_with(|| World::new(tenant.tenant_id.clone(), tenant.key));
        }
        for (tenant_id, row) in loaded.rows {
            if let Some(world) = worlds.get_mut(&tenant_id) {
                rows::put(world, row);
            }
        }
        for tenant_id in &loaded.people_unknown {
            if let Some(world) = worlds.get_mut(tenant_id) {
                world.people_unknown = true;
            }
        }
        for (tenant_id, name) in loaded.spent_names {
            if let Some(world) = worlds.get_mut(&tenant_id) {
                world.spent_names.insert(name);
            }
        }
        Self {
            now,
            streams: loaded.streams,
            worlds,
            spaces: Spaces::default(),
            heads: loaded.heads.into_iter().map(|(tenant, key, head)| ((tenant, key), head)).collect(),
            claims: loaded.claims.into_iter().map(|(tenant, key, claim)| ((tenant, key), claim)).collect(),
            moved: BTreeSet::new(),
            accounts: Accounts::new(),
            writes: Writes::default(),
            foreseen: BTreeMap::new(),
            stale: BTreeSet::new(),
        }
    }

    pub(super) fn decide(
        &mut self,
        index: usize,
        submission: &Submitted,
        rules: &Rulebook,
        entropy: &mut dyn Entropy,
    ) -> Result<Turnout, StorageError> {
        let Some(streams) = self.streams.get(index).cloned().flatten() else { return Ok(Turnout::Held) };
        let tenant_id = &submission.tenant.tenant_id;
        self.note_unnamed(tenant_id, &streams);
        let now = self.not_before_last_entry(tenant_id, &streams);
        let going = match &submission.request {
            Request::Space(operation) => self.spaces.is_going(tenant_id, &operation.space_id),
            Request::Core(_) => false,
        };
        // Answers about a space that is being erased go with it, but for the one that says so.
        if let Some(replay) = self.replay(submission, now).filter(|_| !going || submission.erases()) {
            return Ok(Turnout::Decided(Box::new(replay)));
        }
        if going {
            return Ok(Turnout::Going);
        }
        let behind = self.now.seconds_until(now);
        if behind > MAX_BEHIND_SECONDS && !submission.only_records() {
            return Ok(Turnout::ClockBehind(u32::try_from(behind).unwrap_or(u32::MAX)));
        }
        if self.stale.contains(&index) {
            return Ok(Turnout::Stale);
        }
        let scope = submission.tenant.policy_scope();
        let rules = rules.rules(&scope);
        let mut ids = Ids::new(now, entropy);
        let result = match &submission.request {
            Request::Core(operation) => {
                let decision = self.decided(tenant_id, operation, &rules, now, &mut ids)?;
                self.log(tenant_id, &streams, &decision.events, &rules, now, &mut ids)?;
                decision.result.map(Answered::Core).map_err(Refused::Core)
            }
            Request::Space(operation) => {
                let Some(world) = self.worlds.get(tenant_id) else { return Err(inconsistent(NO_STATE)) };
                let before = self.spaces.forgotten(tenant_id, &operation.space_id);
                let foreseen = self.foreseen.remove(&index);
                let (events, result) = self.spaces.decide(world, operation, &rules, foreseen, now, &mut ids)?;
                let forgotten = &self.spaces.forgotten(tenant_id, &operation.space_id) - &before;
                self.forget(tenant_id, &operation.space_id, &forgotten);
                if !forgotten.is_empty() {
                    let (policy, space) = (rules.policy.reference(), (tenant_id.clone(), operation.space_id.clone()));
                    let head = self.heads.get(&(space.0.clone(), StreamKey::FactSpace(space.1.clone())));
                    accounting::open(&mut self.accounts, space, forgotten, policy, head);
                }
                if events.iter().any(|recorded| matches!(recorded.event, SpaceEvent::SpaceErased { .. })) {
                    self.erase(tenant_id, &operation.space_id);
                }
                self.log(tenant_id, &streams, &events, &rules, now, &mut ids)?;
                result.map(Answered::Space).map_err(Refused::Space)
            }
        };
        if is_erased(&result) {
            // The answer is not kept: a stored answer would bring back the erased person's data.
            return Ok(Turnout::Decided(Box::new(Committed { result, at: now, replayed: false })));
        }
        let hours = rules.policy.pack().retention.idempotency_hours;
        self.keep_claim(submission, &streams, &result, now, hours);
        Ok(Turnout::Decided(Box::new(Committed { result, at: now, replayed: false })))
    }

    /// Chains events to their streams.
    fn log<E: Evidence>(
        &mut self,
        tenant_id: &TenantId,
        streams: &[StreamKey],
        events: &[Recorded<E>],
        rules: &Rules<'_>,
        now: Timestamp,
        ids: &mut Ids<'_>,
    ) -> Result<(), StorageError> {
        for recorded in events {
            // The conversations were looked up before the locks were held. If somebody has since written to another one
            // that belongs here, it is not locked: the operation is repeated, which locks it too.
            if !streams.contains(&recorded.stream) {
                tracing::debug!(
                    stream.kind = recorded.stream.kind(),
                    "the loaded state belongs to a stream that is not locked; the operation is repeated"
                );
                return Err(StorageError::Conflict);
            }
            let head = self.head(tenant_id, &recorded.stream, ids);
            let entry = append(head, tenant_id, recorded, rules.policy.reference(), now, ids);
            self.writes.entries.push(entry);
            self.moved.insert((tenant_id.clone(), recorded.stream.clone()));
        }
        Ok(())
    }

    /// What this batch deleted in each space, for recording which payloads went with it.
    pub(super) fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// Records which payloads are erased with what was deleted in a space: stored ones, and those of this batch.
    pub(super) fn account(
        &mut self,
        (tenant_id, space_id): &(TenantId, SpaceId),
        stored: &[(StreamId, u64)],
        entropy: &mut dyn Entropy,
    ) {
        let stream = StreamKey::FactSpace(space_id.clone());
        let key = (tenant_id.clone(), stream.clone());
        let (Some(account), Some(head)) =
            (self.accounts.get(&(tenant_id.clone(), space_id.clone())), self.heads.get_mut(&key))
        else {
            return;
        };
        let event = account.event(space_id, &head.stream_id, stored, &self.writes.entries);
        let at = head.at.unwrap_or(self.now);
        let mut ids = Ids::new(at, entropy);
        let about = About { space_id: Some(space_id.clone()), ..About::default() };
        let recorded = Recorded { stream, about, event };
        self.writes.entries.push(append(head, tenant_id, &recorded, &account.policy, at, &mut ids));
        self.moved.insert(key);
    }

    /// Takes the rows of fact spaces.
    pub(super) fn take_spaces(&mut self, rows: super::spaces::Loaded) {
        self.spaces.take(rows);
    }

    /// Takes what was prepared of these operations.
    pub(super) fn take_ready(&mut self, wants: &[Want], ready: &mut Ready) {
        self.stale = std::mem::take(&mut ready.stale);
        for (place, tried) in std::mem::take(&mut ready.tried) {
            let Some((want, (space_id, _))) = wants.get(place).and_then(|want| Some((want, want.space.as_ref()?)))
            else {
                continue;
            };
            self.spaces.take_ready(&want.tenant_id, space_id, tried.space);
            self.foreseen.extend(tried.foreseen.map(|foreseen| (place, foreseen)));
        }
    }

    /// Notes which of the spaces are large.
    pub(super) fn note(&self, large: &LargeSpaces) {
        self.spaces.note(large);
    }

    /// The time of a decision: never before the last entry of its streams, even if the wall clock went back.
    fn not_before_last_entry(&self, tenant_id: &TenantId, streams: &[StreamKey]) -> Timestamp {
        let last = streams.iter().filter_map(|key| self.heads.get(&(tenant_id.clone(), key.clone()))?.at).max();
        last.map_or(self.now, |last| last.max(self.now))
    }

    /// Removes stream names that were created only to be locked. If nothing is recorded under one, as for a refusal, it
    /// would look like the name of an existing stream.
    fn note_unnamed(&mut self, tenant_id: &TenantId, streams: &[StreamKey]) {
        let names = streams.iter().map(|key| (tenant_id.clone(), key.clone()));
        self.writes.unnamed.extend(names.filter(|name| !self.heads.contains_key(name)));
    }

    fn replay(&self, submission: &Submitted, now: Timestamp) -> Option<Outcome> {
        let claim = submission.claim?;
        let stored = self.claims.get(&(submission.tenant.tenant_id.clone(), claim.key))?;
        if stored.expires_at <= now {
            return None;
        }
        if stored.request.same(&claim.request) {
            return Some(Committed { result: stored.result.clone(), at: stored.at, replayed: true });
        }
        Some(Committed { result: Err(Refused::Core(Refusal::IdempotencyKeyReused)), at: now, replayed: false })
    }

    /// Catches a panic: a bug in a decision fails that one operation and not the writer.
    fn decided(
        &mut self,
        tenant_id: &TenantId,
        operation: &Operation,
        rules: &Rules<'_>,
        now: Timestamp,
        ids: &mut Ids<'_>,
    ) -> Result<Decision, StorageError> {
        let Some(world) = self.worlds.get_mut(tenant_id) else { return Err(inconsistent(NO_STATE)) };
        let run = AssertUnwindSafe(|| decide(world, operation, rules, now, ids));
        catch_unwind(run).map_err(|_| inconsistent("the decision panicked"))
    }

    fn head(&mut self, tenant_id: &TenantId, key: &StreamKey, ids: &mut Ids<'_>) -> &mut StreamHead {
        let new_streams = &mut self.writes.new_streams;
        self.heads.entry((tenant_id.clone(), key.clone())).or_insert_with(|| {
            let stream_id = ids.stream();
            new_streams.push((tenant_id.clone(), key.clone(), stream_id.clone()));
            StreamHead::new(stream_id)
        })
    }

    /// Removes from this batch the log payloads and kept answers of a space that is now erased.
    fn erase(&mut self, tenant_id: &TenantId, space_id: &SpaceId) {
        let stream = (tenant_id.clone(), StreamKey::FactSpace(space_id.clone()));
        if let Some(head) = self.heads.get(&stream) {
            let entries = self.writes.entries.iter_mut().map(|appended| &mut appended.entry);
            entries.filter(|entry| entry.header.stream_id == head.stream_id).for_each(|entry| entry.body = None);
        }
        let written = self.writes.claims.iter_mut().map(|(tenant, _, claim)| (&*tenant, claim));
        let loaded = self.claims.iter_mut().map(|((tenant, _), claim)| (tenant, claim));
        for (tenant, claim) in written.chain(loaded) {
            if tenant == tenant_id && claim.space_id.as_ref() == Some(space_id) {
                claim.result = Err(Refused::Space(SpaceRefusal::SpaceNotFound));
            }
        }
    }

    /// Removes from this batch what the log, kept answers and packs contain of facts that are now deleted, and of the
    /// readings about them.
    fn forget(&mut self, tenant_id: &TenantId, space_id: &SpaceId, forgotten: &BTreeSet<String>) {
        if forgotten.is_empty() {
            return;
        }
        let stream = (tenant_id.clone(), StreamKey::FactSpace(space_id.clone()));
        if let Some(head) = self.heads.get(&stream) {
            for Appended { entry, about } in &mut self.writes.entries {
                let tells = about.of_fact().is_some_and(|id| forgotten.contains(id));
                if tells && entry.header.stream_id == head.stream_id {
                    entry.body = None;
                }
            }
        }
        let written = self.writes.claims.iter_mut().map(|(tenant, _, claim)| (&*tenant, claim));
        let loaded = self.claims.iter_mut().map(|((tenant, _), claim)| (tenant, claim));
        for (tenant, claim) in written.chain(loaded) {
            let tells = || serde_json::to_string(claim).is_ok_and(|told| forgotten.iter().any(|id| told.contains(id)));
            if tenant == tenant_id && claim.space_id.as_ref() == Some(space_id) && tells() {
                claim.result = Err(Refused::Space(SpaceRefusal::FactDeleted));
            }
        }
        self.spaces.withdraw_packs(tenant_id, forgotten);
    }

    fn keep_claim(
        &mut self,
        submission: &Submitted,
        streams: &[StreamKey],
        result: &Result<Answered, Refused>,
        now: Timestamp,
        hours: u32,
    ) {
        let Some(claim) = submission.claim else { return };
        let people = want(submission).needs.principals;
        let about = streams.iter().map(StreamKey::key).chain(people.iter().map(PrincipalId::as_str));
        let stored = StoredClaim {
            request: claim.request,
            result: match result {
                Ok(Answered::Space(answer)) => Ok(Answered::Space(super::spaces::kept(answer.clone()))),
                other => other.clone(),
            },
            at: now,
            expires_at: now.plus_seconds(hours.saturating_mul(60 * 60)),
            space_id: match &submission.request {
                Request::Core(_) => None,
                Request::Space(operation) => Some(operation.space_id.clone()),
            },
            about: about.map(str::to_owned).collect(),
        };
        let key = (submission.tenant.tenant_id.clone(), claim.key);
        self.claims.insert(key.clone(), stored.clone());
        self.writes.claims.push((key.0, key.1, stored));
    }

    pub(super) fn into_writes(self) -> Writes {
        let mut writes = self.writes;
        writes.unnamed.retain(|name| !self.heads.contains_key(name));
        for key in self.moved {
            if let Some(head) = self.heads.get(&key) {
                writes.heads.push((key.0, key.1, head.clone()));
            }
        }
        for (tenant_id, world) in self.worlds {
            rows::changed(&tenant_id, world, &mut writes);
        }
        self.spaces.into_writes(&mut writes);
        writes
    }
}

/// How far the last entry of a stream may be ahead of the clock. Clocks of several hosts differ by a few seconds and
/// are corrected in small steps. Beyond that, the clock was wrong when the entry was written or is wrong now, and no
/// deadline can be trusted.
const MAX_BEHIND_SECONDS: u64 = 5;

/// Whether the answer is for a redelivered message that was erased.
fn is_erased(result: &Result<Answered, Refused>) -> bool {
    matches!(result, Ok(Answered::Core(Answer::Turn { verdict, .. })) if verdict.reason == Reason::Erased)
}

/// A tenant of the batch has no loaded state.
const NO_STATE: &str = "no state was loaded for the tenant";

pub(super) fn inconsistent(what: &str) -> StorageError {
    StorageError::Inconsistent { table: "decision", what: what.to_owned() }
}
