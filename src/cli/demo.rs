//! `cscp demo`: a temporary server, a short conversation over HTTP, and each verdict with its reason.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::control::{mint, new_tenant};
use super::first_run::register;
use super::{Failure, demo_script, open};
use crate::committer::{Committer, Limits};
use crate::config::Settings;
use crate::domain::id::{PrincipalId, TenantId};
use crate::domain::operation::CredentialKind;
use crate::domain::time::{Clock, Timestamp};
use crate::http::{HttpConfig, router};
use crate::service::Service;
use crate::storage::Store;
use crate::storage::sqlite::SqliteStore;
use crate::system::{SystemClock, SystemEntropy};

/// The system clock, set forward where the script lets time pass.
#[derive(Debug, Default)]
pub(super) struct DemoClock {
    ahead_micros: AtomicI64,
}

impl Clock for DemoClock {
    fn now(&self) -> Timestamp {
        let ahead = self.ahead_micros.load(Ordering::Relaxed);
        Timestamp::from_micros(SystemClock.now().as_micros().saturating_add(ahead))
    }
}

impl DemoClock {
    /// Moves the clock forward.
    pub(super) fn pass(&self, seconds: u32) {
        self.ahead_micros.fetch_add(i64::from(seconds) * 1_000_000, Ordering::Relaxed);
    }
}

/// The temporary server and its keys.
pub(super) struct Stage {
    base: String,
    client: reqwest::Client,
    handler: String,
    operator: String,
    pub(super) clock: Arc<DemoClock>,
}

/// The role of a caller.
#[derive(Debug, Clone, Copy)]
pub(super) enum Role {
    Handler,
    Operator,
}

impl Stage {
    /// A request: returns status and body.
    pub(super) async fn call(
        &self,
        role: Role,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<(u16, Value), Failure> {
        let key = match role {
            Role::Handler => &self.handler,
            Role::Operator => &self.operator,
        };
        let fresh = mint_word();
        let request = self.client.request(method, format!("{}{path}", self.base));
        let request = request.bearer_auth(key).header("Idempotency-Key", fresh);
        let request = match body {
            Some(body) => request.json(&body),
            None => request,
        };
        let response = request.send().await.map_err(Failure::new)?;
        let status = response.status().as_u16();
        Ok((status, response.json().await.unwrap_or(Value::Null)))
    }

    /// A request that has to succeed.
    pub(super) async fn done(&self, role: Role, method: Method, path: &str, body: Value) -> Result<Value, Failure> {
        let (status, answer) = self.call(role, method, path, Some(body)).await?;
        if (200..300).contains(&status) {
            return Ok(answer);
        }
        Err(Failure::new(format!("the demo's own server refused {path}: {status} {answer}")))
    }
}

/// An unpredictable value for an `Idempotency-Key`.
fn mint_word() -> String {
    use crate::domain::id::Entropy;
    let mut entropy = SystemEntropy;
    hex::encode(&entropy.bytes()[..12])
}

/// `cscp demo`.
pub(super) async fn run(settings: &Settings) -> Result<ExitCode, Failure> {
    let folder = std::env::temp_dir().join(format!("cscp-demo-{}", mint_word()));
    std::fs::create_dir_all(&folder).map_err(Failure::new)?;
    let played = play(settings, &folder.join("demo.db")).await;
    // It does no harm if the folder stays in the system's temporary folder.
    drop(std::fs::remove_dir_all(&folder));
    played.map(|()| ExitCode::SUCCESS)
}

async fn play(settings: &Settings, file: &std::path::Path) -> Result<(), Failure> {
    let rules = open::packs(settings)?;
    let clock = Arc::new(DemoClock::default());
    let shared: Arc<dyn Clock> = Arc::<DemoClock>::clone(&clock);
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(file, Arc::clone(&shared)).await?);
    let (committer, writer) =
        Committer::new(Arc::clone(&store), Arc::clone(&rules), Box::new(SystemEntropy), Limits::default());
    let writer = tokio::spawn(writer.run());
    let service = Service::new(Arc::clone(&store), committer.clone(), rules, shared, Box::new(SystemEntropy));
    let (handler, operator) = keys(store.as_ref(), &service).await?;
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(Failure::new)?;
    let base = format!("http://{}", listener.local_addr().map_err(Failure::new)?);
    let server = axum::serve(listener, router(service, HttpConfig::default()));
    let server = tokio::spawn(async move { server.await });
    // A proxy from the environment cannot reach a server on this machine.
    let client = reqwest::Client::builder().no_proxy().build().map_err(Failure::new)?;
    let stage = Stage { base, client, handler, operator, clock };
    let played = demo_script::play(&stage).await;
    server.abort();
    committer.stop();
    drop(writer.await);
    store.close().await;
    played
}

async fn keys(store: &dyn Store, service: &Service) -> Result<(String, String), Failure> {
    let tenant_id = TenantId::new("demo").map_err(Failure::new)?;
    let tenant = Arc::new(new_tenant(tenant_id.clone(), "development".to_owned(), None));
    store.create_tenant(&tenant).await?;
    let handler = mint(tenant_id.clone(), CredentialKind::Handler, None, None, String::new());
    store.create_key(&handler.record).await?;
    let who = PrincipalId::new("demo-operator").map_err(Failure::new)?;
    register(service, tenant, &who, "operator").await?;
    let operator = mint(tenant_id, CredentialKind::Operator, None, Some(who), String::new());
    store.create_key(&operator.record).await?;
    Ok((handler.secret, operator.secret))
}

/// A message of the demo's person, sent now by the demo's clock.
pub(super) fn message(stage: &Stage, id: &str, members: Value) -> Value {
    let mut event = json!({
        "message_id": id, "conversation_id": "conv-ana", "actor_id": "ana", "kind": "text",
        "sent_at": stage.clock.now().to_string(),
    });
    if let (Some(event), Value::Object(members)) = (event.as_object_mut(), members) {
        event.extend(members);
    }
    event
}
