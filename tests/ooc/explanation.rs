//! Why did the bot do that?

use cscp::domain::command::Outcome;
use cscp::domain::id::CommandId;
use cscp::domain::message::{MessageEvent, MessageKind};
use cscp::domain::operation::{CredentialKind, Operation};
use cscp::domain::scope::Scope;
use cscp::service::{Caller, ServiceError};
use serde_json::{Value, json};

use crate::house::{CONVERSATION, House, TARGET, json_of};

async fn start() -> (House, Caller) {
    let house = House::new().await;
    let tenant = house.tenant("acme", "operational").await;
    let handler = house.caller(&tenant, CredentialKind::Handler);
    (house, handler)
}

async fn explain(house: &House, caller: &Caller, command: &str, locale: Option<&str>) -> Result<Value, ServiceError> {
    let id = CommandId::new(command).unwrap();
    house.service.explanation(caller, &id, None, locale).await.map(|explained| json_of(&explained))
}

fn whats(explanation: &Value) -> Vec<&str> {
    explanation["steps"].as_array().unwrap().iter().filter_map(|step| step["what"].as_str()).collect()
}

#[tokio::test]
async fn a_command_that_ran_is_explained_from_message_to_result() {
    let (house, handler) = start().await;
    let asked = house.done(&handler, CONVERSATION, "cmd-1").await;
    let operator = house.caller(&handler.tenant, CredentialKind::Operator);
    let standard = explain(&house, &operator, "cmd-1", None).await.unwrap();
    assert_eq!((&standard["fate"], &standard["outcome"]), (&json!("bound"), &json!("succeeded")));
    assert_eq!(
        whats(&standard),
        [
            "confirmation.requested",
            "prompt.attached",
            "message.received",
            "confirmation.accepted",
            "confirmation.spent",
            "context.frame_captured",
            "command.bound",
            "command.result_recorded",
        ]
    );
    let tap = &standard["steps"][2];
    assert_eq!((&tap["verdict"], &tap["reason"]), (&json!("confirmed"), &json!("nonce_and_quote")));
    assert_eq!(tap["policy"]["pack_id"], "operational");
    assert!(tap.get("message_id").is_none(), "message ids are for full detail");
    assert_eq!(standard["steps"][7]["status"], "ENGINE_DONE");
    let text = standard["text"].as_str().unwrap();
    assert!(text.starts_with("*Why: address.update*\nThe command was released for execution once"), "{text}");

    let auditor = house.caller(&handler.tenant, CredentialKind::Auditor);
    let full = explain(&house, &auditor, "cmd-1", Some("pt-BR")).await.unwrap();
    assert_eq!(full["steps"][2]["message_id"], "wamid.3");
    assert_eq!(full["steps"][0]["item_id"], json!(asked.item_id));
    assert!(full["summary"].as_str().unwrap().starts_with("O comando foi liberado"));
    for answer in [standard, full] {
        let text = answer.to_string();
        for canary in ["CANARY", asked.nonce.as_str(), &asked.fingerprint, TARGET] {
            assert!(!text.contains(canary), "{canary} in {text}");
        }
    }
}

#[tokio::test]
async fn a_command_with_another_target_is_explained_as_not_executed() {
    let (house, handler) = start().await;
    let context_id = house.talk(&handler, CONVERSATION).await;
    let asked = house.ask(&handler, &context_id, "cmd-1").await;
    let tap = house.tap(&handler, &asked, CONVERSATION).await;
    house.bind(&handler, &asked, "cmd-1", "another-address", "attempt-1", &tap).await.unwrap_err();
    let operator = house.caller(&handler.tenant, CredentialKind::Operator);
    let explanation = explain(&house, &operator, "cmd-1", None).await.unwrap();
    assert_eq!(explanation["fate"], "not_executed");
    assert_eq!(explanation["summary"], "Not executed, because what would have been done is not what was agreed to.");
    let last = explanation["steps"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["what"], &last["reason"]), (&json!("command.refused"), &json!("target_mismatch")));
}

