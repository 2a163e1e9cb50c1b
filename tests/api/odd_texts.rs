//! Texts that are allowed and seldom seen, in every place that takes a text of the caller's own: none of them keeps a
//! record from being read, erased, or purged. U+0000 is the one that matters: PostgreSQL's own text cannot hold it, so a
//! statement that takes a stored body apart fails on it, for everybody whose rows it reaches.

use cscp::domain::operation::CredentialKind;
use serde_json::{Value, json};

use crate::bundles::{auditors, export, sequence};
use crate::client::{Client, Got, document};
use crate::house::{House, fresh, fresh_attempt};
use crate::privacy::{admin, erase, report};
use crate::spaces::{at, pack, write, written};

const MARK: &str = "CANARYodd51c2";
/// An id may hold a backslash, and so what looks like the escape of U+0000 and is none.
const ACTOR: &str = "user-CANARYodd51c2\\u0000\\";
const ACTOR_IN_PATH: &str = "user-CANARYodd51c2%5Cu0000%5C";
const COMMAND: &str = "odd-command";
const DAY: i64 = 86_400;

/// U+0000, alone and doubled; the six characters by which JSON writes it, which are another text; it and them after a
/// backslash; and characters that stand for nothing.
fn odd(what: &str) -> String {
    format!("{MARK}-{what} \u{0}\u{0} \\u0000 \\\u{0} \\\\u0000 \u{7f}\u{ffff}\u{10ffff}\u{fffd}\\")
}

/// The same without what nobody sees: that is refused in what is to be shown.
fn shown(what: &str) -> String {
    odd(what).replace(char::is_control, "")
}

/// The same, and as long as a text may be.
fn long(what: &str) -> String {
    format!("{}{}", odd(what), "\u{0}ã\\u0000".repeat(200))
}

fn message(house: &House, conversation: &str) -> Value {
    json!({
        "message_id": fresh(MARK), "conversation_id": conversation, "actor_id": ACTOR, "sent_at": house.now(),
        "kind": "text", "text": long("words"),
        "extensions": {odd("member"): {odd("deep"): [odd("extension"), long("extension")]}},
    })
}

fn good(got: Got) -> Got {
    assert!((200..300).contains(&got.status), "{:#}", got.body);
    got
}

/// A question of which everything is odd, answered yes: the context, the question's name, and the message that said yes.
async fn agreed(house: &House, client: &Client, conversation: &str, command: &str) -> (String, Value) {
    let opened = good(client.post("/v1/messages", message(house, conversation)).await);
    let context = opened.text("/context/context_id");
    let ask = json!({
        "command": {"command_id": command, "name": "address.update", "idempotency_key": format!("engine-{command}")},
        "target": {"address_id": long("target"), odd("field"): odd("target")},
        "prompt": {"text": shown("prompt"), "buttons": ["Sim", {"title": "Não", "action": "decline"}]},
    });
    let mut unseen = ask.clone();
    unseen["prompt"]["text"] = odd("prompt").into();
    client.post(&format!("/v1/contexts/{context}/confirmations"), unseen).await.problem(422, "prompt");
    let asked = good(client.post(&format!("/v1/contexts/{context}/confirmations"), ask).await);
    let path = format!("/v1/confirmations/{}/prompt-message", asked.text("/confirmation_id"));
    good(client.put(&path, json!({"message_id": fresh(MARK), "sent_at": house.now()})).await);
    house.wait(2);
    let mut yes = message(house, conversation);
    yes["text"] = json!("Sim");
    yes["kind"] = json!("interactive");
    yes["button_id"] = asked.body["button_ids"][0].clone();
    let confirmed = good(client.post("/v1/messages", yes.clone()).await);
    assert_eq!(confirmed.text("/verdict/code"), "confirmed");
    (context, yes)
}

