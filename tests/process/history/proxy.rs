//! A proxy that stands before a real server and lies to its clients.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Response, StatusCode, Uri};
use serde_json::Value;
use tokio::net::TcpListener;

/// A request as the proxy heard it.
pub(super) struct Heard {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) body: Value,
}

impl Heard {
    /// Whether it is a `POST` whose path ends so.
    pub(super) fn posts(&self, end: &str) -> bool {
        self.method == Method::POST && self.path.ends_with(end)
    }

    /// A text in its body.
    pub(super) fn text(&self, pointer: &str) -> String {
        text(&self.body, pointer)
    }

    /// The part of the path at this place: `/v1/commands/x` has `x` at 3.
    pub(super) fn part(&self, at: usize) -> String {
        self.path.split('/').nth(at).unwrap_or_default().to_owned()
    }
}

/// A text in a body.
pub(super) fn text(body: &Value, pointer: &str) -> String {
    body.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// What the client is answered.
#[derive(Debug, Clone)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) body: Value,
}

/// What a lie begins with.
pub(super) enum Act {
    /// The request goes to the server as it is.
    Pass,
    /// The server gets another body.
    Change(Value),
    /// The server never hears of it.
    Say(Reply),
}

/// What the liar remembers.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// How often it has lied.
    pub(super) lies: u32,
    /// Answers, by what they are about.
    pub(super) known: HashMap<String, Value>,
    /// What has happened.
    pub(super) heard: HashSet<String>,
}

impl Memory {
    /// A lie is told.
    pub(super) fn lies(&mut self, reply: Reply) -> Reply {
        self.lies += 1;
        reply
    }

    /// Whether this is heard for the first time.
    pub(super) fn first(&mut self, what: &str) -> bool {
        self.heard.insert(what.to_owned())
    }
}

/// One way to lie.
#[derive(Clone, Copy)]
pub(super) struct Lie {
    /// What it is, for people.
    pub(super) name: &'static str,
    /// The rule that it breaks.
    pub(super) rule: &'static str,
    /// Words that the proxy adds to the server's description of its interface: promises of which this lie is about
    /// one, for a server that does not make it.
    pub(super) promises: &'static str,
    /// How many requests are played before they are judged: deadlines need some time.
    pub(super) round: u64,
    pub(super) before: fn(&Heard, &mut Memory) -> Act,
    pub(super) after: fn(&Heard, Reply, &mut Memory) -> Reply,
}

/// The lie that is none.
pub(super) const HONEST: Lie =
    Lie { name: "no lie", rule: "", promises: "", round: 400, before: |_, _| Act::Pass, after: |_, reply, _| reply };

struct Liar {
    lie: Lie,
    server: String,
    client: reqwest::Client,
    memory: Arc<Mutex<Memory>>,
}

/// Starts a liar before a server. It goes with the runtime.
pub(super) async fn lying(server: &str, lie: Lie) -> (SocketAddr, Arc<Mutex<Memory>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let memory = Arc::new(Mutex::new(Memory::default()));
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let liar = Liar { lie, server: server.to_owned(), client, memory: Arc::clone(&memory) };
    let router = Router::new().fallback(answer).with_state(Arc::new(liar));
    tokio::spawn(async move { axum::serve(listener, router).await });
    (address, memory)
}

async fn answer(
    State(liar): State<Arc<Liar>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    bytes: Bytes,
) -> Response<Body> {
    let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    let heard = Heard { method, path: uri.path().to_owned(), body };
    let act = (liar.lie.before)(&heard, &mut liar.memory.lock().unwrap());
    let sent = match act {
        Act::Pass => bytes,
        Act::Change(body) => body.to_string().into(),
        Act::Say(reply) => return respond(reply.status, false, &reply.body.to_string()),
    };
    let url = format!("{}{}", liar.server, uri.path());
    let mut request = liar.client.request(heard.method.clone(), url);
    for name in ["authorization", "content-type", "idempotency-key", "if-match"] {
        if let Some(value) = headers.get(name) {
            request = request.header(name, value);
        }
    }
    let answered = request.body(sent).send().await.unwrap();
    let status = answered.status().as_u16();
    let replayed = answered.headers().get("idempotent-replayed").is_some_and(|value| value == "true");
    let told = answered.text().await.unwrap();
    let Ok(body) = serde_json::from_str(&told) else {
        return respond(status, replayed, &format!("{told}\n# {}", liar.lie.promises));
    };
    let reply = (liar.lie.after)(&heard, Reply { status, body }, &mut liar.memory.lock().unwrap());
    let told = match &reply.body {
        Value::String(text) => text.clone(),
        body => body.to_string(),
    };
    respond(reply.status, replayed, &told)
}

fn respond(status: u16, replayed: bool, body: &str) -> Response<Body> {
    let mut response = Response::new(Body::from(body.to_owned()));
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    if replayed {
        response.headers_mut().insert("idempotent-replayed", "true".parse().unwrap());
    }
    response
}
