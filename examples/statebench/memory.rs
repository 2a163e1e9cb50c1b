//! One timeline's memory on the server: how each step of a replay becomes a request.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::timeline::list;

/// How many of the latest turns go with a pack request.
const RECENT_TURNS: usize = 50;
/// How often a busy server is asked again.
const PATIENCE: u32 = 20;

/// A running server.
pub struct Server {
    client: reqwest::Client,
    url: String,
    key: String,
    run: String,
    requests: AtomicU64,
    memories: AtomicU64,
}

impl Server {
    /// A server at an address, with a key.
    pub fn new(url: &str, key: &str) -> Result<Self, String> {
        let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(30)).build();
        let client = client.map_err(|error| error.to_string())?;
        let run = format!("{:x}", std::process::id());
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let run = format!("{run}-{:x}", since.as_millis());
        let url = url.trim_end_matches('/').to_owned();
        Ok(Self { client, url, key: key.to_owned(), run, requests: AtomicU64::new(0), memories: AtomicU64::new(0) })
    }

    /// One request, repeated with the same key while the server is busy.
    async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value, String> {
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        for _ in 0..PATIENCE {
            let request = self.client.request(method.clone(), format!("{}{path}", self.url)).bearer_auth(&self.key);
            let request = request.header("Idempotency-Key", format!("statebench-{}-{number}", self.run));
            let request = match body {
                Some(body) => request.json(body),
                None => request,
            };
            let answer = request.send().await.map_err(|error| format!("{method} {path}: {}", error.without_url()))?;
            let status = answer.status();
            if matches!(status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS) {
                tokio::time::sleep(Duration::from_millis(250)).await;
                continue;
            }
            let value: Value =
                answer.json().await.map_err(|_| format!("{method} {path} answered {status} without JSON"))?;
            if !status.is_success() {
                return Err(format!("{method} {path} answered {status}: {value}"));
            }
            return Ok(value);
        }
        Err(format!("{method} {path}: the server stayed busy"))
    }
}

/// A fact space for one timeline.
pub struct Memory<'s> {
    server: &'s Server,
    space: String,
    viewer: Value,
    turns: Vec<Value>,
}

impl<'s> Memory<'s> {
    /// A fresh space in the timeline's initial state.
    pub async fn open(server: &'s Server, timeline: &Value) -> Result<Self, String> {
        let number = server.memories.fetch_add(1, Ordering::Relaxed);
        let state = &timeline["initial_state"];
        let who = &state["identity_role"];
        let user_id = &timeline["actors"]["user"]["id"];
        let memory = Self {
            server,
            space: format!("statebench-{}-{number}", server.run),
            viewer: json!({"user_id": user_id, "authority": who["authority"]}),
            turns: Vec::new(),
        };
        let identity = json!({
            "user_id": user_id, "user_name": who["user_name"], "authority": who["authority"],
            "department": who["department"], "organization": who["organization"],
            "communication_style": who["communication_style"],
        });
        memory.put("identity", &identity).await?;
        let now = state["environment"]["now"].as_str().unwrap_or("2025-01-01T00:00:00");
        for (key, value) in state["environment"].as_object().into_iter().flatten() {
            memory.signal(key, value, now).await?;
        }
        for fact in list(&state["persistent_facts"]) {
            memory.fact(fact, fact["ts"].as_str().unwrap_or(now)).await?;
        }
        for (place, item) in list(&state["working_set"]).enumerate() {
            let body = json!({"item_type": item["item_type"], "content": item["content"], "priority": item["priority"],
                              "created_at": item["ts"]});
            memory.put(&format!("working-set/item-{place}"), &body).await?;
        }
        Ok(memory)
    }

    async fn put(&self, below: &str, body: &Value) -> Result<(), String> {
        let path = format!("/v1/fact-spaces/{}/{below}", self.space);
        self.server.send(Method::PUT, &path, Some(body)).await.map(drop)
    }

    async fn signal(&self, key: &str, value: &Value, at: &str) -> Result<(), String> {
        self.put(&format!("environment/{key}"), &json!({"value": value, "observed_at": at})).await
    }

    async fn fact(&self, fact: &Value, at: &str) -> Result<(), String> {
        let mut body = json!({
            "id": fact["id"], "key": fact["key"], "value": fact["value"], "effective_at": at, "source": fact["source"],
            "scope": fact["scope"], "depends_on": fact["depends_on"], "is_constraint": fact["is_constraint"],
            "constraint_type": fact["constraint_type"],
        });
        if let Some(pointer) = fact["supersedes"].as_str().filter(|pointer| !pointer.is_empty()) {
            body["supersedes"] = json!(pointer);
        }
        let path = format!("/v1/fact-spaces/{}/facts", self.space);
        self.server.send(Method::POST, &path, Some(&body)).await.map(drop)
    }

    /// Replays one event that is not a query.
    pub async fn event(&mut self, event: &Value) -> Result<(), String> {
        let at = event["ts"].as_str().unwrap_or_default();
        if event["type"] == "conversation_turn" {
            let turn = json!({"speaker": event["speaker"], "text": event["text"], "observed_at": at});
            let mut body = turn.clone();
            body["fact_space"] = json!(self.space);
            self.turns.push(turn);
            return self.server.send(Method::POST, "/v1/observations", Some(&body)).await.map(drop);
        }
        for write in list(&event["writes"]) {
            let key = write["key"].as_str().unwrap_or_default();
            match write["layer"].as_str() {
                Some("environment") => self.signal(key, &write["value"], at).await?,
                Some("working_set") => {
                    let body = json!({"content": write["value"], "created_at": at});
                    self.put(&format!("working-set/{key}"), &body).await?;
                }
                _ => self.fact(write, at).await?,
            }
        }
        Ok(())
    }

    /// The context for a query and its size in tokens.
    pub async fn pack(&self, query: &Value, budget: u32) -> Result<(String, u32), String> {
        let first = self.turns.len().saturating_sub(RECENT_TURNS);
        let body = json!({
            "fact_space": self.space, "query": query["prompt"], "as_of": query["ts"], "token_budget": budget,
            "viewer": self.viewer, "recent_turns": self.turns.get(first..).unwrap_or_default(),
        });
        let pack = self.server.send(Method::POST, "/v1/context-packs", Some(&body)).await?;
        let used = pack["token_summary"]["used"].as_u64().and_then(|used| u32::try_from(used).ok());
        let context = pack["context"].as_str().ok_or("a pack without a context")?;
        Ok((context.to_owned(), used.ok_or("a pack that does not say its size")?))
    }

    /// Every fact of the space, those that no longer stand too.
    pub async fn facts(&self) -> Result<Vec<Value>, String> {
        let mut facts = Vec::new();
        let mut cursor = String::new();
        loop {
            let path = format!("/v1/fact-spaces/{}/facts?include_invalid=true&limit=200{cursor}", self.space);
            let page = self.server.send(Method::GET, &path, None).await?;
            facts.extend(list(&page["facts"]).cloned());
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return Ok(facts),
            }
        }
    }

    /// Leaves nothing behind.
    pub async fn close(self) -> Result<(), String> {
        let path = format!("/v1/fact-spaces/{}", self.space);
        self.server.send(Method::DELETE, &path, None).await.map(drop)
    }
}
