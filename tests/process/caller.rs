//! Calls to a server, and the requests that the tests make.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use reqwest::Method;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use cscp::domain::time::Clock;
use cscp::system::SystemClock;

/// A request as it can be sent again, byte for byte.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    method: Method,
    path: String,
    idempotency_key: Option<String>,
    revision: Option<u64>,
    body: Option<Value>,
}

impl Sent {
    pub(crate) fn new(method: Method, path: &str, body: Value) -> Self {
        Self { method, path: path.to_owned(), idempotency_key: None, revision: None, body: Some(body) }
    }

    pub(crate) fn get(path: &str) -> Self {
        Self { body: None, ..Self::new(Method::GET, path, Value::Null) }
    }

    pub(crate) fn post(path: &str, body: Value) -> Self {
        Self::new(Method::POST, path, body)
    }

    pub(crate) fn with_key(self, key: &str) -> Self {
        Self { idempotency_key: Some(key.to_owned()), ..self }
    }

    pub(crate) fn if_match(self, revision: u64) -> Self {
        Self { revision: Some(revision), ..self }
    }

    /// Its body.
    pub(crate) fn into_body(self) -> Value {
        self.body.unwrap_or_default()
    }

    /// Its body as it is sent.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.body.as_ref().map(|body| body.to_string().into_bytes()).unwrap_or_default()
    }

    /// A member of its body.
    pub(crate) fn member(&self, name: &str) -> &str {
        self.body.as_ref().and_then(|body| body[name].as_str()).unwrap_or_default()
    }
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Answer {
    pub(crate) fn is_done(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// A text in the body.
    pub(crate) fn text(&self, pointer: &str) -> &str {
        self.body.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    /// The verdict: code and reason.
    pub(crate) fn verdict(&self) -> (String, String) {
        (self.text("/verdict/code").to_owned(), self.text("/verdict/reason").to_owned())
    }

    /// The answer, if it is one of success.
    pub(crate) fn done(self) -> Self {
        assert!(self.is_done(), "{self:?}");
        self
    }
}

/// Somebody with a key.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    client: reqwest::Client,
    /// The servers, which take turns.
    bases: Vec<String>,
    turn: Arc<AtomicUsize>,
    key: String,
}

impl Caller {
    pub(crate) fn new(base: &str, key: &str) -> Self {
        Self::of_all(&[base.to_owned()], key)
    }

    /// Somebody who asks several servers, each next one in turn.
    pub(crate) fn of_all(bases: &[String], key: &str) -> Self {
        // A proxy of the machine's has no way to this server.
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { client, bases: bases.to_vec(), turn: Arc::default(), key: key.to_owned() }
    }

    /// Sends a request; there may be no answer, or half of one.
    pub(crate) async fn try_send(&self, sent: &Sent) -> Result<Answer, reqwest::Error> {
        let base = &self.bases[self.turn.fetch_add(1, Ordering::Relaxed) % self.bases.len()];
        let request = self.client.request(sent.method.clone(), format!("{base}{}", sent.path));
        let mut request = request.bearer_auth(&self.key);
        if let Some(key) = &sent.idempotency_key {
            request = request.header("Idempotency-Key", key);
        }
        if let Some(revision) = sent.revision {
            request = request.header("If-Match", format!("\"r{revision}\""));
        }
        if let Some(body) = &sent.body {
            let form = if sent.method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
            request = request.header("Content-Type", form).body(body.to_string());
        }
        let response = request.send().await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let bytes = response.bytes().await?;
        Ok(Answer { status, headers, body: serde_json::from_slice(&bytes).unwrap_or(Value::Null) })
    }

    /// Sends a request that has to be answered.
    pub(crate) async fn send(&self, sent: &Sent) -> Answer {
        self.try_send(sent).await.unwrap()
    }
}

/// A message that is sent now. `id` is the message's, `talk` names the conversation and its person.
pub(crate) fn message(id: &str, talk: &str, members: Value) -> Sent {
    let mut event = json!({
        "message_id": id, "conversation_id": talk, "actor_id": format!("person-of-{talk}"), "kind": "text",
        "sent_at": SystemClock.now().to_string(),
    });
    if let (Some(event), Value::Object(members)) = (event.as_object_mut(), members) {
        event.extend(members);
    }
    Sent::post("/v1/messages", event)
}

/// An ordinary message: nobody's answer.
pub(crate) fn hello(id: &str, talk: &str) -> Sent {
    message(id, talk, json!({"text": "I would like to cancel an order"}))
}

/// A question about cancelling an order; it takes the place of one that is still open.
pub(crate) fn question(context_id: &str, command: &str) -> Sent {
    let body = json!({
        "command": {"command_id": command, "name": "order.cancel", "idempotency_key": format!("key-{command}")},
        "target": {"order_id": command},
        "prompt": {"text": "Cancel it?", "buttons": [
            {"title": "Yes", "action": "confirm"}, {"title": "No", "action": "decline"},
        ]},
        "supersede": true,
    });
    Sent::post(&format!("/v1/contexts/{context_id}/confirmations"), body).with_key(&format!("ask-{command}"))
}

/// A tap on a button.
pub(crate) fn tap(id: &str, talk: &str, button: &str) -> Sent {
    message(id, talk, json!({"kind": "interactive", "text": "Yes", "button_id": button}))
}

/// One worker's try to bind the command.
pub(crate) fn binding(context_id: &str, command: &str, attempt: &str) -> Sent {
    let body = json!({
        "attempt_id": attempt_id(attempt, command), "command_id": command, "name": "order.cancel",
        "idempotency_key": format!("key-{command}"), "target": {"order_id": command},
        "envelope": {"command_id": command}, "message_ids": [],
    });
    Sent::post(&format!("/v1/contexts/{context_id}/commands"), body)
}

/// A worker's name for its try: a UUID, the same again whenever it is asked for.
pub(crate) fn attempt_id(worker: &str, command: &str) -> String {
    let digest = Sha256::digest(format!("{worker} {command}"));
    let mut bytes = [0_u8; 16];
    bytes.copy_from_slice(&digest[..16]);
    uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
}
