//! A house over a temporary database, with a clock and entropy that tests hold in their hands.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cscp::committer::{Busy, Committed, Committer, Limits, RulesInForce, Submission};
use cscp::domain::canonical::{Digest, Purpose, canonical, commit, keyed};
use cscp::domain::id::{
    AttemptId, Channel, CommandId, CommandName, ContextId, ConversationId, Entropy, IdempotencyKey, ItemId, MessageId,
    PrincipalId, TenantId,
};
use cscp::domain::idempotency::Claim;
use cscp::domain::message::{Direction, MessageEvent, MessageKind};
use cscp::domain::operation::{Answer, Ask, AskWhat, Bind, CommandSpec, Envelope, Operation, Target};
use cscp::domain::prompt::{Button, ButtonAction, ShownPrompt};
use cscp::domain::refusal::Refusal;
use cscp::domain::time::{Clock, Timestamp};
use cscp::service::retention::Retention;
use cscp::service::transparency::{NoGuard, Transparency};
use cscp::storage::{Locking, Store, Tenant, Transaction, Want};
use serde_json::{Value, json};
use sqlx::{Connection as _, PgConnection, SqliteConnection};

use crate::place::{Place, file};

/// 2026-01-01T00:00:00.123456Z: not a whole second, so that lost precision shows.
const START: i64 = 1_767_225_600_123_456;

/// A writer that was given an operation has reached the lock by then, or never will.
const WAITS_WITHIN: Duration = Duration::from_secs(20);

/// A clock that moves when it is told to.
#[derive(Debug)]
pub(crate) struct ManualClock(AtomicI64);

impl ManualClock {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(AtomicI64::new(START)))
    }

    pub(crate) fn pass(&self, micros: i64) {
        self.0.fetch_add(micros, Ordering::SeqCst);
    }

    pub(crate) fn pass_seconds(&self, seconds: i64) {
        self.pass(seconds * 1_000_000);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

/// Bytes that repeat from run to run.
pub(crate) struct SeededEntropy(pub u64);

impl Entropy for SeededEntropy {
    fn bytes(&mut self) -> [u8; 32] {
        self.0 += 1;
        *keyed(&Digest::from_bytes([9; 32]), Purpose::Nonce, &self.0.to_be_bytes()).as_bytes()
    }
}

/// No two of them have the same seed.
static RETENTIONS: AtomicU64 = AtomicU64::new(0);

pub(crate) struct House {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) committer: Committer,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) tenant: Arc<Tenant>,
    pub(crate) other: Arc<Tenant>,
    pub(crate) place: Place,
}

fn tenant(name: &str, key: u8) -> Tenant {
    Tenant {
        tenant_id: TenantId::new(name).unwrap(),
        environment: "test".to_owned(),
        policy_pack: None,
        key: Digest::from_bytes([key; 32]),
        enabled: true,
        created_at: Timestamp::from_micros(START),
    }
}

impl House {
    pub(crate) async fn new() -> Self {
        Self::with(Limits::default()).await
    }

    pub(crate) async fn with(limits: Limits) -> Self {
        let clock = ManualClock::new();
        let house = Self::open(Place::new().await, clock, limits).await;
        house.create_tenants().await;
        house
    }

    pub(crate) async fn create_tenants(&self) {
        self.store.create_tenant(&self.tenant).await.unwrap();
        self.store.create_tenant(&self.other).await.unwrap();
    }

    async fn open(place: Place, clock: Arc<ManualClock>, limits: Limits) -> Self {
        let shared: Arc<dyn Clock> = Arc::<ManualClock>::clone(&clock);
        let store = place.open(shared, 2).await;
        let seed = u64::try_from(clock.now().as_micros()).unwrap() * 1_000;
        Self::over(place, store, clock, limits, seed)
    }

    /// A house over a store that is open. No two on one database may have the same seed.
    pub(crate) fn over(
        place: Place,
        store: Arc<dyn Store>,
        clock: Arc<ManualClock>,
        limits: Limits,
        seed: u64,
    ) -> Self {
        let committer = Self::committer_over(Arc::clone(&store), limits, seed);
        Self { store, committer, clock, tenant: Arc::new(tenant("a", 1)), other: Arc::new(tenant("b", 2)), place }
    }

    /// A committer of its own over a store, as another process would have it.
    pub(crate) fn committer_over(store: Arc<dyn Store>, limits: Limits, seed: u64) -> Committer {
        let rules = crate::rules::shipped();
        let (committer, writer) = Committer::new(store, rules, Box::new(SeededEntropy(seed)), limits);
        tokio::spawn(writer.run());
        committer.preparing(ManualClock::new())
    }

