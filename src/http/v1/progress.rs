//! How far an approval has come: who has to give it, and how many have.

use serde::Serialize;

use crate::domain::item::{PendingItem, Question};

/// What only approvals have.
#[derive(Debug, Serialize)]
pub(super) struct ApprovalPart {
    role: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    also_roles: Vec<String>,
    #[serde(flatten)]
    progress: Progress,
}

impl ApprovalPart {
    /// Of an approval; none of other items.
    pub(super) fn of(item: &PendingItem) -> Option<Self> {
        let Question::Approval { rule, .. } = &item.question else { return None };
        let progress = Progress::of(item)?;
        Some(Self { role: rule.role.clone(), also_roles: rule.also_roles.clone(), progress })
    }

    /// The same of an approval that has ended, even if that is not recorded yet.
    pub(super) fn waiting_for_nobody(mut self) -> Self {
        self.progress.waiting_for = 0;
        self
    }
}

/// How many have to approve, have approved, and are still waited for.
#[derive(Debug, Serialize)]
pub(super) struct Progress {
    required: u32,
    received: u32,
    waiting_for: u32,
}

impl Progress {
    /// Of an approval; none of other items.
    pub(super) fn of(item: &PendingItem) -> Option<Self> {
        let Question::Approval { rule, approvals, .. } = &item.question else { return None };
        let received = u32::try_from(approvals.len()).unwrap_or(u32::MAX);
        // Once it has ended nobody is waited for.
        let waiting_for = if item.is_open() { rule.required.saturating_sub(received) } else { 0 };
        Some(Self { required: rule.required, received, waiting_for })
    }
}
