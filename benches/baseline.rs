//! One message, two ways: a transaction for each, written by hand, and the committer. No HTTP on either side.
//!
//! The hand-written way writes the same rows with the same bodies and indexes, under the same durability (WAL,
//! `synchronous=FULL`), and looks for a duplicate and the state first, as any server of this kind has to. It decides
//! nothing, hashes nothing and parses nothing: it is what the committer would be if all of that were free but every
//! message had a transaction to itself. Both take turns; medians are printed.
//!
//! `cargo bench --bench baseline`

#![expect(clippy::unwrap_used, reason = "a database that cannot be opened is nothing to measure")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use cscp::domain::canonical::{Digest, Purpose, hash};
use cscp::domain::id::{Channel, ConversationId, MessageId, PrincipalId, TenantId};
use cscp::domain::message::{Direction, MessageEvent, MessageKind};
use cscp::domain::operation::Operation;
use cscp::domain::time::Clock;
use cscp::packs::PackSource;
use cscp::storage::committer::{Committer, Limits, Submission};
use cscp::storage::sqlite::SqliteStore;
use cscp::storage::{Store, Tenant};
use cscp::system::{SystemClock, SystemEntropy};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Row, SqlitePool};

const CONVERSATIONS: u64 = 1_000;
const ROUNDS: usize = 5;
const MESSAGES: u64 = 2_000;
const TENANT: &str = "bench";

/// The statements of the hand-written way, one each for what the committer does set by set.
const DUPLICATE: &str = "SELECT body FROM messages WHERE tenant_id = ? AND message_key = ?";
const HEAD: &str = "SELECT seq FROM streams WHERE tenant_id = ? AND kind = 'conversation' AND key = ?";
const OPEN_CONTEXT: &str = "
    SELECT body FROM contexts WHERE tenant_id = ? AND conversation_id = ? AND actor_id = ?
    AND status IN ('active', 'pending', 'blocked')";
const STREAM: &str = "
    INSERT INTO streams VALUES (?, 'conversation', ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
    seq = excluded.seq, head_hash = excluded.head_hash, last_at = excluded.last_at";
const CONTEXT: &str = "
    INSERT INTO contexts VALUES (?, ?, ?, ?, 'active', ?, ?, ?) ON CONFLICT DO UPDATE SET
    expires_at = excluded.expires_at, updated_at = excluded.updated_at, body = excluded.body";
const MESSAGE: &str = "INSERT INTO messages VALUES (?, ?, ?, ?, ?)";
const ENTRY: &str = "INSERT INTO log_entries VALUES (?, ?, ?, 1, ?, 'message_received', ?, ?, ?, ?, ?)";
const PAYLOAD: &str = "INSERT INTO log_payloads VALUES (?, ?, ?, ?, ?, ?, NULL, NULL, ?, ?)";

/// The committer over a file of its own.
struct Batched {
    committer: Committer,
    tenant: Arc<Tenant>,
}

impl Batched {
    async fn open(file: &Path) -> Self {
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(file, Arc::new(SystemClock)).await.unwrap());
        let tenant = Tenant {
            tenant_id: TenantId::new(TENANT).unwrap(),
            environment: "production".to_owned(),
            policy_pack: None,
            key: Digest::from_bytes([1; 32]),
            enabled: true,
            created_at: SystemClock.now(),
        };
        store.create_tenant(&tenant).await.unwrap();
        let rules = Arc::new(PackSource::Shipped.load().unwrap());
        let (committer, writer) = Committer::new(store, rules, Box::new(SystemEntropy), Limits::default());
        tokio::spawn(writer.run());
        Self { committer, tenant: Arc::new(tenant) }
    }

    async fn one(&self, number: u64) {
        let id = format!("wamid.{number}");
        let digest = hash(Purpose::Request, &[id.as_bytes()]);
        let message = MessageEvent {
            message_id: MessageId::new(id).unwrap(),
            channel: Channel::new("whatsapp").unwrap(),
            conversation_id: ConversationId::new(conversation(number)).unwrap(),
            actor_id: PrincipalId::new(conversation(number)).unwrap(),
            sent_at: SystemClock.now(),
            direction: Direction::Inbound,
            kind: MessageKind::Text,
            text: Some("please send it to my home address".to_owned()),
            button_id: None,
            reply_to: None,
            forwarded: false,
            transcript: None,
            system: None,
            expects_reply: true,
            prompt_for: None,
            correlation_id: None,
            extensions: serde_json::Map::new(),
            body_digest: digest,
            content_digest: digest,
            content_salt: digest,
        };
        let operation = Operation::Ingest(Box::new(message));
        let submission = Submission { tenant: Arc::clone(&self.tenant), operation, claim: None };
        assert!(self.committer.submit(submission).await.unwrap().result.is_ok());
    }
}

fn conversation(number: u64) -> String {
    format!("conv-{}", number % CONVERSATIONS)
}

/// The bodies that the committer wrote for one message.
struct Bodies {
    context: String,
    message: String,
    payload: String,
}

impl Bodies {
    async fn of(pool: &SqlitePool) -> Self {
        let sql = "SELECT c.body, m.body, p.payload FROM contexts c, messages m, log_payloads p
                   WHERE p.payload LIKE '%received%' LIMIT 1";
        let row = sqlx::query(sql).fetch_one(pool).await.unwrap();
        Self { context: row.get(0), message: row.get(1), payload: row.get(2) }
    }
}

