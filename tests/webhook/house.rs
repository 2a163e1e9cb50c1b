//! The real server behind the webhook: cscp over a temporary database, with a clock that tests move, and a record of
//! what passed between the two. Every request of the webhook is held against `openapi.yaml` on its way.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

use ::cscp::committer::{Committer, Limits};
use ::cscp::domain::canonical::Digest;
use ::cscp::domain::id::{Ids, PrincipalId, TenantId};
use ::cscp::domain::operation::CredentialKind;
use ::cscp::domain::time::{Clock, Timestamp};
use ::cscp::http::HttpConfig;
use ::cscp::service::{NewKey, Service};
use ::cscp::storage::Tenant;
use ::cscp::system::SystemEntropy;
use async_trait::async_trait;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::bench::{Answered, SECRET, TOKEN, signature};
use crate::cscp::Cscp;
use crate::outside::{NotSent, NotTold, Orders, Sender, Sent};
use crate::place::Place;
use crate::server::App;
use crate::shop::Shop;
use crate::tasks::Tasks;

/// The second in which the fixtures were sent.
pub(crate) const SENT: i64 = 1_790_000_000;

static DOCUMENT: LazyLock<Value> =
    LazyLock::new(|| serde_saphyr::from_str(include_str!("../../openapi.yaml")).unwrap());
static SCHEMAS: LazyLock<Mutex<HashMap<&str, Arc<jsonschema::Validator>>>> = LazyLock::new(Mutex::default);

/// A clock that tests move.
#[derive(Debug)]
struct TestClock(AtomicI64);

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

/// One call that the webhook made.
#[derive(Debug, Clone)]
pub(crate) struct Exchange {
    /// `POST /v1/messages`
    pub(crate) call: String,
    pub(crate) status: u16,
    pub(crate) request: Value,
    pub(crate) answer: Value,
}

/// The calls of the webhook, and what left it on the other side.
#[derive(Default)]
pub(crate) struct Record {
    exchanges: Mutex<Vec<Exchange>>,
    sent: Mutex<Vec<Value>>,
    executed: Mutex<Vec<Value>>,
    count: AtomicUsize,
    processes: AtomicUsize,
    /// Where the order system never answers again.
    pub(crate) stuck: Mutex<Option<Stuck>>,
    /// A worker got stuck there.
    pub(crate) reached: tokio::sync::Notify,
    /// By how many seconds the webhook's clock is ahead of the server's.
    pub(crate) ahead: AtomicI64,
}

/// The moment in which the order system stops answering, as a worker sees it that dies then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stuck {
    /// The order is as it was.
    BeforeCancelling,
    /// The order is cancelled.
    AfterCancelling,
}

/// A running server.
pub(crate) struct House {
    pub(crate) record: Arc<Record>,
    clock: Arc<TestClock>,
    base: String,
    handler: String,
    admin: String,
    http: reqwest::Client,
    journals: tempfile::TempDir,
    _place: Place,
}

/// A webhook process in front of it.
pub(crate) struct Process {
    router: Router,
    pub(crate) app: Arc<App>,
}

/// WhatsApp and the order system, as far as this webhook sees them.
struct Outside {
    record: Arc<Record>,
    clock: Arc<TestClock>,
}

#[async_trait]
impl Sender for Outside {
    async fn send(&self, message: &Value) -> Result<Sent, NotSent> {
        self.record.sent.lock().unwrap().push(message.clone());
        let at = self.clock.now().as_micros() + self.record.ahead.load(Ordering::SeqCst) * 1_000_000;
        let number = self.record.count.fetch_add(1, Ordering::SeqCst);
        Ok(Sent { message_id: format!("wamid.sent.{number}"), at: Timestamp::from_micros(at).to_string() })
    }
}

#[async_trait]
impl Orders for Outside {
    async fn cancel(&self, idempotency_key: &str, order_id: &str, context_ref: &Value) -> bool {
        let stuck = *self.record.stuck.lock().unwrap();
        if stuck == Some(Stuck::BeforeCancelling) {
            self.record.reached.notify_one();
            std::future::pending::<()>().await;
        }
        let done = json!({ "key": idempotency_key, "order_id": order_id, "context_ref": context_ref });
        self.record.executed.lock().unwrap().push(done);
        if stuck == Some(Stuck::AfterCancelling) {
            self.record.reached.notify_one();
            std::future::pending::<()>().await;
        }
        true
    }

    async fn outcome(&self, idempotency_key: &str) -> Result<Option<bool>, NotTold> {
        let executed = self.record.executed.lock().unwrap();
        Ok(executed.iter().any(|done| done["key"] == idempotency_key).then_some(true))
    }
}