/// Asks, is told yes, binds, and reports.
async fn commands(house: &House, client: &Client) {
    let command = COMMAND.to_owned();
    let (context, yes) = agreed(house, client, MARK, &command).await;
    let bind = json!({
        "attempt_id": fresh_attempt(), "command_id": command, "name": "address.update",
        "idempotency_key": format!("engine-{command}"),
        "target": {"address_id": long("target"), odd("field"): odd("target")},
        "envelope": {odd("member"): long("envelope")}, "message_ids": [yes["message_id"]],
    });
    good(client.post(&format!("/v1/contexts/{context}/commands"), bind).await);
    let done = json!({"status": "DONE", "outcome": "succeeded", "summary": odd("summary")});
    good(client.post(&format!("/v1/commands/{command}/results"), done).await);
    // The message that said yes to another question is taken back: it is found by what was answered with it.
    let (_, yes) = agreed(house, client, &format!("{MARK}-2"), &format!("{MARK}-other")).await;
    house.wait(1);
    let mut revoked = message(house, &format!("{MARK}-2"));
    revoked["kind"] = json!("revoke");
    revoked["text"] = Value::Null;
    revoked["reply_to"] = yes["message_id"].clone();
    let revoked = good(client.post("/v1/messages", revoked).await);
    assert_eq!(revoked.text("/verdict/reason"), "taken_back");
}

/// Contexts with slots and extensions, a choice, what was heard, and news about who it is.
async fn talks(house: &House, client: &Client) {
    let conversation = format!("{MARK}-3");
    let open = json!({
        "conversation_id": conversation, "actor_id": ACTOR,
        "slots": {"active_intent": odd("intent"), "x_note": {odd("member"): long("slot")}},
        "extensions": {odd("member"): long("extension")},
    });
    let opened = good(client.post("/v1/contexts", open).await);
    let context = opened.text("/context_id");
    let change = client.ask("PATCH", &format!("/v1/contexts/{context}/slots"));
    let change = change.header("if-match", opened.header("etag").unwrap());
    good(change.json(&json!({"active_target": {odd("member"): odd("target")}, "x_more": odd("slot")})).send().await);
    let choice = json!({
        "options": [{"title": "A", "target": {odd("member"): odd("option")}}, {"title": "B", "target": odd("option")}],
        "prompt": {"text": shown("which")},
    });
    good(client.post(&format!("/v1/contexts/{context}/disambiguations"), choice).await);
    let mut heard = message(house, &conversation);
    heard["kind"] = json!("audio");
    heard["transcript"] = json!({"text": long("heard"), "confidence": 0.5});
    good(client.post("/v1/messages", heard).await);
    let phone = "+5511987650051";
    let person = json!({"kind": "person", "roles": [], "aliases": [{"kind": "phone", "value": phone}]});
    good(client.put(&format!("/v1/principals/{ACTOR_IN_PATH}"), person).await);
    let mut news = message(house, &conversation);
    news["kind"] = json!("system");
    news["text"] = Value::Null;
    news["system"] = json!({"type": "user_changed_number", "previous": phone, "current": odd("number")});
    good(client.post("/v1/messages", news).await);
    let query = json!({"principal_id": ACTOR});
    let principal = good(client.post("/v1/principals/query", query).await).body["items"][0].clone();
    assert_eq!((&principal["identity_epoch"], &principal["aliases"]), (&json!(1), &json!([])), "news count");
}

