//! Locking and loading. `BEGIN IMMEDIATE` allows one writer at a time, so it locks every stream at once.

use std::collections::BTreeSet;

use serde::Serialize;
use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, Row as _, SqliteConnection, SqliteExecutor};

use super::rows::{Rows, unavailable};
use crate::domain::event::StreamKey;
use crate::domain::id::{AttemptId, CommandId, ConversationId, ItemId, PrincipalId, TenantId};
use crate::domain::operation::ItemRef;
use crate::domain::principal::{PersonKey, Principal};
use crate::storage::disposal::StoredMessage;
use crate::storage::sql::{body, digest, head, impossible, stream_key, text};
use crate::storage::{Loaded, MAX_KIN, Row, StorageError, Want};

/// The conversations of contexts, items and commands that were named without their conversation.
const LOCATE: &str = "
    -- sqlite: load.locate
    SELECT w.value->>0 AS position, c.conversation_id FROM json_each(?1) AS w
        CROSS JOIN contexts AS c ON c.tenant_id = w.value->>1 AND c.context_id = w.value->>2
    UNION ALL
    SELECT w.value->>0, i.conversation_id FROM json_each(?2) AS w
        CROSS JOIN items AS i ON i.tenant_id = w.value->>1 AND i.item_id = w.value->>2
    UNION ALL
    SELECT w.value->>0, i.conversation_id FROM json_each(?3) AS w
        CROSS JOIN items AS i ON i.tenant_id = w.value->>1 AND i.nonce_digest = unhex(w.value->>2)
    UNION ALL
    SELECT w.value->>0, i.conversation_id FROM json_each(?4) AS w
        CROSS JOIN item_prompts AS p ON p.tenant_id = w.value->>1 AND p.message_id = w.value->>2
        CROSS JOIN items AS i ON i.tenant_id = p.tenant_id AND i.item_id = p.item_id
    UNION ALL
    SELECT w.value->>0, c.conversation_id FROM json_each(?5) AS w
        CROSS JOIN commands AS c ON c.tenant_id = w.value->>1 AND c.command_id = w.value->>2
    UNION ALL
    SELECT w.value->>0, i.conversation_id FROM json_each(?6) AS w
        CROSS JOIN messages AS m ON m.tenant_id = w.value->>1 AND m.message_key = unhex(w.value->>2)
        CROSS JOIN items AS i ON i.tenant_id = m.tenant_id AND i.item_id = m.body->'$.verdict'->>'item_id'";

