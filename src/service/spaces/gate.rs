//! The gate: decides for every kind of read what a caller may see of a fact space.
//!
//! The key determines for whom the caller speaks, and the space determines who may see it; in doubt nothing is shown. A
//! value leaves the service only in a [`Seen`], which only this file can construct.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::task::JoinSet;

use super::covering::Cover;
use super::permission::{AskedFact, PermissionQuestion, Permissions};
use crate::domain::id::{FactUid, SpaceId};
use crate::domain::operation::CredentialKind;
use crate::domain::policy::{AccessCallback, StateLayerRules};
use crate::domain::scope::Scope;
use crate::domain::speaking::Voice;
use crate::service::Caller;
use crate::state_layer::assembly::{ContextPack, PackRefusal, PackRequest, Sources, assemble, is_for};
use crate::state_layer::authority::{AuthorityOrder, Viewer};
use crate::state_layer::fact::Fact;
use crate::state_layer::space::{Access, Partition, Signal, Space, SpaceRecord, WorkingItem};

/// A value of a fact space as one caller may see it. It contains nothing that the caller may not see, so it needs no
/// further check.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen<T> {
    shown: T,
    redacted: bool,
}

impl<T> Seen<T> {
    fn clear(shown: T) -> Self {
        Self { shown, redacted: false }
    }

    /// Whether callers' text was redacted.
    #[must_use]
    pub fn redacted(&self) -> bool {
        self.redacted
    }

    #[must_use]
    pub fn shown(&self) -> &T {
        &self.shown
    }

    /// The value converted to a form that shows no more than the original.
    pub(super) fn with<U>(self, into: impl FnOnce(T) -> U) -> Seen<U> {
        Seen { shown: into(self.shown), redacted: self.redacted }
    }

    /// The value, to be sent.
    #[must_use]
    pub fn into_shown(self) -> T {
        self.shown
    }
}

impl<T: Cover> Seen<T> {
    fn covered(mut shown: T) -> Self {
        shown.cover();
        Self { shown, redacted: true }
    }
}

/// Whether the caller reads as a person from outside the conversation: they see structure without values.
fn only_looks(caller: &Caller) -> bool {
    matches!(caller.kind, CredentialKind::Operator | CredentialKind::Auditor)
}

/// Whether this caller sees values at all.
#[must_use]
pub fn sees_values(caller: &Caller) -> bool {
    !only_looks(caller) || caller.scopes.contains(&Scope::OocRaw)
}

/// On whose behalf a caller reads.
#[derive(Debug, Clone)]
pub(super) enum Looker {
    /// On behalf of nobody in particular, with a key that may speak for anyone: it sees what any principal may see.
    Anyone,
    Viewer(Viewer),
}

impl Looker {
    fn viewer(&self) -> Option<&Viewer> {
        match self {
            Self::Anyone => None,
            Self::Viewer(viewer) => Some(viewer),
        }
    }
}

/// The part of one space that may be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Admitted {
    All,
    Nothing,
    /// What a permission service allowed. If it allowed nothing, the space itself is shown only if no fact was asked
    /// about.
    Only {
        allowed: BTreeSet<FactUid>,
        any: bool,
    },
}

impl Admitted {
    fn any(&self) -> bool {
        match self {
            Self::All => true,
            Self::Nothing => false,
            Self::Only { any, .. } => *any,
        }
    }

    fn admits(&self, uid: &FactUid) -> bool {
        match self {
            Self::All => true,
            Self::Nothing => false,
            Self::Only { allowed, .. } => allowed.contains(uid),
        }
    }
}

/// A space to be checked, with the facts about which a permission service may have to be asked.
pub(super) struct AtGate<'a> {
    pub(super) space_id: &'a SpaceId,
    /// The space's record; none if the space does not exist, so that nothing is shown.
    pub(super) record: Option<&'a SpaceRecord>,
    pub(super) facts: Vec<AskedFact>,
}

/// The questions about facts for a permission service.
pub(super) fn asked<'a>(facts: impl IntoIterator<Item = &'a Fact>) -> Vec<AskedFact> {
    facts.into_iter().map(|fact| AskedFact { uid: fact.uid.clone(), key: fact.key.clone() }).collect()
}

enum Rule<'a> {
    Open,
    Closed,
    Ask(&'a AccessCallback),
}

/// The inputs of the check.
pub(super) struct Gate<'a> {
    pub(super) caller: &'a Caller,
    pub(super) looker: Looker,
    pub(super) order: AuthorityOrder,
    pub(super) rules: StateLayerRules,
}

