//! Use cases: check the caller's permission, then act. A writing use case becomes one [`Operation`] that the committer
//! decides under the lock; a reading one judges deadlines by the time of the read.

mod access;
mod credentials;
pub mod evidence;
pub mod explanation;
pub mod exporting;
mod going;
pub mod ooc;
mod policies;
pub mod privacy;
mod reading;
mod recording;
mod replaying;
pub mod retention;
pub mod spaces;
mod sweeping;
pub mod transparency;
mod verifying;
pub mod vigil;
pub mod wording;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

pub use credentials::{Credentials, NewKey, PresentedKey};
pub use policies::{
    PolicyFailure, PolicyOrigin, PolicyStatus, PolicyWatch, Polled, PublishError, Published, publish_policies,
    withdraw_policies,
};
pub use reading::{ContextView, ItemView};
pub use recording::Unrecorded;
pub use replaying::{Difference, How, Progress, ReplayReport, covered, replay_tenant};
pub use verifying::{
    BundleCheck, RebuildRefusal, Rebuilding, RowFault, TenantReport, TreeFault, TreeReport, check_checkpoint,
    rebuild_tree, verify_policies, verify_signed, verify_tenant,
};
use vigil::Clocks;

use self::transparency::{CosignRefusal, Transparency};
use crate::committer::{Busy, Committer, RulesInForce, Submission};
pub use crate::committer::{Committed, WriteHealth};
use crate::domain::canonical::{Digest, Purpose, keyed};
use crate::domain::id::{Entropy, KeyId, PrincipalId};
use crate::domain::idempotency::Claim;
use crate::domain::message::{MessageEvent, message_key};
use crate::domain::operation::{Answer, CredentialKind, Operation};
use crate::domain::refusal::Refusal;
use crate::domain::rulebook::Rulebook;
use crate::domain::scope::Scope;
use crate::domain::speaking::{SpeaksFor, Voice};
use crate::domain::time::{Clock, Timestamp};
use crate::state_layer::assembly::PackRefusal;
use crate::state_layer::request::Refused;
use crate::storage::{StorageError, Store, Tenant};

/// The caller, as its credential identifies it.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The tenant of the credential. No request can name another one.
    pub tenant: Arc<Tenant>,
    pub key_id: KeyId,
    pub kind: CredentialKind,
    /// The operations that it permits.
    pub scopes: BTreeSet<Scope>,
    /// The principal on whose behalf it acts.
    pub principal_id: Option<PrincipalId>,
    /// The principals for whom it may read facts.
    pub speaks_for: SpeaksFor,
}

impl Caller {
    /// Refuses a caller without this scope.
    pub fn require(&self, scope: Scope) -> Result<(), ServiceError> {
        if self.scopes.contains(&scope) { Ok(()) } else { Err(ServiceError::MissingScope(scope)) }
    }

    /// Whether this caller may change spaces and roles whatever it may see: keys that speak for anyone, so that an
    /// unreachable permission service can be replaced.
    #[must_use]
    pub fn gives_access(&self) -> bool {
        self.speaks_for.voice == Voice::Anyone
    }

    /// The stream in which this caller's reads are recorded.
    #[must_use]
    pub fn reader(&self) -> String {
        self.principal_id.as_ref().map_or_else(|| self.key_id.to_string(), ToString::to_string)
    }

    /// A keyed digest of a value of this tenant, so that the value cannot be found by guessing.
    #[must_use]
    pub fn keyed(&self, purpose: Purpose, bytes: &[u8]) -> Digest {
        keyed(&self.tenant.key, purpose, bytes)
    }

    /// The dedupe key of a message.
    #[must_use]
    pub fn message_key(&self, message: &MessageEvent) -> Digest {
        message_key(&self.tenant.key, &message.channel, &message.message_id)
    }
}

