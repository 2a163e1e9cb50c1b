//! The committer: decide under the lock, commit once, answer after the commit.
//!
//! Operations that queued during the last commit become the next batch, limited so that all tenants get their share
//! (`turns`). A lone request is committed at once; only expensive work is delayed. A batch takes all its locks, loads
//! all its state, reads the clock, decides each operation in memory and writes everything set by set. If the database
//! refuses the batch, each operation is tried alone, so that one cannot fail the others.
//!
//! If the database lets several writers work, a hash of the conversation picks the writer, so operations of one
//! conversation are decided in the order of arrival. An operation whose lock another process holds is skipped and goes
//! back to the front of its queue; after a few skips the batch waits for the lock, up to a time limit.

mod accounting;
mod answer;
mod batch;
mod cost;
mod in_force;
mod preparing;
mod queue;
mod spaces;
mod turns;
mod work;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::domain::canonical::Digest;
use crate::domain::id::Entropy;
use crate::domain::idempotency::Claim;
use crate::domain::operation::Operation;
use crate::domain::time::Clock;
use crate::state_layer::operation::{SpaceAction, SpaceAnswer, SpaceOperation};
use crate::state_layer::request::Request;
use crate::state_layer::request::{Answered, Refused};
use crate::storage::{StorageError, Store, Tenant};

pub use answer::{Busy, Committed};
use batch::Line;
pub use in_force::RulesInForce;
use preparing::{LargeSpaces, Prepared, Preparing};
use queue::Queue;
use spaces::stream_of;
use turns::Place;

/// An operation with its tenant.
#[derive(Debug, Clone)]
pub struct Submission {
    pub tenant: Arc<Tenant>,
    pub operation: Operation,
    /// The idempotency row that answers a repetition.
    pub claim: Option<Claim>,
}

/// An operation on a fact space with its tenant.
#[derive(Debug, Clone)]
pub struct SpaceSubmission {
    pub tenant: Arc<Tenant>,
    pub operation: SpaceOperation,
    /// The idempotency row that answers a repetition.
    pub claim: Option<Claim>,
}

/// A queued submission of either kind.
#[derive(Debug, Clone)]
struct Submitted {
    tenant: Arc<Tenant>,
    request: Request,
    claim: Option<Claim>,
    /// What was found out about it beforehand.
    prepared: Option<Arc<Prepared>>,
}

impl Submitted {
    /// Whether it only records a read: no deadline depends on it.
    fn only_records(&self) -> bool {
        matches!(self.request, Request::Core(Operation::RecordRead(_)))
    }

    /// Whether it erases a fact space.
    fn erases(&self) -> bool {
        matches!(&self.request, Request::Space(SpaceOperation { action: SpaceAction::Erase, .. }))
    }
}

/// A decision of either kind.
type Outcome = Committed<Result<Answered, Refused>>;

/// The outcome of an operation in a batch.
#[derive(Debug, Clone)]
enum Turnout {
    Decided(Box<Outcome>),
    /// Another process holds a lock that it needs.
    Held,
    /// It was prepared, and its space has changed since.
    Stale,
    /// Its space is being erased.
    Going,
    /// The last entry of a stream that it needs is so many seconds ahead of the clock.
    ClockBehind(u32),
}

impl Turnout {
    /// The answer for a caller whose operation is not tried again.
    fn into_answer(self) -> Result<Outcome, Busy> {
        match self {
            Self::Decided(outcome) => Ok(*outcome),
            Self::Held | Self::Stale => Err(Busy::Contended),
            Self::Going => Err(Busy::Going),
            Self::ClockBehind(seconds) => Err(Busy::ClockBehind { seconds }),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WriteHealth {
    /// The last commit succeeded, or none was tried yet.
    Ok,
    /// A commit has been under way for too long: the disk or the database may never answer.
    Stalled,
    /// The last commit failed recently.
    Failing,
    /// No work is taken any more.
    Stopped,
}

/// Limits of each writer's queue.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Operations waiting, of all tenants.
    pub queued: usize,
    /// Operations waiting for one tenant, so that one tenant cannot shut out the others.
    pub queued_per_tenant: usize,
    pub batch: usize,
    /// How long a commit may be under way before it counts as [`WriteHealth::Stalled`].
    pub stalled_after: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { queued: 4_096, queued_per_tenant: 1_024, batch: 256, stalled_after: Duration::from_secs(3) }
    }
}

/// A queued operation with the channel for its answer and the number of times it was skipped.
struct Waiting {
    submission: Submitted,
    reply: oneshot::Sender<Result<Turnout, Busy>>,
    skips: u8,
    place: Place,
}

impl Waiting {
    /// The caller may be gone; the decision stays valid.
    fn reply(self, answer: Result<Turnout, Busy>) {
        drop(self.reply.send(answer));
    }
}

/// Makes durable what a [`Committer`] accepts.
pub struct Writer(Vec<Line>);

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Writer").field(&self.0.len()).finish()
    }
}

