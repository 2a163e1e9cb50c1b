//! The guard against signing two histories: what was signed last, kept where no restored backup of the database reaches.

use crate::domain::canonical::Digest;
use crate::domain::id::TenantId;

/// What was signed last of one log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    /// The name of the log.
    pub origin: String,
    /// The size of the tree.
    pub size: u64,
    pub root: Digest,
}

/// How far a guard is from what it guards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protection {
    /// Nothing outside the database remembers what was signed.
    None,
    /// A folder beside the database file: whoever puts back both together goes unnoticed.
    BesideDatabase,
    File,
}

impl Protection {
    /// Its name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::BesideDatabase => "beside_database",
            Self::File => "file",
        }
    }
}

/// Why the guard cannot be asked. Nothing is signed then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the guard of the checkpoints cannot be used: {0}")]
pub struct GuardError(pub String);

/// What was signed last, by tenant. A log is told apart by what the database cannot change: the deployment's name, its
/// key and the tenant. Implementations answer after what they were told is durable.
pub trait Guard: Send + Sync {
    /// How much it protects, for readiness.
    fn protection(&self) -> Protection;

    /// What was signed last of a tenant's log.
    fn latest(&self, tenant_id: &TenantId) -> Result<Option<Signed>, GuardError>;

    /// Every log of this deployment of which something was signed.
    fn remembered(&self) -> Result<Vec<(TenantId, Signed)>, GuardError>;

    /// Moves on from what was read to what is signed next; `false`, and nothing is changed, if somebody else has moved on
    /// meanwhile.
    fn advance(&self, tenant_id: &TenantId, from: Option<&Signed>, to: &Signed) -> Result<bool, GuardError>;
}

/// No guard: a restored backup goes unnoticed by this server.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoGuard;

impl Guard for NoGuard {
    fn protection(&self) -> Protection {
        Protection::None
    }

    fn latest(&self, _tenant_id: &TenantId) -> Result<Option<Signed>, GuardError> {
        Ok(None)
    }

    fn remembered(&self) -> Result<Vec<(TenantId, Signed)>, GuardError> {
        Ok(Vec::new())
    }

    fn advance(&self, _tenant_id: &TenantId, _from: Option<&Signed>, _to: &Signed) -> Result<bool, GuardError> {
        Ok(true)
    }
}
