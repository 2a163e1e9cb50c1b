//! The one gate: who is shown what of a fact space, whatever is asked for.
//!
//! A key says whom it may speak for; the space says who may see it; what is not allowed for certain is not shown. A value
//! leaves the service in a [`Seen`] alone, and nothing but this file makes one.

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

/// Something of a fact space as one caller may see it. Whoever holds one need not ask again: what may not be seen is not
/// in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen<T> {
    shown: T,
    redacted: bool,
}

impl<T> Seen<T> {
    fn clear(shown: T) -> Self {
        Self { shown, redacted: false }
    }

    /// Whether what callers wrote was taken out.
    #[must_use]
    pub fn redacted(&self) -> bool {
        self.redacted
    }

    #[must_use]
    pub fn shown(&self) -> &T {
        &self.shown
    }

    /// The same, of what it was made into: the new form shows no more than the old one.
    pub(super) fn with<U>(self, into: impl FnOnce(T) -> U) -> Seen<U> {
        Seen { shown: into(self.shown), redacted: self.redacted }
    }

    /// What is shown, to be sent.
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

/// Who looks at the record and does not serve the conversation: they see how facts stand.
fn only_looks(caller: &Caller) -> bool {
    matches!(caller.kind, CredentialKind::Operator | CredentialKind::Auditor)
}

/// Whether values are shown to this one at all.
#[must_use]
pub fn sees_values(caller: &Caller) -> bool {
    !only_looks(caller) || caller.scopes.contains(&Scope::OocRaw)
}

/// In whose name something is looked at.
#[derive(Debug, Clone)]
pub(super) enum Looker {
    /// In nobody's in particular, by a key that may speak for anyone: it sees what somebody may see.
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

/// What may be shown of one space.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Admitted {
    All,
    Nothing,
    /// What a service allowed. Without any of them the space itself is shown if no fact was asked about.
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

/// A space at the gate, with the facts about which a service may have to be asked.
pub(super) struct AtGate<'a> {
    pub(super) space_id: &'a SpaceId,
    /// None: the space is not there, and nothing of it is shown.
    pub(super) record: Option<&'a SpaceRecord>,
    pub(super) facts: Vec<AskedFact>,
}

/// Facts to ask about.
pub(super) fn asked<'a>(facts: impl IntoIterator<Item = &'a Fact>) -> Vec<AskedFact> {
    facts.into_iter().map(|fact| AskedFact { uid: fact.uid.clone(), key: fact.key.clone() }).collect()
}

enum Rule<'a> {
    Open,
    Closed,
    Ask(&'a AccessCallback),
}

/// What a gate goes by.
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
            // A user's own memory is shown to that user alone.
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

    /// What of each space may be shown, in their order. Services are asked all at once: the slowest is waited for, and no
    /// more than that.
    pub(super) async fn passes(&self, permissions: &Arc<dyn Permissions>, spaces: Vec<AtGate<'_>>) -> Vec<Pass> {
        // Whoever sees no values at all is not worth a question.
        self.judged(permissions, spaces, sees_values(self.caller)).await
    }

    /// What of a space a caller may change: what somebody in its place could see. People who see no values are judged by the
    /// same rules, so that seeing less never allows more.
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
        // A question that panicked has no answer.
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
    /// Nothing may be seen: where it could not be told what may.
    pub(super) fn nothing() -> Self {
        let (looker, order) = (Looker::Viewer(Viewer::default()), AuthorityOrder::default());
        Self { admitted: Admitted::Nothing, values: false, only_looks: false, looker, order }
    }

    /// Whether nothing of the space may be shown, in any form.
    pub(super) fn is_barred(&self) -> bool {
        self.admitted == Admitted::Nothing && !self.only_looks
    }

    /// Whether values of the space that no service was asked about may be shown.
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

    /// A fact as the answer to its own writing: whoever may not read it is told how it stands.
    pub(super) fn echoed_fact(&self, fact: Fact) -> Seen<Fact> {
        if self.shows(&fact) { Seen::clear(fact) } else { Seen::covered(fact) }
    }

    /// Something else of the space as the answer to its own writing.
    pub(super) fn echoed<T: Cover>(&self, it: T) -> Seen<T> {
        if self.is_open() { Seen::clear(it) } else { Seen::covered(it) }
    }

    /// The facts of a space for a pack, with what its viewer may not see set apart.
    pub(super) fn split(&self, mut facts: BTreeMap<FactUid, Fact>) -> Shown {
        let admits = |fact: &Fact| self.admitted.admits(&fact.uid) && self.is_for(&fact.restricted_to, &fact.text());
        // Of a space that is closed altogether not even the number of its facts is told.
        let barred = !self.is_open();
        let denied = facts.values().filter(|fact| !barred && !admits(fact)).map(|fact| fact.uid.clone()).collect();
        facts.retain(|_, fact| admits(fact));
        Shown { facts, denied, barred }
    }

    /// Whether this fact may be changed by whom this pass is for.
    pub(super) fn may_change(&self, fact: &Fact) -> bool {
        self.shows(fact)
    }

    /// Whether all of these may be shown.
    pub(super) fn admits_all<'f>(&self, mut facts: impl Iterator<Item = &'f Fact>) -> bool {
        self.is_open() && facts.all(|fact| self.shows(fact))
    }
}

/// What of one space goes into a pack.
pub(super) struct Shown {
    pub(super) facts: BTreeMap<FactUid, Fact>,
    pub(super) denied: Vec<FactUid>,
    /// Whether the viewer may see nothing of the space at all: neither facts nor who is served, what surrounds them and
    /// what they are working on.
    pub(super) barred: bool,
}

/// A pack of sources that were made of what passed this gate.
pub(super) fn assembled(
    request: &PackRequest,
    sources: &Sources<'_>,
    order: &AuthorityOrder,
) -> Result<Seen<ContextPack>, PackRefusal> {
    assemble(request, sources, order).map(Seen::clear)
}

/// A kept pack, to a reader for whom all of its spaces and facts passed this gate anew; none if one did not.
pub(super) fn kept<T>(pack: T, passed: &[(Pass, Space)]) -> Option<Seen<T>> {
    let all = passed.iter().all(|(pass, space)| pass.admits_all(space.facts.values()));
    all.then(|| Seen::clear(pack))
}

/// Whether the evidence, that of fact spaces too, is shown with what it says. It is not shown space by space: people who
/// may see it without redaction read what was written, as it was written; a program has to speak for anyone besides.
pub(in crate::service) fn sees_recorded_values(caller: &Caller) -> bool {
    let person = only_looks(caller) || caller.kind == CredentialKind::Admin;
    caller.scopes.contains(&Scope::OocRaw) && (person || caller.speaks_for.voice == Voice::Anyone)
}
