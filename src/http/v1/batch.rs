//! `POST /v1/messages/batch`: many messages at once, each answered for itself, in order within a conversation.
//!
//! All messages are queued in the order in which they were sent before any answer is awaited, and the queue keeps a
//! tenant's order. When the queue takes one no more, the later ones of its conversation are not tried either: they
//! would be read as if the missing one had never been sent.

use std::collections::HashSet;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::turns::{MessageWire, TurnWire};
use crate::domain::id::ConversationId;
use crate::domain::operation::Operation;
use crate::http::body::{Body, Size, Wire, beneath, typed};
use crate::http::endpoint::{Endpoint, Route};
use crate::http::extract::Call;
use crate::http::problem::Problem;
use crate::http::respond::{Done, Reply};
use crate::storage::Scope;

const POST: Endpoint = Endpoint::post("/v1/messages/batch", &[Scope::MessageIngest]);

/// The most messages in one body.
const MAX_MESSAGES: usize = 1_000;

/// The routes of this file.
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

type Pending<'a> = Pin<Box<dyn Future<Output = Result<Done, Problem>> + Send + 'a>>;

/// A message on its way.
enum Slot<'a> {
    /// Not sent yet: its conversation and its operation.
    Ready(ConversationId, Operation),
    /// Queued.
    Waiting(Pending<'a>),
    /// Answered.
    Over(Result<Done, Problem>),
}

async fn post(call: Call, body: Body<BatchWire>) -> Result<Reply, Problem> {
    let messages = body.typed.messages;
    if messages.is_empty() || messages.len() > MAX_MESSAGES {
        return Err(Problem::invalid("/messages", format!("must hold 1 to {MAX_MESSAGES} messages")));
    }
    let mut slots: Vec<Slot<'_>> =
        messages.into_iter().enumerate().map(|(index, message)| slot(&call, index, &message)).collect();
    let mut held = HashSet::new();
    poll_fn(|context| drive(&call, &mut slots, &mut held, context)).await;
    let results = slots.into_iter().filter_map(|slot| match slot {
        Slot::Over(result) => Some(shown(result)),
        Slot::Ready(..) | Slot::Waiting(_) => None,
    });
    Reply::ok(&ResultsWire { results: results.collect() })
}

fn slot<'a>(call: &Call, index: usize, message: &Value) -> Slot<'a> {
    let base = format!("/messages/{index}");
    let read = typed::<MessageWire>(message.clone(), &base).and_then(|wire| {
        let conversation_id = wire.conversation_id().clone();
        let event = wire.event(call, message).map_err(|problem| beneath(problem, &base))?;
        Ok((conversation_id, Operation::Ingest(Box::new(event))))
    });
    match read {
        Ok((conversation_id, operation)) => Slot::Ready(conversation_id, operation),
        Err(problem) => Slot::Over(Err(problem)),
    }
}

/// Queues what is ready, in order, and collects what is answered.
fn drive<'a>(
    call: &'a Call,
    slots: &mut [Slot<'a>],
    held: &mut HashSet<ConversationId>,
    context: &mut Context<'_>,
) -> Poll<()> {
    let mut open = false;
    for slot in slots {
        if let Slot::Ready(conversation_id, operation) = slot {
            let (conversation_id, operation) = (conversation_id.clone(), operation.clone());
            if held.contains(&conversation_id) {
                *slot = Slot::Over(Err(held_back()));
                continue;
            }
            let mut pending: Pending<'a> = Box::pin(call.decide(operation, None));
            *slot = match pending.as_mut().poll(context) {
                Poll::Pending => Slot::Waiting(pending),
                Poll::Ready(result) => {
                    // Only what was never queued is answered at once, and only by being refused.
                    if result.is_err() {
                        held.insert(conversation_id);
                    }
                    Slot::Over(result)
                }
            };
        } else if let Slot::Waiting(pending) = slot
            && let Poll::Ready(result) = pending.as_mut().poll(context)
        {
            *slot = Slot::Over(result);
        }
        open |= matches!(slot, Slot::Waiting(_));
    }
    if open { Poll::Pending } else { Poll::Ready(()) }
}

fn held_back() -> Problem {
    Problem::from(crate::service::ServiceError::Busy { retry_after_seconds: 1 })
}

fn shown(result: Result<Done, Problem>) -> ResultWire {
    match result.and_then(TurnWire::of) {
        Ok(turn) => ResultWire::Answer(Box::new(turn)),
        Err(problem) => ResultWire::Problem(problem.to_value(None)),
    }
}
