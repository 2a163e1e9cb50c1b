//! People with something of theirs in every field that a caller can write.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cscp::domain::operation::CredentialKind;
use serde_json::{Value, json};

use crate::client::Client;
use crate::house::{House, fresh, fresh_attempt};
use crate::spaces::{at, pack, write};

/// Somebody. Every text of theirs holds their mark or their number.
#[derive(Clone)]
pub(crate) struct Person {
    pub(crate) mark: &'static str,
    pub(crate) number: &'static str,
    wamids: &'static std::sync::atomic::AtomicU32,
}

static WAMIDS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);

/// Whose data goes.
pub(crate) const ANA: Person = Person { mark: "CANARYana7f3a", number: "5511900000017", wamids: &WAMIDS };
/// Whose data stays.
pub(crate) const BOB: Person = Person { mark: "CANARYbob9d2c", number: "5521900000028", wamids: &WAMIDS };

impl Person {
    pub(crate) fn text(&self, what: &str) -> String {
        format!("{}-{what}", self.mark)
    }

    pub(crate) fn actor(&self) -> String {
        format!("user-{}", self.mark)
    }

    pub(crate) fn conversation(&self) -> String {
        format!("{}@c.us", self.number)
    }

    pub(crate) fn selector(&self) -> Value {
        json!({"alias": {"kind": "phone", "value": format!("+{}", self.number)}})
    }

    /// A message id as WhatsApp makes them: Base64 of the number and some random bytes.
    pub(crate) fn wamid(&self) -> String {
        let count = self.wamids.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let inside = [b"\x1d\x10".as_slice(), self.number.as_bytes(), b"\x15\x02\x11\x18\x12", &count.to_be_bytes()];
        format!("wamid.{}{}", STANDARD.encode(inside.concat()), fresh("x"))
    }

    /// Every form in which something of theirs may stand in a file.
    pub(crate) fn traces(&self) -> Vec<String> {
        let encoded = STANDARD.encode([b"\x1d\x10".as_slice(), self.number.as_bytes()].concat());
        vec![self.mark.to_owned(), self.number.to_owned(), encoded[3..encoded.len() - 4].to_owned()]
    }
}

/// What was made of somebody that tests go on with.
pub(crate) struct Traces {
    /// A message as it was delivered.
    pub(crate) message: Value,
    /// The context.
    pub(crate) context: String,
    /// An artifact of the log.
    pub(crate) artifact: String,
}

/// Has somebody do everything that leaves records.
pub(crate) async fn lives(house: &House, client: &Client, who: &Person) -> Traces {
    let person = json!({
        "kind": "person", "roles": [fresh("role")], "person_id": who.text("person"), "locale": "pt-BR",
        "aliases": [{"kind": "phone", "value": format!("+{}", who.number)}, {"kind": "bsuid", "value": who.text("bsuid")}],
    });
    client.put(&format!("/v1/principals/{}", who.actor()), person).await.expect(201);
    let (context, message) = talks(house, client, who).await;
    remembers(house, client, who).await;
    // Somebody looks, and that is recorded.
    let auditor = house.client("a", CredentialKind::Auditor, None, None).await;
    let seen = auditor.post("/v1/evidence/query", json!({"conversation_id": who.conversation()})).await.expect(200);
    let artifact = seen.text("/items/0/artifact_id");
    Traces { message, context, artifact }
}

pub(crate) fn message(house: &House, who: &Person, text: &str) -> Value {
    json!({
        "message_id": who.wamid(), "conversation_id": who.conversation(), "actor_id": who.actor(),
        "sent_at": house.now(), "kind": "text", "text": text, "correlation_id": who.text("correlation"),
        "extensions": {who.text("member"): {"deep": [who.text("extension")]}},
    })
}

