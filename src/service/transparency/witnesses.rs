//! The witnesses that the operator trusts, and storing their cosignatures.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{Signer, Transparency};
use crate::domain::id::TenantId;
use crate::domain::scope::Scope;
use crate::domain::time::Timestamp;
use crate::evidence::checkpoint::Checkpoint;
use crate::evidence::cosignature::WitnessKey;
use crate::evidence::note::{self, NoteError};
use crate::service::{Caller, Service, ServiceError};
use crate::storage::{StorageError, StoredCheckpoint, StoredCosignature};

/// The most witnesses: a note has room for 100 signatures, including the log's own.
const MOST: usize = 32;

/// Why the configured witnesses are refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WitnessesError {
    /// More than a note has room for.
    #[error("{0} witnesses were named; name at most {MOST}")]
    TooMany(usize),
    /// Two witnesses have the same name.
    #[error("two witnesses are called {0}: a signature would not show which of them made it; leave one out")]
    SameName(String),
    /// Two witnesses have the same key id.
    #[error(
        "the witness {0} has the key id of another one: a signature would not show which of them made it; leave one out"
    )]
    SameId(String),
    /// A key is listed under two names.
    #[error("the witness {0} has the key of another one: they are one witness and would count as two; leave one out")]
    SameKey(String),
    #[error("the witness {0} has the name or the key of this log: a log cannot be its own witness; leave it out")]
    TheLog(String),
    /// The quorum is larger than the number of witnesses.
    #[error(
        "a quorum of {quorum} was asked for and {named} witnesses were named: no checkpoint would ever be published; name more, or lower --witness-quorum"
    )]
    Quorum { quorum: usize, named: usize },
}

/// The trusted witnesses, each with its own name, key id and key.
#[derive(Debug, Clone, Default)]
pub struct Witnesses {
    keys: Vec<WitnessKey>,
    quorum: usize,
}

impl Witnesses {
    /// These witnesses, of which `quorum` must cosign a checkpoint before it is public; with 0 each checkpoint is
    /// public when it is signed.
    pub fn new(keys: Vec<WitnessKey>, quorum: usize) -> Result<Self, WitnessesError> {
        if keys.len() > MOST {
            return Err(WitnessesError::TooMany(keys.len()));
        }
        if quorum > keys.len() {
            return Err(WitnessesError::Quorum { quorum, named: keys.len() });
        }
        let (mut names, mut ids, mut prints) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for key in &keys {
            let name = || key.name().to_owned();
            if !names.insert(key.name()) {
                return Err(WitnessesError::SameName(name()));
            }
            if !ids.insert(key.id()) {
                return Err(WitnessesError::SameId(name()));
            }
            if !prints.insert(key.fingerprint()) {
                return Err(WitnessesError::SameKey(name()));
            }
        }
        Ok(Self { keys, quorum })
    }

