//! What people see who look without serving anybody: slots and names as policy shows them, and a trace of the look.

use cscp::domain::operation::CredentialKind;
use cscp::domain::query::EvidenceQuery;
use cscp::domain::scope::Scope;
use serde_json::{Value, json};

use crate::client::Client;
use crate::house::{House, fresh};

/// A context with an intent, a target and a slot of the caller's own.
async fn filled(handler: &Client) -> String {
    let body = json!({
        "conversation_id": "conv", "actor_id": "customer", "extensions": {"note": "segredo"},
        "slots": {"active_intent": "order.cancel", "active_target": "order-4711", "x_note": "segredo"},
    });
    handler.post("/v1/contexts", body).await.expect(201).text("/context_id")
}

fn expect_covered(context: &Value) {
    assert_eq!(context["slots"], json!({"active_intent": "order.cancel", "active_target": "••••4711"}), "{context:#}");
    assert!(context.get("extensions").is_none(), "{context:#}");
    let applied = json!({"level": "redacted", "applied": ["active_target:mask", "extensions:hide", "x_note:hide"]});
    assert_eq!(context["redaction"], applied);
}

fn expect_clear(context: &Value) {
    assert_eq!(context["slots"]["active_target"], "order-4711");
    assert_eq!(context["slots"]["x_note"], "segredo");
    assert_eq!(context["extensions"]["note"], "segredo");
    assert!(context.get("redaction").is_none());
}

#[tokio::test]
async fn operators_and_auditors_see_slots_as_policy_shows_them() {
    let house = House::new().await;
    let handler = house.handler("a").await;
    let context = filled(&handler).await;
    let path = format!("/v1/contexts/{context}");
    let read = Some(&[Scope::ContextRead][..]);
    let raw = Some(&[Scope::ContextRead, Scope::OocRaw][..]);
    for kind in [CredentialKind::Operator, CredentialKind::Auditor] {
        let covered = house.client("a", kind, read, None).await;
        let got = covered.get(&path).await.expect(200);
        expect_covered(&got.body);
        assert_eq!(got.header("etag"), handler.get(&path).await.header("etag"));
        expect_covered(&covered.post("/v1/contexts/query", json!({})).await.expect(200).body["items"][0]);
        let clear = house.client("a", kind, raw, None).await;
        expect_clear(&clear.get(&path).await.expect(200).body);
        expect_clear(&clear.post("/v1/contexts/query", json!({})).await.expect(200).body["items"][0]);
    }
    for kind in [CredentialKind::Handler, CredentialKind::Agent, CredentialKind::Admin] {
        expect_clear(&house.client("a", kind, read, None).await.get(&path).await.expect(200).body);
    }
}

#[tokio::test]
async fn no_other_answer_shows_an_operator_more() {
    let house = House::new().await;
    let handler = house.handler("a").await;
    let context = filled(&handler).await;
    let scopes = Some(&[Scope::ContextRead, Scope::ContextWrite, Scope::MessageIngest][..]);
    let operator = house.client("a", CredentialKind::Operator, scopes, None).await;
    let etag = operator.get(&format!("/v1/contexts/{context}")).await.header("etag").unwrap().to_owned();
    let patch = operator.ask("PATCH", &format!("/v1/contexts/{context}/slots")).header("if-match", &etag);
    expect_covered(&patch.valid(&json!({"active_intent": "order.cancel"})).send().await.expect(200).body);
    let message = operator.post("/v1/messages", house.message("conv", "oi")).await.expect(200);
    expect_covered(&message.body["context"]);
    let messages = json!({"messages": [house.message("conv", "oi")]});
    let batch = operator.post("/v1/messages/batch", messages).await.expect(200);
    expect_covered(&batch.body["results"][0]["answer"]["context"]);
    let blocking = json!({"action": "block", "on": "operator"});
    let blocked = operator.post(&format!("/v1/contexts/{context}/transitions"), blocking).await.expect(200);
    expect_covered(&blocked.body);
}

#[tokio::test]
async fn who_does_not_keep_principals_sees_no_name_of_theirs_elsewhere() {
    let house = House::new().await;
    let handler = house.handler("a").await;
    for value in ["BR.0000004711", "BR.0000004712"] {
        let body = json!({"kind": "person", "aliases": [{"kind": "bsuid", "value": value}]});
        handler.put("/v1/principals/p-1", body).await;
    }
    let aliases = async |kind, scopes: &[Scope]| {
        let client = house.client("a", kind, Some(scopes), None).await;
        let got = client.post("/v1/principals/query", json!({"principal_id": "p-1"})).await.expect(200);
        let item = &got.body["items"][0];
        assert_eq!(item["principal_id"], "p-1");
        [item["aliases"].clone(), item["past_aliases"].clone()].map(|names| {
            names.as_array().unwrap().iter().map(|name| name["value"].as_str().unwrap().to_owned()).collect::<String>()
        })
    };
    let read = &[Scope::ContextRead][..];
    assert_eq!(aliases(CredentialKind::Handler, &[Scope::PrincipalWrite]).await, ["BR.0000004712", "BR.0000004711"]);
    for kind in [CredentialKind::Operator, CredentialKind::Auditor] {
        assert_eq!(aliases(kind, read).await, ["••••4712", "••••4711"]);
        assert_eq!(aliases(kind, &[Scope::ContextRead, Scope::OocRaw]).await, ["••••4712", "••••4711"]);
    }
    for kind in [CredentialKind::Agent, CredentialKind::Handler] {
        assert_eq!(aliases(kind, read).await, ["", ""]);
    }
}

#[tokio::test]
async fn whoever_looks_without_serving_leaves_an_entry_that_says_how_much_they_saw() {
    let house = House::new().await;
    let handler = house.handler("a").await;
    let context = filled(&handler).await;
    let newest = async || {
        let query = EvidenceQuery { limit: 200, ..EvidenceQuery::default() };
        let entries = house.store.entries(&"a".to_owned().try_into().unwrap(), &query).await.unwrap().items;
        (entries.len(), entries.last().unwrap().body.as_ref().unwrap().payload.clone())
    };
    let (mut count, _) = newest().await;
    let read = &[Scope::ContextRead][..];
    let raw = &[Scope::ContextRead, Scope::OocRaw][..];
    let looks = [
        (CredentialKind::Operator, read, r#""detail":"redacted""#),
        (CredentialKind::Auditor, raw, r#""detail":"raw""#),
        (CredentialKind::Admin, read, r#""detail":"raw""#),
    ];
    for (kind, scopes, detail) in looks {
        house.wait(1);
        let client = house.client("a", kind, Some(scopes), Some(&fresh("viewer"))).await;
        client.get(&format!("/v1/contexts/{context}")).await.expect(200);
        let (now, entry) = newest().await;
        assert_eq!(now, count + 1, "{kind:?}");
        assert!(entry.contains("contexts.get") && entry.contains(detail), "{entry}");
        count = now;
    }
    for kind in [CredentialKind::Handler, CredentialKind::Agent] {
        let client = house.client("a", kind, Some(read), None).await;
        client.get(&format!("/v1/contexts/{context}")).await.expect(200);
        assert_eq!(newest().await.0, count, "{kind:?}");
    }
}
