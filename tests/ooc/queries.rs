//! The queries of operators.

use cscp::domain::command::Outcome;
use cscp::domain::context::BlockedOn;
use cscp::domain::id::{ContextId, PrincipalId};
use cscp::domain::operation::{CredentialKind, Move, Operation, Transition};
use cscp::domain::scope::Scope;
use cscp::service::ooc::{OocRequest, Query};
use cscp::service::{Caller, ServiceError};
use serde_json::{Value, json};

use crate::house::{CONVERSATION, House, IDEMPOTENCY_KEY, RAW_TEXT, TARGET, json_of, request};

async fn operational() -> (House, Caller) {
    let house = House::new().await;
    let tenant = house.tenant("acme", "operational").await;
    let handler = house.caller(&tenant, CredentialKind::Handler);
    (house, handler)
}

#[tokio::test]
async fn the_active_context_shows_what_each_level_allows() {
    let (house, handler) = operational().await;
    let context_id = house.talk(&handler, CONVERSATION).await;
    let asked = house.ask(&handler, &context_id, "cmd-1").await;
    let show = async |caller: &Caller| json_of(&house.query(caller, Query::ShowActiveContext).await.unwrap());

    let summary = show(&handler).await;
    assert_eq!(summary["detail_level"], "summary");
    let context = &summary["context"];
    assert_eq!(context["status"], "pending");
    assert!(context["expires_in_seconds"].as_u64().unwrap() > 0);
    assert_eq!(context["pending_confirmation"], json!({"exists": true}));
    assert_eq!(context["pending_approval"], json!({"exists": false}));
    for absent in ["active_intent", "active_target", "last_command", "trace", "slots", "revision", "conversation_id"] {
        assert!(context.get(absent).is_none(), "{absent}");
    }

    let operator = house.caller(&handler.tenant, CredentialKind::Operator);
    let standard = show(&operator).await;
    let context = &standard["context"];
    assert_eq!(context["active_intent"], "address.update");
    assert_eq!(context["active_target"], "••••4711");
    assert_eq!(context["pending_confirmation"]["command_name"], "address.update");
    assert_eq!(context["last_command"], Value::Null);
    assert!(context.get("trace").is_none() && context.get("slots").is_none());
    assert_eq!(standard["redaction"], json!({"level": "standard", "applied": ["active_target:mask"]}));

    let auditor = house.caller(&handler.tenant, CredentialKind::Auditor);
    let full = show(&auditor).await;
    let context = &full["context"];
    assert_eq!(context["pending_confirmation"]["item_id"], json!(asked.item_id));
    assert!(context["pending_confirmation"]["prompt_message_ids"][0].is_string());
    assert_eq!(context["trace"]["last_message_id"], "wamid.1");
    assert_eq!(context["slots"], json!({"active_intent": "address.update", "active_target": "••••4711"}));
    assert_eq!(full["redaction"]["applied"], json!(["active_target:mask", "x_note:hide"]));

    let mut raw = auditor.clone();
    raw.scopes.insert(Scope::OocRaw);
    let raw = show(&raw).await;
    assert_eq!(raw["context"]["slots"]["active_target"], TARGET);
    assert_eq!(raw["context"]["slots"]["x_note"], "about Maria");
    assert_eq!(raw["redaction"], json!({"level": "raw", "applied": []}));

    for answer in [summary, standard, full, raw] {
        let text = answer.to_string();
        for canary in [IDEMPOTENCY_KEY, RAW_TEXT, "CANARY", &asked.nonce, &asked.fingerprint] {
            assert!(!text.contains(canary), "{canary} in {text}");
        }
    }
}

#[tokio::test]
async fn raw_needs_the_level_too() {
    let (house, handler) = operational().await;
    house.talk(&handler, CONVERSATION).await;
    let mut operator = house.caller(&handler.tenant, CredentialKind::Operator);
    operator.scopes.insert(Scope::OocRaw);
    let answer = json_of(&house.query(&operator, Query::ShowActiveContext).await.unwrap());
    assert_eq!(answer["context"]["active_target"], "••••4711");
    assert_eq!(answer["redaction"]["level"], "standard");
}

