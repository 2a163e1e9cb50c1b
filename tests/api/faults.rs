//! Bad input: each fault has its own problem, changes nothing and loses nothing.

use cscp::committer::Limits;
use cscp::domain::operation::CredentialKind;
use cscp::domain::scope::Scope;
use cscp::http::HttpConfig;
use serde_json::json;

use crate::house::{House, ask, fresh};

#[tokio::test]
async fn every_fault_of_a_body_has_its_code_and_changes_nothing() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let context = house.opened(&client, "conv").await;
    let before = client.get(&format!("/v1/contexts/{context}")).await.body;
    let path = format!("/v1/contexts/{context}/transitions");
    let deep = "[".repeat(70) + &"]".repeat(70);
    let faults: Vec<(String, u16, &str)> = vec![
        ("{".into(), 400, "malformed_json"),
        (String::new(), 415, "unsupported_media_type"),
        (r#"{"action":"close"} x"#.into(), 400, "malformed_json"),
        (r#"{"action":"close","action":"block"}"#.into(), 400, "duplicate_key"),
        (r#"{"action":"close","n":9007199254740993}"#.into(), 400, "unsafe_integer"),
        (r#"{"action":"close","n":9007199254740993.5}"#.into(), 422, "number_not_exact"),
        (r#"{"action":"close","n":1e999999999}"#.into(), 422, "number_not_exact"),
        (format!(r#"{{"action":{deep}}}"#), 400, "too_deep"),
        (r#"{"action":"close","colour":"red"}"#.into(), 422, "unknown_field"),
        ("{}".into(), 422, "missing_field"),
        (r#"{"action":5}"#.into(), 422, "wrong_type"),
        (r#"["close"]"#.into(), 422, "wrong_type"),
        (r#"{"action":"explode"}"#.into(), 422, "invalid_value"),
        (r#"{"action":"close","on":"operator"}"#.into(), 422, "invalid_value"),
        (r#"{"action":"block"}"#.into(), 422, "missing_field"),
        (format!(r#"{{"action":"{}"}}"#, "x".repeat(1 << 20)), 413, "body_too_large"),
    ];
    for (body, status, code) in faults {
        let request = client.ask("POST", &path).fresh_key();
        let request = if body.is_empty() { request } else { request.raw(body) };
        request.send().await.problem(status, code);
    }
    let media = client.ask("POST", &path).fresh_key().header("content-type", "text/plain").raw("{}");
    media.send().await.problem(415, "unsupported_media_type");
    assert_eq!(client.get(&format!("/v1/contexts/{context}")).await.body, before);
    client.post(&path, json!({"action": "close"})).await.expect(200);
    client.post(&path, json!({"action": "close"})).await.problem(409, "invalid_transition");
}

#[tokio::test]
async fn who_may_not_is_told_so() {
    let house = House::new().await;
    let stranger = house.stranger();
    let got = stranger.get("/v1/policies").await.problem(401, "unauthenticated");
    assert!(got.header("www-authenticate").unwrap().starts_with("Bearer"));
    for value in ["Bearer nonsense", "Basic abc", "Bearer", &format!("Bearer cscp_{}", "0".repeat(72))] {
        let got = stranger.ask("GET", "/v1/policies").header("authorization", value).send().await;
        got.problem(401, "unauthenticated");
    }
    let reader = house.client("a", CredentialKind::Handler, Some(&[Scope::ContextRead]), None).await;
    let denied = reader.post("/v1/messages", house.message("c", "oi")).await.problem(403, "scope_denied");
    assert_eq!(denied.text("/scope"), "message:ingest");
    let lower = house.handler("a").await;
    let key = lower.key.clone().unwrap();
    stranger.ask("GET", "/v1/policies").header("authorization", &format!("bEaReR {key}")).send().await.expect(200);
    house.store.set_tenant_enabled(&"a".to_owned().try_into().unwrap(), false).await.unwrap();
    let fresh_key = house.handler("a").await;
    fresh_key.get("/v1/policies").await.problem(401, "unauthenticated");
}

#[tokio::test]
async fn routes_methods_parameters_and_headers_that_do_not_exist() {
    let house = House::new().await;
    let client = house.handler("a").await;
    client.get("/v1/nothing").await.problem(404, "route_not_found");
    client.get("/v2/messages").await.problem(404, "route_not_found");
    let got = client.get("/v1/messages").await.problem(405, "method_not_allowed");
    assert_eq!(got.header("allow"), Some("POST"));
    let options = client.ask("OPTIONS", "/v1/messages").send().await.expect(204);
    assert_eq!(options.header("allow"), Some("POST"));
    client.ask("HEAD", "/healthz").send().await.expect(200);
    client.get("/v1/policies?limit=5").await.problem(400, "unknown_parameter");
    let context = house.opened(&client, "conv").await;
    let path = format!("/v1/contexts/{context}/confirmations");
    client.ask("POST", &path).valid(&ask("c1")).send().await.problem(400, "idempotency_key_missing");
    for key in ["", "a b", &"k".repeat(256)] {
        let got = client.ask("POST", &path).key(key).valid(&ask("c1")).send().await;
        got.problem(400, "idempotency_key_malformed");
    }
    let slots = format!("/v1/contexts/{context}/slots");
    let set_slots = || client.ask("PATCH", &slots).json(&json!({"active_intent": "x"}));
    set_slots().send().await.problem(428, "if_match_missing");
    set_slots().header("if-match", "*").send().await.problem(400, "if_match_malformed");
    set_slots().header("if-match", "\"r99\"").send().await.problem(412, "revision_mismatch");
    let echoed = client.ask("GET", "/healthz").header("x-request-id", "abc-123").send().await;
    assert_eq!(echoed.header("x-request-id"), Some("abc-123"));
    let number = client.ask("GET", "/healthz").header("x-request-id", "5511999990000").send().await;
    assert!(number.header("x-request-id").unwrap().starts_with("req-"));
}

#[tokio::test]
async fn what_may_not_be_shown_or_bound_is_refused_before_it_is_asked() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let context = house.opened(&client, "conv").await;
    let path = format!("/v1/contexts/{context}/confirmations");
    let refused = async |change: &dyn Fn(&mut serde_json::Value), code: &'static str| {
        let mut body = ask(&fresh("cmd"));
        change(&mut body);
        client.ask("POST", &path).fresh_key().json(&body).send().await.problem(422, code)
    };
    refused(&|b| b["prompt"]["buttons"][0] = json!("a title that is far too long"), "prompt").await;
    refused(&|b| b["prompt"]["text"] = json!("x".repeat(1_025)), "prompt").await;
    refused(&|b| b["prompt"]["buttons"] = json!(["a", "b", "c"]), "missing_field").await;
    refused(&|b| b["prompt"]["buttons"] = json!([{"title": "Não", "action": "decline"}]), "invalid_value").await;
    refused(&|b| b["target_fingerprint"] = json!("mine"), "invalid_value").await;
    refused(&|b| drop(b.as_object_mut().unwrap().remove("target")), "target_required").await;
    refused(&|b| b["ttl_seconds"] = json!(0), "invalid_value").await;
    let two = json!({"options": [{"title": "a", "target": 1}], "prompt": {"text": "?"}});
    let choose = format!("/v1/contexts/{context}/disambiguations");
    client.ask("POST", &choose).fresh_key().json(&two).send().await.problem(422, "invalid_value");
    assert_eq!(client.get(&format!("/v1/contexts/{context}")).await.text("/status"), "active");
}

#[tokio::test]
async fn a_request_that_is_not_answered_in_time_is_given_up_and_not_called_off() {
    let config = HttpConfig { request_timeout: std::time::Duration::from_millis(50), ..HttpConfig::default() };
    let house = House::idle(Limits::default(), config).await;
    let client = house.handler("a").await;
    let message = house.message("conv", "oi");
    client.post("/v1/messages", message.clone()).await.problem(503, "timed_out");
    house.work();
    while house.service.queued() > 0 {
        tokio::task::yield_now().await;
    }
    let mut again = client.post("/v1/messages", message.clone()).await;
    while again.status == 503 {
        again = client.post("/v1/messages", message.clone()).await;
    }
    assert_eq!(again.expect(200).body["duplicate"], true);
}