#[tokio::test]
async fn a_second_attempt_shows_beside_the_one_that_ran() {
    let (house, handler) = start().await;
    let asked = house.done(&handler, CONVERSATION, "cmd-1").await;
    let tap = house.tap(&handler, &asked, CONVERSATION).await;
    house.bind(&handler, &asked, "cmd-1", TARGET, "attempt-2", &tap).await.unwrap_err();
    let operator = house.caller(&handler.tenant, CredentialKind::Operator);
    let explanation = explain(&house, &operator, "cmd-1", None).await.unwrap();
    assert_eq!(explanation["fate"], "bound");
    let steps = explanation["steps"].as_array().unwrap();
    let reasons: Vec<&str> = steps.iter().filter_map(|step| step["reason"].as_str()).collect();
    assert!(reasons.contains(&"already_spent") && reasons.contains(&"already_bound"), "{reasons:?}");
}

#[tokio::test]
async fn an_unclear_yes_is_part_of_the_explanation() {
    let (house, handler) = start().await;
    let context_id = house.talk(&handler, CONVERSATION).await;
    house.ask(&handler, &context_id, "cmd-1").await;
    house.says(&handler, CONVERSATION, "sim, mas amanhã").await;
    let operator = house.caller(&handler.tenant, CredentialKind::Operator);
    let explanation = explain(&house, &operator, "cmd-1", Some("es")).await.unwrap();
    assert_eq!(explanation["fate"], "waiting");
    assert_eq!(explanation["summary"], "No se ejecutó, porque aún se espera una respuesta.");
    let said = &explanation["steps"][2];
    assert_eq!((&said["verdict"], &said["reason"]), (&json!("ambiguous"), &json!("qualified_answer")));
    assert_eq!(said["reading"], json!({"kind": "qualified"}));
    house.wait(700);
    let later = explain(&house, &operator, "cmd-1", None).await.unwrap();
    assert_eq!(later["summary"], "Not executed, because the time to answer was over.");
}

/// A stop that was typed, a tap on No and a message that was deleted are told apart.
#[tokio::test]
async fn what_took_a_yes_back_is_told_as_what_it_was() {
    let (house, handler) = start().await;
    let operator = house.caller(&handler.tenant, CredentialKind::Operator);
    for (command, kind, text, told) in [
        (
            "cmd-1",
            MessageKind::Text,
            Some("oi moça, me enganei, cancela isso por favor"),
            "A message came that stops what was agreed to",
        ),
        ("cmd-2", MessageKind::Text, Some("não"), "A message came. It reads as a no"),
        ("cmd-3", MessageKind::Revoke, None, "An earlier message was deleted or edited"),
    ] {
        let context_id = house.talk(&handler, command).await;
        let asked = house.ask(&handler, &context_id, command).await;
        let tap = house.tap(&handler, &asked, command).await;
        let reply_to = (kind == MessageKind::Revoke).then_some(tap);
        let stop = MessageEvent { kind, text: text.map(str::to_owned), reply_to, ..house.message(command) };
        house.execute(&handler, Operation::Ingest(Box::new(stop))).await.unwrap();
        let explanation = explain(&house, &operator, command, None).await.unwrap();
        let text = explanation["text"].as_str().unwrap();
        assert!(text.contains(told), "{command}: {text}");
    }
}

#[tokio::test]
async fn what_nobody_knows_is_not_found_and_other_tenants_know_nothing() {
    let (house, handler) = start().await;
    house.done(&handler, CONVERSATION, "cmd-1").await;
    house.report(&handler, "cmd-1", Outcome::Compensated).await;
    let operator = house.caller(&handler.tenant, CredentialKind::Operator);
    assert_eq!(explain(&house, &operator, "cmd-2", None).await.unwrap_err(), ServiceError::NotFound("command"));
    let other = house.tenant("other", "operational").await;
    let stranger = house.caller(&other, CredentialKind::Auditor);
    assert_eq!(explain(&house, &stranger, "cmd-1", None).await.unwrap_err(), ServiceError::NotFound("command"));
    assert_eq!(explain(&house, &handler, "cmd-1", None).await.unwrap_err(), ServiceError::DetailNotAllowed);
    let mut without = operator.clone();
    without.scopes.remove(&Scope::OocRead);
    explain(&house, &without, "cmd-1", None).await.unwrap_err();
    let reads = house.reads(&handler.tenant).await;
    let refused: Vec<&Value> = reads.iter().map(|read| &read["refused"]).collect();
    assert_eq!(refused, [&json!(false), &json!(true), &json!(true)]);
}
