//! Pending items after they were asked: read, attach the prompt's message id, withdraw. Each kind has its own routes.

use serde::Deserialize;

use super::parts::SentAt;
use super::view::ItemWire;
use crate::domain::id::{Channel, ConversationId, ItemId, ItemKind, MessageId};
use crate::domain::message::message_key;
use crate::domain::operation::{Answer, AttachPrompt, Cancel, Operation};
use crate::domain::query::ApprovalQuery;
use crate::domain::scope::Scope;
use crate::http::body::{Body, Wire};
use crate::http::endpoint::{Endpoint, Route};
use crate::http::extract::{Call, PathId};
use crate::http::paging::{self, Listed};
use crate::http::problem::Problem;
use crate::http::respond::{Reply, unexpected};
use crate::service::Committed;

const READ: &[Scope] = &[Scope::ContextRead];
const WRITE: &[Scope] = &[Scope::ContextWrite];
const LIST: &str = "approvals";

const QUERY: Endpoint = Endpoint::query("/v1/approvals/query", READ);

/// The paths of one kind: read, attach, withdraw.
fn paths(kind: ItemKind) -> [&'static str; 3] {
    match kind {
        ItemKind::Confirmation => [
            "/v1/confirmations/{confirmation_id}",
            "/v1/confirmations/{confirmation_id}/prompt-message",
            "/v1/confirmations/{confirmation_id}/cancel",
        ],
        ItemKind::Approval => [
            "/v1/approvals/{approval_id}",
            "/v1/approvals/{approval_id}/prompt-message",
            "/v1/approvals/{approval_id}/cancel",
        ],
        ItemKind::Disambiguation => [
            "/v1/disambiguations/{disambiguation_id}",
            "/v1/disambiguations/{disambiguation_id}/prompt-message",
            "/v1/disambiguations/{disambiguation_id}/cancel",
        ],
    }
}

/// Where items of a kind are found.
pub(super) fn collection(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Confirmation => "/v1/confirmations",
        ItemKind::Approval => "/v1/approvals",
        ItemKind::Disambiguation => "/v1/disambiguations",
    }
}

pub(super) fn routes() -> Vec<Route> {
    let mut routes = vec![Route::new(QUERY, query)];
    for kind in ItemKind::ALL {
        let [read, attached, withdrawn] = paths(kind);
        routes.push(Route::new(Endpoint::get(read, READ), move |call: Call, id: PathId| get(kind, call, id)));
        routes
            .push(Route::new(Endpoint::put(attached, WRITE), move |call: Call, id: PathId, body: Body<AttachWire>| {
                attach(kind, call, id, body)
            }));
        routes.push(Route::new(
            Endpoint::post(withdrawn, WRITE).with_key(),
            move |call: Call, id: PathId, body: Body<CancelWire>| cancel(kind, call, id, body),
        ));
    }
    routes
}

/// The item of this kind that a path names; a malformed id is an item that does not exist.
pub(super) fn item_id(kind: ItemKind, text: &str) -> Result<ItemId, Problem> {
    ItemId::parse(text).filter(|id| id.kind() == kind).ok_or_else(|| Problem::not_found(kind.as_str()))
}

pub(super) fn item_reply(done: Committed<Answer>) -> Result<Reply, Problem> {
    let Answer::Item { item, effective_deadline } = done.result else { return Err(unexpected()) };
    Ok(Reply::ok(&ItemWire::written(*item, effective_deadline))?.replayed(done.replayed))
}

async fn get(kind: ItemKind, call: Call, PathId(id): PathId) -> Result<Reply, Problem> {
    let id = item_id(kind, &id)?;
    let view = call.recorded(call.app.service.item(&call.caller, &id).await?).await?;
    Reply::ok(&ItemWire::read(view))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AttachWire {
    message_id: MessageId,
    sent_at: Option<SentAt>,
    channel: Option<Channel>,
}

impl Wire for AttachWire {}

async fn attach(kind: ItemKind, call: Call, PathId(id): PathId, body: Body<AttachWire>) -> Result<Reply, Problem> {
    let claim = call.claim(&body.value);
    let channel = body.typed.channel.unwrap_or_default();
    let operation = Operation::AttachPrompt(AttachPrompt {
        item_id: item_id(kind, &id)?,
        message_key: message_key(&call.caller.tenant.key, &channel, &body.typed.message_id),
        message_id: body.typed.message_id,
        channel,
        sent_at: body.typed.sent_at.map(|sent_at| sent_at.0),
    });
    item_reply(call.decide(operation, claim).await?)
}

/// An empty body: the path has all parameters.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CancelWire {}

impl Wire for CancelWire {
    const MAY_BE_EMPTY: bool = true;
}

async fn cancel(kind: ItemKind, call: Call, PathId(id): PathId, body: Body<CancelWire>) -> Result<Reply, Problem> {
    let claim = call.claim(&body.value);
    let operation = Operation::Cancel(Cancel { item_id: item_id(kind, &id)? });
    item_reply(call.decide(operation, claim).await?)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct QueryWire {
    open_only: Option<bool>,
    conversation_id: Option<ConversationId>,
    limit: Option<u32>,
    cursor: Option<String>,
}

impl Wire for QueryWire {}

async fn query(call: Call, body: Body<QueryWire>) -> Result<Reply, Problem> {
    let wire = body.typed;
    let query = ApprovalQuery {
        open_only: wire.open_only.unwrap_or(false),
        conversation_id: wire.conversation_id,
        now: None,
        after: paging::position(&call.caller, LIST, wire.cursor.as_deref())?,
        limit: paging::limit(wire.limit)?,
    };
    let page = call.recorded(call.app.service.approvals(&call.caller, query).await?).await?;
    Reply::ok(&Listed {
        items: page.items.into_iter().map(ItemWire::read).collect(),
        next_cursor: page.next.map(|position| paging::cursor(&call.caller, LIST, position)),
    })
}
