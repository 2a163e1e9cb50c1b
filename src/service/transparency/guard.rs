//! The guard against signing two histories: remembers the last signed checkpoint outside the database, where restoring
//! a backup does not change it.

use crate::domain::canonical::Digest;
use crate::domain::id::TenantId;

/// The last signed checkpoint of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    /// The name of the log.
    pub origin: String,
    pub size: u64,
    pub root: Digest,
}

/// How well a guard is separated from the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protection {
    /// Nothing outside the database remembers what was signed.
    None,
    /// A folder next to the database file: restoring both together is not detected.
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

/// The guard failed, so nothing is signed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the guard of the checkpoints cannot be used: {0}")]
pub struct GuardError(pub String);

/// The last signed checkpoint of each tenant. A log is identified by the deployment's name, its key and the tenant,
/// none of which the database can change. Implementations return only after a write is durable.
pub trait Guard: Send + Sync {
    /// How well it protects, for readiness.
    fn protection(&self) -> Protection;

    /// The last signed checkpoint of a tenant's log.
    fn latest(&self, tenant_id: &TenantId) -> Result<Option<Signed>, GuardError>;

    /// Every log of this deployment that has a signed checkpoint.
    fn remembered(&self) -> Result<Vec<(TenantId, Signed)>, GuardError>;

    /// Replaces the last signed checkpoint if it is still `from`; `false`, without a change, if another process has
    /// replaced it.
    fn advance(&self, tenant_id: &TenantId, from: Option<&Signed>, to: &Signed) -> Result<bool, GuardError>;
}

/// No guard: this server does not detect a restored backup.
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