/// A transaction a message, over a file with the same schema.
struct ByHand {
    pool: SqlitePool,
    bodies: Bodies,
}

async fn pool(file: &Path) -> SqlitePool {
    let options = SqliteConnectOptions::new()
        .filename(file)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .pragma("secure_delete", "ON");
    SqlitePoolOptions::new().max_connections(1).connect_with(options).await.unwrap()
}

impl ByHand {
    async fn one(&self, number: u64) {
        let conversation = conversation(number);
        let (key, salt) = (digest("m", number), digest("s", number));
        let now = SystemClock.now().as_micros();
        let mut transaction = self.pool.begin_with("BEGIN IMMEDIATE").await.unwrap();
        let connection = &mut *transaction;
        let duplicate = sqlx::query(DUPLICATE);
        assert!(duplicate.bind(TENANT).bind(&key).fetch_optional(&mut *connection).await.unwrap().is_none());
        let head = sqlx::query(HEAD);
        let head = head.bind(TENANT).bind(&conversation).fetch_optional(&mut *connection).await.unwrap();
        let seq = head.map_or(0, |row| row.get::<i64, _>(0)) + 1;
        let open = sqlx::query(OPEN_CONTEXT);
        drop(open.bind(TENANT).bind(&conversation).bind(&conversation).fetch_optional(&mut *connection).await.unwrap());
        let stream = sqlx::query(STREAM);
        let stream = stream.bind(TENANT).bind(&conversation).bind(&conversation).bind(seq).bind(&key).bind(now);
        stream.execute(&mut *connection).await.unwrap();
        let context = sqlx::query(CONTEXT);
        let context = context.bind(TENANT).bind(&conversation).bind(&conversation).bind(&conversation).bind(now);
        context.bind(now).bind(&self.bodies.context).execute(&mut *connection).await.unwrap();
        let message = sqlx::query(MESSAGE).bind(TENANT).bind(&key);
        message.bind(&conversation).bind(now).bind(&self.bodies.message).execute(&mut *connection).await.unwrap();
        let entry = sqlx::query(ENTRY);
        let entry = entry.bind(TENANT).bind(&conversation).bind(seq).bind(format!("ev_{number:032x}")).bind(now);
        let entry = entry.bind(format!("sha256:{number:064x}")).bind(&key).bind(&salt).bind(&key);
        entry.execute(&mut *connection).await.unwrap();
        let payload = sqlx::query(PAYLOAD);
        let payload = payload.bind(TENANT).bind(&conversation).bind(seq).bind(now).bind(&conversation);
        let payload = payload.bind(&conversation).bind(&salt).bind(&self.bodies.payload);
        payload.execute(&mut *connection).await.unwrap();
        transaction.commit().await.unwrap();
    }
}

fn digest(kind: &str, number: u64) -> Vec<u8> {
    hash(Purpose::Request, &[kind.as_bytes(), &number.to_be_bytes()]).as_bytes().to_vec()
}

/// Messages per second, with so many callers at once.
async fn rate<F: Future<Output = ()> + Send + 'static>(
    callers: u64,
    next: &Arc<AtomicU64>,
    one: impl Fn(u64) -> F + Clone + Send + 'static,
) -> f64 {
    let last = next.load(Ordering::Relaxed) + MESSAGES.min(callers * 400);
    let before = next.load(Ordering::Relaxed);
    let began = Instant::now();
    let mut tasks = Vec::new();
    for _ in 0..callers {
        let (next, one) = (Arc::clone(next), one.clone());
        tasks.push(tokio::spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= last {
                    return;
                }
                one(number).await;
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let sent = u32::try_from(last - before).unwrap();
    f64::from(sent) / began.elapsed().as_secs_f64()
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

#[tokio::main]
async fn main() {
    let folder = tempfile::tempdir().unwrap();
    let batched = Arc::new(Batched::open(&folder.path().join("batched.db")).await);
    let hand_file = folder.path().join("by_hand.db");
    SqliteStore::open(&hand_file, Arc::new(SystemClock)).await.unwrap().close().await;
    let next = Arc::new(AtomicU64::new(1));
    // Contexts are opened first: what is measured is a message in a conversation that goes on.
    for _ in 0..2 * CONVERSATIONS {
        batched.one(next.fetch_add(1, Ordering::Relaxed)).await;
    }
    let bodies = Bodies::of(&pool(&folder.path().join("batched.db")).await).await;
    let by_hand = Arc::new(ByHand { pool: pool(&hand_file).await, bodies });
    println!("callers   by hand/s   committer/s   ratio");
    for callers in [1, 16, 64] {
        let (mut slow, mut fast) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let way = Arc::clone(&by_hand);
            let one = move |number| {
                let way = Arc::clone(&way);
                async move { way.one(number).await }
            };
            slow.push(rate(callers, &next, one).await);
            let way = Arc::clone(&batched);
            let one = move |number| {
                let way = Arc::clone(&way);
                async move { way.one(number).await }
            };
            fast.push(rate(callers, &next, one).await);
        }
        let (slow, fast) = (median(slow), median(fast));
        println!("{callers:>7}{slow:>12.0}{fast:>14.0}{:>8.1}", fast / slow);
    }
}
