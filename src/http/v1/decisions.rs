//! `POST /v1/approvals/{approval_id}/decisions`: an authenticated decision on behalf of a principal.

use axum::http::StatusCode;
use serde::Deserialize;

use super::items::{item_id, item_reply};
use crate::domain::id::{ItemKind, PrincipalId};
use crate::domain::operation::{DecideApproval, Operation};
use crate::domain::scope::Scope;
use crate::http::body::{Body, Wire};
use crate::http::endpoint::{Endpoint, Route};
use crate::http::extract::{Call, PathId};
use crate::http::problem::Problem;
use crate::http::respond::Reply;

const POST: Endpoint = Endpoint::post("/v1/approvals/{approval_id}/decisions", &[Scope::ApprovalDecide]).with_key();

pub(super) fn routes() -> Vec<Route> {
    vec![Route::new(POST, post)]
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum DecisionWord {
    Approve,
    Reject,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DecisionWire {
    decision: DecisionWord,
    approver_id: Option<PrincipalId>,
}

impl Wire for DecisionWire {}

async fn post(call: Call, PathId(id): PathId, body: Body<DecisionWire>) -> Result<Reply, Problem> {
    let claim = call.claim(&body.value);
    let operation = Operation::DecideApproval(DecideApproval {
        item_id: item_id(ItemKind::Approval, &id)?,
        approver_id: approver(call.caller.principal_id.as_ref(), body.typed.approver_id)?,
        approve: body.typed.decision == DecisionWord::Approve,
    });
    item_reply(call.decide(operation, claim).await?)
}

/// A key decides on behalf of its own principal only: otherwise a key without one could approve in everybody's name.
fn approver(bound: Option<&PrincipalId>, named: Option<PrincipalId>) -> Result<PrincipalId, Problem> {
    match (bound, named) {
        (Some(bound), Some(named)) if *bound != named => Err(Problem::new(
            StatusCode::FORBIDDEN,
            "other_principal",
            "this key is bound to a principal and decides in its name only; leave approver_id out",
        )),
        (Some(bound), _) => Ok(bound.clone()),
        (None, _) => Err(Problem::new(
            StatusCode::FORBIDDEN,
            "key_without_principal",
            "this key acts for nobody, and approvals are given by people; create a key for the approver \
             (cscp key create --principal) or post the message with which the approver answered",
        )),
    }
}
