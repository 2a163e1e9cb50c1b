//! A server of one's own for each test: two tenants, a key of every kind, a clock that only the test moves.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use cscp::committer::{Committer, Limits, RulesInForce, Writer};
use cscp::domain::canonical::Digest;
use cscp::domain::id::{Ids, PrincipalId, TenantId};
use cscp::domain::operation::CredentialKind;
use cscp::domain::scope::Scope;
use cscp::domain::speaking::SpeaksFor;
use cscp::domain::time::{Clock, Timestamp};
use cscp::http::{HttpConfig, router};
use cscp::packs::PackSource;
use cscp::service::retention::{Disposed, Mode, Retention};
use cscp::service::transparency::{NoGuard, Signer, Transparency, Witnesses};
use cscp::service::{NewKey, PolicyStatus, PolicyWatch, Service};
use cscp::storage::{Store, Tenant};
use cscp::system::SystemEntropy;
use serde_json::{Value, json};

use crate::client::{Client, Got};
use crate::cosignatures::trusted_witnesses;
use crate::place::Place;

const START: i64 = 1_767_225_600_000_000;
static COUNT: AtomicU64 = AtomicU64::new(1);

/// A text that nothing else in this run has.
pub(crate) fn fresh(stem: &str) -> String {
    format!("{stem}-{}", COUNT.fetch_add(1, Ordering::Relaxed))
}

/// A worker's name for its try that no other worker has: a UUID, the same in every run.
pub(crate) fn fresh_attempt() -> String {
    let mut bytes = [7_u8; 16];
    bytes[8..].copy_from_slice(&COUNT.fetch_add(1, Ordering::Relaxed).to_be_bytes());
    uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
}

/// A clock that tests move.
#[derive(Clone)]
pub(crate) struct TestClock(Arc<Mutex<i64>>);

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(*self.0.lock().unwrap())
    }
}

/// Everything that was logged in this run.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The log and the metrics of this run.
pub(crate) struct Watch {
    log: Log,
    metrics: metrics_exporter_prometheus::PrometheusHandle,
}

impl Watch {
    pub(crate) fn text(&self) -> String {
        let log = String::from_utf8_lossy(&self.log.0.lock().unwrap()).into_owned();
        format!("{log}\n{}", self.metrics.render())
    }
}

/// Watches from the first call on.
pub(crate) fn watch() -> &'static Watch {
    static WATCH: OnceLock<Watch> = OnceLock::new();
    WATCH.get_or_init(|| {
        let log = Log::default();
        let writer = log.clone();
        tracing_subscriber::fmt()
            .json()
            .with_max_level(tracing::Level::DEBUG)
            .with_writer(move || writer.clone())
            .init();
        let metrics = metrics_exporter_prometheus::PrometheusBuilder::new().install_recorder().unwrap();
        Watch { log, metrics }
    })
}

/// What servers share: a database, and a clock.
#[derive(Clone)]
struct Ground {
    place: Arc<Place>,
    clock: TestClock,
}

impl Ground {
    async fn new() -> Self {
        Self { place: Arc::new(Place::new().await), clock: TestClock(Arc::new(Mutex::new(START))) }
    }

    async fn open(&self, writers: u32) -> Arc<dyn Store> {
        self.place.open(Arc::new(self.clock.clone()), writers).await
    }
}

/// A running server.
pub(crate) struct House {
    pub(crate) service: Service,
    pub(crate) store: Arc<dyn Store>,
    base: String,
    http: reqwest::Client,
    clock: TestClock,
    writer: Mutex<Option<Writer>>,
    place: Arc<Place>,
    meddled: AtomicBool,
}

impl House {
    /// A server that works.
    pub(crate) async fn new() -> Self {
        let house = Self::under(&PackSource::Shipped, Limits::default(), HttpConfig::default()).await;
        house.work();
        house
    }

    /// A server whose writer has not begun. It is the only one, so that all that waits stands in one line.
    pub(crate) async fn idle(limits: Limits, config: HttpConfig) -> Self {
        Self::with(&PackSource::Shipped, limits, config, 1).await
    }

    /// A server under packs of one's own.
    pub(crate) async fn under(packs: &PackSource, limits: Limits, config: HttpConfig) -> Self {
        Self::with(packs, limits, config, 2).await
    }

    async fn with(packs: &PackSource, limits: Limits, config: HttpConfig, writers: u32) -> Self {
        watch();
        let ground = Ground::new().await;
        let store = ground.open(writers).await;
        let rules = match packs {
            PackSource::Shipped => crate::rules::shipped(),
            others => Arc::new(others.load().unwrap()),
        };
        let rules = RulesInForce::from(rules);
        let house = Self::over(ground, store, (rules, None), limits, config).await;
        house.tenants().await;
        house
    }

