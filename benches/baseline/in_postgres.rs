//! The program written by hand, on PostgreSQL: five round trips, prepared, from a pool of 32 connections.

use std::sync::Arc;

use async_trait::async_trait;
use cscp::domain::time::Clock as _;
use cscp::system::SystemClock;
use sqlx::postgres::PgPoolOptions;
use sqlx::{Connection as _, PgConnection, PgPool, Row};

use super::in_sqlite::{BODIES, digest};
use super::server::{Server, TENANT, handler_key};
use super::{Contest, Way, postgres};

/// Waits for the conversation, and looks for a duplicate and for the open context.
const LOOK: &str = "
    SELECT s.seq, s.stream_id, c.context_id, c.body,
           (SELECT count(*) FROM messages AS m WHERE m.tenant_id = $1 AND m.message_key = $3)
    FROM streams AS s
    JOIN contexts AS c ON c.tenant_id = s.tenant_id AND c.conversation_id = s.key AND c.actor_id = $4
        AND c.status IN ('active', 'pending', 'blocked')
    WHERE s.tenant_id = $1 AND s.kind = 'conversation' AND s.key = $2 FOR UPDATE OF s";
const STATE: &str = "
    WITH head AS (UPDATE streams SET seq = $3, head_hash = $4, last_at = $5
                  WHERE tenant_id = $1 AND kind = 'conversation' AND key = $2)
    UPDATE contexts SET expires_at = $5, updated_at = $5, body = $7 WHERE tenant_id = $1 AND context_id = $6";
const NEWS: &str = "
    WITH message AS (
        INSERT INTO messages (tenant_id, message_key, conversation_id, keep_until, body) VALUES ($1, $2, $3, $4, $5)
    ), entry AS (
        INSERT INTO log_entries (tenant_id, stream_id, seq, v, artifact_id, type, at, policy_hash, payload_commitment,
                                 prev_hash, entry_hash)
        VALUES ($1, $6, $7, 1, $8, 'message.received', $4, $9, $2, $10, $2)
    )
    INSERT INTO log_payloads (tenant_id, stream_id, seq, at, conversation_id, context_id, salt, payload)
    VALUES ($1, $6, $7, $4, $3, $11, $10, $12)";

struct ByHand {
    pool: PgPool,
    message: String,
    payload: String,
}

pub(crate) async fn contest() -> Option<Contest> {
    let of_server = postgres::database().await?;
    let key = handler_key(&of_server);
    let server = Server::start(&of_server, &key);
    server.open_conversations().await;
    // A database is copied while nobody is connected to it.
    drop(server);
    let of_hand = copied(&of_server).await;
    let pool = PgPoolOptions::new().max_connections(32).connect(&of_hand).await.unwrap();
    let row = sqlx::query(BODIES).fetch_one(&pool).await.unwrap();
    let by_hand = Arc::new(ByHand { message: row.get(0), payload: row.get(1), pool });
    Some(Contest { name: "PostgreSQL", server: Server::start(&of_server, &key), by_hand })
}

/// The address of a copy of this database.
async fn copied(url: &str) -> String {
    let (server, rest) = url.rsplit_once('/').unwrap();
    let (name, options) = rest.split_once('?').unwrap_or((rest, ""));
    let mut connection = PgConnection::connect(&format!("{server}/postgres?{options}")).await.unwrap();
    let copy = sqlx::AssertSqlSafe(format!("CREATE DATABASE {name}_by_hand TEMPLATE {name}"));
    sqlx::raw_sql(copy).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    format!("{server}/{name}_by_hand?{options}")
}

#[async_trait]
impl Way for ByHand {
    async fn message(&self, _client: u64, number: u64, conversation: u64) {
        let (conversation, person) = (format!("conv-{conversation}"), format!("person-{conversation}"));
        let (key, salt) = (digest("m", number), digest("s", number));
        let now = SystemClock.now().as_micros();
        let mut transaction = self.pool.begin().await.unwrap();
        let on = &mut *transaction;
        let look = sqlx::query(LOOK).bind(TENANT).bind(&conversation).bind(&key).bind(&person);
        let row = look.fetch_one(&mut *on).await.unwrap();
        assert_eq!(row.get::<i64, _>(4), 0);
        let (seq, stream) = (row.get::<i64, _>(0) + 1, row.get::<String, _>(1));
        let (context, body) = (row.get::<String, _>(2), row.get::<String, _>(3));
        let state = sqlx::query(STATE).bind(TENANT).bind(&conversation).bind(seq).bind(&key).bind(now);
        state.bind(&context).bind(&body).execute(&mut *on).await.unwrap();
        let news = sqlx::query(NEWS).bind(TENANT).bind(&key).bind(&conversation).bind(now).bind(&self.message);
        let news = news.bind(&stream).bind(seq).bind(format!("ev_{number:032x}"));
        let news = news.bind(format!("sha256:{number:064x}")).bind(&salt).bind(&context).bind(&self.payload);
        news.execute(&mut *on).await.unwrap();
        transaction.commit().await.unwrap();
    }
}
