//! Compares the database with the guard regularly, even while nothing is written.

use std::time::Duration;

use super::{LogError, Refusal, Signed, Transparency};
use crate::domain::id::TenantId;
use crate::evidence::checkpoint::Checkpoint;
use crate::evidence::tree::{TileSet, right_edge, root};
use crate::storage::{Tenant, TreeHead};

/// Time between rounds. The first round is at the start of the server.
const PAUSE: Duration = Duration::from_secs(30);

impl Transparency {
    /// Compares every log that the guard knows with the database, and notes which must no longer be signed. So
    /// readiness reports a restored backup before anything is written to it.
    pub async fn compare_with_guard(&self) -> Result<(), LogError> {
        if self.signer.is_none() {
            return Ok(());
        }
        for (tenant_id, known) in self.guarded(|guard| guard.remembered()).await? {
            let refusal = match self.store.tenant(&tenant_id).await? {
                Some(tenant) => {
                    let head = self.store.tree(&tenant_id).await?;
                    self.contradicts(&tenant, head.as_ref(), &known).await?
                }
                None => Some(Refusal::Behind),
            };
            self.note(&tenant_id, refusal);
        }
        Ok(())
    }

    /// Makes the guard remember logs that it does not know, from their newest checkpoint on; returns their tenants. The
    /// guard was lost or is new, so a backup restored before this is no longer detectable.
    pub async fn adopt(&self) -> Result<Vec<TenantId>, LogError> {
        if self.signer.is_none() {
            return Ok(Vec::new());
        }
        let mut adopted = Vec::new();
        for tenant in self.store.tenants().await? {
            if self.last_signed(&tenant.tenant_id).await?.is_some() {
                continue;
            }
            let Some(newest) = self.signed_before(&tenant).await? else { continue };
            if self.move_guard(&tenant, None, newest).await? {
                adopted.push(tenant.tenant_id);
            }
        }
        Ok(adopted)
    }

    /// Compares regularly until the server stops.
    pub async fn watch_until(&self, stopped: impl Future<Output = ()>) {
        tokio::select! {
            () = self.watch() => {}
            () = stopped => {}
        }
    }

    async fn watch(&self) {
        let mut ticks = tokio::time::interval(PAUSE);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Err(error) = self.compare_with_guard().await {
                tracing::warn!(
                    log.error = %error,
                    "the log could not be compared with the guard; a restored backup goes unnoticed meanwhile"
                );
            }
        }
    }

    /// The last signed checkpoint of a tenant's log, from the guard.
    pub(super) async fn last_signed(&self, tenant_id: &TenantId) -> Result<Option<Signed>, LogError> {
        let tenant_id = tenant_id.clone();
        Ok(self.guarded(move |guard| guard.latest(&tenant_id)).await?)
    }

    /// The last checkpoint of a tenant's log that this deployment signed, from the database; under another name if the
    /// tenant's environment was changed since. It is used if the guard does not know the log.
    pub(super) async fn signed_before(&self, tenant: &Tenant) -> Result<Option<Signed>, LogError> {
        let Some(signer) = &self.signer else { return Ok(None) };
        let Some(newest) = self.store.checkpoint(&tenant.tenant_id).await? else { return Ok(None) };
        let origin = newest.note.lines().next().unwrap_or_default();
        // A checkpoint with another key's signature or another deployment's name is another history.
        if !signer.names(origin, tenant) {
            return Ok(None);
        }
        let Ok(checkpoint) = Checkpoint::open(&newest.note, &signer.verifiers(origin)?) else { return Ok(None) };
        Ok(Some(Signed { origin: origin.to_owned(), size: checkpoint.size(), root: checkpoint.root() }))
    }

    /// Whether the tree contradicts a signed checkpoint, which must be its beginning.
    pub(super) async fn contradicts(
        &self,
        tenant: &Tenant,
        head: Option<&TreeHead>,
        known: &Signed,
    ) -> Result<Option<Refusal>, LogError> {
        if self.signer.as_ref().is_some_and(|signer| signer.origin(tenant) != known.origin) {
            return Ok(Some(Refusal::Renamed));
        }
        let Some(head) = head.filter(|head| head.size >= known.size) else { return Ok(Some(Refusal::Behind)) };
        let then = if known.size == head.size {
            head.root
        } else {
            let tiles = self.store.tiles(&tenant.tenant_id, &right_edge(known.size)).await?;
            root(known.size, &tiles.into_iter().collect::<TileSet>())?
        };
        Ok((then != known.root).then_some(Refusal::Forked))
    }
}
