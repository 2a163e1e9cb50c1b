//! An answer that names its question: what it does to it, whatever state the question is in.

use super::interpreting::too_late;
use crate::domain::id::{ItemKind, PrincipalId};
use crate::domain::item::{ItemState, PendingItem, Question, VoidReason};
use crate::domain::principal::{Principal, PrincipalKind, same_person};
use crate::domain::prompt::ButtonAction;
use crate::domain::time::Timestamp;
use crate::domain::verdict::{Next, Reason, Verdict, VerdictCode};
use crate::domain::world::World;

/// An answer bound to an item, by how strong a link.
pub(super) struct Named<'a> {
    pub(super) world: &'a World,
    pub(super) item: &'a PendingItem,
    pub(super) action: ButtonAction,
    pub(super) strength: Reason,
    pub(super) now: Timestamp,
}

impl Named<'_> {
    fn about(&self, code: VerdictCode, reason: Reason, next: Next) -> Verdict {
        Verdict::about(code, reason, next, &self.item.item_id)
    }

    fn unsure(&self, reason: Reason) -> Verdict {
        let next = match reason {
            // The question was not put to this person: putting it again would put it to them.
            Reason::NotEntitled => Next::Nothing,
            _ if self.item.is_open() => Next::AskAgain,
            _ => Next::AskAnew,
        };
        self.about(VerdictCode::Ambiguous, reason, next)
    }

    /// What is left to do once this item is granted: a command may need a confirmation and an approval.
    fn next_when_granted(&self) -> Next {
        let Some(command) = self.item.command() else { return Next::BindCommand };
        let granted = |kind: ItemKind| {
            self.world.items.values().any(|other| {
                let same = other.command().is_some_and(|asked| asked.command_id == command.command_id);
                let in_time = matches!(&other.state, ItemState::Granted { bind_by, .. } if self.now < *bind_by);
                other.kind() == kind && same && in_time && other.context_id == self.item.context_id
            })
        };
        match self.item.kind() {
            ItemKind::Confirmation if command.rules.approval.is_some() && !granted(ItemKind::Approval) => {
                Next::AwaitApprovals
            }
            ItemKind::Approval if command.rules.confirmation_required && !granted(ItemKind::Confirmation) => {
                Next::AskConfirmation
            }
            ItemKind::Confirmation | ItemKind::Approval | ItemKind::Disambiguation => Next::BindCommand,
        }
    }

    fn decided(&self, reason: Reason) -> Verdict {
        self.about(VerdictCode::AlreadyDecided, reason, Next::TellDecision)
    }
}

/// A confirmation or a disambiguation, answered by the one it was put to.
pub(super) fn judge_named(named: &Named<'_>) -> (Verdict, Option<u32>) {
    match (&named.item.state, &named.item.question, named.action) {
        (ItemState::Open, Question::Disambiguation { options, .. }, ButtonAction::Choose(option)) => {
            if usize::from(option) > options.len() {
                return (named.unsure(Reason::NoSuchOption), None);
            }
            let verdict = named.about(VerdictCode::Selected, named.strength, Next::ContinueWithSelection);
            (verdict, Some(u32::from(option)))
        }
        (ItemState::Open, Question::Disambiguation { .. }, ButtonAction::Accept | ButtonAction::Refuse) => {
            (named.unsure(Reason::OptionExpected), None)
        }
        (ItemState::Open | ItemState::Granted { .. }, _, ButtonAction::Choose(_)) => {
            (named.unsure(Reason::NoSuchOption), None)
        }
        (ItemState::Open, _, ButtonAction::Accept) => {
            (named.about(VerdictCode::Confirmed, named.strength, named.next_when_granted()), None)
        }
        (ItemState::Granted { bind_by, .. }, _, _) if named.now >= *bind_by => {
            (named.about(VerdictCode::Expired, Reason::BindWindowClosed, Next::AskAnew), None)
        }
        // Before it is spent, a refusal takes a confirmation back.
        (ItemState::Open | ItemState::Granted { .. }, _, ButtonAction::Refuse) => {
            (named.about(VerdictCode::Declined, named.strength, Next::AcknowledgeRefusal), None)
        }
        (ItemState::Granted { .. }, _, ButtonAction::Accept) => (named.decided(Reason::AlreadyGranted), None),
        _ => judge_ended(named),
    }
}