impl House {
    pub(crate) async fn new() -> Self {
        let place = Place::new().await;
        let clock = Arc::new(TestClock(AtomicI64::new((SENT + 5) * 1_000_000)));
        let shared: Arc<dyn Clock> = Arc::<TestClock>::clone(&clock);
        let store = place.open(Arc::clone(&shared), 2).await;
        let rules = crate::rules::shipped();
        let (committer, writer) =
            Committer::new(Arc::clone(&store), Arc::clone(&rules), Box::new(SystemEntropy), Limits::default());
        tokio::spawn(writer.run());
        let service = Service::new(Arc::clone(&store), committer, rules, shared, Box::new(SystemEntropy));
        let tenant_id = TenantId::new("shop").unwrap();
        let tenant = Tenant {
            tenant_id: tenant_id.clone(),
            environment: "test".to_owned(),
            policy_pack: None,
            key: Digest::from_bytes([7; 32]),
            enabled: true,
            created_at: clock.now(),
        };
        store.create_tenant(&tenant).await.unwrap();
        let mut keys = Vec::new();
        for kind in [CredentialKind::Handler, CredentialKind::Admin] {
            let mut source = SystemEntropy;
            let mut ids = Ids::new(clock.now(), &mut source);
            let key =
                NewKey::mint(tenant_id.clone(), kind, None, None::<PrincipalId>, String::new(), clock.now(), &mut ids);
            store.create_key(&key.record).await.unwrap();
            keys.push(key.secret);
        }
        let record = Arc::new(Record::default());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let router = ::cscp::http::router(service, HttpConfig::default())
            .layer(from_fn_with_state((Arc::clone(&record), keys[0].clone()), watch));
        tokio::spawn(async move { axum::serve(listener, router).await });
        let [handler, admin] = keys.try_into().unwrap();
        Self {
            record,
            clock,
            base,
            handler,
            admin,
            http: reqwest::Client::new(),
            journals: tempfile::tempdir().unwrap(),
            _place: place,
        }
    }

    /// A webhook process on a machine of its own: it knows nothing of what another one did.
    pub(crate) fn process(&self) -> Process {
        let number = self.record.processes.fetch_add(1, Ordering::SeqCst);
        self.process_with(&format!("journal.{number}"))
    }

    /// A webhook process with this journal: what it remembers of the process that had it before.
    pub(crate) fn process_with(&self, journal: &str) -> Process {
        let outside = Arc::new(Outside { record: Arc::clone(&self.record), clock: Arc::clone(&self.clock) });
        let app = Arc::new(App {
            secret: SECRET.parse().unwrap(),
            verify_token: TOKEN.to_owned(),
            shop: Shop {
                cscp: Cscp::new(self.base.parse().unwrap(), self.handler.clone()).unwrap(),
                sender: Arc::clone(&outside) as _,
                orders: outside,
                tasks: Tasks::default(),
                journal: crate::journals::opened(&self.journals.path().join(journal)),
                secret: SECRET.parse().unwrap(),
            },
        });
        Process { router: crate::server::router(Arc::clone(&app)), app }
    }

    pub(crate) fn wait(&self, seconds: i64) {
        self.clock.0.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
    }

    /// The present second, as WhatsApp stamps it.
    pub(crate) fn second(&self) -> i64 {
        self.clock.now().as_micros().div_euclid(1_000_000)
    }

    /// What an admin gets to read.
    pub(crate) async fn read(&self, path: &str) -> Value {
        let request = self.http.get(format!("{}{path}", self.base)).header("accept-language", "en");
        self.answered(request.bearer_auth(&self.admin), 200).await
    }

    /// What an admin gets for a body.
    pub(crate) async fn ask(&self, path: &str, body: &Value) -> Value {
        let request = self.http.post(format!("{}{path}", self.base)).json(body);
        self.answered(request.bearer_auth(&self.admin), 200).await
    }

    async fn answered(&self, request: reqwest::RequestBuilder, status: u16) -> Value {
        let response = request.send().await.unwrap();
        let got = response.status().as_u16();
        let body: Value = serde_json::from_slice(&response.bytes().await.unwrap()).unwrap();
        assert_eq!(got, status, "{body:#}");
        body
    }

