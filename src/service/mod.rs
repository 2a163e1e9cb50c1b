//! Use cases: who asks, may they, and what is done. Each writing use case becomes one [`Operation`] that the
//! committer decides under the lock; each reading one is judged against the clock as it is read.

mod access;
mod credentials;
pub mod evidence;
pub mod explanation;
pub mod exporting;
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

/// Who asks, as their credential says.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Whose credential it is. No request can name another tenant.
    pub tenant: Arc<Tenant>,
    pub key_id: KeyId,
    pub kind: CredentialKind,
    /// What it may do.
    pub scopes: BTreeSet<Scope>,
    /// In whose name it acts.
    pub principal_id: Option<PrincipalId>,
    /// Whom it may speak for when facts are read.
    pub speaks_for: SpeaksFor,
}

impl Caller {
    /// Refuses a caller without a scope.
    pub fn require(&self, scope: Scope) -> Result<(), ServiceError> {
        if self.scopes.contains(&scope) { Ok(()) } else { Err(ServiceError::MissingScope(scope)) }
    }

    /// Whether this one may change spaces, and who has which role, without being asked what it sees: whoever speaks for
    /// anyone, so that a service that went away can be replaced, and administrators.
    #[must_use]
    pub fn gives_access(&self) -> bool {
        self.speaks_for.voice == Voice::Anyone || self.kind == CredentialKind::Admin
    }

    /// The stream in which this caller's reads are recorded.
    #[must_use]
    pub fn reader(&self) -> String {
        self.principal_id.as_ref().map_or_else(|| self.key_id.to_string(), ToString::to_string)
    }

    /// A digest of something of this tenant that cannot be guessed from it.
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

/// Why a use case did not do what was asked.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ServiceError {
    /// No credential, or one that does not work (any more).
    #[error("the credential is missing, unknown, revoked, or its tenant is disabled")]
    Unauthenticated,
    /// The credential lacks a scope.
    #[error("the credential lacks the scope {}", .0.as_str())]
    MissingScope(Scope),
    /// There is no such record for this tenant.
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
    /// No checkpoint is published yet: it takes more witnesses.
    #[error("no checkpoint has the cosignatures of enough witnesses yet; ask again when they have signed one")]
    NotCosignedYet,
    /// Cosignatures are not taken in.
    #[error("{0}")]
    NotCosigned(#[from] CosignRefusal),
    /// Something of it is under a legal hold.
    #[error("a legal hold forbids to erase this; lift the hold first, or leave it")]
    LegalHold,
    /// An external name that several principals share.
    #[error("several principals share this external name, and are not known to be one person: name one of them")]
    SubjectAmbiguous,
    /// The `Idempotency-Key` of an erasure tells about whom it is.
    #[error("the Idempotency-Key of an erasure must not name the person: send a random one")]
    KeyNamesSubject,
    /// The key may not speak for the viewer that was named.
    #[error(
        "this key may not speak for that viewer: leave viewer out, or use a key that may (cscp key create --speaks-for, \
         cscp key speaks-for)"
    )]
    OtherViewer,
    /// Nothing of the fact space may be shown to whom the key speaks for.
    #[error(
        "whom this key speaks for may see nothing of this: use a key that speaks for somebody who may (cscp key create \
         --speaks-for, cscp key speaks-for), or ask again if a service that decides was out of reach"
    )]
    NotPermitted,
    /// The detail asked for is more than credential, role and policy allow.
    #[error("neither more detail nor this query is allowed for this credential, this viewer's role and this policy")]
    DetailNotAllowed,
    /// Too much is waiting already.
    #[error("too much is waiting already; try again after the stated time")]
    Busy {
        /// When to try again, in seconds.
        retry_after_seconds: u32,
    },
    /// What is needed was last written to later than the clock shows.
    #[error(
        "the clock is {seconds} s behind what was recorded here last, so no deadline can be judged and nothing was done; \
         repeat the request when the clock has caught up, or have the operator look at the clock"
    )]
    ClockBehind { seconds: u32 },
    /// The database does not take work at the moment. Nothing was done, or it is not known; repeat the request as it is.
    #[error("the server cannot store anything at the moment; repeat the request as it is")]
    Unavailable,
    /// Something that cannot be.
    #[error("an internal inconsistency was found; it has been logged")]
    Internal,
}

impl From<StorageError> for ServiceError {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Contended | StorageError::Conflict => Self::Busy { retry_after_seconds: 1 },
            StorageError::Unavailable(reason) => {
                tracing::warn!(storage.reason = %reason, "storage unavailable");
                Self::Unavailable
            }
            StorageError::Inconsistent { .. } | StorageError::Exists | StorageError::Schema(_) => {
                tracing::error!(storage.error = %error, "storage inconsistent");
                Self::Internal
            }
        }
    }
}

impl From<Busy> for ServiceError {
    fn from(busy: Busy) -> Self {
        match busy {
            Busy::Full { retry_after_seconds } => Self::Busy { retry_after_seconds },
            Busy::Contended => Self::Busy { retry_after_seconds: 1 },
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
    /// Whose turn it is to erase.
    erasing: Arc<tokio::sync::Mutex<()>>,
}

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Service").finish_non_exhaustive()
    }
}

impl Service {
    /// Puts the house together. `entropy` is for what is made before the lock is held: salts and request ids.
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

    /// With this transparency log instead of one that signs nothing.
    #[must_use]
    pub fn with_log(self, log: Arc<Transparency>) -> Self {
        Self { log, ..self }
    }

    #[must_use]
    pub fn transparency(&self) -> &Arc<Transparency> {
        &self.log
    }

    /// Whoever replaces the rules says here which are in force.
    #[must_use]
    pub fn with_policies(self, policies: watch::Receiver<PolicyStatus>) -> Self {
        Self { policies, ..self }
    }

    /// 256 bits that nobody can guess.
    #[must_use]
    pub fn fresh_secret(&self) -> Digest {
        // A source that panicked once has no state that could be half changed.
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

    /// Where the rules in force come from, and whether they are the newest.
    #[must_use]
    pub fn policies(&self) -> PolicyStatus {
        *self.policies.borrow()
    }

    /// Who presents this key.
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

    /// Decides an operation; what was refused says so in the result, so that a replayed refusal is still a replay.
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

    /// Decides an operation for whoever sits at the machine itself; no credential speaks.
    pub async fn administer(&self, tenant: Arc<Tenant>, operation: Operation) -> Result<Answer, ServiceError> {
        let committed = self.committer.submit(Submission { tenant, operation, claim: None }).await?;
        committed.result.map_err(ServiceError::Refused)
    }

    /// Whether the database answers and takes work.
    pub async fn ready(&self) -> Result<(), ServiceError> {
        Ok(self.store.ping().await?)
    }

    /// By how many seconds the clock was found behind what was recorded, where that was in the last minute.
    #[must_use]
    pub fn clock_behind(&self) -> Option<u32> {
        self.committer.clock_behind()
    }

    /// How writing goes: whether this server can keep what it is told.
    #[must_use]
    pub fn write_health(&self) -> WriteHealth {
        self.committer.health()
    }

    /// How long the oldest of the commits that are under way has been so.
    #[must_use]
    pub fn oldest_commit(&self) -> Option<std::time::Duration> {
        self.committer.oldest_commit()
    }

    /// How many operations wait.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.committer.queued()
    }
}
