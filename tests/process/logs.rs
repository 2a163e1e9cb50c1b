//! Logs and metrics hold nothing of what people wrote, who they are, or which key was used (S14).

use reqwest::Method;
use serde_json::{Value, json};

use crate::caller::{Caller, Sent, binding, hello, message, question, tap};
use crate::folder::Folder;
use crate::metrics::{SHOWN, metrics};
use crate::server::Server;

/// In every text that a caller chooses.
const CANARY: &str = "kanarie";
/// In everything that looks like a telephone number.
const NUMBER: &str = "5511976543210";

fn canary(place: &str) -> String {
    format!("{CANARY}-{place}-{NUMBER}")
}

fn well_formed(talk: &str) -> Vec<Sent> {
    let id = |n: u32| format!("wamid.{}.{n}", canary("wamid"));
    let everywhere = json!({
        "text": canary("text"), "reply_to": canary("reply"), "correlation_id": canary("correlation"),
        "channel": format!("{CANARY}-channel"), "extensions": {canary("extension"): canary("extension")},
    });
    let heard = json!({"kind": "audio", "transcript": {"text": canary("heard"), "confidence": 0.9}});
    let news = json!({"kind": "system", "system": {
        "type": "user_changed_number", "previous": NUMBER, "current": format!("{NUMBER}1"),
    }});
    let principal = json!({
        "kind": "person", "person_id": canary("person"), "roles": [format!("{CANARY}-role")],
        "aliases": [{"kind": "phone", "value": NUMBER}],
    });
    vec![
        message(&id(1), talk, everywhere),
        message(&id(2), talk, heard),
        message(&id(3), talk, news),
        tap(&id(4), talk, &canary("button")),
        Sent::new(Method::PUT, &format!("/v1/principals/{}", canary("principal")), principal),
        Sent::post("/v1/contexts/query", json!({"conversation_id": talk})),
    ]
}

fn malformed(talk: &str) -> Vec<Sent> {
    let mut bodies: Vec<Value> = [
        json!({"kind": canary("kind")}),
        json!({"sent_at": canary("time")}),
        json!({canary("member"): canary("value")}),
        json!({"locale": canary("locale").repeat(20)}),
        json!({"transcript": {"text": canary("heard"), "confidence": 7}}),
        json!({"text": {canary("object"): 1}}),
        json!({"message_id": canary("id").repeat(100)}),
    ]
    .into_iter()
    .map(|members| message("wamid.bad", talk, members).into_body())
    .collect();
    bodies.push(json!(canary("string")));
    let mut sent: Vec<Sent> = bodies.into_iter().map(|body| Sent::post("/v1/messages", body)).collect();
    sent.extend([
        Sent::get(&format!("/v1/commands/{}", canary("no-such"))),
        Sent::get(&format!("/v1/contexts/{}", canary("context"))),
        Sent::get(&format!("/{}", canary("path"))),
        Sent::get(&format!("/v1/policies?{0}={0}", canary("query"))),
        Sent::post(&format!("/v1/commands/{}/results", canary("no-such")), json!({"status": canary("status")}))
            .with_key(&canary("key")),
    ]);
    sent
}

/// A command from the question to its result, with canaries in its name, target, prompt, envelope and result.
async fn whole_command(caller: &Caller, talk: &str) {
    let opened = caller.send(&hello("wamid.whole", talk)).await.done();
    let context_id = opened.text("/context/context_id").to_owned();
    let patch =
        json!({"active_intent": canary("intent"), "active_target": {canary("target"): NUMBER}, "x_note": canary("x")});
    let slots = Sent::new(Method::PATCH, &format!("/v1/contexts/{context_id}/slots"), patch);
    let revision = opened.body["context"]["revision"].as_u64().unwrap();
    caller.send(&slots.if_match(revision)).await.done();
    let command = canary("command");
    let asked = caller.send(&question(&context_id, &command)).await.done();
    let yes = tap(&canary("tap"), talk, asked.text("/button_ids/0"));
    assert_eq!(caller.send(&yes).await.text("/verdict/code"), "confirmed");
    caller.send(&binding(&context_id, &command, &canary("attempt"))).await.done();
    let again = caller.send(&binding(&context_id, &command, &canary("other"))).await;
    assert_eq!(again.status, 409);
    let result = json!({"status": "succeeded", "summary": canary("summary")});
    let result = Sent::post(&format!("/v1/commands/{command}/results"), result).with_key(&canary("result"));
    caller.send(&result).await.done();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_that_people_wrote_gets_out() {
    let folder = Folder::with_tenant();
    let key = folder.key("handler");
    let arguments = [&["--no-demo-tenant", "--log", "debug"], SHOWN.as_slice()].concat();
    let server = Server::start_with(&folder, &arguments);
    let caller = Caller::new(&server.base, &key);
    let talk = canary("conversation");
    whole_command(&caller, &talk).await;
    for sent in well_formed(&talk) {
        caller.send(&sent).await.done();
    }
    for sent in malformed(&talk) {
        let answer = caller.send(&sent).await;
        assert!((400..500).contains(&answer.status), "{sent:?}: {answer:?}");
        expect_clean("an error's answer", &answer.body.to_string());
    }
    let wrong_key = format!("cscp_{}", canary("key"));
    assert_eq!(Caller::new(&server.base, &wrong_key).send(&hello("wamid.x", &talk)).await.status, 401);

    let shown = metrics(&server).await;
    let (said, logged) = server.stop().await;
    assert!(shown.contains("cscp_http_requests_total") && shown.contains("cscp_verdicts_total"), "{shown}");
    assert!(logged.matches("\"http.route\":\"/v1/messages\"").count() > 10, "requests are logged: {logged}");
    assert!(logged.contains("\"level\":\"DEBUG\""), "more than usual is logged: {logged}");
    for (name, text) in [("standard output", said), ("the log", logged), ("the metrics", shown)] {
        expect_clean(name, &text);
        assert!(!text.contains(&key) && !text.contains("cscp_k"), "{name} shows a key:\n{text}");
    }
}

fn expect_clean(name: &str, text: &str) {
    let found = text.lines().find(|line| line.to_lowercase().contains(CANARY) || line.contains(NUMBER));
    assert!(found.is_none(), "{name} repeats what a caller sent: {found:?}");
}

#[test]
fn what_must_not_get_out_is_found() {
    let found = |text: &str| std::panic::catch_unwind(|| expect_clean("a text", text)).is_err();
    assert!(found("a\nKANARIE b") && found(NUMBER) && !found("nothing"));
}
