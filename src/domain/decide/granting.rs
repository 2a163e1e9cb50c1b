//! What a binding may spend: the confirmation and the approval that count, checked once more at the last moment.

use super::answering::is_enough;
use super::{Turn, fingerprint_of};
use crate::domain::context::ContextRecord;
use crate::domain::event::BindRefusal;
use crate::domain::id::ItemKind;
use crate::domain::item::{ItemState, PendingItem, ProposedCommand, Question, VoidReason};
use crate::domain::operation::Bind;
use crate::domain::policy::{ApprovalRule, CommandRules};
use crate::domain::refusal::Refusal;
use crate::domain::world::World;

/// The grants that a binding will spend.
#[derive(Default)]
pub(super) struct Grants {
    pub(super) confirmation: Option<PendingItem>,
    pub(super) approval: Option<PendingItem>,
}

impl Grants {
    /// The command as it was agreed to, if anybody was asked. Its fingerprint is the one that the binding keeps.
    pub(super) fn spent(&self) -> Option<&ProposedCommand> {
        self.confirmation.as_ref().or(self.approval.as_ref()).and_then(PendingItem::command)
    }
}

/// Why a grant does not count: as evidence, and as the answer.
type Why = (BindRefusal, Refusal);

impl Turn<'_, '_> {
    pub(super) fn grants(&self, request: &Bind, context: &ContextRecord, rules: &CommandRules) -> Result<Grants, Why> {
        let mut grants = Grants::default();
        let confirmation = newest(items_of(self.world, context, request), ItemKind::Confirmation);
        // A question that was asked counts even where policy would not have asked it.
        if rules.confirmation_required || confirmation.is_some() {
            grants.confirmation = Some(self.granted_confirmation(request, confirmation, rules)?);
        }
        let approval = newest(items_of(self.world, context, request), ItemKind::Approval);
        if let Some(rule) = rules.approval.as_ref().or_else(|| approval.and_then(rule_of)) {
            grants.approval = Some(self.granted_approval(request, approval, rules, rule)?);
        }
        Ok(grants)
    }

    fn granted_confirmation(
        &self,
        request: &Bind,
        item: Option<&PendingItem>,
        rules: &CommandRules,
    ) -> Result<PendingItem, Why> {
        let missing = (BindRefusal::ConfirmationRequired, Refusal::ConfirmationRequired);
        let Some(item) = item else { return Err(missing) };
        let ItemState::Granted { at, bind_by, .. } = &item.state else { return Err(ended(item).unwrap_or(missing)) };
        // The window issued with the answer, or today's where policy has become stricter since.
        let bind_by = (*bind_by).min(at.plus_seconds(rules.bind_within_seconds));
        if self.now >= bind_by {
            return Err((BindRefusal::ConfirmationExpired, Refusal::ConfirmationExpired { bind_by }));
        }
        if self.world.identity_epoch(&item.actor_id) != item.identity_epoch {
            return Err(identity_changed());
        }
        if self.was_refused_since(item) {
            return Err(missing);
        }
        agrees(request, item, rules, missing)?;
        Ok(item.clone())
    }

    /// Whether somebody said no to this command in another context after this question was asked.
    fn was_refused_since(&self, item: &PendingItem) -> bool {
        let command_id = item.command().map(|command| &command.command_id);
        self.world.items.values().any(|other| {
            let same = other.command().map(|command| &command.command_id) == command_id;
            let refused_at = match &other.state {
                ItemState::Refused { at, .. } | ItemState::Voided { at, reason: VoidReason::TakenBack, .. } => {
                    Some(*at)
                }
                _ => None,
            };
            same && other.context_id != item.context_id && refused_at.is_some_and(|at| at >= item.asked_at)
        })
    }

