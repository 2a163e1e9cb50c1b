//! The writer: takes batches from its queue and commits them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;

use super::preparing::{LargeSpaces, Ready};
use super::queue::Queue;
use super::work::{Work, want};
use super::{Busy, Limits, RulesInForce, Submitted, Turnout, Waiting, spaces};
use crate::domain::event::StreamKey;
use crate::domain::id::{ArtifactId, Entropy, TenantId};
use crate::domain::rulebook::Rulebook;
use crate::storage::{Loaded, Locking, Row, StorageError, Store, Transaction, Want, rows};

/// After this many skips, because another process held its lock, an operation waits for the lock.
const PATIENCE: u8 = 8;
/// How often a single operation is tried when another process writes the same row first.
const CONFLICTS: u8 = 3;
/// Pauses between the attempts to learn whether a commit took effect. They add up to more than a database restart
/// takes.
const IN_DOUBT: [Duration; 5] = [
    Duration::from_millis(20),
    Duration::from_millis(200),
    Duration::from_millis(800),
    Duration::from_secs(2),
    Duration::from_secs(4),
];

/// A writer: commits the batches of one queue, one after the other.
pub(super) struct Line {
    pub(super) queue: Arc<Queue>,
    pub(super) store: Arc<dyn Store>,
    pub(super) rules: RulesInForce,
    pub(super) entropy: Arc<Mutex<Box<dyn Entropy>>>,
    pub(super) limits: Limits,
    pub(super) large: LargeSpaces,
}

/// The outcome of each operation, in the order of the batch.
type Outcomes = Vec<Turnout>;

/// A batch whose commit got no answer: the outcomes it would have, and an entry whose presence proves the commit.
struct Doubt {
    error: StorageError,
    outcomes: Outcomes,
    wants: Vec<Want>,
    receipt: Option<(TenantId, ArtifactId)>,
}

/// Why an attempt failed.
enum Failed {
    /// No transaction could be opened: no single operation is to blame.
    ToBegin(StorageError),
    /// Nothing was committed; one operation may be to blame.
    Before(StorageError),
    /// The commit may have taken effect.
    InDoubt(Box<Doubt>),
}

impl From<StorageError> for Failed {
    fn from(error: StorageError) -> Self {
        Self::Before(error)
    }
}

/// When the writer ends, even by a panic, everything still queued is answered.
impl Drop for Line {
    fn drop(&mut self) {
        self.queue.abandon();
    }
}

impl Line {
    /// Another writer over the same database, with its own queue.
    pub(super) fn beside(&self) -> Self {
        Self {
            queue: Arc::new(Queue::new(self.limits)),
            store: Arc::clone(&self.store),
            rules: self.rules.clone(),
            entropy: Arc::clone(&self.entropy),
            limits: self.limits,
            large: self.large.clone(),
        }
    }

    /// Commits batches until the queue is closed and empty.
    pub(super) async fn run(self) {
        let one_tenant = !self.store.spans_tenants();
        while let Some(batch) = self.queue.take(self.limits.batch, one_tenant).await {
            let size = u32::try_from(batch.len()).unwrap_or(u32::MAX);
            metrics::histogram!("cscp_batch_operations").record(f64::from(size));
            let (began, places) = (Instant::now(), batch.iter().map(|waiting| waiting.place.clone()).collect());
            // Operations skipped PATIENCE times are committed first and wait for their lock, so that nothing queued
            // later overtakes them.
            let (overdue, batch): (Vec<_>, Vec<_>) = batch.into_iter().partition(|waiting| waiting.skips >= PATIENCE);
            if !overdue.is_empty() {
                self.commit(overdue, Locking::Wait).await;
            }
            if !batch.is_empty() {
                let nothing_else = batch.iter().all(|waiting| waiting.skips > 0);
                self.commit(batch, if nothing_else { Locking::Wait } else { Locking::Skip }).await;
            }
            self.queue.took(places, began.elapsed());
        }
    }

    async fn commit(&self, batch: Vec<Waiting>, locking: Locking) {
        let began = Instant::now();
        match self.settled(&submissions(&batch), locking).await {
            Ok(outcomes) => self.answer(batch, outcomes),
            Err(Failed::Before(StorageError::Contended)) if locking == Locking::Wait => self.without(batch).await,
            Err(Failed::Before(StorageError::Contended | StorageError::Conflict)) => self.one_by_one(batch).await,
            Err(Failed::Before(_)) if batch.len() > 1 => self.one_by_one(batch).await,
            Err(failed) => self.refuse(batch, &failed),
        }
        metrics::histogram!("cscp_batch_seconds").record(began.elapsed().as_secs_f64());
    }

    /// After a lock timeout: commits what does not need the lock, and asks the callers of the rest to try again.
    async fn without(&self, batch: Vec<Waiting>) {
        match self.settled(&submissions(&batch), Locking::Skip).await {
            Ok(outcomes) => {
                self.queue.commit_succeeded();
                for (waiting, turnout) in batch.into_iter().zip(outcomes) {
                    self.reply(waiting, turnout);
                }
            }
            Err(Failed::Before(_)) => self.one_by_one(batch).await,
            Err(failed) => self.refuse(batch, &failed),
        }
    }

