//! What is dear about operations on fact spaces is done before they wait for the writer.
//!
//! The space is loaded and the operation tried while nobody waits for it. Under the lock the space's version is compared: its
//! head, which every change moves, and the head of the tenant's disposal stream, which every erasure moves. If both are as
//! they were, the space that was loaded is the one under the lock, and the decision goes on with it. If not, the operation
//! comes back and is prepared again, a few times, and is then decided without.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::Semaphore;
use tokio::sync::{Mutex as Turn, OwnedMutexGuard};

use super::spaces::{self, Spaces};
use super::work::want;
use super::{RulesInForce, Submitted, cost};
use crate::domain::event::StreamKey;
use crate::domain::id::{Entropy, Ids, SpaceId, TenantId};
use crate::domain::policy::PolicyRef;
use crate::domain::rulebook::Rulebook;
use crate::domain::time::{Clock, Timestamp};
use crate::domain::world::World;
use crate::evidence::entry::StreamHead;
use crate::state_layer::decide::Foreseen;
use crate::state_layer::request::Request;
use crate::state_layer::space::Space;
use crate::storage::{Loaded, StorageError, Store, Want};

/// How often an operation is prepared anew because its space has changed meanwhile.
pub(super) const TRIES: u8 = 4;
/// How many facts make a space large.
const LARGE: usize = 3_000;
/// How many large spaces are remembered. It is a guess at what will be dear, and may be forgotten.
const REMEMBERED: usize = 4_096;

/// Which version of a space something is about.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Version {
    /// The head of the space's stream.
    pub(super) space: Option<StreamHead>,
    /// The head of the tenant's disposal stream.
    pub(super) disposal: Option<StreamHead>,
}

/// A space as it was loaded, and what the operation came to in a trial.
#[derive(Debug)]
pub(super) struct Tried {
    pub(super) space: Space,
    pub(super) foreseen: Option<Foreseen>,
}

/// An operation that was prepared.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) version: Version,
    /// The pack that the trial went by.
    pub(super) policy: PolicyRef,
    tried: Mutex<Option<Tried>>,
}

impl Prepared {
    /// What was tried: it can be used once.
    pub(super) fn take(&self) -> Option<Tried> {
        self.tried.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Spaces that were large when they were last loaded.
#[derive(Debug, Clone, Default)]
pub(super) struct LargeSpaces(Arc<Mutex<BTreeSet<(TenantId, SpaceId)>>>);

impl LargeSpaces {
    /// Notes how many facts of a space were loaded.
    pub(super) fn note(&self, tenant_id: &TenantId, space_id: &SpaceId, facts: usize) {
        let key = (tenant_id.clone(), space_id.clone());
        let mut large = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if facts < LARGE {
            large.remove(&key);
            return;
        }
        if large.len() >= REMEMBERED {
            large.clear();
        }
        large.insert(key);
    }

    fn has(&self, tenant_id: &TenantId, space_id: &SpaceId) -> bool {
        let large = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        large.contains(&(tenant_id.clone(), space_id.clone()))
    }
}

/// One at a time of each name, in the order in which they came.
#[derive(Debug)]
struct Turns<K>(Mutex<HashMap<K, Weak<Turn<()>>>>);

impl<K: Eq + Hash> Turns<K> {
    async fn wait(&self, key: K) -> OwnedMutexGuard<()> {
        let turn = {
            let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            turns.retain(|_, turn| turn.strong_count() > 0);
            let known = turns.get(&key).and_then(Weak::upgrade);
            known.unwrap_or_else(|| {
                let turn = Arc::new(Turn::new(()));
                turns.insert(key, Arc::downgrade(&turn));
                turn
            })
        };
        turn.lock_owned().await
    }
}

pub(super) struct Preparing {
    pub(super) store: Arc<dyn Store>,
    pub(super) rules: RulesInForce,
    pub(super) entropy: Arc<Mutex<Box<dyn Entropy>>>,
    pub(super) large: LargeSpaces,
    clock: Arc<dyn Clock>,
    /// What is prepared for a space is not changed by what is prepared beside it.
    spaces: Turns<(TenantId, SpaceId)>,
    /// One tenant's operations do not stand in the way of another's.
    tenants: Turns<TenantId>,
    /// The others have processors too.
    working: Arc<Semaphore>,
}

/// Draws from what all share, each time for a moment.
struct Shared<'a>(&'a Mutex<Box<dyn Entropy>>);

impl Entropy for Shared<'_> {
    fn bytes(&mut self) -> [u8; 32] {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).bytes()
    }
}

impl Preparing {
    pub(super) fn new(
        store: Arc<dyn Store>,
        rules: RulesInForce,
        entropy: Arc<Mutex<Box<dyn Entropy>>>,
        large: LargeSpaces,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let at_once = std::thread::available_parallelism().map_or(1, |processors| (processors.get() / 2).max(1));
        Self {
            store,
            rules,
            entropy,
            large,
            clock,
            spaces: Turns(Mutex::default()),
            tenants: Turns(Mutex::default()),
            working: Arc::new(Semaphore::new(at_once)),
        }
    }