/// Why a use case was refused or failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ServiceError {
    #[error("the credential is missing, unknown, revoked, or its tenant is disabled")]
    Unauthenticated,
    /// The credential lacks a scope.
    #[error("the credential lacks the scope {}", .0.as_str())]
    MissingScope(Scope),
    /// The tenant has no such record.
    #[error("there is no such {0}")]
    NotFound(&'static str),
    #[error("{0}")]
    Refused(Refusal),
    /// The state layer refused.
    #[error("{0}")]
    SpaceRefused(Refused),
    /// No pack could be made.
    #[error("{0}")]
    NoPack(PackRefusal),
    /// The entry is not in a signed tree yet.
    #[error("the entry waits for its place in the log's next checkpoint; ask again in a second")]
    NotInLogYet,
    /// No checkpoint is published yet: too few witnesses have cosigned.
    #[error("no checkpoint has the cosignatures of enough witnesses yet; ask again when they have signed one")]
    NotCosignedYet,
    #[error("{0}")]
    NotCosigned(#[from] CosignRefusal),
    /// A legal hold covers some of it.
    #[error("a legal hold forbids erasing this; lift the hold first")]
    LegalHold,
    /// An external name that several principals share.
    #[error("several principals share this external name, and are not known to be one person: name one of them")]
    SubjectAmbiguous,
    /// The `Idempotency-Key` of an erasure contains the person's name.
    #[error("the Idempotency-Key of an erasure must not name the person: send a random one")]
    KeyNamesSubject,
    #[error(
        "this key may not speak for that viewer: leave viewer out, or use a key that may (cscp key create --speaks-for, \
         cscp key speaks-for)"
    )]
    OtherViewer,
    /// The principal for whom the key speaks may see nothing of the fact space.
    #[error(
        "the principal for whom this key speaks may see nothing of this: use a key that speaks for one who may (cscp \
         key create --speaks-for, cscp key speaks-for), or repeat the request if a permission service was unreachable"
    )]
    NotPermitted,
    /// The detail asked for is more than credential, role and policy allow.
    #[error("neither more detail nor this query is allowed for this credential, this viewer's role and this policy")]
    DetailNotAllowed,
    #[error("too much is waiting already; try again after the stated time")]
    Busy {
        /// When to try again, in seconds.
        retry_after_seconds: u32,
    },
    /// The last entry is ahead of the clock.
    #[error(
        "the clock is {seconds} s behind what was recorded here last, so no deadline can be judged and nothing was done; \
         repeat the request when the clock has caught up, or have the operator check the clock"
    )]
    ClockBehind { seconds: u32 },
    /// The database failed. Nothing was done, or the outcome is unknown; the request can be repeated as it is.
    #[error("the server cannot store anything at the moment; repeat the request as it is")]
    Unavailable,
    /// A bug, or a corrupt database.
    #[error("an internal inconsistency was found; it has been logged")]
    Internal,
}

impl From<StorageError> for ServiceError {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Contended | StorageError::Conflict => Self::Busy { retry_after_seconds: 1 },
            StorageError::Unavailable(reason) => {
                tracing::warn!(
                    storage.reason = %reason,
                    "the database is unavailable; the request is answered with 503"
                );
                Self::Unavailable
            }
            StorageError::Inconsistent { .. } | StorageError::Exists | StorageError::Schema(_) => {
                tracing::error!(
                    storage.error = %error,
                    "unexpected content or schema of the database; the request fails"
                );
                Self::Internal
            }
        }
    }
}

impl From<Busy> for ServiceError {
    fn from(busy: Busy) -> Self {
        match busy {
            Busy::Full { retry_after_seconds } => Self::Busy { retry_after_seconds },
            Busy::Contended | Busy::Going => Self::Busy { retry_after_seconds: 1 },
            Busy::ClockBehind { seconds } => Self::ClockBehind { seconds },
            Busy::Storage(error) => error.into(),
            Busy::Stopping => Self::Unavailable,
        }
    }
}

/// The use cases over one database.
#[derive(Clone)]
pub struct Service {
    store: Arc<dyn Store>,
    committer: Committer,
    rules: RulesInForce,
    policies: watch::Receiver<PolicyStatus>,
    clock: Arc<dyn Clock>,
    credentials: Arc<Credentials>,
    entropy: Arc<Mutex<Box<dyn Entropy>>>,
    permissions: Arc<dyn spaces::Permissions>,
    log: Arc<Transparency>,
    clocks: Clocks,
    /// Held while an erasure runs: one at a time.
    erasing: Arc<tokio::sync::Mutex<()>>,
}

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Service").finish_non_exhaustive()
    }
}