/// A conversation with slots, a question, its answer, a bound command and its result.
async fn talks(house: &House, client: &Client, who: &Person) -> (String, Value) {
    let first = message(house, who, &who.text("words"));
    let opened = client.post("/v1/messages", first.clone()).await.expect(200);
    let context = opened.text("/context/context_id");
    let etag = client.get(&format!("/v1/contexts/{context}")).await.header("etag").unwrap().to_owned();
    let slots = json!({
        "x_reference": who.text("name"), "x_note": format!("call +{}", who.number),
        "active_target": who.text("target"),
    });
    let change = client.ask("PATCH", &format!("/v1/contexts/{context}/slots")).header("if-match", &etag);
    change.json(&slots).send().await.expect(200);
    let command = who.text("command");
    let ask = json!({
        "command": {"command_id": command, "name": "address.update", "idempotency_key": who.text("engine-key")},
        "target": {"address_id": "address-1", "street": who.text("street")},
        "prompt": {"text": who.text("prompt"), "buttons": ["Sim", {"title": "Não", "action": "decline"}]},
        "correlation_id": who.text("correlation-2"),
    });
    let asked = client.post(&format!("/v1/contexts/{context}/confirmations"), ask).await.expect(201);
    let path = format!("/v1/confirmations/{}/prompt-message", asked.text("/confirmation_id"));
    client.put(&path, json!({"message_id": who.wamid(), "sent_at": house.now()})).await.expect(200);
    house.wait(2);
    let mut yes = message(house, who, "Sim");
    yes["kind"] = json!("interactive");
    yes["button_id"] = asked.body["button_ids"][0].clone();
    let confirmed = client.post("/v1/messages", yes.clone()).await.expect(200);
    assert_eq!(confirmed.text("/verdict/code"), "confirmed");
    let bind = json!({
        "attempt_id": fresh_attempt(), "command_id": command, "name": "address.update",
        "idempotency_key": who.text("engine-key"),
        "target": {"address_id": "address-1", "street": who.text("street")},
        "envelope": {"command": command}, "message_ids": [yes["message_id"]],
    });
    client.post(&format!("/v1/contexts/{context}/commands"), bind).await.expect(201);
    let result = json!({"status": "executed", "outcome": "succeeded", "summary": who.text("summary")});
    client.post(&format!("/v1/commands/{command}/results"), result).await.expect(201);
    house.wait(1);
    (context, first)
}

/// A memory of their own with one of everything.
async fn remembers(house: &House, client: &Client, who: &Person) {
    let space = format!("memory-{}", &who.mark[6..9]);
    let access = json!({"partition": {"memory": "user", "owner_id": who.actor()}});
    client.put(&at(&space, ""), access).await.expect(201);
    let identity = json!({"user_id": who.actor(), "user_name": who.text("name"), "permissions": [who.text("right")]});
    client.put(&at(&space, "/identity"), identity).await.expect(200);
    let fact = json!({
        "id": who.text("label"), "key": "address", "value": {"street": who.text("street")}, "scope": "task",
        "scope_id": who.text("scope"), "restricted_to": [who.actor()], "source": {"type": who.text("source")},
    });
    write(client, &space, fact).await;
    write(client, &space, json!({"key": "phone", "value": format!("+{}", who.number)})).await;
    client.put(&at(&space, "/environment/weather"), json!({"value": who.text("signal")})).await.expect(200);
    client.put(&at(&space, "/working-set/step"), json!({"content": who.text("item")})).await.expect(200);
    house.wait(1);
    let said = json!({"fact_space": space, "text": format!("Actually the address is {} avenue 7", who.mark)});
    client.post("/v1/observations", said).await.expect(200);
    let viewer = json!({"query": "address?", "save_frame": true, "viewer": {"user_id": who.actor()}});
    pack(client, &space, viewer).await.expect(201);
}

/// Records about others in which this person is named.
pub(crate) async fn is_named(house: &House, client: &Client, who: &Person, other: &Person) {
    let mut about = message(house, other, "and my colleague");
    about["extensions"] = json!({"colleague": who.actor(), "kept": other.text("kept-message")});
    let context = client.post("/v1/messages", about).await.expect(200).text("/context/context_id");
    let etag = client.get(&format!("/v1/contexts/{context}")).await.header("etag").unwrap().to_owned();
    let slots = json!({"x_note": format!("for {} +{}", other.text("kept-slot"), who.number), "x_helper": who.actor()});
    let change = client.ask("PATCH", &format!("/v1/contexts/{context}/slots")).header("if-match", &etag);
    change.json(&slots).send().await.expect(200);
    let described = json!({
        "partition": {"memory": "organization", "organization": "acme"},
        "access": {"allow": [who.actor(), other.actor()]},
    });
    client.put(&at("house-rules", ""), described).await.expect(201);
    let fact = json!({
        "key": "contact", "value": format!("{} or +{}", other.text("kept-fact"), who.number),
        "restricted_to": [who.actor(), other.actor()], "source": {"type": "user", "identity": who.actor()},
    });
    write(client, "house-rules", fact).await;
    let saved = json!({"query": "contact?", "save_frame": true, "viewer": {"user_id": who.actor()}});
    pack(client, "house-rules", saved).await.expect(201);
    // A refusal names nobody, and the digest of its request is a digest of the number.
    let wrong =
        json!({"kind": "person", "roles": [], "aliases": [{"kind": "phone", "value": format!("+{}", who.number)}]});
    let path = format!("/v1/principals/{}", who.actor());
    client.ask("PUT", &path).key(&fresh("key")).header("if-match", "\"r99\"").json(&wrong).send().await.expect(412);
}
