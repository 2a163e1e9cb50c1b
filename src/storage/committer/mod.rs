//! The committer: decide under the lock, commit once, answer after the commit.
//!
//! Whatever queued while the last batch was committing becomes the next batch: no delay is added, and a lone request
//! commits at once. A batch takes all its locks, loads all its state, reads the clock, decides each operation in
//! memory and writes everything set by set. If the database refuses the batch, each operation is tried alone, so one
//! cannot sink its neighbours.

mod batch;
mod queue;

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::domain::id::Entropy;
use crate::domain::operation::{Answer, Operation};
use crate::domain::refusal::Refusal;
use crate::domain::rulebook::Rulebook;
use crate::domain::time::Timestamp;
use crate::storage::{Claim, StorageError, Store, Tenant};

pub use batch::Writer;
use queue::Queue;

/// What is to be decided, and for whom.
#[derive(Debug, Clone)]
pub struct Submission {
    /// Whose.
    pub tenant: Arc<Tenant>,
    /// What.
    pub operation: Operation,
    /// The idempotency row that answers a repetition.
    pub claim: Option<Claim>,
}

/// What was decided and is durable.
#[derive(Debug, Clone, PartialEq)]
pub struct Committed {
    /// The answer, or why not.
    pub result: Result<Answer, Refusal>,
    /// When it was decided.
    pub at: Timestamp,
    /// Whether an idempotency row answered.
    pub replayed: bool,
}

/// Why nothing was decided, or why it is not known whether it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Busy {
    /// Too much waits already.
    #[error("too much waits already")]
    Full {
        /// When to try again, in seconds.
        retry_after_seconds: u32,
    },
    /// The database does not take it.
    #[error("{0}")]
    Storage(#[from] StorageError),
    /// The server is stopping.
    #[error("the server is stopping")]
    Stopping,
}

/// How writing goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteHealth {
    /// The last commit succeeded, or none was tried yet.
    Ok,
    /// The last commit failed, moments ago.
    Failing,
    /// No work is taken any more.
    Stopped,
}

/// How much may wait and how much is done at once.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Operations waiting in all.
    pub queued: usize,
    /// Operations waiting for one tenant: a loud one cannot shut out the others.
    pub queued_per_tenant: usize,
    /// Operations in one batch.
    pub batch: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { queued: 4_096, queued_per_tenant: 1_024, batch: 256 }
    }
}

/// What travels with an operation: where its answer goes.
struct Waiting {
    submission: Submission,
    reply: oneshot::Sender<Result<Committed, Busy>>,
}

/// The way into the database for everything that changes something. Cheap to clone.
#[derive(Clone)]
pub struct Committer {
    queue: Arc<Queue>,
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
        rules: Arc<Rulebook>,
        entropy: Box<dyn Entropy>,
        limits: Limits,
    ) -> (Self, Writer) {
        let queue = Arc::new(Queue::new(limits));
        let writer = Writer::new(Arc::clone(&queue), store, rules, entropy, limits);
        (Self { queue }, writer)
    }

    /// Queues an operation and waits for its commit. Giving up waiting does not call it off.
    pub async fn submit(&self, submission: Submission) -> Result<Committed, Busy> {
        let (reply, answer) = oneshot::channel();
        self.queue.push(Waiting { submission, reply })?;
        answer.await.unwrap_or(Err(Busy::Stopping))
    }

    /// How many operations wait.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// How writing goes.
    #[must_use]
    pub fn health(&self) -> WriteHealth {
        self.queue.health()
    }

    /// Takes no more work. What was accepted is still done; [`Writer::run`] then returns.
    pub fn stop(&self) {
        self.queue.close();
    }
}