    /// Servers on one database that live by what is published there, each with what asks for it.
    pub(crate) async fn fleet(servers: usize) -> Vec<(Self, PolicyWatch)> {
        watch();
        let ground = Ground::new().await;
        let mut fleet = Vec::new();
        for _ in 0..servers {
            let store = ground.open(2).await;
            let (policies, rules) = PolicyWatch::of_database(Arc::clone(&store)).await.unwrap();
            let rules = (rules, Some(policies.status()));
            let house = Self::over(ground.clone(), store, rules, Limits::default(), HttpConfig::default()).await;
            house.work();
            fleet.push((house, policies));
        }
        fleet[0].0.tenants().await;
        fleet
    }

    async fn over(
        ground: Ground,
        store: Arc<dyn Store>,
        (rules, told): (RulesInForce, Option<tokio::sync::watch::Receiver<PolicyStatus>>),
        limits: Limits,
        config: HttpConfig,
    ) -> Self {
        let (committer, writer) = Committer::new(Arc::clone(&store), rules.clone(), Box::new(SystemEntropy), limits);
        let shared: Arc<dyn Clock> = Arc::new(ground.clock.clone());
        let committer = committer.preparing(Arc::clone(&shared));
        let signer = Signer::new("tests.example".to_owned(), vec![[4; 32]]);
        let log = Transparency::new(Arc::clone(&store), Arc::clone(&shared), Some(signer), Arc::new(NoGuard));
        let witnesses = trusted_witnesses().map(|witness| witness.vkey()).to_vec();
        let log = log.witnessed_by(Witnesses::new(witnesses, 0).unwrap());
        let service = Service::new(Arc::clone(&store), committer, rules, shared, Box::new(SystemEntropy));
        let mut service = service.with_log(Arc::new(log));
        if let Some(told) = told {
            service = service.with_policies(told);
        }
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let app = router(service.clone(), config);
        tokio::spawn(async move { axum::serve(listener, app).await });
        let writer = Mutex::new(Some(writer));
        let Ground { clock, place } = ground;
        Self {
            service,
            store,
            base,
            http: reqwest::Client::new(),
            clock,
            writer,
            place,
            meddled: AtomicBool::new(false),
        }
    }

    async fn tenants(&self) {
        for (tenant, pack) in [("a", "basic"), ("b", "basic"), ("s", "strong")] {
            self.tenant(tenant, pack).await;
        }
    }

    /// Every row of every table, as text.
    pub(crate) async fn rows(&self) -> Vec<String> {
        crate::rows::rows(&self.place).await
    }

    /// Changes rows behind the server's back: they are no longer what the log says. How many it changed.
    pub(crate) async fn meddle(&self, sql: &'static str) -> u64 {
        self.meddled.store(true, Ordering::Relaxed);
        crate::replayed::change(&self.place, sql).await
    }

    /// Has everything of a tenant go that is past its time.
    pub(crate) async fn purge(&self, tenant: &str) -> Disposed {
        let clock: Arc<dyn Clock> = Arc::new(self.clock.clone());
        let retention = Retention::new(Arc::clone(&self.store), self.service.rules(), clock, Box::new(SystemEntropy));
        let tenant = self.store.tenant(&TenantId::new(tenant).unwrap()).await.unwrap().unwrap();
        let disposed = retention.finish(tenant.clone(), Mode::Live).await.unwrap();
        let report = cscp::service::verify_tenant(self.store.as_ref(), &tenant.tenant_id).await.unwrap();
        assert!(report.is_sound(), "{report:?}");
        disposed
    }

    /// Where the data is.
    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// Lets the writer begin.
    pub(crate) fn work(&self) {
        let writer = self.writer.lock().unwrap().take().unwrap();
        tokio::spawn(writer.run());
    }

    /// Loses the writer before it has begun, as a server would whose writer died.
    pub(crate) fn lose_the_writer(&self) {
        drop(self.writer.lock().unwrap().take().unwrap());
    }

    pub(crate) async fn tenant(&self, id: &str, pack: &str) {
        let tenant = Tenant {
            tenant_id: TenantId::new(id).unwrap(),
            environment: "test".to_owned(),
            policy_pack: Some(pack.to_owned()),
            key: Digest::from_bytes([id.as_bytes()[0]; 32]),
            enabled: true,
            created_at: self.clock.now(),
        };
        self.store.create_tenant(&tenant).await.unwrap();
    }

    /// A client with a new key.
    pub(crate) async fn client(
        &self,
        tenant: &str,
        kind: CredentialKind,
        scopes: Option<&[Scope]>,
        principal: Option<&str>,
    ) -> Client {
        self.new_client(tenant, kind, scopes, principal, None).await
    }

    /// A client of the tenant `a` with a new key that speaks for this one.
    pub(crate) async fn speaking(
        &self,
        kind: CredentialKind,
        scopes: Option<&[Scope]>,
        speaks_for: SpeaksFor,
    ) -> Client {
        self.new_client("a", kind, scopes, None, Some(speaks_for)).await
    }