    /// Retention by the shipped packs.
    pub(crate) fn retention(&self) -> Retention {
        self.retention_by(crate::rules::shipped())
    }

    /// Retention by other rules.
    pub(crate) fn retention_by(&self, rules: impl Into<RulesInForce>) -> Retention {
        let seed = 900_000_000 + RETENTIONS.fetch_add(1, Ordering::SeqCst) * 1_000_000;
        let clock = Arc::<ManualClock>::clone(&self.clock);
        Retention::new(Arc::clone(&self.store), rules, clock, Box::new(SeededEntropy(seed)))
    }

    /// Gives every entry its place in the log, unsigned.
    pub(crate) async fn sequenced(&self) {
        let clock = Arc::<ManualClock>::clone(&self.clock);
        let log = Transparency::new(Arc::clone(&self.store), clock, None, Arc::new(NoGuard));
        while log.sequence_once().await.unwrap() > 0 {}
    }

    /// A statement behind the program's back, in SQLite's words; says how many rows it changed.
    pub(crate) async fn changed(&self, sql: &'static str) -> u64 {
        match &self.place {
            Place::File(folder) => {
                let url = format!("sqlite:{}", file(folder).display());
                let mut connection = SqliteConnection::connect(&url).await.unwrap();
                let done = sqlx::query(sql).execute(&mut connection).await.unwrap();
                connection.close().await.unwrap();
                done.rows_affected()
            }
            Place::Server(url) => {
                let mut connection = PgConnection::connect(url).await.unwrap();
                let translated = sql.replace("zeroblob(32)", "decode(repeat('00', 32), 'hex')");
                let done = sqlx::query(sqlx::AssertSqlSafe(translated)).execute(&mut connection).await.unwrap();
                connection.close().await.unwrap();
                done.rows_affected()
            }
        }
    }

    /// Stops everything and opens the same database again, as after a restart.
    pub(crate) async fn reopen(self) -> Self {
        self.committer.stop();
        self.store.close().await;
        self.clock.pass(1);
        Self::open(self.place, self.clock, Limits::default()).await
    }

    /// Locks what an operation needs, as another process would that is deciding; dropping it lets go.
    pub(crate) async fn hold(&self, operation: &Operation) -> Box<dyn Transaction> {
        let store = match &self.place {
            // There is one write lock, whoever asks for it.
            Place::File(_) => Arc::clone(&self.store),
            Place::Server(_) => self.place.open(Arc::<ManualClock>::clone(&self.clock), 1).await,
        };
        let mut transaction = store.begin().await.unwrap();
        transaction.load(&[self.want(operation)], Locking::Wait).await.unwrap();
        transaction
    }

    /// What an operation wants locked and loaded.
    pub(crate) fn want(&self, operation: &Operation) -> Want {
        Want::of(&self.tenant, operation)
    }