    /// Refuses a witness that is this log: one with its key, or with the name of a tenant's log or of all of them.
    pub fn others_than(self, signer: &Signer) -> Result<Self, WitnessesError> {
        let own = signer.fingerprints().unwrap_or_default();
        let is_own = |name: &str| {
            name.strip_prefix(signer.prefix()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        match self.keys.iter().find(|key| is_own(key.name()) || own.contains(&key.fingerprint())) {
            Some(key) => Err(WitnessesError::TheLog(key.name().to_owned())),
            None => Ok(self),
        }
    }

    /// The witness that made a signature line for this text, and when.
    fn who_signed(&self, line: &str, text: &str) -> Result<(&WitnessKey, u64), CosignRefusal> {
        for key in &self.keys {
            match key.open(line, text) {
                Ok(Some(time)) => return Ok((key, time)),
                Ok(None) => {}
                Err(NoteError::Forged(name)) => return Err(CosignRefusal::Forged(name)),
                Err(_) => return Err(CosignRefusal::Malformed),
            }
        }
        Err(CosignRefusal::Stranger)
    }

    /// How many trusted witnesses are among the signers.
    fn count(&self, cosignatures: &[StoredCosignature]) -> usize {
        let signed: BTreeSet<&str> = cosignatures.iter().map(|one| one.witness.as_str()).collect();
        self.keys.iter().filter(|key| signed.contains(key.to_string().as_str())).count()
    }
}

/// Why cosignatures are refused, all of them together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CosignRefusal {
    #[error(
        "this is not a checkpoint in a signed note (C2SP tlog-checkpoint) with signature lines below an empty line"
    )]
    Malformed,
    /// Another log's checkpoint, or one that this log has not signed.
    #[error(
        "this log has signed no checkpoint with this text; fetch the newest one (GET /v1/evidence/checkpoint) and have that \
         cosigned"
    )]
    UnknownCheckpoint,
    /// A signature by an unknown witness.
    #[error(
        "a signature is by none of the witnesses that this server trusts: leave it out, or start the server with --witness VKEY"
    )]
    Stranger,
    /// A signature with a witness's name that is not its cosignature.
    #[error("the signature of {0} is not a cosignature (cosignature/v1) of this checkpoint")]
    Forged(String),
    /// There are only the log's own signatures.
    #[error("no witness has signed this checkpoint: add the lines that a witness answers")]
    Missing,
}

/// A cosignature as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CosignatureShown {
    /// The witness's key (vkey), which begins with its name.
    pub witness: String,
    /// When the witness saw the checkpoint, by its own clock.
    pub time: Timestamp,
    pub line: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CosignedShown {
    /// The size of its tree.
    pub size: u64,
    pub cosignatures: Vec<CosignatureShown>,
    /// The note with all of them.
    pub note: String,
    /// The size of the newest public checkpoint; none before the first.
    pub published: Option<u64>,
}

/// The cosignatures in a note, in the form in which they are stored.
fn brought(
    witnesses: &Witnesses,
    stored: &StoredCheckpoint,
    note: &str,
) -> Result<Vec<StoredCosignature>, CosignRefusal> {
    let (text, lines) = note::taken_apart(note).map_err(|_| CosignRefusal::Malformed)?;
    let (signed, own) = note::taken_apart(&stored.note).map_err(|_| CosignRefusal::UnknownCheckpoint)?;
    if signed != text {
        return Err(CosignRefusal::UnknownCheckpoint);
    }
    let mut brought = Vec::new();
    for line in lines.into_iter().filter(|line| !own.contains(line)) {
        let (key, _) = witnesses.who_signed(line, text)?;
        brought.push(StoredCosignature { size: stored.size, witness: key.to_string(), line: line.to_owned() });
    }
    if brought.is_empty() {
        return Err(CosignRefusal::Missing);
    }
    // Sorted, so that concurrent writers lock the rows in the same order.
    brought.sort_by(|one, other| one.witness.cmp(&other.witness));
    Ok(brought)
}

/// A stored cosignature for display; none if it is invalid for this text.
fn shown(cosignature: StoredCosignature, text: &str) -> Option<CosignatureShown> {
    let StoredCosignature { witness, line, .. } = cosignature;
    let seconds = WitnessKey::parse(&witness).ok()?.open(&line, text).ok()??;
    let micros = i64::try_from(seconds).ok()?.checked_mul(1_000_000)?;
    Some(CosignatureShown { witness, time: Timestamp::from_micros(micros), line })
}

impl Transparency {
    #[must_use]
    pub fn witnessed_by(self, witnesses: Witnesses) -> Self {
        Self { witnesses, ..self }
    }

    /// Publishes a checkpoint that was just signed, if no cosignatures are required.
    pub(super) async fn publish_signed(&self, tenant_id: &TenantId, size: u64) -> Result<(), StorageError> {
        if self.published && self.witnesses.quorum == 0 {
            self.store.publish_checkpoint(tenant_id, size).await?;
        }
        Ok(())
    }

