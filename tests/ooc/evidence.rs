//! Reading evidence.

use std::collections::BTreeSet;

use cscp::domain::canonical::Digest;
use cscp::domain::frame::ContextFrame;
use cscp::domain::id::{CommandId, ContextFrameId, ConversationId, CorrelationId};
use cscp::domain::operation::CredentialKind;
use cscp::domain::query::EvidenceQuery;
use cscp::domain::scope::Scope;
use cscp::service::{Caller, ServiceError};
use serde_json::{Value, json};

use crate::house::{CONVERSATION, House, TARGET};

async fn start() -> (House, Caller, Caller) {
    let house = House::new().await;
    let tenant = house.tenant("acme", "operational").await;
    let handler = house.caller(&tenant, CredentialKind::Handler);
    let auditor = house.caller(&tenant, CredentialKind::Auditor);
    (house, handler, auditor)
}

fn all() -> EvidenceQuery {
    EvidenceQuery { limit: 200, ..EvidenceQuery::default() }
}

fn kinds(items: &[Value]) -> Vec<&str> {
    items.iter().filter_map(|item| item["type"].as_str()).collect()
}

#[tokio::test]
async fn evidence_is_found_by_command_correlation_conversation_and_time() {
    let (house, handler, auditor) = start().await;
    house.done(&handler, CONVERSATION, "cmd-1").await;
    house.wait(60);
    let later = house.now();
    house.done(&handler, "chat-2", "cmd-2").await;

    let by_command = EvidenceQuery { command_id: CommandId::new("cmd-1").ok(), ..all() };
    let page = house.service.evidence(&auditor, &by_command).await.unwrap();
    assert!(kinds(&page.items).contains(&"command.bound"));
    assert!(page.items.iter().all(|item| item["command_id"] == "cmd-1"));
    let bound = page.items.iter().find(|item| item["type"] == "command.bound").unwrap();
    assert_eq!(bound["conversation_id"], CONVERSATION);
    assert_eq!(bound["message_ids"], json!(["wamid.3"]));
    assert!(bound["extensions"]["context_ref"]["context_hash"].is_string());

    let by_correlation = EvidenceQuery { correlation_id: CorrelationId::new("corr-1").ok(), ..all() };
    let page = house.service.evidence(&auditor, &by_correlation).await.unwrap();
    let commands: BTreeSet<&str> = page.items.iter().filter_map(|item| item["command_id"].as_str()).collect();
    assert_eq!(commands, BTreeSet::from(["cmd-1", "cmd-2"]));

    let by_place = EvidenceQuery { conversation_id: ConversationId::new("chat-2").ok(), ..all() };
    let page = house.service.evidence(&auditor, &by_place).await.unwrap();
    assert_eq!(kinds(&page.items)[0], "context.created");
    let before = EvidenceQuery { until: Some(later), kind: Some("command.bound".to_owned()), ..all() };
    assert_eq!(house.service.evidence(&auditor, &before).await.unwrap().items.len(), 1);
    let since = EvidenceQuery { from: Some(later), kind: Some("command.bound".to_owned()), ..all() };
    assert_eq!(house.service.evidence(&auditor, &since).await.unwrap().items[0]["command_id"], "cmd-2");
}

#[tokio::test]
async fn pages_follow_each_other_without_gaps() {
    let (house, handler, auditor) = start().await;
    house.done(&handler, CONVERSATION, "cmd-1").await;
    let place = EvidenceQuery { conversation_id: ConversationId::new(CONVERSATION).ok(), ..all() };
    let whole = house.service.evidence(&auditor, &place).await.unwrap().items;
    let mut query = EvidenceQuery { limit: 3, ..place };
    let mut pieces = Vec::new();
    loop {
        let page = house.service.evidence(&auditor, &query).await.unwrap();
        assert!(page.items.len() <= 3);
        pieces.extend(page.items);
        query.after = page.next;
        if query.after.is_none() {
            break;
        }
    }
    assert_eq!(pieces, whole);
}

#[tokio::test]
async fn what_callers_wrote_is_covered_unless_it_may_be_seen_raw() {
    let (house, handler, auditor) = start().await;
    let asked = house.done(&handler, CONVERSATION, "cmd-1").await;
    let page = house.service.evidence(&auditor, &all()).await.unwrap();
    let text = Value::from(page.items).to_string();
    for canary in [TARGET, "about Maria", asked.nonce.as_str()] {
        assert!(!text.contains(canary), "{canary} in {text}");
    }
    assert!(page.redaction.applied.contains(&"active_target:mask".to_owned()));
    let mut raw = auditor.clone();
    raw.scopes.insert(Scope::OocRaw);
    let page = house.service.evidence(&raw, &all()).await.unwrap();
    assert!(Value::from(page.items).to_string().contains(TARGET));
    assert_eq!(page.redaction.level, "raw");
    let reads = house.reads(&handler.tenant).await;
    assert_eq!((&reads[0]["detail"], &reads[1]["detail"]), (&json!("redacted"), &json!("raw")));
}

#[tokio::test]
async fn a_frame_comes_with_its_salt_only_as_it_was_hashed() {
    let (house, handler, auditor) = start().await;
    house.done(&handler, CONVERSATION, "cmd-1").await;
    let by_command = EvidenceQuery { command_id: CommandId::new("cmd-1").ok(), ..all() };
    let items = house.service.evidence(&auditor, &by_command).await.unwrap().items;
    let bound = items.iter().find(|item| item["type"] == "command.bound").unwrap();
    let id = bound["extensions"]["context_ref"]["context_frame_id"].as_str().and_then(ContextFrameId::parse).unwrap();

    let covered = house.service.frame(&auditor, &id).await.unwrap();
    assert!(covered.redacted && covered.salt.is_none());
    assert!(!covered.frame.to_string().contains(TARGET));

    let mut raw = auditor.clone();
    raw.scopes.insert(Scope::OocRaw);
    let shown = house.service.frame(&raw, &id).await.unwrap();
    let frame: ContextFrame = serde_json::from_value(shown.frame).unwrap();
    let salt = Digest::from_hex(&shown.salt.unwrap()).unwrap();
    assert_eq!(frame.context_hash(&salt), shown.context_hash, "a stranger can recompute it");
    assert_eq!(shown.context_hash, bound["extensions"]["context_ref"]["context_hash"]);
}

#[tokio::test]
async fn one_artifact_is_found_by_its_id_and_by_nobody_else() {
    let (house, handler, auditor) = start().await;
    house.done(&handler, CONVERSATION, "cmd-1").await;
    let items = house.service.evidence(&auditor, &all()).await.unwrap().items;
    let id = items[0]["artifact_id"].as_str().and_then(cscp::domain::id::ArtifactId::parse).unwrap();
    assert_eq!(house.service.artifact(&auditor, &id).await.unwrap().artifact, items[0]);
    let other = house.tenant("other", "operational").await;
    let stranger = house.caller(&other, CredentialKind::Auditor);
    assert_eq!(house.service.artifact(&stranger, &id).await.unwrap_err(), ServiceError::NotFound("artifact"));
    assert!(
        house.service.evidence(&stranger, &all()).await.unwrap().items.iter().all(|item| item["type"] == "access.read")
    );
    let operator = house.caller(&handler.tenant, CredentialKind::Operator);
    let refusal = house.service.evidence(&operator, &all()).await.unwrap_err();
    assert_eq!(refusal, ServiceError::MissingScope(Scope::EvidenceRead));
    let reads = house.reads(&handler.tenant).await;
    assert_eq!(reads.last().unwrap()["refused"], true);
}