/// Loads all rows that the decisions of a batch may need, in one statement per batch.
///
/// `row` is the kind of `body`. An item comes with its context, because the earlier deadline of both counts, and a
/// context with its actor, because a changed identity voids earlier questions; an item's actor is its context's.
const LOAD: &str = "
    -- sqlite: load.rows
    WITH wanted_items (tenant_id, item_id) AS (
        SELECT i.tenant_id, i.item_id FROM json_each(?2) AS w
            CROSS JOIN items AS i
            ON i.tenant_id = w.value->>0 AND i.conversation_id = w.value->>1 AND i.state IN ('open', 'granted')
        UNION
        SELECT c.tenant_id, c.body->'$.last_question'->>'item_id' FROM json_each(?2) AS w
            CROSS JOIN conversations AS c ON c.tenant_id = w.value->>0 AND c.conversation_id = w.value->>1
        UNION
        SELECT w.value->>0, w.value->>1 FROM json_each(?4) AS w
        UNION
        SELECT i.tenant_id, i.item_id FROM json_each(?5) AS w
            CROSS JOIN items AS i ON i.tenant_id = w.value->>0 AND i.nonce_digest = unhex(w.value->>1)
        UNION
        SELECT p.tenant_id, p.item_id FROM json_each(?6) AS w
            CROSS JOIN item_prompts AS p ON p.tenant_id = w.value->>0 AND p.message_id = w.value->>1
        UNION
        SELECT i.tenant_id, i.item_id FROM json_each(?7) AS w
            CROSS JOIN items AS i ON i.tenant_id = w.value->>0 AND i.command_id = w.value->>1
        UNION
        SELECT m.tenant_id, m.body->'$.verdict'->>'item_id' FROM json_each(?13) AS w
            CROSS JOIN messages AS m ON m.tenant_id = w.value->>0 AND m.message_key = unhex(w.value->>1)
    ), wanted_contexts (tenant_id, context_id) AS (
        SELECT c.tenant_id, c.context_id FROM json_each(?2) AS w
            CROSS JOIN contexts AS c ON c.tenant_id = w.value->>0 AND c.conversation_id = w.value->>1
            AND c.status IN ('active', 'pending', 'blocked')
        UNION
        SELECT w.value->>0, w.value->>1 FROM json_each(?3) AS w
        UNION
        SELECT c.tenant_id, c.context_id FROM json_each(?7) AS w
            CROSS JOIN commands AS c ON c.tenant_id = w.value->>0 AND c.command_id = w.value->>1
        UNION
        SELECT i.tenant_id, i.context_id FROM wanted_items AS w
            CROSS JOIN items AS i ON i.tenant_id = w.tenant_id AND i.item_id = w.item_id
    ), wanted_principals (tenant_id, principal_id) AS (
        SELECT w.value->>0, w.value->>1 FROM json_each(?10) AS w
        UNION
        SELECT c.tenant_id, c.actor_id FROM wanted_contexts AS w
            CROSS JOIN contexts AS c ON c.tenant_id = w.tenant_id AND c.context_id = w.context_id
    )
    SELECT 'head' AS row, s.tenant_id, s.kind AS a, s.key AS b, s.stream_id AS c, s.seq, s.last_at, s.head_hash AS h,
           NULL AS body
        FROM json_each(?1) AS w
        CROSS JOIN streams AS s ON s.tenant_id = w.value->>0 AND s.kind = w.value->>1 AND s.key = w.value->>2
    UNION ALL
    SELECT 'conversation', c.tenant_id, c.conversation_id, NULL, NULL, NULL, NULL, NULL, c.body FROM json_each(?2) AS w
        CROSS JOIN conversations AS c ON c.tenant_id = w.value->>0 AND c.conversation_id = w.value->>1
    UNION ALL
    SELECT 'context', c.tenant_id, NULL, NULL, NULL, NULL, NULL, NULL, c.body FROM wanted_contexts AS w
        CROSS JOIN contexts AS c ON c.tenant_id = w.tenant_id AND c.context_id = w.context_id
    UNION ALL
    SELECT 'item', i.tenant_id, NULL, NULL, NULL, NULL, NULL, NULL, i.body FROM wanted_items AS w
        CROSS JOIN items AS i ON i.tenant_id = w.tenant_id AND i.item_id = w.item_id
    UNION ALL
    SELECT 'command', c.tenant_id, NULL, NULL, NULL, NULL, NULL, NULL, c.body FROM json_each(?7) AS w
        CROSS JOIN commands AS c ON c.tenant_id = w.value->>0 AND c.command_id = w.value->>1
    UNION ALL
    SELECT 'command', c.tenant_id, NULL, NULL, NULL, NULL, NULL, NULL, c.body FROM json_each(?8) AS w
        CROSS JOIN commands AS c ON c.tenant_id = w.value->>0 AND c.idempotency_key = w.value->>1
    UNION ALL
    SELECT 'message', m.tenant_id, NULL, NULL, NULL, NULL, NULL, NULL, m.body FROM json_each(?9) AS w
        CROSS JOIN messages AS m ON m.tenant_id = w.value->>0 AND m.message_key = unhex(w.value->>1)
    UNION ALL
    SELECT 'principal', p.tenant_id, NULL, NULL, NULL, NULL, NULL, NULL, p.body FROM wanted_principals AS w
        CROSS JOIN principals AS p ON p.tenant_id = w.tenant_id AND p.principal_id = w.principal_id
    UNION ALL
    SELECT 'claim', c.tenant_id, NULL, NULL, NULL, NULL, NULL, c.claim_key, c.body FROM json_each(?11) AS w
        CROSS JOIN claims AS c ON c.tenant_id = w.value->>0 AND c.claim_key = unhex(w.value->>1)
    UNION ALL
    SELECT 'attempt', a.tenant_id, a.attempt_id, a.command_id, NULL, NULL, NULL, NULL, NULL FROM json_each(?12) AS w
        CROSS JOIN command_attempts AS a ON a.tenant_id = w.value->>0 AND a.attempt_id = w.value->>1
    UNION ALL
    SELECT 'spent_name', n.tenant_id, NULL, NULL, NULL, NULL, NULL, n.name, NULL FROM json_each(?14) AS w
        CROSS JOIN spent_names AS n ON n.tenant_id = w.value->>0 AND n.name = unhex(w.value->>1)";

const LOAD_MORE: &str = "
    -- sqlite: load.more
    SELECT 'principal' AS row, p.tenant_id, p.body FROM json_each(?1) AS w
        CROSS JOIN principals AS p ON p.tenant_id = w.value->>0 AND p.principal_id = w.value->>1
    UNION ALL
    SELECT 'item', i.tenant_id, i.body FROM json_each(?2) AS w
        CROSS JOIN items AS i ON i.tenant_id = w.value->>0 AND i.item_id = w.value->>1";