#[tokio::test]
async fn the_text_comes_in_the_readers_language() {
    let (house, handler) = operational().await;
    house.done(&handler, CONVERSATION, "cmd-1").await;
    let viewer = house.person(&handler, "ana", "operator", "pt-BR").await;
    let operator = house.caller(&handler.tenant, CredentialKind::Operator);
    let told = async |viewer: Option<&PrincipalId>, locale: Option<&str>| {
        let request = OocRequest {
            viewer_id: viewer.cloned(),
            locale: locale.map(str::to_owned),
            ..request(Query::ShowActiveContext)
        };
        house.service.ooc(&operator, &request).await.unwrap().text
    };
    let english = told(None, None).await;
    assert!(english.contains("*Active context*\nStatus: active\nTime left: "), "{english}");
    assert!(english.contains("Target: ••••4711"), "{english}");
    assert!(english.contains("Last command: *address.update* (succeeded)"), "{english}");
    assert!(told(Some(&viewer), None).await.contains("Tempo restante: "));
    assert!(told(Some(&viewer), Some("es")).await.contains("Tiempo restante: "));
    assert!(told(None, Some("xx")).await.contains("Time left: "));
}

#[tokio::test]
async fn no_open_context_is_said_with_when_the_last_one_ended() {
    let (house, handler) = operational().await;
    let none = house.query(&handler, Query::ShowActiveContext).await.unwrap();
    assert!(none.context.is_none());
    assert!(none.text.contains("There was none before."));

    let context_id = house.talk(&handler, CONVERSATION).await;
    house.wait(9 * 3_600);
    let expired = house.query(&handler, Query::ShowActiveContext).await.unwrap();
    assert!(expired.context.is_none());
    assert!(expired.text.contains("The last one expired at 2026-01-01 08:00"), "{}", expired.text);
    let by_id = OocRequest { conversation_id: None, context_id: Some(context_id), ..request(Query::ShowActiveContext) };
    let by_id = json_of(&house.service.ooc(&handler, &by_id).await.unwrap());
    assert_eq!(by_id["context"]["status"], "expired");
    assert_eq!(by_id["context"]["expires_in_seconds"], 0);
}

#[tokio::test]
async fn a_question_whose_time_is_over_is_not_pending_any_more() {
    let (house, handler) = operational().await;
    let context_id = house.talk(&handler, CONVERSATION).await;
    house.ask(&handler, &context_id, "cmd-1").await;
    house.wait(601);
    let answer = json_of(&house.query(&handler, Query::ShowActiveContext).await.unwrap());
    assert_eq!(answer["context"]["status"], "active");
    assert_eq!(answer["context"]["pending_confirmation"]["exists"], false);
    assert_eq!(json_of(&house.query(&handler, Query::ListPending).await.unwrap())["items"], json!([]));
}

async fn block(house: &House, handler: &Caller, context_id: &ContextId) {
    let block = Transition { context_id: context_id.clone(), to: Move::Block(BlockedOn::Operator), if_revision: None };
    house.execute(handler, Operation::Transition(block)).await.unwrap();
}

#[tokio::test]
async fn lists_show_what_waits_in_every_conversation() {
    let (house, handler) = operational().await;
    let blocked = house.talk(&handler, "chat-1").await;
    block(&house, &handler, &blocked).await;
    for chat in ["chat-2", "chat-3"] {
        let context_id = house.talk(&handler, chat).await;
        house.ask(&handler, &context_id, &format!("cmd-{chat}")).await;
    }
    let operator = house.caller(&handler.tenant, CredentialKind::Operator);
    let all = OocRequest { conversation_id: None, ..request(Query::ListPending) };
    let pending = house.service.ooc(&operator, &all).await.unwrap();
    assert!(pending.text.starts_with("*Waiting for an answer: 2*\n• ••••4711: confirmation of address.update, "));
    let pending = json_of(&pending);
    assert_eq!(pending["items"].as_array().unwrap().len(), 2);
    assert!(!pending.to_string().contains("CANARY"));

    let all = OocRequest { conversation_id: None, ..request(Query::ListBlocked) };
    let list = json_of(&house.service.ooc(&operator, &all).await.unwrap());
    assert_eq!(list["items"][0]["context_id"], json!(blocked));
    assert_eq!(list["items"][0]["blocked"]["on"], "operator");
    assert!(list["text"].as_str().unwrap().contains("an operator, since 2026"));
}

#[tokio::test]
async fn history_is_told_from_the_log() {
    let (house, handler) = operational().await;
    house.done(&handler, CONVERSATION, "cmd-1").await;
    let operator = house.caller(&handler.tenant, CredentialKind::Operator);
    let answer = json_of(&house.query(&operator, Query::ShowHistory).await.unwrap());
    let kinds: Vec<&str> =
        answer["items"].as_array().unwrap().iter().filter_map(|item| item["type"].as_str()).collect();
    for kind in ["context.created", "confirmation.requested", "confirmation.accepted", "command.bound"] {
        assert!(kinds.contains(&kind), "{kind} in {kinds:?}");
    }
    assert!(answer["items"][0].get("message_ids").is_none());
    assert!(answer["text"].as_str().unwrap().contains("command released"));
    assert!(!answer.to_string().contains("CANARY"));
    let refused = house.query(&handler, Query::ShowHistory).await;
    assert_eq!(refused.unwrap_err(), ServiceError::DetailNotAllowed);
}

