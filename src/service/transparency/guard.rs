//! The guard against signing two histories: what was signed last, kept where no restored backup of the database reaches.

use crate::domain::canonical::Digest;

/// What was signed last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signed {
    /// The size of the tree.
    pub size: u64,
    /// Its root.
    pub root: Digest,
}

/// Why the guard cannot be asked. Nothing is signed then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the guard of the checkpoints cannot be used: {0}")]
pub struct GuardError(pub String);

/// What was signed last, by origin. Implementations answer after what they were told is durable.
pub trait Guard: Send + Sync {
    /// What it is, for readiness: `file`, or `none` where nothing outside the database remembers.
    fn kind(&self) -> &'static str;

    /// What was signed last under an origin.
    fn latest(&self, origin: &str) -> Result<Option<Signed>, GuardError>;

    /// Moves on from what was read to what is signed next; `false`, and nothing is changed, if somebody else has moved on
    /// meanwhile.
    fn advance(&self, origin: &str, from: Option<Signed>, to: Signed) -> Result<bool, GuardError>;
}

/// No guard: a restored backup goes unnoticed by this server.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoGuard;

impl Guard for NoGuard {
    fn kind(&self) -> &'static str {
        "none"
    }

    fn latest(&self, _origin: &str) -> Result<Option<Signed>, GuardError> {
        Ok(None)
    }

    fn advance(&self, _origin: &str, _from: Option<Signed>, _to: Signed) -> Result<bool, GuardError> {
        Ok(true)
    }
}