/// Repeats the expression of each key's index, so that the index is used.
macro_rules! key_of {
    ($column:literal) => {
        concat!(
            "replace(replace(replace(replace(replace(",
            $column,
            ", '+', ''), ' ', ''), '-', ''), '(', ''), ')', '')"
        )
    };
}

const KIN: &str = concat!(
    "-- sqlite: load.kin
    SELECT p.body FROM principals AS p WHERE p.tenant_id = ?1 AND p.principal_id IN (
        SELECT principal_id FROM principals WHERE tenant_id = ?1 AND ",
    key_of!("principal_id"),
    " IN (SELECT value FROM json_each(?2))
        UNION
        SELECT principal_id FROM principals WHERE tenant_id = ?1 AND person_id IS NOT NULL AND ",
    key_of!("person_id"),
    " IN (SELECT value FROM json_each(?2))
        UNION
        SELECT principal_id FROM principal_aliases WHERE tenant_id = ?1 AND ",
    key_of!("value"),
    " IN (SELECT value FROM json_each(?2)))
    ORDER BY p.principal_id LIMIT ?3"
);

/// Principals with one of these keys.
pub(super) async fn kin(
    executor: impl SqliteExecutor<'_>,
    tenant_id: &TenantId,
    keys: &[PersonKey],
) -> Result<Vec<Principal>, StorageError> {
    let mut array = Rows::default();
    for key in keys {
        array.add(&key.as_str());
    }
    let query = sqlx::query(KIN).bind(tenant_id.as_str()).bind(array.into_array()).bind(i64::from(MAX_KIN) + 1);
    let rows = query.fetch_all(executor).await.map_err(unavailable)?;
    rows.iter().map(|row| body(row, "principals")).collect()
}

/// Parameters of a statement, each a JSON array.
struct Lists<const N: usize>([Rows; N]);

impl<const N: usize> Lists<N> {
    fn new() -> Self {
        Self(std::array::from_fn(|_| Rows::default()))
    }

    fn add(&mut self, list: usize, row: &impl Serialize) {
        self.0[list - 1].add(row);
    }

    async fn fetch(self, sql: &'static str, connection: &mut SqliteConnection) -> Result<Vec<SqliteRow>, StorageError> {
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for list in self.0 {
            query = query.bind(list.into_array());
        }
        query.fetch_all(connection).await.map_err(unavailable)
    }
}

/// Finds the streams of each operation and loads its rows.
pub(super) async fn load(connection: &mut SqliteConnection, wants: &[Want]) -> Result<Loaded, StorageError> {
    let streams = locate(connection, wants).await?;
    let mut lists = Lists::<14>::new();
    let mut conversations = BTreeSet::new();
    let mut keys = BTreeSet::new();
    for (want, streams) in wants.iter().zip(&streams) {
        let tenant = want.tenant_id.as_str();
        for stream in streams {
            keys.insert((tenant, stream.kind(), stream.key()));
            if let StreamKey::Conversation(id) = stream {
                conversations.insert((tenant, id.as_str()));
            }
        }
        name(&mut lists, want);
    }
    for (tenant, kind, key) in keys {
        lists.add(1, &(tenant, kind, key));
    }
    for (tenant, id) in conversations {
        lists.add(2, &(tenant, id));
    }
    let mut loaded = Loaded { streams: streams.into_iter().map(Some).collect(), ..Loaded::default() };
    for row in lists.fetch(LOAD, connection).await? {
        take(&mut loaded, &row)?;
    }
    Ok(loaded)
}

fn name(lists: &mut Lists<14>, want: &Want) {
    let (tenant, needs) = (want.tenant_id.as_str(), &want.needs);
    needs.context.iter().for_each(|id| lists.add(3, &(tenant, id)));
    for item in needs.items.iter().chain(&needs.seen) {
        match item {
            ItemRef::Id(id) => lists.add(4, &(tenant, id)),
            ItemRef::Nonce(digest) => lists.add(5, &(tenant, digest)),
            ItemRef::Prompt(message_id) => lists.add(6, &(tenant, message_id)),
            ItemRef::AnsweredBy(key) => lists.add(13, &(tenant, key)),
        }
    }
    needs.command.iter().for_each(|id| lists.add(7, &(tenant, id)));
    needs.idempotency_key.iter().for_each(|key| lists.add(8, &(tenant, key)));
    needs.messages.iter().for_each(|key| lists.add(9, &(tenant, key)));
    needs.principals.iter().for_each(|id| lists.add(10, &(tenant, id)));
    want.claim.iter().for_each(|key| lists.add(11, &(tenant, key)));
    needs.attempt.iter().for_each(|id| lists.add(12, &(tenant, id)));
    needs.names.iter().for_each(|name| lists.add(14, &(tenant, name)));
}

/// The streams that each operation needs; unknown names add none.
async fn locate(connection: &mut SqliteConnection, wants: &[Want]) -> Result<Vec<Vec<StreamKey>>, StorageError> {
    let mut streams: Vec<Vec<StreamKey>> = wants.iter().map(|want| want.needs.streams.clone()).collect();
    let mut lists = Lists::<6>::new();
    for (position, want) in wants.iter().enumerate() {
        let (tenant, needs) = (want.tenant_id.as_str(), &want.needs);
        needs.context.iter().for_each(|id| lists.add(1, &(position, tenant, id)));
        for item in &needs.items {
            match item {
                ItemRef::Id(id) => lists.add(2, &(position, tenant, id)),
                ItemRef::Nonce(digest) => lists.add(3, &(position, tenant, digest)),
                ItemRef::Prompt(message_id) => lists.add(4, &(position, tenant, message_id)),
                ItemRef::AnsweredBy(key) => lists.add(6, &(position, tenant, key)),
            }
        }
        let named = needs.command.iter().filter(|_| needs.lock_command);
        named.for_each(|id| lists.add(5, &(position, tenant, id)));
    }
    if lists.0.iter().all(Rows::is_empty) {
        return Ok(streams);
    }
    for row in lists.fetch(LOCATE, connection).await? {
        let position: i64 = row.try_get(0).map_err(unavailable)?;
        let id: String = row.try_get(1).map_err(unavailable)?;
        let found = ConversationId::new(id).map_err(|error| impossible("items", &error))?;
        let key = StreamKey::Conversation(found);
        let wanted = usize::try_from(position).ok().and_then(|position| streams.get_mut(position));
        if let Some(keys) = wanted.filter(|keys| !keys.contains(&key)) {
            keys.push(key);
        }
    }
    Ok(streams)
}

fn take(loaded: &mut Loaded, row: &SqliteRow) -> Result<(), StorageError> {
    let kind: String = row.try_get("row").map_err(unavailable)?;
    let tenant: String = row.try_get("tenant_id").map_err(unavailable)?;
    let tenant = TenantId::new(tenant).map_err(|error| impossible("tenants", &error))?;
    let record = match kind.as_str() {
        "head" => {
            let (key, head) = (stream_key(row)?, head(row)?);
            loaded.heads.push((tenant, key, head));
            return Ok(());
        }
        "claim" => {
            loaded.claims.push((tenant, digest(row, "h")?, body(row, "claims")?));
            return Ok(());
        }
        "spent_name" => {
            loaded.spent_names.push((tenant, digest(row, "h")?));
            return Ok(());
        }
        "conversation" => {
            let id: String = row.try_get("a").map_err(unavailable)?;
            let id = ConversationId::new(id).map_err(|error| impossible("conversations", &error))?;
            Row::Conversation(id, body(row, "conversations")?)
        }
        "context" => Row::Context(body(row, "contexts")?),
        "item" => Row::Item(body(row, "items")?),
        "command" => Row::Command(body(row, "commands")?),
        "attempt" => {
            let foreign = |error| impossible("command_attempts", &error);
            Row::Attempt(
                AttemptId::new(text(row, "a")?).map_err(foreign)?,
                CommandId::new(text(row, "b")?).map_err(foreign)?,
            )
        }
        "message" => match body(row, "messages")? {
            StoredMessage::Kept(message) => Row::Message(*message),
            StoredMessage::Erased { erased } => Row::ErasedMessage(erased),
        },
        _ => Row::Principal(body(row, "principals")?),
    };
    loaded.rows.push((tenant, record));
    Ok(())
}

/// Loads principals and items that only the rows of the first load name.
pub(super) async fn load_more(
    connection: &mut SqliteConnection,
    principals: &[(TenantId, PrincipalId)],
    items: &[(TenantId, ItemId)],
) -> Result<Vec<(TenantId, Row)>, StorageError> {
    if principals.is_empty() && items.is_empty() {
        return Ok(Vec::new());
    }
    let mut lists = Lists::<2>::new();
    for (tenant, id) in principals {
        lists.add(1, &(tenant, id));
    }
    for (tenant, id) in items {
        lists.add(2, &(tenant, id));
    }
    let mut loaded = Loaded::default();
    for row in lists.fetch(LOAD_MORE, connection).await? {
        take(&mut loaded, &row)?;
    }
    Ok(loaded.rows)
}