    /// A client of the tenant `a` that acts for one principal and speaks for another.
    pub(crate) async fn acting(&self, kind: CredentialKind, principal: &str, speaks_for: SpeaksFor) -> Client {
        self.new_client("a", kind, None, Some(principal), Some(speaks_for)).await
    }

    async fn new_client(
        &self,
        tenant: &str,
        kind: CredentialKind,
        scopes: Option<&[Scope]>,
        principal: Option<&str>,
        speaks_for: Option<SpeaksFor>,
    ) -> Client {
        let mut source = SystemEntropy;
        let mut ids = Ids::new(self.clock.now(), &mut source);
        let scopes: Option<BTreeSet<Scope>> = scopes.map(|scopes| scopes.iter().copied().collect());
        let principal = principal.map(|id| PrincipalId::new(id).unwrap());
        let tenant = TenantId::new(tenant).unwrap();
        let usual = SpeaksFor::usual(kind, principal.as_ref());
        let key = NewKey::mint(tenant, kind, scopes, principal, String::new(), self.clock.now(), &mut ids);
        let key = key.speaking_for(speaks_for.unwrap_or(usual));
        self.store.create_key(&key.record).await.unwrap();
        Client { base: self.base.clone(), key: Some(key.secret), http: self.http.clone() }
    }

    /// A webhook handler of a tenant.
    pub(crate) async fn handler(&self, tenant: &str) -> Client {
        self.client(tenant, CredentialKind::Handler, None, None).await
    }

    /// The same client, calling this server.
    pub(crate) fn reached_by(&self, client: &Client) -> Client {
        Client { base: self.base.clone(), ..client.clone() }
    }

    /// A client without a key.
    pub(crate) fn stranger(&self) -> Client {
        Client { base: self.base.clone(), key: None, http: self.http.clone() }
    }

    pub(crate) fn wait(&self, seconds: i64) {
        *self.clock.0.lock().unwrap() += seconds * 1_000_000;
    }

    pub(crate) fn now(&self) -> String {
        self.clock.now().to_string()
    }

    /// A message of this conversation's person, sent now.
    pub(crate) fn message(&self, conversation: &str, text: &str) -> Value {
        json!({
            "message_id": fresh("wamid"), "conversation_id": conversation, "actor_id": "customer",
            "sent_at": self.now(), "kind": "text", "text": text,
        })
    }

    /// An ordinary message, and the context that it opened.
    pub(crate) async fn opened(&self, client: &Client, conversation: &str) -> String {
        let got = client.post("/v1/messages", self.message(conversation, "quero mudar uma coisa")).await.expect(200);
        got.text("/context/context_id")
    }

    /// A question about `name` whose prompt was sent a moment ago.
    pub(crate) async fn asked(&self, client: &Client, context: &str, ask: Value) -> Got {
        let got = client.post(&format!("/v1/contexts/{context}/confirmations"), ask).await.expect(201);
        let path = format!("/v1/confirmations/{}/prompt-message", got.text("/confirmation_id"));
        client.put(&path, json!({"message_id": fresh("wamid.prompt"), "sent_at": self.now()})).await.expect(200);
        self.wait(2);
        got
    }

    /// A confirmation of a change of address that was asked and answered yes.
    pub(crate) async fn confirmed(&self, client: &Client, conversation: &str) -> (String, Value) {
        let context = self.opened(client, conversation).await;
        let command = fresh("cmd");
        let asked = self.asked(client, &context, ask(&command)).await;
        let mut yes = self.message(conversation, "Sim");
        yes["kind"] = json!("interactive");
        yes["button_id"] = asked.body["button_ids"][0].clone();
        let got = client.post("/v1/messages", yes.clone()).await.expect(200);
        assert_eq!(got.text("/verdict/code"), "confirmed");
        (context, bind(&command, &yes["message_id"]))
    }
}

impl Drop for House {
    fn drop(&mut self) {
        if self.meddled.load(Ordering::Relaxed) {
            return;
        }
        crate::replayed::holds(Arc::clone(&self.place), Arc::new(self.clock.clone()));
    }
}

/// A question about a change of address.
pub(crate) fn ask(command: &str) -> Value {
    json!({
        "command": {"command_id": command, "name": "address.update", "idempotency_key": format!("idem-{command}")},
        "target": {"address_id": "address-1"},
        "prompt": {"text": "Mudar o endereço?", "buttons": ["Sim", {"title": "Não", "action": "decline"}]},
    })
}

/// The binding that fits [`ask`].
pub(crate) fn bind(command: &str, message: &Value) -> Value {
    json!({
        "attempt_id": fresh_attempt(), "command_id": command, "name": "address.update",
        "idempotency_key": format!("idem-{command}"), "target": {"address_id": "address-1"},
        "envelope": {"command": command}, "message_ids": [message],
    })
}
