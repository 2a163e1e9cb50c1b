//! What is left of fact spaces that are being erased. Their records in the space itself and in the log are read as
//! everywhere else.

use async_trait::async_trait;

use super::{StorageError, StoredClaim};
use crate::domain::canonical::Digest;
use crate::domain::id::{PackId, SpaceId, TenantId};
use crate::state_layer::space::SpaceRecord;

/// Packs of other spaces that show something of a space, among some packs in the order of their ids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShowingPacks {
    /// Where each is kept, its id, and the bytes of its row.
    pub packs: Vec<(SpaceId, PackId, u64)>,
    /// The last pack that was looked at; none if there are no more.
    pub next: Option<PackId>,
}

/// Reads for erasing a space in steps, without locks.
#[async_trait]
pub trait GoingStore: Send + Sync {
    /// The records of the spaces that are being erased, the longest erased first. There are hardly ever any.
    async fn going_spaces(&self, tenant_id: &TenantId) -> Result<Vec<SpaceRecord>, StorageError>;

    /// Looks through the packs after `after`, at most `limit` of them, for those of other spaces that show facts of this
    /// one. None can be added once the space is going: a pack is kept only if what it shows still stands.
    async fn packs_showing(
        &self,
        tenant_id: &TenantId,
        space_id: &SpaceId,
        after: Option<&PackId>,
        limit: u32,
    ) -> Result<ShowingPacks, StorageError>;

    /// Kept answers about a space after `after`, by key, with the bytes of their rows.
    async fn answers_about(
        &self,
        tenant_id: &TenantId,
        space_id: &SpaceId,
        after: Option<&Digest>,
        limit: u32,
    ) -> Result<Vec<(Digest, StoredClaim, u64)>, StorageError>;
}