    /// The public checkpoint: the newest, or the newest with enough cosignatures.
    pub(super) async fn newest_published(&self, tenant_id: &TenantId) -> Result<StoredCheckpoint, ServiceError> {
        let published = self.store.published_checkpoint(tenant_id).await?;
        if self.witnesses.quorum > 0 {
            return self.with_cosignatures(tenant_id, published.ok_or(ServiceError::NotCosignedYet)?).await;
        }
        let newest = self.store.checkpoint(tenant_id).await?.ok_or(ServiceError::NotFound("checkpoint"))?;
        // It may have been signed while more was required. It is marked before anybody sees it, so that nobody is given an
        // older one later.
        if published.is_none_or(|published| published.size < newest.size) {
            self.store.publish_checkpoint(tenant_id, newest.size).await?;
        }
        self.with_cosignatures(tenant_id, newest).await
    }

    async fn cosignatures(&self, tenant_id: &TenantId, size: u64) -> Result<Vec<StoredCosignature>, ServiceError> {
        Ok(self.store.cosignatures(tenant_id, size.saturating_sub(1), size).await?)
    }

    /// A checkpoint with its cosignatures below the log's own signatures.
    pub(in crate::service) async fn with_cosignatures(
        &self,
        tenant_id: &TenantId,
        mut checkpoint: StoredCheckpoint,
    ) -> Result<StoredCheckpoint, ServiceError> {
        for cosignature in self.cosignatures(tenant_id, checkpoint.size).await? {
            checkpoint.note.push_str(&cosignature.line);
            checkpoint.note.push('\n');
        }
        Ok(checkpoint)
    }

    /// The stored checkpoint that a note is about.
    async fn meant(&self, tenant_id: &TenantId, note: &str) -> Result<StoredCheckpoint, ServiceError> {
        let (text, _) = note::taken_apart(note).map_err(|_| CosignRefusal::Malformed)?;
        let checkpoint = Checkpoint::parse(text).map_err(|_| CosignRefusal::Malformed)?;
        let size = checkpoint.size();
        let stored = self.store.checkpoints(tenant_id, size.saturating_sub(1), size).await?;
        Ok(stored.into_iter().find(|stored| stored.size == size).ok_or(CosignRefusal::UnknownCheckpoint)?)
    }
}

impl Service {
    /// Stores cosignatures: a checkpoint of this log with signature lines of witnesses below its own. The first
    /// cosignature of a witness for a checkpoint is kept; later ones change nothing.
    pub async fn cosign(&self, caller: &Caller, note: &str) -> Result<CosignedShown, ServiceError> {
        caller.require(Scope::EvidenceRead)?;
        let (log, tenant_id) = (&self.log, &caller.tenant.tenant_id);
        let stored = log.meant(tenant_id, note).await?;
        let new = log.store.keep_cosignatures(tenant_id, &brought(&log.witnesses, &stored, note)?).await?;
        metrics::counter!("cscp_log_cosignatures_total").increment(new);
        // Counted after the write: if two complete a quorum together, the later one sees both.
        let cosignatures = log.cosignatures(tenant_id, stored.size).await?;
        if log.published && log.witnesses.count(&cosignatures) >= log.witnesses.quorum {
            log.store.publish_checkpoint(tenant_id, stored.size).await?;
        }
        let published = log.store.published_checkpoint(tenant_id).await?.map(|published| published.size);
        let stored = log.with_cosignatures(tenant_id, stored).await?;
        let (text, _) = note::taken_apart(&stored.note).map_err(|_| ServiceError::Internal)?;
        let cosignatures = cosignatures.into_iter().filter_map(|one| shown(one, text)).collect();
        Ok(CosignedShown { size: stored.size, cosignatures, note: stored.note.clone(), published })
    }
}

#[cfg(test)]
#[path = "witnesses_tests.rs"]
mod tests;