    /// Whose turn it is with the space of a dear operation. None if the operation is not dear, or was answered already.
    pub(super) async fn turn(&self, submitted: &Submitted) -> Result<Option<OwnedMutexGuard<()>>, StorageError> {
        let Request::Space(operation) = &submitted.request else { return Ok(None) };
        let tenant_id = &submitted.tenant.tenant_id;
        let is_large = self.large.has(tenant_id, &operation.space_id);
        if !cost::is_dear(&operation.action, is_large) {
            return Ok(None);
        }
        if let Some(claim) = submitted.claim
            && self.store.claim(tenant_id, &claim.key).await?.is_some()
        {
            return Ok(None);
        }
        Ok(Some(self.spaces.wait((tenant_id.clone(), operation.space_id.clone())).await))
    }

    /// Loads the space of an operation and tries it.
    pub(super) async fn prepare(self: &Arc<Self>, submitted: &Submitted) -> Result<Option<Prepared>, StorageError> {
        let _tenant = self.tenants.wait(submitted.tenant.tenant_id.clone()).await;
        let Ok(_working) = Arc::clone(&self.working).acquire_owned().await else { return Ok(None) };
        let (this, submitted) = (Arc::clone(self), submitted.clone());
        let runtime = tokio::runtime::Handle::current();
        // Reading rows and folding them takes a processor for a while: those that answer others are not held up.
        let tried = tokio::task::spawn_blocking(move || runtime.block_on(this.tried(&submitted)));
        // A panic in a trial would be a bug, which the decision without one will show.
        tried.await.unwrap_or(Ok(None))
    }

    async fn tried(&self, submitted: &Submitted) -> Result<Option<Prepared>, StorageError> {
        let Request::Space(operation) = &submitted.request else { return Ok(None) };
        let (tenant, space_id) = (&submitted.tenant, &operation.space_id);
        // The version comes first: if it is the same under the lock, nothing has changed since, be it before the rows were read.
        let version = Version {
            space: self.store.stream_head(&tenant.tenant_id, &StreamKey::FactSpace(space_id.clone())).await?,
            disposal: self.store.disposal_head(&tenant.tenant_id).await?,
        };
        let rows = spaces::look(self.store.as_ref(), &want(submitted)).await?;
        let mut world = World::new(tenant.tenant_id.clone(), tenant.key);
        if let Some(id) = &operation.writer.principal_id
            && let Some(principal) = self.store.principal(&tenant.tenant_id, id.as_str()).await?
        {
            world.principals.insert(id.clone(), principal);
        }
        let mut spaces = Spaces::default();
        spaces.take(rows);
        self.large.note(&tenant.tenant_id, space_id, spaces.facts(&tenant.tenant_id, space_id));
        let rules = self.rules.now();
        let scope = tenant.policy_scope();
        let rules = rules.rules(&scope);
        let mut source = Shared(&self.entropy);
        let now = self.now(version.space.as_ref());
        let mut ids = Ids::new(now, &mut source);
        let foreseen = spaces.foresee(&world, operation, &rules, now, &mut ids);
        let policy = rules.policy.reference().clone();
        let Some(space) = spaces.remove(&tenant.tenant_id, space_id) else { return Ok(None) };
        let tried = Mutex::new(Some(Tried { space, foreseen }));
        Ok(Some(Prepared { version, policy, tried }))
    }

    /// About the time that the lock will find: after the last entry of the space. What is decided has the lock's own.
    fn now(&self, head: Option<&StreamHead>) -> Timestamp {
        let after = head.and_then(|head| head.at).map(|at| Timestamp::from_micros(at.as_micros().saturating_add(1)));
        after.map_or(self.clock.now(), |after| after.max(self.clock.now()))
    }
}

/// What of a batch's operations was prepared and may be used, by their places; and those that were prepared in vain.
#[derive(Debug, Default)]
pub(super) struct Ready {
    pub(super) tried: HashMap<usize, Tried>,
    pub(super) stale: BTreeSet<usize>,
    spaces: BTreeSet<(TenantId, SpaceId)>,
}

impl Ready {
    /// Sorts an operation out whose stream is held: what was prepared of it, if it is still so.
    pub(super) fn judge(
        &mut self,
        place: usize,
        submission: &Submitted,
        want: &Want,
        loaded: &Loaded,
        disposal: Option<StreamHead>,
        rules: &Rulebook,
    ) {
        let (Some(prepared), Some((space_id, _))) = (&submission.prepared, &want.space) else { return };
        let stream = StreamKey::FactSpace(space_id.clone());
        let head = loaded.heads.iter().find(|(tenant_id, key, _)| *tenant_id == want.tenant_id && *key == stream);
        let version = Version { space: head.map(|(_, _, head)| head.clone()), disposal };
        let scope = submission.tenant.policy_scope();
        let same = version == prepared.version && *rules.rules(&scope).policy.reference() == prepared.policy;
        let first = self.spaces.insert((want.tenant_id.clone(), space_id.clone()));
        match prepared.take().filter(|_| same && first) {
            Some(tried) => drop(self.tried.insert(place, tried)),
            None => drop(self.stale.insert(place)),
        }
    }
}
