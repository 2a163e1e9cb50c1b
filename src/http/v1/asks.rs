//! Asking: `POST /v1/contexts/{context_id}/confirmations|approvals|disambiguations`.

use axum::http::StatusCode;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::contexts::context_id;
use super::items::collection;
use super::parts::{PromptWire, Proposed, target};
use super::view::{AboutCommand, NamedId};
use crate::domain::canonical::Digest;
use crate::domain::id::{ContextId, CorrelationId, ItemKind};
use crate::domain::idempotency::Claim;
use crate::domain::item::{MAX_OPTIONS, PendingItem};
use crate::domain::operation::{Answer, Ask, AskWhat, Operation};
use crate::domain::prompt::{Button, ButtonAction, ShownPrompt, button_id};
use crate::domain::scope::Scope;
use crate::domain::time::Timestamp;
use crate::http::body::{Body, Object, Wire};
use crate::http::endpoint::{Endpoint, Route};
use crate::http::extract::{Call, PathId};
use crate::http::problem::Problem;
use crate::http::respond::{Reply, unexpected};

const CONFIRM: Endpoint = Endpoint::post("/v1/contexts/{context_id}/confirmations", &[Scope::ContextWrite]).with_key();
const APPROVE: Endpoint = Endpoint::post("/v1/contexts/{context_id}/approvals", &[Scope::ContextWrite]).with_key();
const CHOOSE: Endpoint = Endpoint::post("/v1/contexts/{context_id}/disambiguations", &[Scope::ContextWrite]).with_key();

/// The fewest options of a choice.
const MIN_OPTIONS: usize = 2;