    /// Waits until somebody waits for a lock.
    pub(crate) async fn until_somebody_waits(&self) {
        let Place::Server(url) = &self.place else {
            // Nobody else sees who waits for the file. It takes so many turns to get there, and fewer harm nobody.
            for _ in 0..50 {
                tokio::task::yield_now().await;
            }
            return;
        };
        let mut sql = PgConnection::connect(url).await.unwrap();
        let begun = Instant::now();
        let seen = "SELECT EXISTS (SELECT FROM pg_stat_activity
                    WHERE datname = current_database() AND wait_event_type = 'Lock')";
        while !sqlx::query_scalar::<_, bool>(seen).fetch_one(&mut sql).await.unwrap() {
            assert!(begun.elapsed() < WAITS_WITHIN, "nobody waits");
        }
        sql.close().await.unwrap();
    }

    pub(crate) async fn submit(&self, operation: Operation, claim: Option<Claim>) -> Result<Committed, Busy> {
        self.committer.submit(Submission { tenant: Arc::clone(&self.tenant), operation, claim }).await
    }

    pub(crate) async fn answer(&self, operation: Operation) -> Result<Answer, Refusal> {
        self.submit(operation, None).await.unwrap().result
    }

    /// A message of `ana` in conversation `c`, sent now.
    pub(crate) fn message(&self, id: &str, members: &Value) -> MessageEvent {
        let text = |name: &str| members.get(name).and_then(Value::as_str).map(str::to_owned);
        let body = json!({"id": id, "members": members});
        let salt = Digest::from_bytes([3; 32]);
        MessageEvent {
            message_id: MessageId::new(id).unwrap(),
            channel: Channel::new("whatsapp").unwrap(),
            conversation_id: ConversationId::new(text("conversation_id").unwrap_or("c".to_owned())).unwrap(),
            actor_id: PrincipalId::new(text("actor_id").unwrap_or("ana".to_owned())).unwrap(),
            sent_at: self.clock.now(),
            direction: if text("direction").is_some() { Direction::Outbound } else { Direction::Inbound },
            kind: if text("button_id").is_some() { MessageKind::Interactive } else { MessageKind::Text },
            text: text("text"),
            button_id: text("button_id"),
            reply_to: text("reply_to").map(|id| MessageId::new(id).unwrap()),
            forwarded: false,
            transcript: None,
            system: None,
            expects_reply: true,
            prompt_for: None,
            locale: None,
            correlation_id: None,
            extensions: serde_json::Map::new(),
            body_digest: keyed(&self.tenant.key, Purpose::Request, &canonical(&body)),
            content_digest: commit(Purpose::Message, &salt, &canonical(&body)),
            content_salt: salt,
        }
    }

    pub(crate) async fn post(&self, id: &str, members: Value) -> Answer {
        self.answer(Operation::Ingest(Box::new(self.message(id, &members)))).await.unwrap()
    }

    /// An open context of `ana` in conversation `c`.
    pub(crate) async fn context(&self) -> ContextId {
        self.context_of(self.message("wamid.hello", &json!({"text": "hello there"}))).await
    }

    /// The context that a message opens, or goes on in.
    pub(crate) async fn context_of(&self, message: MessageEvent) -> ContextId {
        match self.answer(Operation::Ingest(Box::new(message))).await.unwrap() {
            Answer::Turn { context: Some(context), .. } => context.context_id,
            other => panic!("no context was opened: {other:?}"),
        }
    }

    pub(crate) fn spec(command: &str, target: Value) -> CommandSpec {
        CommandSpec {
            command_id: CommandId::new(command).unwrap(),
            name: CommandName::new("order.cancel").unwrap(),
            idempotency_key: IdempotencyKey::new(format!("key-{command}")).unwrap(),
            raised_class: None,
            target: Target::Clear(target),
        }
    }

    /// Asks for a confirmation; returns the item and the ids of its buttons.
    pub(crate) async fn ask(&self, context_id: &ContextId, command: &str) -> (ItemId, Vec<String>) {
        self.ask_within(context_id, command, None).await
    }

    /// Asks for a confirmation within so many seconds.
    pub(crate) async fn ask_within(
        &self,
        context_id: &ContextId,
        command: &str,
        ttl_seconds: Option<u32>,
    ) -> (ItemId, Vec<String>) {
        let button = |title: &str, action| Button { title: title.to_owned(), action };
        let ask = Ask {
            context_id: context_id.clone(),
            what: AskWhat::Confirmation(Self::spec(command, json!({"order_id": command}))),
            prompt: ShownPrompt {
                text: "Sure?".to_owned(),
                buttons: vec![button("Yes", ButtonAction::Accept), button("No", ButtonAction::Refuse)],
            },
            supersede: true,
            ttl_seconds,
            correlation_id: None,
        };
        match self.answer(Operation::Ask(Box::new(ask))).await.unwrap() {
            Answer::Asked { item, button_ids, .. } => (item.item_id, button_ids),
            other => panic!("nothing was asked: {other:?}"),
        }
    }

    /// One worker's try for one command.
    pub(crate) fn bind(context_id: &ContextId, command: &str, attempt: &str) -> Operation {
        Operation::Bind(Box::new(Bind {
            context_id: context_id.clone(),
            attempt_id: AttemptId::new(format!("{attempt}-{command}")).unwrap(),
            command: Self::spec(command, json!({"order_id": command})),
            envelope: Envelope::Clear(json!({"command": command})),
            context_pack: None,
            message_ids: Vec::new(),
            correlation_id: None,
        }))
    }

    pub(crate) fn claim(&self, key: &str, request: &str) -> Claim {
        let digest = |text: &str| keyed(&self.tenant.key, Purpose::Request, text.as_bytes());
        Claim { key: digest(key), request: digest(request) }
    }
}

/// The code of a turn's verdict.
pub(crate) fn code(answer: &Answer) -> &'static str {
    match answer {
        Answer::Turn { verdict, .. } => verdict.code.as_str(),
        _ => "no turn",
    }
}