impl Writer {
    /// Commits until the committer is stopped and everything accepted is done.
    pub async fn run(self) {
        let mut lines: JoinSet<()> = self.0.into_iter().map(Line::run).collect();
        // A writer that panicked has closed its queue, which stops new work for the committer; the others finish
        // theirs.
        while lines.join_next().await.is_some() {}
    }
}

/// The only way to write to the database. Cheap to clone.
#[derive(Clone)]
pub struct Committer {
    queues: Arc<[Arc<Queue>]>,
    store: Arc<dyn Store>,
    rules: RulesInForce,
    entropy: Arc<Mutex<Box<dyn Entropy>>>,
    large: LargeSpaces,
    preparing: Option<Arc<Preparing>>,
}

impl std::fmt::Debug for Committer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Committer").field("queued", &self.queued()).finish_non_exhaustive()
    }
}

impl Committer {
    /// A committer and the writer that has to be run for it, see [`Writer::run`].
    pub fn new(
        store: Arc<dyn Store>,
        rules: impl Into<RulesInForce>,
        entropy: Box<dyn Entropy>,
        limits: Limits,
    ) -> (Self, Writer) {
        let queue = Arc::new(Queue::new(limits));
        let (rules, entropy) = (rules.into(), Arc::new(Mutex::new(entropy)));
        let writers = store.writers();
        let large = LargeSpaces::default();
        let first = Line {
            queue,
            store: Arc::clone(&store),
            rules: rules.clone(),
            entropy: Arc::clone(&entropy),
            limits,
            large: large.clone(),
        };
        let others = (1..writers).map(|_| first.beside()).collect::<Vec<_>>();
        let lines: Vec<Line> = std::iter::once(first).chain(others).collect();
        let queues = lines.iter().map(|line| Arc::clone(&line.queue)).collect();
        (Self { queues, store, rules, entropy, large, preparing: None }, Writer(lines))
    }

    /// Prepares dear operations on fact spaces before they wait for the writer. The clock says about what time it is; what is
    /// decided has the time of the lock.
    #[must_use]
    pub fn preparing(self, clock: Arc<dyn Clock>) -> Self {
        let (store, rules, entropy) = (Arc::clone(&self.store), self.rules.clone(), Arc::clone(&self.entropy));
        let preparing = Preparing::new(store, rules, entropy, self.large.clone(), clock);
        Self { preparing: Some(Arc::new(preparing)), ..self }
    }

    /// Queues an operation and waits for its commit. Giving up waiting does not call it off.
    pub async fn submit(&self, submission: Submission) -> Result<Committed, Busy> {
        let Submission { tenant, operation, claim } = submission;
        let Committed { result, at, replayed } = self.decided(tenant, Request::Core(operation), claim).await?;
        let result = match result {
            Ok(Answered::Core(answer)) => Ok(answer),
            Err(Refused::Core(refusal)) => Err(refusal),
            Ok(Answered::Space(_)) | Err(Refused::Space(_)) => return Err(other_kind()),
        };
        Ok(Committed { result, at, replayed })
    }

    /// Queues an operation on a fact space and waits for its commit.
    pub async fn submit_space(
        &self,
        submission: SpaceSubmission,
    ) -> Result<Committed<Result<SpaceAnswer, Refused>>, Busy> {
        let SpaceSubmission { tenant, operation, claim } = submission;
        let Committed { result, at, replayed } = self.decided(tenant, Request::Space(operation), claim).await?;
        let result = match result {
            Ok(Answered::Space(answer)) => Ok(answer),
            Err(refused) => Err(refused),
            Ok(Answered::Core(_)) => return Err(other_kind()),
        };
        Ok(Committed { result, at, replayed })
    }

