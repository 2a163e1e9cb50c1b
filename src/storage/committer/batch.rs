//! The writer: takes batches from the queue and makes them durable.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::queue::Queue;
use super::{Busy, Committed, Limits, Submission, Waiting};
use crate::domain::canonical::Digest;
use crate::domain::decide::{Decision, Rules, decide};
use crate::domain::event::StreamKey;
use crate::domain::id::{Entropy, Ids, TenantId};
use crate::domain::message::message_key;
use crate::domain::refusal::Refusal;
use crate::domain::rulebook::Rulebook;
use crate::domain::time::Timestamp;
use crate::domain::world::World;
use crate::evidence::entry::{StreamHead, append};
use crate::storage::{CLAIM_SECONDS, Loaded, Row, StorageError, Store, StoredClaim, Want, Writes, rows};

/// Makes batches durable, one after the other.
pub struct Writer {
    queue: Arc<Queue>,
    store: Arc<dyn Store>,
    rules: Arc<Rulebook>,
    entropy: Box<dyn Entropy>,
    limits: Limits,
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// Why an attempt came to nothing, and whether it may have been committed all the same.
enum Failed {
    Before(StorageError),
    InDoubt(StorageError),
}

impl From<StorageError> for Failed {
    fn from(error: StorageError) -> Self {
        Self::Before(error)
    }
}

impl Writer {
    pub(super) fn new(
        queue: Arc<Queue>,
        store: Arc<dyn Store>,
        rules: Arc<Rulebook>,
        entropy: Box<dyn Entropy>,
        limits: Limits,
    ) -> Self {
        Self { queue, store, rules, entropy, limits }
    }

    /// Works until the committer is stopped and everything it accepted is done.
    pub async fn run(mut self) {
        while let Some(batch) = self.queue.take(self.limits.batch).await {
            metrics::histogram!("cscp_batch_operations")
                .record(f64::from(u32::try_from(batch.len()).unwrap_or(u32::MAX)));
            self.commit(batch).await;
        }
    }

    async fn commit(&mut self, batch: Vec<Waiting>) {
        let submissions: Vec<&Submission> = batch.iter().map(|waiting| &waiting.submission).collect();
        match self.attempt(&submissions).await {
            Ok(results) => self.answer(batch, results),
            Err(Failed::Before(_)) if batch.len() > 1 => self.one_by_one(batch).await,
            // Repeating a commit that may have happened is the caller's to do: dedupe rows make that safe.
            Err(Failed::Before(error) | Failed::InDoubt(error)) => refuse(batch, &error),
        }
    }

    /// The database refused the batch, so each operation stands for itself.
    async fn one_by_one(&mut self, batch: Vec<Waiting>) {
        for waiting in batch {
            match self.attempt(&[&waiting.submission]).await {
                Ok(results) => self.answer(vec![waiting], results),
                Err(Failed::Before(error) | Failed::InDoubt(error)) => refuse(vec![waiting], &error),
            }
        }
    }

    fn answer(&self, batch: Vec<Waiting>, results: Vec<Option<Committed>>) {
        let mut skipped = Vec::new();
        for (waiting, result) in batch.into_iter().zip(results) {
            match result {
                // The caller may have gone away; what was decided stands.
                Some(committed) => drop(waiting.reply.send(Ok(committed))),
                None => skipped.push(waiting),
            }
        }
        if !skipped.is_empty() {
            self.queue.put_back(skipped);
        }
    }

    /// One transaction: lock, load, read the clock, decide, write, commit. `None` for what another process holds.
    async fn attempt(&mut self, submissions: &[&Submission]) -> Result<Vec<Option<Committed>>, Failed> {
        let wants: Vec<Want> = submissions.iter().copied().map(want).collect();
        let mut transaction = self.store.begin().await?;
        let mut loaded = transaction.load(&wants).await?;
        let referred = rows::referred(&loaded.rows);
        loaded.rows.extend(transaction.load_more(&referred.principals, &referred.items).await?);
        let now = transaction.now().await?;
        let mut work = Work::new(submissions, loaded, now);
        let mut results = Vec::with_capacity(submissions.len());
        for (index, submission) in submissions.iter().enumerate() {
            results.push(work.decide(index, submission, &self.rules, self.entropy.as_mut())?);
        }
        let writes = work.into_writes();
        if !writes.is_empty() {
            transaction.write(&writes).await?;
        }
        transaction.commit().await.map_err(Failed::InDoubt)?;
        Ok(results)
    }
}

fn refuse(batch: Vec<Waiting>, error: &StorageError) {
    for waiting in batch {
        drop(waiting.reply.send(Err(Busy::Storage(error.clone()))));
    }
}

fn want(submission: &Submission) -> Want {
    let key = &submission.tenant.key;
    Want {
        tenant_id: submission.tenant.tenant_id.clone(),
        needs: submission.operation.needs(|message| message_key(key, &message.channel, &message.message_id)),
        claim: submission.claim.map(|claim| claim.key),
    }
}

/// The state of one batch in memory.
struct Work {
    now: Timestamp,
    streams: Vec<Option<Vec<StreamKey>>>,
    worlds: BTreeMap<TenantId, World>,
    heads: BTreeMap<(TenantId, StreamKey), StreamHead>,
    claims: BTreeMap<(TenantId, Digest), StoredClaim>,
    moved: BTreeSet<(TenantId, StreamKey)>,
    writes: Writes,
}

impl Work {
    fn new(submissions: &[&Submission], loaded: Loaded, now: Timestamp) -> Self {
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
        Self {
            now,
            streams: loaded.streams,
            worlds,
            heads: loaded.heads.into_iter().map(|(tenant, key, head)| ((tenant, key), head)).collect(),
            claims: loaded.claims.into_iter().map(|(tenant, key, claim)| ((tenant, key), claim)).collect(),
            moved: BTreeSet::new(),
            writes: Writes::default(),
        }
    }