pub(super) fn routes() -> Vec<Route> {
    vec![Route::new(CONFIRM, confirmation), Route::new(APPROVE, approval), Route::new(CHOOSE, disambiguation)]
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AskWire {
    command: Object<Proposed>,
    target: Option<Value>,
    target_fingerprint: Option<String>,
    prompt: Object<PromptWire>,
    supersede: Option<bool>,
    ttl_seconds: Option<u32>,
    correlation_id: Option<CorrelationId>,
}

impl Wire for AskWire {}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ChooseWire {
    options: Vec<Object<OptionWire>>,
    prompt: Object<TextWire>,
    supersede: Option<bool>,
    ttl_seconds: Option<u32>,
    correlation_id: Option<CorrelationId>,
}

impl Wire for ChooseWire {}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OptionWire {
    title: String,
    target: Value,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TextWire {
    text: String,
}

async fn confirmation(call: Call, PathId(id): PathId, body: Body<AskWire>) -> Result<Reply, Problem> {
    about_command(call, &id, body, ItemKind::Confirmation).await
}

async fn approval(call: Call, PathId(id): PathId, body: Body<AskWire>) -> Result<Reply, Problem> {
    about_command(call, &id, body, ItemKind::Approval).await
}

async fn about_command(call: Call, id: &str, body: Body<AskWire>, kind: ItemKind) -> Result<Reply, Problem> {
    let claim = call.claim(&body.value);
    let wire = body.typed;
    let spec = wire.command.0.with(target(wire.target, wire.target_fingerprint)?);
    let ask = Ask {
        context_id: context_id(id)?,
        what: if kind == ItemKind::Approval { AskWhat::Approval(spec) } else { AskWhat::Confirmation(spec) },
        prompt: wire.prompt.0.shown()?,
        supersede: wire.supersede.unwrap_or(false),
        ttl_seconds: window(wire.ttl_seconds)?,
        correlation_id: wire.correlation_id,
    };
    asked(call, ask, claim).await
}

async fn disambiguation(call: Call, PathId(id): PathId, body: Body<ChooseWire>) -> Result<Reply, Problem> {
    let claim = call.claim(&body.value);
    let wire = body.typed;
    if !(MIN_OPTIONS..=MAX_OPTIONS).contains(&wire.options.len()) {
        return Err(Problem::invalid("/options", format!("must hold {MIN_OPTIONS} to {MAX_OPTIONS} options")));
    }
    let options = wire.options.into_iter().map(|Object(option)| (option.title, option.target)).collect();
    let ask = Ask {
        context_id: context_id(&id)?,
        what: AskWhat::Disambiguation(options),
        prompt: ShownPrompt { text: wire.prompt.0.text, buttons: Vec::new() },
        supersede: wire.supersede.unwrap_or(false),
        ttl_seconds: window(wire.ttl_seconds)?,
        correlation_id: wire.correlation_id,
    };
    asked(call, ask, claim).await
}

/// The options of a choice are its buttons, and the target of one becomes a slot. A refusal names either by what it
/// becomes; here they stand among the options.
fn placed(mut problem: Problem, choice: bool) -> Problem {
    let slot = problem.code == "slot";
    for error in &mut problem.errors {
        if slot {
            "/options".clone_into(&mut error.pointer);
        } else if choice && let Some(option) = error.pointer.strip_prefix("/prompt/buttons") {
            error.pointer = format!("/options{option}");
            problem.detail = problem.detail.replacen("/buttons", "/options", 1).into_boxed_str();
        }
    }
    problem
}

fn window(seconds: Option<u32>) -> Result<Option<u32>, Problem> {
    if seconds == Some(0) { Err(Problem::invalid("/ttl_seconds", "must be at least 1")) } else { Ok(seconds) }
}

/// A registered question, ready to be sent.
#[derive(Debug, Serialize)]
struct AskedWire {
    #[serde(flatten)]
    id: NamedId,
    kind: ItemKind,
    state: &'static str,
    context_id: ContextId,
    nonce: String,
    button_ids: Vec<String>,
    buttons: Vec<ButtonWire>,
    asked_at: Timestamp,
    expires_at: Timestamp,
    prompt_digest: String,
    #[serde(flatten)]
    command: Option<AboutCommand>,
}

#[derive(Debug, Serialize)]
struct ButtonWire {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    action: String,
}

async fn asked(call: Call, ask: Ask, claim: Option<Claim>) -> Result<Reply, Problem> {
    let (buttons, choice) = (buttons_of(&ask), matches!(ask.what, AskWhat::Disambiguation(_)));
    let placed = |problem| placed(problem, choice);
    let done = call.decide(Operation::Ask(Box::new(ask)), claim).await.map_err(placed)?;
    let Answer::Asked { item, effective_deadline, nonce, .. } = done.result else { return Err(unexpected()) };
    let wire = shown(&item, effective_deadline, nonce, buttons)?;
    let reply = Reply::new(StatusCode::CREATED, &wire)?.at(collection(item.kind()), item.item_id.as_str());
    Ok(reply.replayed(done.replayed))
}

/// Labels and actions of the buttons. A prompt without buttons still gets ids, for callers that render their own.
fn buttons_of(ask: &Ask) -> Vec<(Option<String>, ButtonAction)> {
    let titled = |button: &Button| (Some(button.title.clone()), button.action);
    match &ask.what {
        AskWhat::Disambiguation(options) => {
            (1_u8..).zip(options).map(|(at, (title, _))| (Some(title.clone()), ButtonAction::Choose(at))).collect()
        }
        AskWhat::Confirmation(_) | AskWhat::Approval(_) if ask.prompt.buttons.is_empty() => {
            vec![(None, ButtonAction::Accept), (None, ButtonAction::Refuse)]
        }
        AskWhat::Confirmation(_) | AskWhat::Approval(_) => ask.prompt.buttons.iter().map(titled).collect(),
    }
}

fn shown(
    item: &PendingItem,
    effective_deadline: Timestamp,
    nonce: String,
    buttons: Vec<(Option<String>, ButtonAction)>,
) -> Result<AskedWire, Problem> {
    let bytes = URL_SAFE_NO_PAD.decode(&nonce).ok().and_then(|bytes| bytes.try_into().ok());
    let secret = Digest::from_bytes(bytes.ok_or_else(unexpected)?);
    let buttons: Vec<ButtonWire> = buttons
        .into_iter()
        .map(|(title, action)| ButtonWire { id: button_id(action, &secret), title, action: word(action, item.kind()) })
        .collect();
    Ok(AskedWire {
        id: NamedId::from(&item.item_id),
        kind: item.kind(),
        state: item.state_word(),
        context_id: item.context_id.clone(),
        nonce,
        button_ids: buttons.iter().map(|button| button.id.clone()).collect(),
        buttons,
        asked_at: item.asked_at,
        expires_at: effective_deadline,
        prompt_digest: item.prompt_digest.clone(),
        command: AboutCommand::of(item),
    })
}

fn word(action: ButtonAction, kind: ItemKind) -> String {
    match (action, kind) {
        (ButtonAction::Accept, ItemKind::Approval) => "approve".to_owned(),
        (ButtonAction::Accept, _) => "confirm".to_owned(),
        (ButtonAction::Refuse, ItemKind::Approval) => "reject".to_owned(),
        (ButtonAction::Refuse, _) => "decline".to_owned(),
        (ButtonAction::Choose(option), _) => format!("choose_{option}"),
    }
}