    /// Every artifact that was recorded, page by page.
    pub(crate) async fn evidence(&self, mut query: Value) -> Vec<Value> {
        let mut artifacts = Vec::new();
        loop {
            let page = self.ask("/v1/evidence/query", &query).await;
            artifacts.extend(page["items"].as_array().unwrap().iter().cloned());
            if page["next_cursor"].is_null() {
                return artifacts;
            }
            query["cursor"] = page["next_cursor"].clone();
        }
    }

    /// What the webhook called so far.
    pub(crate) fn exchanges(&self) -> Vec<Exchange> {
        self.record.exchanges.lock().unwrap().clone()
    }

    /// The status and the code of every refusal that the webhook got.
    pub(crate) fn refusals(&self) -> Vec<(u16, String)> {
        let code = |problem: &Value| problem["code"].as_str().unwrap_or_default().to_owned();
        let mut refusals = Vec::new();
        for exchange in self.exchanges() {
            if exchange.status >= 400 {
                refusals.push((exchange.status, code(&exchange.answer)));
            }
            for result in exchange.answer["results"].as_array().into_iter().flatten() {
                if let Some(problem) = result.get("problem") {
                    refusals.push((u16::try_from(problem["status"].as_u64().unwrap()).unwrap(), code(problem)));
                }
            }
        }
        refusals
    }

    /// What was sent over WhatsApp.
    pub(crate) fn sent(&self) -> Vec<Value> {
        self.record.sent.lock().unwrap().clone()
    }

    /// The plain texts among it.
    pub(crate) fn said(&self) -> Vec<String> {
        self.sent().iter().filter_map(|message| message["text"]["body"].as_str().map(str::to_owned)).collect()
    }

    /// What was executed.
    pub(crate) fn executed(&self) -> Vec<Value> {
        self.record.executed.lock().unwrap().clone()
    }
}

impl Process {
    /// A delivery as Meta makes it.
    pub(crate) async fn deliver(&self, body: &[u8]) -> Answered {
        let request = axum::http::Request::post("/webhook")
            .header("content-type", "application/json")
            .header("X-Hub-Signature-256", signature(body))
            .body(Body::from(body.to_vec()))
            .unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        let status = response.status();
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap().to_vec();
        Answered { status, body, content_type: None }
    }
}

/// Writes down what the webhook's key calls, and holds its bodies against the document.
async fn watch(State((record, key)): State<(Arc<Record>, String)>, request: Request, next: Next) -> Response {
    let bearer = format!("Bearer {key}");
    if request.headers().get("authorization").is_none_or(|given| given.as_bytes() != bearer.as_bytes()) {
        return next.run(request).await;
    }
    let (method, path) = (request.method().to_string(), request.uri().path().to_owned());
    let (parts, body) = request.into_parts();
    let bytes = to_bytes(body, usize::MAX).await.unwrap();
    let sent: Value = serde_json::from_slice(&bytes).unwrap();
    let response = next.run(Request::from_parts(parts, Body::from(bytes))).await;
    let status = response.status().as_u16();
    let (parts, body) = response.into_parts();
    let bytes = to_bytes(body, usize::MAX).await.unwrap();
    let answer = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    let call = format!("{method} {path}");
    record.exchanges.lock().unwrap().push(Exchange { call, status, request: sent, answer });
    Response::from_parts(parts, Body::from(bytes))
}

impl Exchange {
    /// Everything in the request that the document forbids.
    pub(crate) fn faults(&self) -> Vec<String> {
        let path = self.call.split(' ').nth(1).unwrap();
        let schema = match path.rsplit('/').next().unwrap() {
            "messages" => "Message",
            "batch" => "MessageBatch",
            "confirmations" => "AskCommand",
            "prompt-message" => "PromptMessage",
            "cancel" => "Cancel",
            "commands" => "Bind",
            "results" => "Result",
            "query" => "CommandQuery",
            "takeovers" => "TakeOver",
            other => panic!("the webhook has no business at {other}"),
        };
        let mut faults = faults(schema, &self.request);
        // A batch may hold anything by the document, so its messages are looked at one by one.
        for message in self.request["messages"].as_array().into_iter().flatten() {
            faults.extend(self::faults("Message", message));
        }
        faults
    }
}

fn faults(schema: &'static str, value: &Value) -> Vec<String> {
    let validator = Arc::clone(SCHEMAS.lock().unwrap().entry(schema).or_insert_with(|| {
        let whole = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "components": DOCUMENT["components"], "$ref": format!("#/components/schemas/{schema}"),
        });
        Arc::new(jsonschema::validator_for(&whole).unwrap())
    }));
    validator.iter_errors(value).map(|error| format!("{schema}{}: {error}", error.instance_path())).collect()
}
