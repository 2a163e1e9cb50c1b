//! Bundles of evidence for auditors: lines that can be verified offline.
//!
//! A bundle belongs to the newest checkpoint, so that each of its entries can be proven; newer entries are only
//! counted. It is made page by page while it is read, so memory does not grow with it. The read is recorded when it
//! begins and, with the number of entries, when it was completed.

mod lines;
mod packs;
mod selection;

use std::collections::{BTreeSet, VecDeque};

pub use selection::{Nonce, NonceError, Payloads, Selection};

use self::selection::{Plan, Source};
use super::evidence::{is_raw, level};
use super::going::Fading;
use super::recording::{Looked, Unrecorded, Whose};
use super::transparency::broken;
use super::{Caller, Service, ServiceError};
use crate::domain::canonical::Digest;
use crate::domain::query::MAX_PAGE;
use crate::domain::scope::Scope;
use crate::evidence::bundle::{ARTIFACT_SCHEMA, BUNDLE_SCHEMA, Consistency, FORMAT, Line, Opening, Writer};
use crate::evidence::entry::LogEntry;
use crate::evidence::note::SigningKey;
use crate::evidence::tree::{Prover, TileId, TileSet, consistency_proof, consistency_tiles, inclusion_tiles};
use crate::storage::StoredCheckpoint;

/// Entries read at once.
const PAGE: u32 = MAX_PAGE;

/// A bundle that is being read.
pub struct Export {
    service: Service,
    caller: Caller,
    selection: Selection,
    checkpoint: StoredCheckpoint,
    origin: String,
    keys: Vec<SigningKey>,
    plan: Plan,
    writer: Writer,
    packs: BTreeSet<String>,
    redacted: BTreeSet<String>,
    waiting: u64,
    stage: Stage,
}

impl std::fmt::Debug for Export {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Export").field("stage", &self.stage).finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Opening,
    Entries,
    Done,
}

impl Service {
    /// Begins a bundle. The read is recorded before anything is sent, even if it is refused.
    pub async fn export(&self, caller: &Caller, selection: Selection) -> Result<Export, ServiceError> {
        let looked = looked(caller, &selection, "evidence.export");
        self.require_recorded(caller, Scope::EvidenceRead, &looked).await?;
        if selection.payloads == Payloads::Full {
            self.require_recorded(caller, Scope::OocRaw, &looked).await?;
            if !is_raw(caller) {
                return self.refuse_recorded(caller, &looked, ServiceError::DetailNotAllowed).await;
            }
        }
        let signer = self.log.signer.as_ref().ok_or(ServiceError::NotFound("checkpoint"))?;
        let origin = signer.origin(&caller.tenant);
        let keys = signer.keys(&origin).map_err(|_| ServiceError::Internal)?;
        let newest = self.log.newest(&caller.tenant.tenant_id).await?;
        let checkpoint = newest.ok_or(ServiceError::NotInLogYet)?;
        if selection.consistent_from.is_some_and(|from| from == 0 || from > checkpoint.size) {
            return Err(ServiceError::NotFound("tree of that size"));
        }
        let plan = self.plan(caller, &selection, checkpoint.size).await?;
        let export = Export {
            service: self.clone(),
            caller: caller.clone(),
            selection,
            checkpoint,
            origin,
            keys,
            plan,
            writer: Writer::default(),
            packs: BTreeSet::new(),
            redacted: BTreeSet::new(),
            waiting: 0,
            stage: Stage::Opening,
        };
        Unrecorded::new(export, looked).record(self, caller).await
    }
}

fn looked(caller: &Caller, selection: &Selection, operation: &str) -> Looked {
    let detail = match selection.payloads {
        Payloads::Visible => level(caller),
        Payloads::Full => "full",
    };
    Looked {
        operation: operation.to_owned(),
        whose: Whose::Everybodys,
        // A chain that is exported as a whole is named by its subject.
        ids: selection.actor_id.iter().map(ToString::to_string).collect(),
        space_id: selection.fact_space.clone(),
        detail: Some(detail.to_owned()),
        conversation_id: selection.conversation_id.clone(),
        context_id: selection.context_id.clone(),
        command_id: selection.command_id.clone(),
        ..Looked::default()
    }
}