impl Gate<'_> {
    fn rule(&self, record: &SpaceRecord) -> Rule<'_> {
        let viewer = self.looker.viewer();
        match &record.partition {
            // A user's memory is shown to that user only.
            Partition::User { owner_id: Some(owner) } if viewer.is_some_and(|viewer| viewer.user_id != *owner) => {
                return Rule::Closed;
            }
            Partition::Capability { organization, capability }
                if !self.caller.speaks_for.has_capability(organization, capability) =>
            {
                return Rule::Closed;
            }
            Partition::User { .. } | Partition::Capability { .. } | Partition::Organization { .. } => {}
        }
        match (&record.access, viewer) {
            (Access::Open, _) => Rule::Open,
            (Access::List { allow }, None) if !allow.is_empty() => Rule::Open,
            (Access::List { allow }, Some(viewer)) if allow.iter().any(|it| viewer.belongs_to(it, &self.order)) => {
                Rule::Open
            }
            (Access::List { .. }, _) => Rule::Closed,
            (Access::Callback { name }, _) => self.rules.access_callbacks.get(name).map_or(Rule::Closed, Rule::Ask),
        }
    }

    /// The part of each space that may be shown, in the order of the spaces. Permission services are asked in parallel,
    /// so the time is that of the slowest.
    pub(super) async fn passes(&self, permissions: &Arc<dyn Permissions>, spaces: Vec<AtGate<'_>>) -> Vec<Pass> {
        // No service is asked for a caller who sees no values.
        self.judged(permissions, spaces, sees_values(self.caller)).await
    }

    /// The part of a space that a caller may change: what a caller with values in its place could see. Callers who see
    /// no values are judged by the same rules, so that seeing less never allows more.
    pub(super) async fn may_change(&self, permissions: &Arc<dyn Permissions>, space: AtGate<'_>) -> Option<Pass> {
        self.judged(permissions, vec![space], true).await.pop()
    }

    async fn judged(&self, permissions: &Arc<dyn Permissions>, spaces: Vec<AtGate<'_>>, values: bool) -> Vec<Pass> {
        let mut questions = JoinSet::new();
        let mut admitted = Vec::with_capacity(spaces.len());
        for (at, space) in spaces.into_iter().enumerate() {
            let rule = space.record.filter(|_| values).map_or(Rule::Closed, |record| self.rule(record));
            admitted.push(if matches!(rule, Rule::Open) { Admitted::All } else { Admitted::Nothing });
            if let Rule::Ask(callback) = rule {
                let (permissions, callback) = (Arc::clone(permissions), callback.clone());
                let question = self.question(space.space_id, space.facts);
                questions.spawn(async move { (at, answered(&*permissions, &callback, &question).await) });
            }
        }
        // A question that panicked counts as unanswered.
        while let Some(answer) = questions.join_next().await {
            let Ok((at, answer)) = answer else { continue };
            if let Some(place) = admitted.get_mut(at) {
                *place = answer;
            }
        }
        let pass = |admitted| Pass {
            admitted,
            values,
            only_looks: only_looks(self.caller),
            looker: self.looker.clone(),
            order: self.order.clone(),
        };
        admitted.into_iter().map(pass).collect()
    }

    fn question(&self, space_id: &SpaceId, facts: Vec<AskedFact>) -> PermissionQuestion {
        PermissionQuestion {
            tenant_id: self.caller.tenant.tenant_id.clone(),
            fact_space: space_id.clone(),
            viewer: self.looker.viewer().cloned().unwrap_or_default(),
            facts,
        }
    }
}

async fn answered(permissions: &dyn Permissions, callback: &AccessCallback, question: &PermissionQuestion) -> Admitted {
    let Some(allowed) = permissions.allowed(callback, question).await else { return Admitted::Nothing };
    let any = question.facts.is_empty() || question.facts.iter().any(|fact| allowed.contains(&fact.uid));
    Admitted::Only { allowed, any }
}

/// What a caller may see of one space.
pub(super) struct Pass {
    admitted: Admitted,
    values: bool,
    only_looks: bool,
    looker: Looker,
    order: AuthorityOrder,
}

impl Pass {
    /// Nothing may be seen, because the permission could not be determined.
    pub(super) fn nothing() -> Self {
        let (looker, order) = (Looker::Viewer(Viewer::default()), AuthorityOrder::default());
        Self { admitted: Admitted::Nothing, values: false, only_looks: false, looker, order }
    }

    /// Whether nothing of the space may be shown in any form.
    pub(super) fn is_barred(&self) -> bool {
        self.admitted == Admitted::Nothing && !self.only_looks
    }

    /// Whether values of the space may be shown that need no question to a service.
    pub(super) fn is_open(&self) -> bool {
        self.values && self.admitted.any()
    }