/// What an answer to an ended item is told.
fn judge_ended(named: &Named<'_>) -> (Verdict, Option<u32>) {
    let verdict = match &named.item.state {
        ItemState::Refused { .. } => named.decided(Reason::AlreadyRefused),
        ItemState::Selected { .. } => named.decided(Reason::AlreadySelected),
        ItemState::Spent { .. } => named.decided(Reason::AlreadySpent),
        ItemState::Granted { .. } => named.decided(Reason::AlreadyGranted),
        ItemState::Voided { reason: VoidReason::ContextExpired, .. } | ItemState::Expired { .. } | ItemState::Open => {
            return too_late(named.world, named.item);
        }
        ItemState::Voided { reason, .. } => named.about(VerdictCode::Superseded, why_void(*reason), Next::AskAnew),
    };
    (verdict, None)
}

fn why_void(reason: VoidReason) -> Reason {
    match reason {
        VoidReason::Replaced => Reason::Replaced,
        VoidReason::Cancelled => Reason::Cancelled,
        VoidReason::ContextClosed => Reason::ContextClosed,
        VoidReason::ContextBlocked => Reason::ContextBlocked,
        VoidReason::ContextExpired => Reason::ContextExpired,
        VoidReason::TargetChanged => Reason::TargetChanged,
        VoidReason::IdentityChanged => Reason::IdentityChanged,
        VoidReason::Unanswered => Reason::Unanswered,
        VoidReason::CommandEnded => Reason::CommandEnded,
    }
}

/// An approval, answered by whoever claims to be entitled.
pub(super) fn judge_approval(named: &Named<'_>, approver_id: &PrincipalId) -> Verdict {
    let Question::Approval { approvals, rule, .. } = &named.item.question else {
        return named.unsure(Reason::NoSuchOption);
    };
    let Some(approver) = entitled(named.world, named.item, approver_id) else {
        return named.unsure(Reason::NotEntitled);
    };
    let before = approvals.iter().any(|given| {
        same_person(
            (&given.approver_id, given.person_id.as_ref()),
            (&approver.principal_id, approver.person_id.as_ref()),
        )
    });
    match (&named.item.state, named.action) {
        (ItemState::Open, ButtonAction::Accept) if before => named.decided(Reason::AlreadyApprovedByThisPerson),
        (ItemState::Open, ButtonAction::Accept) => {
            let last = approvals.len() + 1 >= usize::try_from(rule.required).unwrap_or(usize::MAX);
            named.about(
                VerdictCode::Approved,
                named.strength,
                if last { named.next_when_granted() } else { Next::AwaitApprovals },
            )
        }
        (ItemState::Granted { bind_by, .. }, _) if named.now >= *bind_by => {
            named.about(VerdictCode::Expired, Reason::BindWindowClosed, Next::AskAnew)
        }
        (ItemState::Open | ItemState::Granted { .. }, ButtonAction::Refuse) => {
            named.about(VerdictCode::Rejected, named.strength, Next::AcknowledgeRefusal)
        }
        (ItemState::Open | ItemState::Granted { .. }, ButtonAction::Choose(_)) => named.unsure(Reason::NoSuchOption),
        _ => judge_ended(named).0,
    }
}

/// The registered principal who may decide on this approval: no agent, holds every role that the rule names and,
/// where the rule separates persons, is not the requester's own person, then or now.
pub(super) fn entitled<'a>(world: &'a World, item: &PendingItem, approver_id: &PrincipalId) -> Option<&'a Principal> {
    let Question::Approval { rule, requester_person, .. } = &item.question else { return None };
    let approver = world.principals.get(approver_id)?;
    let own = (&approver.principal_id, approver.person_id.as_ref());
    let then = (&item.actor_id, requester_person.as_ref());
    let now = (&item.actor_id, world.principals.get(&item.actor_id).and_then(|requester| requester.person_id.as_ref()));
    let separate = !rule.separate_person || !(same_person(own, then) || same_person(own, now));
    let proposes_only = approver.kind == PrincipalKind::Agent;
    (!proposes_only && rule.roles().all(|role| approver.has_role(role)) && separate).then_some(approver)
}