impl Export {
    /// The next lines; none at the end.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, ServiceError> {
        match self.stage {
            Stage::Opening => {
                self.stage = Stage::Entries;
                self.opening().await.map(Some)
            }
            Stage::Entries => {
                let fading = Fading::of(self.service.store.as_ref(), &self.caller.tenant.tenant_id).await?;
                if let Some(entries) = self.page().await? {
                    let shown = entries.into_iter().map(|(leaf, entry)| (leaf, fading.shown(entry)));
                    return self.entries(shown.collect()).await.map(Some);
                }
                self.stage = Stage::Done;
                self.end().await.map(Some)
            }
            Stage::Done => Ok(None),
        }
    }

    fn line(&mut self, line: &Line) -> Result<Vec<u8>, ServiceError> {
        self.writer.line(line).map_err(|_| ServiceError::Internal)
    }

    async fn opening(&mut self) -> Result<Vec<u8>, ServiceError> {
        let opening = Opening {
            format: FORMAT,
            origin: self.origin.clone(),
            tenant_id: self.caller.tenant.tenant_id.clone(),
            environment: self.caller.tenant.environment.clone(),
            created_at: self.service.now(),
            selection: serde_json::to_value(&self.selection).map_err(|_| ServiceError::Internal)?,
            coverage: self.plan.coverage.clone(),
        };
        let keys = self.keys.iter().map(|key| key.verifier().to_string()).collect();
        let mut lines = vec![Line::Bundle(opening), Line::Keys(keys), Line::Checkpoint(self.checkpoint.note.clone())];
        lines.extend(self.consistency().await?.map(Line::Consistency));
        for schema in [ARTIFACT_SCHEMA, BUNDLE_SCHEMA] {
            lines.push(Line::Schema(serde_json::from_str(schema).map_err(|_| ServiceError::Internal)?));
        }
        let mut bytes = Vec::new();
        for line in &lines {
            bytes.extend(self.line(line)?);
        }
        Ok(bytes)
    }

    async fn consistency(&self) -> Result<Option<Consistency>, ServiceError> {
        let Some(from) = self.selection.consistent_from else { return Ok(None) };
        let size = self.checkpoint.size;
        let tiles = self.tiles(&consistency_tiles(from, size).map_err(broken)?).await?;
        let proof = consistency_proof(from, size, &tiles).map_err(broken)?;
        Ok(Some(Consistency { from, proof: proof.iter().map(Digest::prefixed).collect() }))
    }

    async fn tiles(&self, wanted: &[TileId]) -> Result<TileSet, ServiceError> {
        Ok(self.service.store.tiles(&self.caller.tenant.tenant_id, wanted).await?.into_iter().collect())
    }

    /// The next entries in the checkpoint, with their tree indices; none at the end.
    async fn page(&mut self) -> Result<Option<Vec<(u64, LogEntry)>>, ServiceError> {
        let tenant_id = &self.caller.tenant.tenant_id;
        let store = &self.service.store;
        let Some(source) = self.plan.sources.front_mut() else { return Ok(None) };
        if let Source::Leaves { next } = source {
            let (from, size) = (*next, self.checkpoint.size);
            *next = from.saturating_add(u64::from(PAGE));
            if *next >= size {
                self.plan.sources.pop_front();
            }
            let entries = store.logged(tenant_id, from, PAGE).await?;
            return Ok(Some(entries.into_iter().filter(|(leaf, _)| *leaf < size).collect()));
        }
        let (entries, more) = source.next(store.as_ref(), tenant_id, PAGE).await?;
        if !more {
            self.plan.sources.pop_front();
        }
        let wanted: Vec<_> = entries.iter().map(|entry| (entry.header.stream_id.clone(), entry.header.seq)).collect();
        let places = store.places(tenant_id, &wanted).await?;
        let size = self.checkpoint.size;
        let mut found = Vec::with_capacity(entries.len());
        for (entry, place) in entries.into_iter().zip(places) {
            match place.filter(|leaf| *leaf < size) {
                Some(leaf) => found.push((leaf, entry)),
                None => self.waiting += 1,
            }
        }
        Ok(Some(found))
    }

    async fn entries(&mut self, entries: Vec<(u64, LogEntry)>) -> Result<Vec<u8>, ServiceError> {
        let size = self.checkpoint.size;
        let mut wanted = BTreeSet::new();
        for (leaf, _) in &entries {
            wanted.extend(inclusion_tiles(*leaf, size).map_err(broken)?);
        }
        let tiles = self.tiles(&wanted.into_iter().collect::<Vec<_>>()).await?;
        let mut prover = Prover::new(&tiles, size);
        let mut bytes = Vec::new();
        for (leaf, entry) in &entries {
            if self.packs.insert(entry.header.policy_hash.clone()) {
                let pack = self.pack(&entry.header.policy_hash).await?;
                bytes.extend(self.line(&Line::Policy(pack))?);
            }
            let proof = prover.inclusion_proof(*leaf).map_err(broken)?;
            for line in self.entry(entry, *leaf, &proof) {
                bytes.extend(self.line(&line)?);
            }
        }
        Ok(bytes)
    }

    async fn end(&mut self) -> Result<Vec<u8>, ServiceError> {
        let looked = looked(&self.caller, &self.selection, "evidence.exported");
        let records = usize::try_from(self.writer.entries()).unwrap_or(usize::MAX);
        Unrecorded::new((), Looked { records, ..looked }).record(&self.service, &self.caller).await?;
        let redacted = std::mem::take(&mut self.redacted).into_iter().collect();
        let mut bytes = self.line(&self.writer.summary(self.waiting, redacted))?;
        let writer = std::mem::take(&mut self.writer);
        let end = writer.end(&self.origin, &self.keys).map_err(|_| ServiceError::Internal)?;
        bytes.extend(self.line(&end)?);
        Ok(bytes)
    }
}

impl Plan {
    fn new(coverage: crate::evidence::bundle::Coverage, sources: impl IntoIterator<Item = Source>) -> Self {
        Self { coverage, sources: sources.into_iter().collect::<VecDeque<_>>() }
    }
}
