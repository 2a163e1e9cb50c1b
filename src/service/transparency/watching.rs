//! Holding the database against what the guard remembers, also while nothing is written.

use std::time::Duration;

use super::{LogError, Refusal, Signed, Transparency};
use crate::domain::id::TenantId;
use crate::evidence::checkpoint::Checkpoint;
use crate::evidence::tree::{TileSet, right_edge, root};
use crate::storage::{Tenant, TreeHead};

/// Between two rounds. The first is at the start of the server.
const PAUSE: Duration = Duration::from_secs(30);

impl Transparency {
    /// Compares every log that the guard remembers with the database, and says which are not signed any more. So a
    /// restored backup shows in readiness before anything is written to it.
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

    /// Has the guard remember what was signed of logs that it knows nothing of, from their newest checkpoint on; says whose
    /// they are. It was lost or is a new one; whether a backup was put back before, nobody can tell any more.
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

    /// Compares again and again, until it is told to stop.
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
                tracing::warn!(log.error = %error, "the log was not compared with what was signed");
            }
        }
    }

    /// What was signed last of a tenant's log, as the guard remembers it.
    pub(super) async fn last_signed(&self, tenant_id: &TenantId) -> Result<Option<Signed>, LogError> {
        let tenant_id = tenant_id.clone();
        Ok(self.guarded(move |guard| guard.latest(&tenant_id)).await?)
    }

    /// What this deployment signed last of a tenant's log, as the database tells it; under another name if the tenant's
    /// environment was changed since. It stands in for a guard that knows nothing of the log.
    pub(super) async fn signed_before(&self, tenant: &Tenant) -> Result<Option<Signed>, LogError> {
        let Some(signer) = &self.signer else { return Ok(None) };
        let Some(newest) = self.store.checkpoint(&tenant.tenant_id).await? else { return Ok(None) };
        let origin = newest.note.lines().next().unwrap_or_default();
        // What another key signed, or was signed under the name of another deployment, is another history.
        if !signer.names(origin, tenant) {
            return Ok(None);
        }
        let Ok(checkpoint) = Checkpoint::open(&newest.note, &signer.verifiers(origin)?) else { return Ok(None) };
        Ok(Some(Signed { origin: origin.to_owned(), size: checkpoint.size(), root: checkpoint.root() }))
    }

    /// Whether the tree is another history than what was signed before. What was signed must be its beginning.
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