#[tokio::test]
async fn a_viewer_sees_what_the_role_allows_and_raises_nobody() {
    let (house, handler) = operational().await;
    house.talk(&handler, CONVERSATION).await;
    let observer = house.person(&handler, "observer-1", "observer", "en").await;
    let supervisor = house.person(&handler, "supervisor-1", "supervisor", "en").await;
    let nobody = house.person(&handler, "nobody-1", "clerk", "en").await;
    let auditor = house.caller(&handler.tenant, CredentialKind::Auditor);
    let level = async |caller: &Caller, viewer: Option<PrincipalId>| {
        let request = OocRequest { viewer_id: viewer, ..request(Query::ShowActiveContext) };
        house.service.ooc(caller, &request).await.map(|answer| answer.detail_level)
    };
    assert_eq!(level(&auditor, Some(observer.clone())).await, Ok("summary"));
    assert_eq!(level(&auditor, Some(supervisor.clone())).await, Ok("full"));
    assert_eq!(level(&auditor, Some(nobody)).await, Err(ServiceError::DetailNotAllowed));
    assert_eq!(level(&auditor, PrincipalId::new("stranger").ok()).await, Err(ServiceError::DetailNotAllowed));
    assert_eq!(level(&auditor, PrincipalId::new("customer").ok()).await, Err(ServiceError::DetailNotAllowed));
    let bound = Caller { principal_id: Some(observer), ..auditor };
    assert_eq!(level(&bound, None).await, Ok("summary"));
    assert_eq!(level(&bound, Some(supervisor)).await, Ok("summary"), "naming a supervisor raises nothing");
}

#[tokio::test]
async fn the_packs_ceiling_holds_for_everyone() {
    let house = House::new().await;
    let tenant = house.tenant("basic", "basic").await;
    let handler = house.caller(&tenant, CredentialKind::Handler);
    house.talk(&handler, CONVERSATION).await;
    let mut admin = house.caller(&tenant, CredentialKind::Admin);
    admin.scopes.insert(Scope::OocRaw);
    let answer = json_of(&house.query(&admin, Query::ShowActiveContext).await.unwrap());
    assert_eq!(answer["detail_level"], "standard");
    assert_eq!(answer["context"]["active_target"], "••••4711");
}

#[tokio::test]
async fn every_look_is_written_down_and_so_is_every_refusal() {
    let (house, handler) = operational().await;
    house.done(&handler, CONVERSATION, "cmd-1").await;
    house.report(&handler, "cmd-1", Outcome::Succeeded).await;
    let operator = house.caller(&handler.tenant, CredentialKind::Operator);
    house.query(&operator, Query::ShowActiveContext).await.unwrap();
    let stranger = OocRequest { viewer_id: PrincipalId::new("stranger").ok(), ..request(Query::ListPending) };
    house.service.ooc(&operator, &stranger).await.unwrap_err();
    let mut without = operator.clone();
    without.scopes.remove(&Scope::OocRead);
    let refusal = house.query(&without, Query::ShowActiveContext).await.unwrap_err();
    assert_eq!(refusal, ServiceError::MissingScope(Scope::OocRead));

    let reads = house.reads(&handler.tenant).await;
    assert_eq!(reads.len(), 3, "{reads:?}");
    assert_eq!(reads[0]["operation"], "ooc.show_active_context");
    assert_eq!(reads[0]["detail"], "standard");
    assert_eq!(reads[0]["conversation_id"], CONVERSATION);
    assert_eq!(reads[0]["records"], 1);
    assert_eq!(reads[0]["refused"], false);
    assert_eq!((&reads[1]["refused"], &reads[1]["viewer_id"]), (&json!(true), &json!("stranger")));
    assert_eq!(reads[2]["refused"], true);
}

#[tokio::test]
async fn another_tenant_sees_nothing() {
    let (house, handler) = operational().await;
    let context_id = house.talk(&handler, CONVERSATION).await;
    let other = house.tenant("other", "operational").await;
    let auditor = house.caller(&other, CredentialKind::Auditor);
    let answer = house.query(&auditor, Query::ShowActiveContext).await.unwrap();
    assert!(answer.context.is_none() && answer.text.contains("There was none before."));
    let by_id = OocRequest { context_id: Some(context_id), ..request(Query::ShowActiveContext) };
    assert_eq!(house.service.ooc(&auditor, &by_id).await.unwrap_err(), ServiceError::NotFound("context"));
}
