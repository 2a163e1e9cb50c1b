//! `POST /v1/messages`: the meaning of a message in its conversation.

use super::turns::{MessageWire, TurnWire};
use crate::domain::operation::Operation;
use crate::domain::scope::Scope;
use crate::http::body::Body;
use crate::http::endpoint::{Endpoint, Route};
use crate::http::extract::Call;
use crate::http::problem::Problem;
use crate::http::respond::Reply;

const POST: Endpoint = Endpoint::post("/v1/messages", &[Scope::MessageIngest]);

pub(super) fn routes() -> Vec<Route> {
    vec![Route::new(POST, post)]
}

async fn post(call: Call, body: Body<MessageWire>) -> Result<Reply, Problem> {
    let claim = call.claim(&body.value);
    let event = body.typed.event(&call, &body.value)?;
    let done = call.decide(Operation::Ingest(Box::new(event)), claim).await?;
    let replayed = done.replayed;
    Ok(Reply::ok(&TurnWire::of(&call, done)?)?.replayed(replayed))
}