    fn decide(
        &mut self,
        index: usize,
        submission: &Submission,
        rules: &Rulebook,
        entropy: &mut dyn Entropy,
    ) -> Result<Option<Committed>, StorageError> {
        let Some(streams) = self.streams.get(index).cloned().flatten() else { return Ok(None) };
        let tenant_id = &submission.tenant.tenant_id;
        let now = self.not_before_last_entry(tenant_id, &streams);
        if let Some(replay) = self.replay(submission, now) {
            return Ok(Some(replay));
        }
        let scope = submission.tenant.policy_scope();
        let rules = rules.rules(&scope);
        let mut ids = Ids::new(now, entropy);
        let decision = self.decided(submission, &rules, now, &mut ids)?;
        for recorded in &decision.events {
            if !streams.contains(&recorded.stream) {
                return Err(inconsistent("an event of a stream that was not locked"));
            }
            let head = self.head(tenant_id, &recorded.stream, &mut ids);
            let entry = append(head, tenant_id, recorded, rules.policy.reference(), now, &mut ids);
            self.writes.entries.push(entry);
            self.moved.insert((tenant_id.clone(), recorded.stream.clone()));
        }
        self.keep_claim(submission, &decision.result, now);
        Ok(Some(Committed { result: decision.result, at: now, replayed: false }))
    }

    /// The clock of a stream never runs backwards, whatever the wall clock does.
    fn not_before_last_entry(&self, tenant_id: &TenantId, streams: &[StreamKey]) -> Timestamp {
        let last = streams.iter().filter_map(|key| self.heads.get(&(tenant_id.clone(), key.clone()))?.at).max();
        last.map_or(self.now, |last| last.max(self.now))
    }

    fn replay(&self, submission: &Submission, now: Timestamp) -> Option<Committed> {
        let claim = submission.claim?;
        let stored = self.claims.get(&(submission.tenant.tenant_id.clone(), claim.key))?;
        if stored.expires_at <= now {
            return None;
        }
        if stored.request.same(&claim.request) {
            return Some(Committed { result: stored.result.clone(), at: stored.at, replayed: true });
        }
        Some(Committed { result: Err(Refusal::IdempotencyKeyReused), at: now, replayed: false })
    }

    /// A panic in a decision would be a bug; it costs that one operation an answer, not the server its writer.
    fn decided(
        &mut self,
        submission: &Submission,
        rules: &Rules<'_>,
        now: Timestamp,
        ids: &mut Ids<'_>,
    ) -> Result<Decision, StorageError> {
        let Some(world) = self.worlds.get_mut(&submission.tenant.tenant_id) else {
            return Err(inconsistent("no state was loaded for the tenant"));
        };
        let run = AssertUnwindSafe(|| decide(world, &submission.operation, rules, now, ids));
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

    fn keep_claim(
        &mut self,
        submission: &Submission,
        result: &Result<crate::domain::operation::Answer, Refusal>,
        now: Timestamp,
    ) {
        let Some(claim) = submission.claim else { return };
        let stored = StoredClaim {
            request: claim.request,
            result: result.clone(),
            at: now,
            expires_at: now.plus_seconds(CLAIM_SECONDS),
        };
        let key = (submission.tenant.tenant_id.clone(), claim.key);
        self.claims.insert(key.clone(), stored.clone());
        self.writes.claims.push((key.0, key.1, stored));
    }

    fn into_writes(self) -> Writes {
        let mut writes = self.writes;
        for key in self.moved {
            if let Some(head) = self.heads.get(&key) {
                writes.heads.push((key.0, key.1, head.clone()));
            }
        }
        for (tenant_id, world) in self.worlds {
            rows::changed(world, |row: Row| writes.rows.push((tenant_id.clone(), row)));
        }
        writes
    }
}

fn inconsistent(what: &str) -> StorageError {
    StorageError::Inconsistent { table: "decision", what: what.to_owned() }
}