/// A memory with one of everything. A fact of it is deleted.
async fn remembers(client: &Client, house: &House, space: &str) {
    let access = json!({"partition": {"memory": "user", "owner_id": ACTOR}});
    good(client.put(&at(space, ""), access).await);
    let gone = write(client, space, json!({"key": "gone", "value": odd("gone")})).await.text("/fact/uid");
    write(client, space, json!({"key": "address", "value": {odd("member"): long("value")}})).await;
    good(client.put(&at(space, "/environment/weather"), json!({"value": long("signal")})).await);
    good(client.put(&at(space, "/working-set/step"), json!({"content": long("item")})).await);
    house.wait(1);
    let said =
        json!({"fact_space": space, "text": format!("Actually the address is {} avenue 7 {}", MARK, odd("said"))});
    good(client.post("/v1/observations", said).await);
    let asked = json!({
        "query": long("query"), "save_frame": true, "recent_turns": [{"speaker": "ana", "text": long("turn")}],
        "environment": [{"key": "fetched", "value": odd("fetched")}],
    });
    pack(client, space, asked).await.expect(201);
    // One of another space that takes this one in.
    let wide = format!("{space}-wide");
    good(client.put(&at(&wide, ""), json!({"wider": [space]})).await);
    pack(client, &wide, json!({"query": long("query"), "save_frame": true})).await.expect(201);
    good(client.ask("DELETE", &at(space, &format!("/facts/{gone}"))).fresh_key().send().await);
}

async fn marked(house: &House) -> Vec<String> {
    let rows = house.rows().await.into_iter();
    let (mark, hex) = (MARK.to_lowercase(), hex::encode(MARK));
    let rows = rows.filter(|row| row.to_lowercase().contains(&mark) || row.to_lowercase().contains(&hex));
    rows.map(|row| row.chars().filter(|c| !c.is_control()).take(300).collect()).collect()
}

/// Looks at everything in every way that there is.
async fn is_shown(house: &House, client: &Client) {
    let (auditor, raw) = auditors(house, "a").await;
    sequence(house).await;
    for who in [&auditor, &raw] {
        for conversation in [MARK.to_owned(), format!("{MARK}-2"), format!("{MARK}-3")] {
            let about = json!({"conversation_id": conversation});
            assert!(
                !good(who.post("/v1/evidence/query", about.clone()).await).body["items"].as_array().unwrap().is_empty()
            );
            export(who, about.clone()).await;
            let open = good(client.post("/v1/contexts/query", about).await).body["items"].clone();
            let context = open[0]["context_id"].as_str().unwrap().to_owned();
            for query in cscp::service::ooc::Query::names() {
                for about in [
                    json!({"conversation_id": conversation}),
                    json!({"context_id": context}),
                    json!({"command_id": COMMAND}),
                ] {
                    let mut body = json!({"query": query});
                    body.as_object_mut().unwrap().extend(about.as_object().unwrap().clone());
                    let got = client.post_unchecked("/v1/ooc/query", &body).await;
                    assert!(got.status < 500, "{query}: {:#}", got.body);
                }
            }
        }
        export(who, json!({"actor_id": ACTOR})).await;
        export(who, json!({"fact_space": "memory"})).await;
    }
    good(client.get(&format!("/v1/commands/{COMMAND}")).await);
    good(auditor.get(&format!("/v1/ooc/commands/{COMMAND}/explanation")).await);
}

/// How many records of the person an export has.
async fn exported(admin: &Client) -> usize {
    let (mut body, mut count) = (json!({"subject": {"actor_id": ACTOR}}), 0);
    loop {
        let page = good(admin.post("/v1/privacy/exports", body.clone()).await).body;
        count += page["items"].as_array().unwrap().len();
        if page["next_cursor"].is_null() {
            return count;
        }
        body["cursor"] = page["next_cursor"].clone();
    }
}

#[tokio::test]
async fn odd_texts_of_somebody_are_shown_exported_and_erased() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let admin = admin(&house).await;
    commands(&house, &client).await;
    talks(&house, &client).await;
    remembers(&client, &house, "memory").await;
    is_shown(&house, &client).await;
    assert!(exported(&admin).await > 20);
    assert!(marked(&house).await.len() > 20);
    let subject = json!({"actor_id": ACTOR});
    let survey = erase(&admin, &subject, true).await.expect(200).body;
    for kind in ["contexts", "items", "commands", "frames", "tombstones", "conversations", "spaces", "principals"] {
        assert!(survey["counts"][kind].as_u64() > Some(0), "{kind}: {survey:#}");
    }
    erase(&admin, &subject, false).await.expect(201);
    assert_eq!(marked(&house).await, [""; 0]);
    report(&house).await;
}

