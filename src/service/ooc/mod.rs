//! Observability over conversation (RFC-WF-0034 X): operators' questions about a conversation, with redacted answers.
//!
//! **Invariant:** no answer contains a token, a nonce, an idempotency key, a fingerprint or a person's words: nothing
//! here reads them.

mod query;
mod show;
mod telling;
mod view;

pub use query::{OocRequest, Query, QueryNeeds};
pub use view::{ContextShown, ExecutionShown, HistoryShown, Item, OocAnswer, RedactionShown};

use super::access::{Sight, detail_word};
use super::recording::{Looked, Unrecorded, Whose};
use super::{Caller, Service, ServiceError};
use crate::domain::policy::DetailLevel;
use crate::domain::redaction::Redactor;
use crate::domain::scope::Scope;

/// The result of a query, before the answer is completed.
struct Found {
    context: Option<ContextShown>,
    other_contexts: usize,
    items: Option<Vec<Item>>,
    more: bool,
    explanation: Option<super::explanation::Explanation>,
    text: String,
    records: usize,
}

impl Service {
    /// Answers an operator's query. The read is recorded before it is answered, even if it is refused.
    pub async fn ooc(&self, caller: &Caller, request: &OocRequest) -> Result<OocAnswer, ServiceError> {
        let row = request.query.row();
        let mut looked = Looked {
            operation: format!("ooc.{}", row.name.replace(' ', "_")),
            whose: Whose::Everybodys,
            viewer_id: request.viewer_id.clone(),
            conversation_id: request.conversation_id.clone(),
            context_id: request.context_id.clone(),
            command_id: request.command_id.clone(),
            ..Looked::default()
        };
        self.require_recorded(caller, Scope::OocRead, &looked).await?;
        let sight = self.sight(caller, request.viewer_id.as_ref(), request.locale.as_deref()).await?;
        looked.detail = Some(sight.word().to_owned());
        if sight.level == DetailLevel::None || sight.level < row.least {
            return self.refuse_recorded(caller, &looked, ServiceError::DetailNotAllowed).await;
        }
        let book = self.rules.now();
        let rules = book.rules(&caller.tenant.policy_scope());
        let mut redactor = Redactor::new(&rules.policy.pack().redaction, &caller.tenant.key).raw_if(sight.raw);
        let found = self.find(caller, request, &sight, &mut redactor).await;
        looked.records = found.as_ref().map_or(0, |found| found.records);
        let found = Unrecorded::or_not(found, looked).record(self, caller).await?;
        Ok(OocAnswer {
            query: row.name,
            detail_level: detail_word(sight.level),
            as_of: self.now(),
            language: sight.language.tag(),
            context: found.context,
            other_contexts: found.other_contexts,
            items: found.items,
            more: found.more,
            explanation: found.explanation,
            redaction: RedactionShown { level: sight.word(), applied: redactor.applied() },
            text: found.text,
        })
    }

    async fn find(
        &self,
        caller: &Caller,
        request: &OocRequest,
        sight: &Sight,
        redactor: &mut Redactor<'_>,
    ) -> Result<Found, ServiceError> {
        match request.query {
            Query::ShowActiveContext => self.show_active_context(caller, request, sight, redactor).await,
            Query::ExplainCommand => self.explain_for_operator(caller, request, sight, redactor).await,
            Query::ListPending | Query::ListBlocked => self.list(caller, request, sight, redactor).await,
            Query::ListUnreported => self.list_unreported(caller, request, sight).await,
            Query::ShowHistory => self.show_history(caller, request, sight).await,
        }
    }

    async fn explain_for_operator(
        &self,
        caller: &Caller,
        request: &OocRequest,
        sight: &Sight,
        redactor: &mut Redactor<'_>,
    ) -> Result<Found, ServiceError> {
        let command_id = request.command_id.as_ref().ok_or(ServiceError::NotFound("command"))?;
        let explanation = self.explain(caller, command_id, sight, redactor).await?;
        Ok(Found {
            context: None,
            other_contexts: 0,
            items: None,
            more: false,
            text: explanation.text.clone(),
            records: explanation.steps.len(),
            explanation: Some(explanation),
        })
    }
}
