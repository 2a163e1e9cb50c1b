//! The writer: takes batches from its queue and makes them durable.

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

/// How often an operation is left out because another process holds its stream, before it is waited for.
const PATIENCE: u8 = 8;
/// How often a lone operation is repeated when another process was quicker with the same row.
const CONFLICTS: u8 = 3;
/// Pauses between the attempts to learn what became of a commit. A database that restarts is back within their sum.
const IN_DOUBT: [Duration; 5] = [
    Duration::from_millis(20),
    Duration::from_millis(200),
    Duration::from_millis(800),
    Duration::from_secs(2),
    Duration::from_secs(4),
];

/// Makes the batches of one queue durable, one after the other.
pub(super) struct Line {
    pub(super) queue: Arc<Queue>,
    pub(super) store: Arc<dyn Store>,
    pub(super) rules: RulesInForce,
    pub(super) entropy: Arc<Mutex<Box<dyn Entropy>>>,
    pub(super) limits: Limits,
    pub(super) large: LargeSpaces,
}

/// What became of each operation.
type Outcomes = Vec<Turnout>;

/// A batch whose commit was not answered: what it would have decided, and an entry that tells whether it did.
struct Doubt {
    error: StorageError,
    outcomes: Outcomes,
    wants: Vec<Want>,
    receipt: Option<(TenantId, ArtifactId)>,
}

/// Why an attempt came to nothing.
enum Failed {
    /// No transaction could be opened: no single operation is to blame.
    ToBegin(StorageError),
    /// Nothing was committed; one operation may be to blame.
    Before(StorageError),
    /// It may have been committed all the same.
    InDoubt(Box<Doubt>),
}

impl From<StorageError> for Failed {
    fn from(error: StorageError) -> Self {
        Self::Before(error)
    }
}

/// The writer is gone, however it went: nobody may wait for it.
impl Drop for Line {
    fn drop(&mut self) {
        self.queue.abandon();
    }
}

impl Line {
    /// Another one over the same database, with a queue of its own.
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

    /// Works until the queue is closed and everything in it is done.
    pub(super) async fn run(self) {
        let one_tenant = !self.store.spans_tenants();
        while let Some(batch) = self.queue.take(self.limits.batch, one_tenant).await {
            let size = u32::try_from(batch.len()).unwrap_or(u32::MAX);
            metrics::histogram!("cscp_batch_operations").record(f64::from(size));
            let (began, places) = (Instant::now(), batch.iter().map(|waiting| waiting.place.clone()).collect());
            // Those that were left out too often come first: nothing behind them may overtake them.
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

    /// A lock was waited for in vain: what does not need it is done, the rest is told to come again.
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

    /// The database refused the batch, so each operation stands for itself.
    async fn one_by_one(&self, batch: Vec<Waiting>) {
        let mut locking = Locking::Wait;
        for waiting in batch {
            match self.alone(&waiting.submission, locking).await {
                // Put back, it could be overtaken by what comes after it here: its caller is told instead.
                Ok(mut outcomes) => {
                    self.queue.commit_succeeded();
                    self.reply(waiting, outcomes.pop().unwrap_or(Turnout::Held));
                }
                Err(Failed::Before(StorageError::Contended)) => {
                    // Others may need the same lock: they are not made to wait for it once more each.
                    locking = Locking::Skip;
                    waiting.reply(Err(Busy::Contended));
                }
                Err(failed) => self.refuse(vec![waiting], &failed),
            }
        }
    }

    /// Whoever was slower sees what the other process wrote when it tries again.
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
        // A database that is lost is told of by itself. When it answers again, nothing speaks against the next commit.
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
                "the clock is behind what was recorded, so nothing is decided there"
            );
            self.queue.clock_was_behind(seconds);
        }
        let answer = match turnout {
            turnout @ (Turnout::Decided(_) | Turnout::Stale) => Ok(turnout),
            other => other.into_answer().map(|outcome| Turnout::Decided(Box::new(outcome))),
        };
        waiting.reply(answer);
    }

    /// An attempt, and if its commit was not answered, what became of it.
    async fn settled(&self, submissions: &[&Submitted], locking: Locking) -> Result<Outcomes, Failed> {
        let _under_way = self.queue.commit();
        match self.attempt(submissions, locking).await {
            Err(Failed::InDoubt(doubt)) => self.resolve(doubt).await,
            settled => settled,
        }
    }

    /// Asks under the locks that the lost transaction held: by then it has ended one way or the other.
    async fn resolve(&self, doubt: Box<Doubt>) -> Result<Outcomes, Failed> {
        // Without an entry nothing happened that a repetition would not bring about in the same way.
        let Some(receipt) = &doubt.receipt else { return Err(Failed::Before(doubt.error)) };
        for pause in IN_DOUBT {
            tokio::time::sleep(pause).await;
            match self.was_committed(&doubt.wants, receipt).await {
                Ok(committed) => {
                    metrics::counter!("cscp_commits_in_doubt_total", "committed" => committed.to_string()).increment(1);
                    tracing::warn!(storage.reason = %doubt.error, committed, "a commit was in doubt");
                    return if committed { Ok(doubt.outcomes) } else { Err(Failed::ToBegin(doubt.error)) };
                }
                Err(error) => tracing::warn!(storage.reason = %error, "a commit is in doubt"),
            }
        }
        // Repeating a commit that may have happened is the caller's to do: dedupe rows make that safe.
        metrics::counter!("cscp_commits_in_doubt_total", "committed" => "unknown").increment(1);
        Err(Failed::InDoubt(doubt))
    }

    async fn was_committed(&self, wants: &[Want], receipt: &(TenantId, ArtifactId)) -> Result<bool, StorageError> {
        let mut transaction = self.store.begin().await?;
        transaction.load(wants, Locking::Wait).await?;
        let there = transaction.has_entry(&receipt.0, &receipt.1).await?;
        if there {
            // A server that crashed while its standby was away has recovered the entry for itself alone. The commit of these
            // locks comes after it, so it waits until the standby has both. What it locked by a name that is nobody's goes.
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
            // Nothing is awaited while decisions are made. A source that panicked once has no half-changed state.
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

    /// Asks, under the locks, which entries tell of what was deleted, and has it written down.
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