    /// The database refused the batch: each operation is committed alone, so that one cannot fail the others.
    async fn one_by_one(&self, batch: Vec<Waiting>) {
        let mut locking = Locking::Wait;
        for waiting in batch {
            match self.alone(&waiting.submission, locking).await {
                // Back in the queue, it could be overtaken by later operations of this batch, so its caller gets the
                // answer now.
                Ok(mut outcomes) => {
                    self.queue.commit_succeeded();
                    self.reply(waiting, outcomes.pop().unwrap_or(Turnout::Held));
                }
                Err(Failed::Before(StorageError::Contended)) => {
                    // Other operations may need the same lock: none of them waits for it again.
                    locking = Locking::Skip;
                    waiting.reply(Err(Busy::Contended));
                }
                Err(failed) => self.refuse(vec![waiting], &failed),
            }
        }
    }

    /// Tries again on a conflict: the next attempt sees what the other process wrote.
    async fn alone(&self, submission: &Submitted, locking: Locking) -> Result<Outcomes, Failed> {
        for _ in 1..CONFLICTS {
            match self.settled(&[submission], locking).await {
                Err(Failed::Before(StorageError::Conflict)) => {}
                settled => return settled,
            }
        }
        self.settled(&[submission], locking).await
    }

    fn refuse(&self, batch: Vec<Waiting>, failed: &Failed) {
        // A lost database is detected by the heartbeat, and writing works as soon as it answers, so that is not counted
        // as a failure.
        if self.store.lost().now_or_never().is_none() {
            self.queue.commit_failed();
        }
        let error = match failed {
            Failed::ToBegin(error) | Failed::Before(error) => error,
            Failed::InDoubt(doubt) => &doubt.error,
        };
        for waiting in batch {
            waiting.reply(Err(Busy::Storage(error.clone())));
        }
    }

    fn answer(&self, batch: Vec<Waiting>, outcomes: Outcomes) {
        self.queue.commit_succeeded();
        let mut skipped = Vec::new();
        for (mut waiting, turnout) in batch.into_iter().zip(outcomes) {
            if matches!(turnout, Turnout::Held) {
                waiting.skips = waiting.skips.saturating_add(1);
                skipped.push(waiting);
            } else {
                self.reply(waiting, turnout);
            }
        }
        if !skipped.is_empty() {
            metrics::counter!("cscp_skipped_operations_total").increment(u64::try_from(skipped.len()).unwrap_or(0));
            self.queue.put_back(skipped);
        }
    }

    fn reply(&self, waiting: Waiting, turnout: Turnout) {
        if let Turnout::ClockBehind(seconds) = turnout {
            metrics::counter!("cscp_clock_behind_total").increment(1);
            tracing::warn!(
                clock.behind_seconds = seconds,
                "the clock is behind the last recorded entry; the operation is refused until the clock has caught up"
            );
            self.queue.clock_was_behind(seconds);
        }
        let answer = match turnout {
            turnout @ (Turnout::Decided(_) | Turnout::Stale) => Ok(turnout),
            other => other.into_answer().map(|outcome| Turnout::Decided(Box::new(outcome))),
        };
        waiting.reply(answer);
    }

    /// Makes an attempt; if its commit got no answer, finds out whether it took effect.
    async fn settled(&self, submissions: &[&Submitted], locking: Locking) -> Result<Outcomes, Failed> {
        let _under_way = self.queue.commit();
        match self.attempt(submissions, locking).await {
            Err(Failed::InDoubt(doubt)) => self.resolve(doubt).await,
            settled => settled,
        }
    }

    /// Looks for the entry under the locks of the lost transaction: once they are granted, that transaction has ended.
    async fn resolve(&self, doubt: Box<Doubt>) -> Result<Outcomes, Failed> {
        // A batch that wrote no entry can be repeated: the result is the same.
        let Some(receipt) = &doubt.receipt else { return Err(Failed::Before(doubt.error)) };
        for pause in IN_DOUBT {
            tokio::time::sleep(pause).await;
            match self.was_committed(&doubt.wants, receipt).await {
                Ok(committed) => {
                    metrics::counter!("cscp_commits_in_doubt_total", "committed" => committed.to_string()).increment(1);
                    tracing::warn!(storage.reason = %doubt.error, committed, "a commit got no answer and was looked up");
                    return if committed { Ok(doubt.outcomes) } else { Err(Failed::ToBegin(doubt.error)) };
                }
                Err(error) => tracing::warn!(storage.reason = %error, "a commit got no answer; its outcome is unknown"),
            }
        }
        // The commit may have taken effect, so the server does not repeat it. The caller can: dedupe rows make that
        // safe.
        metrics::counter!("cscp_commits_in_doubt_total", "committed" => "unknown").increment(1);
        Err(Failed::InDoubt(doubt))
    }