    async fn decided(&self, tenant: Arc<Tenant>, request: Request, claim: Option<Claim>) -> Result<Outcome, Busy> {
        let submitted = Submitted { tenant, request, claim, prepared: None };
        let answer = match &self.preparing {
            Some(preparing) => self.prepare_and_wait(preparing, submitted).await,
            None => self.queue_and_wait(submitted).await.and_then(Turnout::into_answer),
        };
        if let Err(busy) = &answer {
            metrics::counter!("cscp_refused_operations_total", "reason" => busy.reason()).increment(1);
        }
        answer
    }

    /// Has the operation prepared if it is dear, and again where that was in vain.
    async fn prepare_and_wait(&self, preparing: &Arc<Preparing>, mut submitted: Submitted) -> Result<Outcome, Busy> {
        let turn = preparing.turn(&submitted).await?;
        for _ in 0..preparing::TRIES {
            if turn.is_some() {
                submitted.prepared = preparing.prepare(&submitted).await?.map(Arc::new);
            }
            match self.queue_and_wait(submitted.clone()).await? {
                Turnout::Stale => {
                    metrics::counter!("cscp_prepared_operations_total", "outcome" => "stale").increment(1);
                }
                turnout => return turnout.into_answer(),
            }
        }
        submitted.prepared = None;
        self.queue_and_wait(submitted).await.and_then(Turnout::into_answer)
    }

    async fn queue_and_wait(&self, submission: Submitted) -> Result<Turnout, Busy> {
        let (reply, answer) = oneshot::channel();
        let queue = &self.queues[self.line_of(&submission)];
        let place = cost::place(&submission);
        queue.push(Waiting { submission, reply, skips: 0, place })?;
        tokio::select! {
            biased;
            answer = answer => answer.unwrap_or(Err(Busy::Stopping)),
            // The writer finds out whether it was committed once the database is back; the caller gets its answer now.
            () = self.store.lost() => {
                Err(Busy::Storage(StorageError::Unavailable("the database does not answer".to_owned())))
            }
        }
    }

    /// Operations on the same conversation, or the same record, go to the same queue.
    fn line_of(&self, submission: &Submitted) -> usize {
        if self.queues.len() == 1 {
            return 0;
        }
        // This only spreads the load, so the dedupe key is not computed.
        let mut hasher = DefaultHasher::new();
        submission.tenant.tenant_id.as_str().hash(&mut hasher);
        let needs = match &submission.request {
            Request::Core(operation) => operation.needs(|_, _| Digest::from_bytes([0; 32])),
            Request::Space(operation) => stream_of(operation),
        };
        match (needs.streams.first(), &needs.context, needs.items.first(), &needs.command) {
            (Some(stream), ..) => (stream.kind(), stream.key()).hash(&mut hasher),
            (None, Some(context), ..) => context.as_str().hash(&mut hasher),
            (None, None, Some(item), _) => format!("{item:?}").hash(&mut hasher),
            (None, None, None, Some(command)) => command.as_str().hash(&mut hasher),
            (None, None, None, None) => {}
        }
        let lines = u64::try_from(self.queues.len()).unwrap_or(1);
        usize::try_from(hasher.finish() % lines).unwrap_or(0)
    }

    #[must_use]
    pub fn queued(&self) -> usize {
        self.queues.iter().map(|queue| queue.len()).sum()
    }

    /// The health of writing: that of the worst queue.
    #[must_use]
    pub fn health(&self) -> WriteHealth {
        self.queues.iter().map(|queue| queue.health()).max().unwrap_or(WriteHealth::Stopped)
    }

    /// How long the oldest commit under way has taken so far.
    #[must_use]
    pub fn oldest_commit(&self) -> Option<Duration> {
        self.queues.iter().filter_map(|queue| queue.under_way()).max()
    }

    /// By how many seconds the clock was found behind the last entry within the last minute.
    #[must_use]
    pub fn clock_behind(&self) -> Option<u32> {
        self.queues.iter().filter_map(|queue| queue.clock_behind()).max()
    }

    /// Takes no more work. What was accepted is still committed; [`Writer::run`] then returns.
    pub fn stop(&self) {
        self.queues.iter().for_each(|queue| queue.close());
    }
}

/// Should never happen: an idempotency key is a digest of route and key, so it belongs to one kind of request.
fn other_kind() -> Busy {
    let what = "an answer of another kind".to_owned();
    Busy::Storage(StorageError::Inconsistent { table: "claims", what })
}