#[tokio::test]
async fn odd_texts_of_a_fact_space_go_with_it() {
    let house = House::new().await;
    let client = house.handler("a").await;
    remembers(&client, &house, "memory").await;
    written(&client, "beside", "colour", "blue").await;
    assert!(marked(&house).await.len() > 5);
    good(client.ask("DELETE", &at("memory", "")).fresh_key().send().await);
    assert_eq!(marked(&house).await, [""; 0], "a kept answer, a pack of another space, and the log among it");
    client.get(&at("beside", "/current/colour")).await.expect(200);
    report(&house).await;
}

#[tokio::test]
async fn odd_texts_go_when_their_time_is_over() {
    let house = House::new().await;
    let client = house.handler("a").await;
    commands(&house, &client).await;
    talks(&house, &client).await;
    remembers(&client, &house, "memory").await;
    // The pack `basic` keeps messages for a week, contexts for 30 days, frames for 180, payloads for 366.
    let mut gone = std::collections::BTreeMap::<String, u64>::new();
    for days in [8, 31, 150, 200] {
        house.wait(days * DAY);
        house.service.sweep_once().await.unwrap();
        for (kind, count) in house.purge("a").await.rows {
            *gone.entry(kind.to_string()).or_default() += count;
        }
    }
    for kind in ["messages", "contexts", "commands", "frames", "payloads", "claims"] {
        assert!(gone.get(kind) > Some(&0), "{kind}: {gone:?}");
    }
}

#[tokio::test]
async fn half_a_character_is_no_json_and_no_name_holds_one_that_cannot_be_seen() {
    let house = House::new().await;
    let client = house.handler("a").await;
    for escape in ["\\ud800", "\\udfff", "\\ud800\\u0041"] {
        let body = format!(r#"{{"conversation_id": "c", "actor_id": "ana", "slots": {{"x_a": "{escape}"}}}}"#);
        client.ask("POST", "/v1/contexts").fresh_key().raw(body).send().await.problem(400, "malformed_json");
    }
    let everybody = house.client("a", CredentialKind::Admin, None, None).await;
    // Whatever takes a name takes none with U+0000, and says so: such a name would be a value of a column.
    let mut asked = 0;
    for (path, operations) in document()["paths"].as_object().unwrap() {
        let named = path.split('/').map(|part| if part.starts_with('{') { "a%00b" } else { part });
        let named = named.collect::<Vec<_>>().join("/");
        for method in operations
            .as_object()
            .unwrap()
            .keys()
            .filter(|key| ["get", "put", "post", "patch", "delete"].contains(&key.as_str()))
        {
            for who in [&client, &everybody] {
                for place in [named.clone(), format!("{named}?key=a%00b&cursor=%00&limit=%00")] {
                    let ask = who.ask(&method.to_uppercase(), &place).fresh_key();
                    let ask = if method == "get" { ask } else { ask.json(&json!({})) };
                    let got = ask.send().await;
                    assert!(got.status < 500, "{method} {place}: {:#}", got.body);
                    asked += 1;
                }
            }
        }
    }
    assert!(asked > 150, "{asked}");
    let alias = json!({"kind": "phone", "value": "5511\u{0}99"});
    for (path, body) in [
        ("/v1/principals/query", json!({"alias": alias})),
        ("/v1/privacy/exports", json!({"subject": {"alias": alias}})),
        ("/v1/privacy/erasures", json!({"subject": {"alias": alias}, "dry_run": true, "reason": "wish"})),
        ("/v1/evidence/query", json!({"type": "a\u{0}b"})),
        ("/v1/evidence/query", json!({"conversation_id": "a\u{0}b"})),
    ] {
        for who in [&client, &everybody] {
            let got = who.post_unchecked(path, &body).await;
            assert!([403, 422].contains(&got.status), "{path}: {:#}", got.body);
        }
    }
}