    fn is_for(&self, restricted_to: &[String], text: &str) -> bool {
        self.looker.viewer().is_none_or(|viewer| is_for(restricted_to, text, viewer, &self.order))
    }

    fn shows(&self, fact: &Fact) -> bool {
        self.values && self.admitted.admits(&fact.uid) && self.is_for(&fact.restricted_to, &fact.text())
    }

    /// A fact; none if it is withheld.
    pub(super) fn fact(&self, fact: Fact) -> Option<Seen<Fact>> {
        if self.shows(&fact) {
            return Some(Seen::clear(fact));
        }
        self.only_looks.then(|| Seen::covered(fact))
    }

    /// A signal; none if it is withheld.
    pub(super) fn signal(&self, signal: Signal) -> Option<Seen<Signal>> {
        let shows = self.is_open();
        self.of_the_space(signal, shows)
    }

    /// An item of the working set; none if it is withheld.
    pub(super) fn item(&self, item: WorkingItem) -> Option<Seen<WorkingItem>> {
        let shows = self.is_open() && self.is_for(&[], item.content.as_str().unwrap_or_default());
        self.of_the_space(item, shows)
    }

    /// The space's own record; none if it is withheld.
    pub(super) fn record(&self, record: SpaceRecord) -> Option<Seen<SpaceRecord>> {
        let shows = self.is_open();
        self.of_the_space(record, shows)
    }

    fn of_the_space<T: Cover>(&self, it: T, shows: bool) -> Option<Seen<T>> {
        if shows {
            return Some(Seen::clear(it));
        }
        self.only_looks.then(|| Seen::covered(it))
    }

    /// A fact in the answer to its own writing: redacted for a writer who may not read it.
    pub(super) fn echoed_fact(&self, fact: Fact) -> Seen<Fact> {
        if self.shows(&fact) { Seen::clear(fact) } else { Seen::covered(fact) }
    }

    /// Another record in the answer to its own writing, redacted for a writer who may not read it.
    pub(super) fn echoed<T: Cover>(&self, it: T) -> Seen<T> {
        if self.is_open() { Seen::clear(it) } else { Seen::covered(it) }
    }

    /// The facts of a space for a pack; those that its viewer may not see are set apart.
    pub(super) fn split(&self, mut facts: BTreeMap<FactUid, Fact>) -> Shown {
        let admits = |fact: &Fact| self.admitted.admits(&fact.uid) && self.is_for(&fact.restricted_to, &fact.text());
        // For a space that is closed altogether, not even the number of facts is shown.
        let barred = !self.is_open();
        let denied = facts.values().filter(|fact| !barred && !admits(fact)).map(|fact| fact.uid.clone()).collect();
        facts.retain(|_, fact| admits(fact));
        Shown { facts, denied, barred }
    }

    /// Whether the caller may change this fact.
    pub(super) fn may_change(&self, fact: &Fact) -> bool {
        self.shows(fact)
    }

    /// Whether all of these may be shown.
    pub(super) fn admits_all<'f>(&self, mut facts: impl Iterator<Item = &'f Fact>) -> bool {
        self.is_open() && facts.all(|fact| self.shows(fact))
    }
}

/// The part of one space for a pack.
pub(super) struct Shown {
    pub(super) facts: BTreeMap<FactUid, Fact>,
    pub(super) denied: Vec<FactUid>,
    /// Whether the viewer may see nothing of the space: neither facts nor who is served, the environment or the working
    /// set.
    pub(super) barred: bool,
}

/// A pack assembled from records that passed this gate.
pub(super) fn assembled(
    request: &PackRequest,
    sources: &Sources<'_>,
    order: &AuthorityOrder,
) -> Result<Seen<ContextPack>, PackRefusal> {
    assemble(request, sources, order).map(Seen::clear)
}

/// A saved pack, for a reader for whom all its spaces and facts pass the gate again; none if one does not.
pub(super) fn kept<T>(pack: T, passed: &[(Pass, Space)]) -> Option<Seen<T>> {
    let all = passed.iter().all(|(pass, space)| pass.admits_all(space.facts.values()));
    all.then(|| Seen::clear(pack))
}

/// Whether the caller sees values in evidence, including evidence of fact spaces, which is not checked space by space:
/// people with unredacted access read values as written; a program must also be allowed to speak for anyone.
pub(in crate::service) fn sees_recorded_values(caller: &Caller) -> bool {
    let person = only_looks(caller) || caller.kind == CredentialKind::Admin;
    caller.scopes.contains(&Scope::OocRaw) && (person || caller.speaks_for.voice == Voice::Anyone)
}
