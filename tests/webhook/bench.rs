//! The webhook on the bench: its router, with the stub behind it and a recorder where messages would go out.

use std::sync::Arc;

use async_trait::async_trait;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use tower::ServiceExt;

use crate::cscp::Cscp;
use crate::journal::Journal;
use crate::outside::{NotSent, NotTold, Orders, Sender, Sent};
use crate::server::{App, router};
use crate::shop::Shop;
use crate::stub::{KEY, Stub};
use crate::tasks::Tasks;

/// The app secret of all tests.
pub(crate) const SECRET: &str = "app-secret";
/// The verify token of all tests.
pub(crate) const TOKEN: &str = "verify-token";

/// Writes into the stub's log what leaves the webhook.
struct Recorder(Stub);

#[async_trait]
impl Sender for Recorder {
    async fn send(&self, message: &Value) -> Result<Sent, NotSent> {
        self.0.note("send", None, message.clone());
        Ok(Sent { message_id: "wamid.sent.1".to_owned(), at: "2026-09-21T14:13:21Z".to_owned() })
    }
}

#[async_trait]
impl Orders for Recorder {
    async fn cancel(&self, idempotency_key: &str, order_id: &str, context_ref: &Value) -> bool {
        let key = Some(idempotency_key.to_owned());
        self.0.note("execute", key, json!({ "order_id": order_id, "context_ref": context_ref }));
        true
    }

    async fn outcome(&self, idempotency_key: &str) -> Result<Option<bool>, NotTold> {
        let executed = self.0.all("execute");
        let is_it = |done: &crate::stub::Happened| done.idempotency_key.as_deref() == Some(idempotency_key);
        Ok(executed.iter().any(is_it).then_some(true))
    }
}

/// The webhook and what is around it.
pub(crate) struct Bench {
    pub(crate) stub: Stub,
    pub(crate) app: Arc<App>,
    router: Router,
    _folder: tempfile::TempDir,
}

/// What the webhook answered.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) status: StatusCode,
    pub(crate) body: Vec<u8>,
    pub(crate) content_type: Option<String>,
}

impl Answered {
    /// The counts that come with a 200.
    pub(crate) fn receipt(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// One count.
    pub(crate) fn count(&self, name: &str) -> u64 {
        self.receipt()[name].as_u64().unwrap()
    }

    /// Whether each piece that was seen ended somewhere.
    pub(crate) fn adds_up(&self) -> bool {
        let receipt = self.receipt();
        let ended: u64 = ["posted", "refused", "statuses", "errors", "other_fields"]
            .iter()
            .map(|name| receipt[name].as_u64().unwrap())
            .sum();
        let skipped: u64 = receipt["skipped"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
        ended + skipped == self.count("seen")
    }
}

impl Bench {
    /// With cscp up.
    pub(crate) async fn new() -> Self {
        let stub = Stub::start().await;
        let url = stub.url.clone();
        Self::at(stub, &url, KEY)
    }

    /// With cscp at this address, reached with this key.
    pub(crate) fn at(stub: Stub, url: &str, key: &str) -> Self {
        let recorder = Arc::new(Recorder(stub.clone()));
        let folder = tempfile::tempdir().unwrap();
        let app = Arc::new(App {
            secret: SECRET.parse().unwrap(),
            verify_token: TOKEN.to_owned(),
            shop: Shop {
                cscp: Cscp::new(url.parse().unwrap(), key.to_owned()).unwrap(),
                sender: Arc::clone(&recorder) as _,
                orders: recorder,
                tasks: Tasks::default(),
                journal: Journal::open(&folder.path().join("journal.jsonl")).unwrap(),
                secret: SECRET.parse().unwrap(),
            },
        });
        Self { stub, router: router(Arc::clone(&app)), app, _folder: folder }
    }

    /// The same cscp and another webhook process: nothing remembered.
    pub(crate) fn another_process(&self) -> Self {
        Self::at(self.stub.clone(), &self.stub.url, KEY)
    }

    /// A delivery as Meta makes it.
    pub(crate) async fn deliver(&self, body: &[u8]) -> Answered {
        self.post(body, &[&signature(body)]).await
    }

    /// A delivery with these signature headers.
    pub(crate) async fn post(&self, body: &[u8], signatures: &[&str]) -> Answered {
        let mut request = Request::post("/webhook").header("content-type", "application/json");
        for signature in signatures {
            request = request.header("X-Hub-Signature-256", *signature);
        }
        self.send(request.body(Body::from(body.to_vec())).unwrap()).await
    }

    /// A GET with this query.
    pub(crate) async fn get(&self, query: &str) -> Answered {
        self.send(Request::get(format!("/webhook{query}")).body(Body::empty()).unwrap()).await
    }

    async fn send(&self, request: Request<Body>) -> Answered {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let content_type = response.headers().get("content-type").map(|value| value.to_str().unwrap().to_owned());
        let status = response.status();
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap().to_vec();
        Answered { status, body, content_type }
    }
}

/// The signature that Meta would send with these bytes.
pub(crate) fn signature(body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(body);
    format!("sha256={}", hex::encode(mac.finalize().into_bytes()))
}