    async fn was_committed(&self, wants: &[Want], receipt: &(TenantId, ArtifactId)) -> Result<bool, StorageError> {
        let mut transaction = self.store.begin().await?;
        transaction.load(wants, Locking::Wait).await?;
        let there = transaction.has_entry(&receipt.0, &receipt.1).await?;
        if there {
            // After a crash without its standby, a server recovers the entry locally only. This commit comes after the
            // entry, so it waits until the standby has both. The stream names that the locks created are removed again.
            for want in wants {
                transaction.forget_names(&want.tenant_id, &want.needs.streams).await?;
            }
            transaction.commit().await?;
        }
        Ok(there)
    }

    /// One transaction: lock, load, read the clock, decide, write, commit.
    async fn attempt(&self, submissions: &[&Submitted], locking: Locking) -> Result<Outcomes, Failed> {
        let wants: Vec<Want> = submissions.iter().copied().map(want).collect();
        let rules = self.rules.now();
        let mut transaction = self.store.begin().await.map_err(Failed::ToBegin)?;
        let mut loaded = transaction.load(&wants, locking).await?;
        if loaded.streams.iter().all(Option::is_none) {
            return Ok(submissions.iter().map(|_| Turnout::Held).collect());
        }
        let referred = rows::referred(&loaded.rows);
        loaded.rows.extend(transaction.load_more(&referred.principals, &referred.items).await?);
        for (tenant_id, mut kin) in rows::kin(&wants, &loaded.rows) {
            loop {
                let keys = kin.next_keys();
                if keys.is_empty() {
                    break;
                }
                kin.take(transaction.kin(&tenant_id, &keys).await?);
            }
            let (people, too_many) = kin.end();
            loaded.rows.extend(people.into_iter().map(|principal| (tenant_id.clone(), Row::Principal(principal))));
            loaded.people_unknown.extend(too_many.then_some(tenant_id));
        }
        let mut ready = self.ready(submissions, &wants, &loaded, &rules, transaction.as_mut()).await?;
        let rows = spaces::load(transaction.as_mut(), &wants, &loaded.streams, &ready).await?;
        let now = transaction.now().await?;
        let mut work = Work::new(submissions, loaded, now);
        work.take_spaces(rows);
        work.take_ready(&wants, &mut ready);
        work.note(&self.large);
        let outcomes = {
            // Nothing is awaited while deciding. After a panic the source of randomness is still whole, so a poisoned
            // lock is used.
            let mut entropy = self.entropy.lock().unwrap_or_else(PoisonError::into_inner);
            let mut decide =
                |(index, submission): (usize, &&Submitted)| work.decide(index, submission, &rules, entropy.as_mut());
            submissions.iter().enumerate().map(&mut decide).collect::<Result<Outcomes, _>>()?
        };
        self.account(transaction.as_mut(), &mut work).await?;
        let writes = work.into_writes();
        if writes.is_empty() {
            return Ok(outcomes);
        }
        transaction.write(&writes).await?;
        transaction.commit().await.map_err(|error| {
            let first = writes.entries.first().map(|appended| &appended.entry.header);
            let receipt = first.map(|header| (header.tenant_id.clone(), header.artifact_id.clone()));
            Failed::InDoubt(Box::new(Doubt { error, outcomes: outcomes.clone(), wants, receipt }))
        })?;
        Ok(outcomes)
    }
}

impl Line {
    /// What was prepared and is still so.
    async fn ready(
        &self,
        submissions: &[&Submitted],
        wants: &[Want],
        loaded: &Loaded,
        rules: &Rulebook,
        transaction: &mut dyn Transaction,
    ) -> Result<Ready, StorageError> {
        let mut ready = Ready::default();
        for (place, (submission, want)) in submissions.iter().zip(wants).enumerate() {
            if loaded.streams.get(place).is_some_and(Option::is_some) && submission.prepared.is_some() {
                let disposal = transaction.stream_head(&want.tenant_id, &StreamKey::Disposal).await?;
                ready.judge(place, submission, want, loaded, disposal, rules);
            }
        }
        Ok(ready)
    }

    /// Finds, under the locks, the entries that mention what was deleted, and records their erasure.
    async fn account(&self, transaction: &mut dyn Transaction, work: &mut Work) -> Result<(), StorageError> {
        let deleted: Vec<_> = work.accounts().iter().map(|(space, account)| (space.clone(), account.ids())).collect();
        for (space, ids) in deleted {
            let stored = transaction.told_of(&space.0, &ids).await?;
            let mut entropy = self.entropy.lock().unwrap_or_else(PoisonError::into_inner);
            work.account(&space, &stored, entropy.as_mut());
        }
        Ok(())
    }
}

fn submissions(batch: &[Waiting]) -> Vec<&Submitted> {
    batch.iter().map(|waiting| &waiting.submission).collect()
}
