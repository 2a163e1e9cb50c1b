//! Authenticated decisions on approvals.

use super::answering::{entitled, has_approved, waits_for_approvals};
use super::items::still_open;
use super::{Turn, about_item};
use crate::domain::event::{About, Event};
use crate::domain::item::{ItemState, Question};
use crate::domain::operation::{Answer, DecideApproval};
use crate::domain::refusal::Refusal;

impl Turn<'_, '_> {
    /// Approves or rejects in the name of an entitled principal. An unentitled try is evidence.
    pub(super) fn decide_approval(&mut self, request: &DecideApproval) -> Result<Answer, Refusal> {
        let item = self.item(&request.item_id)?;
        if !matches!(item.question, Question::Approval { .. }) {
            return Err(Refusal::ItemNotFound);
        }
        let Some(approver) = entitled(self.world, &item, &request.approver_id).cloned() else {
            let event =
                Event::DecisionRefused { item_id: item.item_id.clone(), approver_id: request.approver_id.clone() };
            self.record_in(&item.conversation_id, About { message_ids: Vec::new(), ..about_item(&item) }, event);
            return Err(Refusal::ApproverNotEntitled);
        };
        let revocable = matches!(&item.state, ItemState::Granted { bind_by, .. } if self.now < *bind_by);
        if !request.approve && revocable {
            self.settle(&item, ItemState::Refused { at: self.now, by_message: None, revoked: true });
            return self.item_answer(&request.item_id);
        }
        if !waits_for_approvals(self.world, &item, self.now) {
            still_open(&item)?;
        }
        if !request.approve {
            self.settle(&item, ItemState::Refused { at: self.now, by_message: None, revoked: false });
            return self.item_answer(&request.item_id);
        }
        if has_approved(self.world, &item, &approver) {
            return Err(Refusal::AlreadyDecided { state: "approved_by_this_person".to_owned() });
        }
        if let Some(decision) = self.decision_of(&request.approver_id, None) {
            self.approve(&item, decision);
        }
        self.item_answer(&request.item_id)
    }
}
