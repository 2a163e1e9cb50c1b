//! What callers write goes nowhere but into answers to them: no log line, no metric, no problem holds it.

use serde_json::{Value, json};

use crate::client::Client;
use crate::house::{House, ask, bind, watch};

const CANARY: &str = "CANARY7f3a";

fn canary(what: &str) -> String {
    format!("{CANARY}-{what}")
}

/// Asks for everything with a canary in every text, and for every problem that texts can cause.
async fn sing(house: &House, client: &Client) -> Vec<Value> {
    let conversation = canary("conversation");
    let mut message = house.message(&conversation, &canary("text"));
    message["message_id"] = json!(canary("message"));
    message["actor_id"] = json!(canary("actor"));
    message["reply_to"] = json!(canary("reply"));
    message["correlation_id"] = json!(canary("correlation"));
    message["extensions"] = json!({canary("member"): canary("value")});
    let got = client.post("/v1/messages", message.clone()).await.expect(200);
    let context = got.text("/context/context_id");
    let mut problems = Vec::new();
    let mut keep = |got: crate::client::Got| {
        assert!(got.status >= 400, "{:#}", got.body);
        problems.push(got.body);
    };
    message["text"] = json!(canary("other"));
    keep(client.post("/v1/messages", message.clone()).await);
    message["transcript"] = json!({"text": canary("transcript"), "confidence": 0.5});
    message["system"] = json!({"type": canary("type"), "previous": canary("old"), "current": canary("new")});
    for (kind, without) in [("audio", "system"), ("system", "transcript")] {
        let mut spoken = message.clone();
        spoken["kind"] = json!(kind);
        spoken["message_id"] = json!(canary(kind));
        spoken.as_object_mut().unwrap().remove(without);
        client.post("/v1/messages", spoken).await.expect(200);
    }
    let members: Vec<String> = message.as_object().unwrap().keys().cloned().collect();
    for member in members {
        for wrong in [json!({canary("m"): canary("v")}), json!([canary("v")]), json!(format!("{CANARY}\n")), json!(7)] {
            let mut broken = message.clone();
            broken[&member] = wrong;
            broken[canary("field")] = json!(canary("value"));
            keep(client.ask("POST", "/v1/messages").json(&broken).send().await);
        }
    }
    let raw = format!("{{\"text\":\"{CANARY}\",\"text\":{CANARY}");
    keep(client.ask("POST", "/v1/messages").raw(raw).send().await);
    let mut question = ask(&canary("command"));
    question["command"]["name"] = json!(canary("name"));
    question["prompt"]["buttons"][0] = json!(canary("a title that is too long to be shown"));
    keep(client.post_unchecked(&format!("/v1/contexts/{context}/confirmations"), &question).await);
    question["prompt"] = json!({"text": canary("prompt")});
    question["target"] = json!(canary("target"));
    client.post(&format!("/v1/contexts/{context}/confirmations"), question).await.expect(201);
    keep(client.post(&format!("/v1/contexts/{context}/commands"), bind(&canary("command"), &json!(canary("m")))).await);
    let etag = client.get(&format!("/v1/contexts/{context}")).await.header("etag").unwrap().to_owned();
    let slots = json!({canary("slot"): canary("value")});
    let patch = client.ask("PATCH", &format!("/v1/contexts/{context}/slots")).header("if-match", &etag);
    keep(patch.json(&slots).send().await);
    let person =
        json!({"kind": "person", "roles": [canary("role")], "aliases": [{"kind": "bsuid", "value": canary("n")}]});
    client.put(&format!("/v1/principals/{}", canary("principal")), person).await.expect(201);
    keep(client.get(&format!("/v1/commands/{}", canary("path"))).await);
    keep(client.get(&format!("/v1/{}", canary("route"))).await);
    keep(client.get(&format!("/v1/policies?{}=1", canary("query"))).await);
    keep(client.ask("GET", "/v1/policies").key(&format!("{CANARY} x")).send().await);
    problems
}

#[tokio::test]
async fn what_people_write_is_in_no_log_no_metric_and_no_problem() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let problems = sing(&house, &client).await;
    assert!(problems.len() > 40);
    for problem in problems {
        assert!(!problem.to_string().contains(CANARY), "{problem:#}");
    }
    let watched = watch().text();
    assert!(watched.contains("/v1/contexts/{context_id}/slots"), "requests are logged by their template");
    assert!(watched.contains("cscp_verdicts_total"));
    let lines: Vec<&str> = watched.lines().filter(|line| line.contains(CANARY)).collect();
    assert!(lines.is_empty(), "{lines:#?}");
    let secret = client.key.unwrap();
    assert!(!watched.contains(&secret[5..40]), "no log holds a key");
}
