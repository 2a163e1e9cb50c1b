//! The program written by hand, on SQLite: one connection that writes, as SQLite has it; more of them only collide.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use cscp::domain::canonical::{Purpose, hash};
use cscp::domain::time::Clock as _;
use cscp::system::SystemClock;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Row, SqlitePool};

use super::server::{Server, TENANT, handler_key};
use super::{Contest, Way};

const DUPLICATE: &str = "SELECT body FROM messages WHERE tenant_id = ? AND message_key = ?";
const HEAD: &str = "SELECT seq, stream_id FROM streams WHERE tenant_id = ? AND kind = 'conversation' AND key = ?";
const OPEN_CONTEXT: &str = "
    SELECT context_id, body FROM contexts WHERE tenant_id = ? AND conversation_id = ? AND actor_id = ?
    AND status IN ('active', 'pending', 'blocked')";
const STREAM: &str = "
    UPDATE streams SET seq = ?, head_hash = ?, last_at = ? WHERE tenant_id = ? AND kind = 'conversation' AND key = ?";
const CONTEXT: &str = "
    UPDATE contexts SET expires_at = ?, updated_at = ?, body = ? WHERE tenant_id = ? AND context_id = ?";
const MESSAGE: &str = "
    INSERT INTO messages (tenant_id, message_key, conversation_id, keep_until, body) VALUES (?, ?, ?, ?, ?)";
const ENTRY: &str = "
    INSERT INTO log_entries (tenant_id, stream_id, seq, v, artifact_id, type, at, policy_hash, payload_commitment,
                             prev_hash, entry_hash)
    VALUES (?, ?, ?, 1, ?, 'message.received', ?, ?, ?, ?, ?)";
const PAYLOAD: &str = "
    INSERT INTO log_payloads (tenant_id, stream_id, seq, at, conversation_id, context_id, salt, payload)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)";

/// The body of a message's row and of its entry's payload, as the server wrote them.
pub(crate) const BODIES: &str = "
    SELECT (SELECT body FROM messages LIMIT 1), p.payload FROM log_entries AS e
    JOIN log_payloads AS p ON p.tenant_id = e.tenant_id AND p.stream_id = e.stream_id AND p.seq = e.seq
    WHERE e.type = 'message.received' LIMIT 1";

pub(crate) struct ByHand {
    pool: SqlitePool,
    message: String,
    payload: String,
}

async fn pool(file: &Path) -> SqlitePool {
    let options = SqliteConnectOptions::new()
        .filename(file)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .pragma("secure_delete", "ON");
    SqlitePoolOptions::new().max_connections(1).connect_with(options).await.unwrap()
}

pub(crate) async fn contest() -> Contest {
    // The folder is left to the system's clean-up when the program is killed.
    let folder = tempfile::tempdir().unwrap().keep();
    let (of_server, of_hand) = (folder.join("server.db"), folder.join("by_hand.db"));
    let database = of_server.display().to_string();
    let key = handler_key(&database);
    let server = Server::start(&database, &key);
    server.open_conversations().await;
    let copying = pool(&of_server).await;
    sqlx::query("VACUUM INTO ?").bind(of_hand.display().to_string()).execute(&copying).await.unwrap();
    copying.close().await;
    let pool = pool(&of_hand).await;
    let row = sqlx::query(BODIES).fetch_one(&pool).await.unwrap();
    let by_hand = Arc::new(ByHand { message: row.get(0), payload: row.get(1), pool });
    Contest { name: "SQLite", server, by_hand }
}

pub(crate) fn digest(kind: &str, number: u64) -> Vec<u8> {
    hash(Purpose::Request, &[kind.as_bytes(), &number.to_be_bytes()]).as_bytes().to_vec()
}

#[async_trait]
impl Way for ByHand {
    async fn message(&self, _client: u64, number: u64, conversation: u64) {
        let (conversation, person) = (format!("conv-{conversation}"), format!("person-{conversation}"));
        let (key, salt) = (digest("m", number), digest("s", number));
        let now = SystemClock.now().as_micros();
        let mut transaction = self.pool.begin_with("BEGIN IMMEDIATE").await.unwrap();
        let on = &mut *transaction;
        let duplicate = sqlx::query(DUPLICATE).bind(TENANT).bind(&key).fetch_optional(&mut *on).await.unwrap();
        assert!(duplicate.is_none());
        let head = sqlx::query(HEAD).bind(TENANT).bind(&conversation).fetch_one(&mut *on).await.unwrap();
        let (seq, stream) = (head.get::<i64, _>(0) + 1, head.get::<String, _>(1));
        let open = sqlx::query(OPEN_CONTEXT).bind(TENANT).bind(&conversation).bind(&person);
        let open = open.fetch_one(&mut *on).await.unwrap();
        let (context, body) = (open.get::<String, _>(0), open.get::<String, _>(1));
        let query = sqlx::query(STREAM).bind(seq).bind(&key).bind(now).bind(TENANT).bind(&conversation);
        query.execute(&mut *on).await.unwrap();
        let query = sqlx::query(CONTEXT).bind(now).bind(now).bind(&body).bind(TENANT).bind(&context);
        query.execute(&mut *on).await.unwrap();
        let query = sqlx::query(MESSAGE).bind(TENANT).bind(&key).bind(&conversation).bind(now).bind(&self.message);
        query.execute(&mut *on).await.unwrap();
        let query = sqlx::query(ENTRY).bind(TENANT).bind(&stream).bind(seq).bind(format!("ev_{number:032x}")).bind(now);
        let query = query.bind(format!("sha256:{number:064x}")).bind(&key).bind(&salt).bind(&key);
        query.execute(&mut *on).await.unwrap();
        let query = sqlx::query(PAYLOAD).bind(TENANT).bind(&stream).bind(seq).bind(now).bind(&conversation);
        query.bind(&context).bind(&salt).bind(&self.payload).execute(&mut *on).await.unwrap();
        transaction.commit().await.unwrap();
    }
}
