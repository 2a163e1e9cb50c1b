//! `POST /v1/messages/batch`: many messages at once, with one answer each, in order within a conversation.
//!
//! A message is submitted when the one before it in its conversation was answered; conversations do not wait for one
//! another. A message that is refused for its own fault does not stop the later ones: it would be refused again, and
//! its conversation could never continue. A message that the server could not take (503: full, or nothing can be
//! stored) stops the later ones of its conversation, because they would be read as if it had never been sent.

use std::collections::HashMap;
use std::future::Future;

use axum::http::StatusCode;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::turns::{MessageWire, TurnWire};
use crate::domain::id::ConversationId;
use crate::domain::operation::Answer;
use crate::domain::operation::Operation;
use crate::domain::scope::Scope;
use crate::http::body::{Body, Size, Wire, beneath, typed};
use crate::http::endpoint::{Endpoint, Route};
use crate::http::extract::Call;
use crate::http::problem::Problem;
use crate::http::required::{Named, together};
use crate::http::respond::Reply;
use crate::service::Committed;

const POST: Endpoint = Endpoint::post("/v1/messages/batch", &[Scope::MessageIngest]);

/// The most messages in one body.
const MAX_MESSAGES: usize = 1_000;
/// How many messages are read before others have the thread.
const READ_AT_ONCE: usize = 16;

pub(super) fn routes() -> Vec<Route> {
    vec![Route::new(POST, post)]
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BatchWire {
    messages: Vec<Value>,
}

impl Wire for BatchWire {
    const SIZE: Size = Size::Batch;
}

#[derive(Serialize)]
struct ResultsWire {
    results: Vec<ResultWire>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum ResultWire {
    Answer(Box<TurnWire>),
    Problem(Value),
}

async fn post(call: Call, body: Body<BatchWire>) -> Result<Reply, Problem> {
    let messages = body.typed.messages;
    if messages.is_empty() || messages.len() > MAX_MESSAGES {
        return Err(Problem::invalid("/messages", format!("must hold 1 to {MAX_MESSAGES} messages")));
    }
    let mut answered = Vec::with_capacity(messages.len());
    let mut conversations: Vec<Vec<(usize, Operation)>> = Vec::new();
    let mut places = HashMap::new();
    for (index, message) in messages.iter().enumerate() {
        if index % READ_AT_ONCE == READ_AT_ONCE - 1 {
            // Others that wait for this thread come in between.
            tokio::task::yield_now().await;
        }
        match read(&call, index, message) {
            Ok((conversation_id, operation)) => {
                let place = *places.entry(conversation_id).or_insert(conversations.len());
                if place == conversations.len() {
                    conversations.push(Vec::new());
                }
                conversations[place].push((index, operation));
            }
            Err(problem) => answered.push((index, Err(problem))),
        }
    }
    let decide = |operation| call.decide(operation, None);
    let mut pending: FuturesUnordered<_> =
        conversations.into_iter().map(|messages| in_turn(messages, decide)).collect();
    while let Some(over) = pending.next().await {
        answered.extend(over);
    }
    answered.sort_by_key(|(index, _)| *index);
    let mut results = Vec::with_capacity(answered.len());
    for (index, (_, result)) in answered.into_iter().enumerate() {
        if index % READ_AT_ONCE == READ_AT_ONCE - 1 {
            tokio::task::yield_now().await;
        }
        results.push(shown(&call, result));
    }
    if results.len() < READ_AT_ONCE {
        return Reply::ok(&ResultsWire { results });
    }
    let written = call.app.desks.apart(move || Reply::ok(&ResultsWire { results })).await;
    written.unwrap_or_else(|| Err(Problem::from(crate::service::ServiceError::Internal)))
}

fn read(call: &Call, index: usize, message: &Value) -> Result<(ConversationId, Operation), Problem> {
    let base = format!("/messages/{index}");
    let wire = typed::<MessageWire>(message.clone(), &base);
    let wire = wire.map_err(|problem| together(problem, &Named::Schema("Message"), message, &base))?;
    let conversation_id = wire.conversation_id().clone();
    let event = wire.event(call, message).map_err(|problem| beneath(problem, &base))?;
    Ok((conversation_id, Operation::Ingest(Box::new(event))))
}

/// Submits the messages of one conversation, each after the one before it was answered.
async fn in_turn<M, D, F>(messages: Vec<(usize, M)>, send: impl Fn(M) -> F) -> Vec<(usize, Result<D, Problem>)>
where
    F: Future<Output = Result<D, Problem>>,
{
    let mut answered = Vec::with_capacity(messages.len());
    let mut held = false;
    for (index, message) in messages {
        let result = if held { Err(held_back()) } else { send(message).await };
        held |= result.as_ref().is_err_and(|problem| problem.status == StatusCode::SERVICE_UNAVAILABLE);
        answered.push((index, result));
    }
    answered
}

fn held_back() -> Problem {
    Problem::from(crate::service::ServiceError::Busy { retry_after_seconds: 1 })
}

fn shown(call: &Call, result: Result<Committed<Answer>, Problem>) -> ResultWire {
    match result.and_then(|done| TurnWire::of(call, done)) {
        Ok(turn) => ResultWire::Answer(Box::new(turn)),
        Err(problem) => ResultWire::Problem(problem.to_value(None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::refusal::Refusal;
    use crate::service::ServiceError;

    /// Submits messages that are their own answers; returns how many were submitted, and the answers.
    async fn sent(messages: Vec<Result<u32, Problem>>) -> (usize, Vec<Result<u32, u16>>) {
        let count = std::cell::Cell::new(0);
        let answered = in_turn(messages.into_iter().enumerate().collect(), |message| {
            count.set(count.get() + 1);
            std::future::ready(message)
        });
        let results = answered.await.into_iter().map(|(_, result)| result.map_err(|problem| problem.status.as_u16()));
        let results = results.collect();
        (count.get(), results)
    }

    #[tokio::test]
    async fn a_message_that_is_refused_for_its_own_fault_holds_nobody_back() {
        let messages =
            vec![Ok(0), Err(Refusal::MessageIdReused.into()), Ok(2), Err(ServiceError::Internal.into()), Ok(4)];
        assert_eq!(sent(messages).await, (5, vec![Ok(0), Err(422), Ok(2), Err(500), Ok(4)]));
    }

    #[tokio::test]
    async fn a_message_that_could_not_be_taken_holds_the_later_ones_back() {
        for fault in [ServiceError::Unavailable, ServiceError::Busy { retry_after_seconds: 1 }] {
            let messages = vec![Ok(0), Err(fault.into()), Ok(2), Ok(3)];
            assert_eq!(sent(messages).await, (2, vec![Ok(0), Err(503), Err(503), Err(503)]));
        }
    }
}