    /// An approval is checked again when it is spent: in time, of the same target, and by as many people as are
    /// demanded who are still entitled and still who they were.
    fn granted_approval(
        &self,
        request: &Bind,
        item: Option<&PendingItem>,
        rules: &CommandRules,
        rule: &ApprovalRule,
    ) -> Result<PendingItem, Why> {
        let missing = (BindRefusal::ApprovalRequired, Refusal::ApprovalRequired { role: rule.role.clone() });
        let Some(item) = item else { return Err(missing) };
        let (ItemState::Granted { bind_by, .. }, Question::Approval { approvals, .. }) = (&item.state, &item.question)
        else {
            return Err(ended(item).unwrap_or(missing));
        };
        if self.now >= *bind_by {
            return Err((BindRefusal::ApprovalExpired, Refusal::ApprovalExpired { bind_by: *bind_by }));
        }
        let requester_same = self.world.identity_epoch(&item.actor_id) == item.identity_epoch;
        let approvers_same =
            approvals.iter().all(|given| self.world.identity_epoch(&given.approver_id) == given.identity_epoch);
        if !requester_same || !approvers_same {
            return Err(identity_changed());
        }
        if !is_enough(self.world, item, approvals, rule) {
            return Err(missing);
        }
        agrees(request, item, rules, missing)?;
        Ok(item.clone())
    }
}

fn identity_changed() -> Why {
    (BindRefusal::IdentityChanged, Refusal::IdentityChanged)
}

/// Why an ended item does not count, where that says more than that a grant is missing.
fn ended(item: &PendingItem) -> Option<Why> {
    let changed = matches!(item.state, ItemState::Voided { reason: VoidReason::IdentityChanged, .. });
    changed.then(identity_changed)
}

fn rule_of(item: &PendingItem) -> Option<&ApprovalRule> {
    match &item.question {
        Question::Approval { rule, .. } => Some(rule),
        Question::Confirmation { .. } | Question::Disambiguation { .. } => None,
    }
}

/// Everything asked about this command in this context.
pub(super) fn items_of<'a>(
    world: &'a World,
    context: &ContextRecord,
    request: &Bind,
) -> impl Iterator<Item = &'a PendingItem> {
    let (context_id, command_id) = (context.context_id.clone(), request.command.command_id.clone());
    world.items.values().filter(move |item| {
        item.context_id == context_id && item.command().is_some_and(|command| command.command_id == command_id)
    })
}

/// The newest item of a kind. Of two asked in one instant, the one that was replaced is the older.
fn newest<'a>(items: impl Iterator<Item = &'a PendingItem>, kind: ItemKind) -> Option<&'a PendingItem> {
    let replaced = |item: &PendingItem| matches!(item.state, ItemState::Voided { reason: VoidReason::Replaced, .. });
    items.filter(|item| item.kind() == kind).max_by_key(|item| (item.asked_at, !replaced(item), &item.item_id))
}

/// Whether what will be done is what was agreed to: the same name, the same key, the same fingerprint, under rules
/// no milder than those of today. `anew` is the answer where it has to be asked once more.
fn agrees(request: &Bind, item: &PendingItem, rules: &CommandRules, anew: Why) -> Result<(), Why> {
    let mismatch = || (BindRefusal::TargetMismatch, Refusal::TargetMismatch);
    let Some(agreed) = item.command() else { return Err(mismatch()) };
    if agreed.name != request.command.name || agreed.idempotency_key != request.command.idempotency_key {
        return Err(mismatch());
    }
    if !covers(agreed, rules) || !as_strict(item, agreed, rules) {
        return Err(anew);
    }
    let made = fingerprint_of(&agreed.fingerprint.key, &request.command, &agreed.rules)
        .map_err(|refusal| (BindRefusal::TargetMismatch, refusal))?;
    // A digest of the caller's own making never stands in for one that was computed here.
    if made == (agreed.fingerprint.value.clone(), agreed.fingerprint.origin) { Ok(()) } else { Err(mismatch()) }
}

/// Whether the fingerprint covers every field that counts by now. One that was made over a list of fields alone does not
/// say what the rest of the target was, so it never does.
fn covers(agreed: &ProposedCommand, rules: &CommandRules) -> bool {
    !agreed.rules.covers_a_list_only() && agreed.rules.immaterial_fields.is_within(&rules.immaterial_fields)
}

/// Whether the question was put under a class no milder than today's. A confirmation that a bare yes could give
/// does not serve where a bare yes is no longer enough; approvals are never given by one.
fn as_strict(item: &PendingItem, agreed: &ProposedCommand, rules: &CommandRules) -> bool {
    let named = rules.bare_answers || !agreed.rules.bare_answers || item.kind() == ItemKind::Approval;
    agreed.rules.class >= rules.class && named
}
