//! What a caller of the committer gets: a durable decision, or why there is none.

use crate::domain::operation::Answer;
use crate::domain::refusal::Refusal;
use crate::domain::time::Timestamp;
use crate::storage::StorageError;

#[derive(Debug, Clone, PartialEq)]
pub struct Committed<T = Result<Answer, Refusal>> {
    /// The answer or refusal, or the answer alone after refusals were separated.
    pub result: T,
    /// When it was decided; for a replay, the time of the first decision.
    pub at: Timestamp,
    /// Whether it was decided earlier and found by its `Idempotency-Key`.
    pub replayed: bool,
}

impl<T> Committed<T> {
    /// The same decision with its result converted.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Committed<U> {
        Committed { result: f(self.result), at: self.at, replayed: self.replayed }
    }
}

impl<A, R> Committed<Result<A, R>> {
    /// Separates answers from refusals; both keep the time and whether it is a replay.
    pub fn accepted(self) -> Result<Committed<A>, Committed<R>> {
        let Self { result, at, replayed } = self;
        match result {
            Ok(result) => Ok(Committed { result, at, replayed }),
            Err(result) => Err(Committed { result, at, replayed }),
        }
    }
}

/// Why nothing was decided, or why it is not known whether it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Busy {
    /// Too much waits already.
    #[error("too many operations are waiting")]
    Full {
        /// When to try again, in seconds.
        retry_after_seconds: u32,
    },
    /// Another process holds what is needed, and did so for too long.
    #[error("another process holds a lock that is needed")]
    Contended,
    /// The fact space is being erased. What is left of it has to go first.
    #[error("the fact space is being erased")]
    Going,
    /// What is needed was last written to later than the clock shows. Nothing can be decided there by time: whatever ends in
    /// between would end too late.
    #[error("the clock is {seconds} s behind the last recorded entry")]
    ClockBehind { seconds: u32 },
    /// The database does not take it.
    #[error("{0}")]
    Storage(#[from] StorageError),
    /// The server is stopping.
    #[error("the server is stopping")]
    Stopping,
}

impl Busy {
    /// Why, in one word.
    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::Full { .. } => "full",
            Self::Contended | Self::Storage(StorageError::Contended | StorageError::Conflict) => "contended",
            Self::Going => "space_going",
            Self::ClockBehind { .. } => "clock_behind",
            Self::Storage(StorageError::Unavailable(_)) => "unavailable",
            Self::Storage(_) => "inconsistent",
            Self::Stopping => "stopping",
        }
    }
}
