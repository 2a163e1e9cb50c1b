//! An answer that names its question: what it does to it, whatever state the question is in.

use super::interpreting::too_late;
use crate::domain::id::{ItemKind, PrincipalId};
use crate::domain::item::{ApprovalDecision, ItemState, PendingItem, Question, VoidReason};
use crate::domain::policy::ApprovalRule;
use crate::domain::principal::{Identity, Principal, PrincipalKind};
use crate::domain::prompt::ButtonAction;
use crate::domain::time::Timestamp;
use crate::domain::verdict::{Next, Reason, Verdict, VerdictCode};
use crate::domain::world::{World, is_live};

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
                let counts = match &other.question {
                    Question::Approval { approvals, rule, .. } => is_enough(self.world, other, approvals, rule),
                    Question::Confirmation { .. } | Question::Disambiguation { .. } => true,
                };
                other.kind() == kind && same && in_time && counts && other.context_id == self.item.context_id
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
        (ItemState::Open, _, ButtonAction::Refuse) => {
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
        VoidReason::TakenBack => Reason::TakenBack,
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
    let with_this = with_one_more(named.world, approver, approvals, named.now);
    let waits = waits_for_approvals(named.world, named.item, named.now);
    match (&named.item.state, named.action) {
        (_, ButtonAction::Accept) if waits && has_approved(named.world, named.item, approver) => {
            named.decided(Reason::AlreadyApprovedByThisPerson)
        }
        (_, ButtonAction::Accept) if waits => {
            let last = is_enough(named.world, named.item, &with_this, rule);
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

/// The registered principal who may decide on this approval: a person, holds every role that the rule names and,
/// where the rule separates persons, is not the requester's own person, then or now.
pub(super) fn entitled<'a>(world: &'a World, item: &PendingItem, approver_id: &PrincipalId) -> Option<&'a Principal> {
    let Question::Approval { rule, requester_person, .. } = &item.question else { return None };
    let approver = world.principals.get(approver_id)?;
    let own = world.identity(&approver.principal_id);
    let now = world.identity(&item.actor_id);
    let then = Identity { person_id: requester_person.as_ref(), ..now };
    let separate = !rule.separate_person || !(world.is_one_person(&own, &then) || world.is_one_person(&own, &now));
    let is_person = approver.kind == PrincipalKind::Person;
    (is_person && rule.roles().all(|role| approver.has_role(role)) && separate).then_some(approver)
}

/// An item as it stands at present. Of an approval only the approvals count that are of different people who may approve
/// today; where too few are left it is open again, whatever is written down.
#[must_use]
pub fn at_present(world: &World, item: &PendingItem) -> PendingItem {
    let mut present = item.clone();
    let Question::Approval { approvals, rule, .. } = &mut present.question else { return present };
    if !is_live(&item.state) {
        return present;
    }
    let mut counted: Vec<ApprovalDecision> = Vec::new();
    for given in std::mem::take(approvals) {
        let before = count_approvers(world, item, &counted, rule);
        counted.push(given);
        if count_approvers(world, item, &counted, rule) == before {
            counted.pop();
        }
    }
    if counted.len() < usize::try_from(rule.required).unwrap_or(usize::MAX) {
        present.state = ItemState::Open;
    }
    *approvals = counted;
    present
}

/// How many different people of those who approved may approve today, under `rule`. It is counted anew at every look:
/// two principals may turn out to be one person, and a role may be taken away.
fn count_approvers(world: &World, item: &PendingItem, approvals: &[ApprovalDecision], rule: &ApprovalRule) -> usize {
    let mut strict = item.clone();
    if let Question::Approval { rule: asked, .. } = &mut strict.question {
        *asked = rule.clone();
    }
    let counts = |given: &&ApprovalDecision| {
        entitled(world, &strict, &given.approver_id).is_some()
            && world.identity_epoch(&given.approver_id) == given.identity_epoch
    };
    let identities: Vec<Identity<'_>> =
        approvals.iter().filter(counts).flat_map(|given| identities_of(world, given)).collect();
    world.count_people(&identities)
}

/// Who gave an approval: as that is known now, and the person as it was known then.
fn identities_of<'a>(world: &'a World, given: &'a ApprovalDecision) -> [Identity<'a>; 2] {
    let now = world.identity(&given.approver_id);
    [now, Identity { person_id: given.person_id.as_ref().or(now.person_id), ..now }]
}

/// Whether this person approved the item before, under whatever name.
pub(super) fn has_approved(world: &World, item: &PendingItem, approver: &Principal) -> bool {
    let Question::Approval { approvals, .. } = &item.question else { return false };
    let own = world.identity(&approver.principal_id);
    approvals.iter().any(|given| identities_of(world, given).iter().any(|other| world.is_one_person(other, &own)))
}

/// Whether an approval waits for somebody: it is open, or it was granted by people of whom too few count by now.
pub(super) fn waits_for_approvals(world: &World, item: &PendingItem, now: Timestamp) -> bool {
    match (&item.state, &item.question) {
        (ItemState::Open, Question::Approval { .. }) => true,
        (ItemState::Granted { bind_by, .. }, Question::Approval { approvals, rule, .. }) => {
            now < *bind_by && !is_enough(world, item, approvals, rule)
        }
        _ => false,
    }
}

/// Whether enough different people approved.
pub(super) fn is_enough(
    world: &World,
    item: &PendingItem,
    approvals: &[ApprovalDecision],
    rule: &ApprovalRule,
) -> bool {
    count_approvers(world, item, approvals, rule) >= usize::try_from(rule.required).unwrap_or(usize::MAX)
}

/// The approvals with one more, given now.
fn with_one_more(
    world: &World,
    approver: &Principal,
    approvals: &[ApprovalDecision],
    now: Timestamp,
) -> Vec<ApprovalDecision> {
    let given = ApprovalDecision {
        approver_id: approver.principal_id.clone(),
        person_id: approver.person_id.clone(),
        identity_epoch: world.identity_epoch(&approver.principal_id),
        message_id: None,
        at: now,
    };
    approvals.iter().cloned().chain([given]).collect()
}