impl Service {
    /// The use cases over this store. `entropy` is for values made before the lock is held: salts and request ids.
    #[must_use]
    pub fn new(
        store: Arc<dyn Store>,
        committer: Committer,
        rules: impl Into<RulesInForce>,
        clock: Arc<dyn Clock>,
        entropy: Box<dyn Entropy>,
    ) -> Self {
        let credentials = Arc::new(Credentials::new(Arc::clone(&store), Arc::clone(&clock)));
        let (rules, policies, entropy) = (rules.into(), PolicyStatus::fixed(), Arc::new(Mutex::new(entropy)));
        let permissions = Arc::new(spaces::OverHttp::new());
        let unsigned = Transparency::new(Arc::clone(&store), Arc::clone(&clock), None, Arc::new(transparency::NoGuard));
        let log = Arc::new(unsigned);
        let (erasing, clocks) = (Arc::default(), Clocks::default());
        Self { store, committer, rules, policies, clock, credentials, entropy, permissions, log, clocks, erasing }
    }

    /// With this transparency log, instead of one that signs nothing.
    #[must_use]
    pub fn with_log(self, log: Arc<Transparency>) -> Self {
        Self { log, ..self }
    }

    #[must_use]
    pub fn transparency(&self) -> &Arc<Transparency> {
        &self.log
    }

    /// With the status of the policies, reported by the task that replaces them.
    #[must_use]
    pub fn with_policies(self, policies: watch::Receiver<PolicyStatus>) -> Self {
        Self { policies, ..self }
    }

    /// 256 random bits.
    #[must_use]
    pub fn fresh_secret(&self) -> Digest {
        // After a panic the source of randomness is still whole, so a poisoned lock is used.
        Digest::from_bytes(self.entropy.lock().unwrap_or_else(PoisonError::into_inner).bytes())
    }

    /// The present, for reads.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The rules in force.
    #[must_use]
    pub fn rules(&self) -> Arc<Rulebook> {
        self.rules.now()
    }

    /// The origin of the rules in force, and whether they are the newest.
    #[must_use]
    pub fn policies(&self) -> PolicyStatus {
        *self.policies.borrow()
    }

    /// The caller that this key identifies.
    pub async fn authenticate(&self, presented: &PresentedKey) -> Result<Caller, ServiceError> {
        self.credentials.authenticate(presented).await
    }

    /// Decides an operation and answers after its commit.
    pub async fn execute(
        &self,
        caller: &Caller,
        operation: Operation,
        claim: Option<Claim>,
    ) -> Result<Committed<Answer>, ServiceError> {
        let committed = self.decide(caller, operation, claim).await?;
        committed.accepted().map_err(|refused| ServiceError::Refused(refused.result))
    }

    /// Decides an operation. A refusal is part of the result, so that a replayed refusal is marked as a replay.
    ///
    /// Operations of one tenant are decided in the order in which this is first polled.
    pub async fn decide(
        &self,
        caller: &Caller,
        operation: Operation,
        claim: Option<Claim>,
    ) -> Result<Committed, ServiceError> {
        let submission = Submission { tenant: Arc::clone(&caller.tenant), operation, claim };
        let mut committed = self.committer.submit(submission).await?;
        if let Ok(answer) = &mut committed.result
            && self.derives_slots(caller)
        {
            self.complete(caller, answer).await;
        }
        Ok(committed)
    }

    /// Decides an operation for the operator at the command line, without a credential.
    pub async fn administer(&self, tenant: Arc<Tenant>, operation: Operation) -> Result<Answer, ServiceError> {
        let committed = self.committer.submit(Submission { tenant, operation, claim: None }).await?;
        committed.result.map_err(ServiceError::Refused)
    }

    /// Whether the database answers and takes work.
    pub async fn ready(&self) -> Result<(), ServiceError> {
        Ok(self.store.ping().await?)
    }

    /// By how many seconds the clock was found behind the last entry within the last minute.
    #[must_use]
    pub fn clock_behind(&self) -> Option<u32> {
        self.committer.clock_behind()
    }

    /// The health of writing: whether this server can store anything.
    #[must_use]
    pub fn write_health(&self) -> WriteHealth {
        self.committer.health()
    }

    /// How long the oldest commit under way has taken so far.
    #[must_use]
    pub fn oldest_commit(&self) -> Option<std::time::Duration> {
        self.committer.oldest_commit()
    }

    #[must_use]
    pub fn queued(&self) -> usize {
        self.committer.queued()
    }
}
