//! Loads all rows that the decisions of a batch may need, in one statement under the locks.

use std::collections::BTreeSet;

use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, Row as _};

use super::assembly::{With, joined};
use super::columns::{Rows as _, columns};
use super::errors::failed;
use super::session::{Query, Session};
use crate::domain::event::StreamKey;
use crate::domain::id::{AttemptId, CommandId, ConversationId, ItemId, PrincipalId, TenantId};
use crate::domain::operation::ItemRef;
use crate::domain::principal::{PersonKey, Principal};
use crate::storage::disposal::StoredMessage;
use crate::storage::sql::jsonb;
use crate::storage::sql::{body, digest, head, impossible, stream_key, tenant_id, text};
use crate::storage::{Loaded, MAX_KIN, Row, StorageError, Want};

/// The wanted items: open in a conversation or asked last there, or named in some way.
const ITEMS: [&str; 7] = [
    "SELECT i.tenant_id, i.item_id FROM unnest($4::text[], $5::text[]) AS w (tenant_id, id)
        JOIN items AS i ON i.tenant_id = w.tenant_id AND i.conversation_id = w.id AND i.state IN ('open', 'granted')",
    "SELECT c.tenant_id, c.last_item_id FROM unnest($4::text[], $5::text[]) AS w (tenant_id, id)
        JOIN conversations AS c ON c.tenant_id = w.tenant_id AND c.conversation_id = w.id
        WHERE c.last_item_id IS NOT NULL",
    "SELECT w.tenant_id, w.id FROM unnest($8::text[], $9::text[]) AS w (tenant_id, id)",
    "SELECT i.tenant_id, i.item_id FROM unnest($10::text[], $11::bytea[]) AS w (tenant_id, id)
        JOIN items AS i ON i.tenant_id = w.tenant_id AND i.nonce_digest = w.id",
    "SELECT p.tenant_id, p.item_id FROM unnest($12::text[], $13::text[]) AS w (tenant_id, id)
        JOIN item_prompts AS p ON p.tenant_id = w.tenant_id AND p.message_id = w.id",
    "SELECT i.tenant_id, i.item_id FROM unnest($14::text[], $15::text[]) AS w (tenant_id, id)
        JOIN items AS i ON i.tenant_id = w.tenant_id AND i.command_id = w.id",
    concat!(
        "SELECT i.tenant_id, i.item_id FROM unnest($26::text[], $27::bytea[]) AS w (tenant_id, id)
        JOIN messages AS m ON m.tenant_id = w.tenant_id AND m.message_key = w.id
        JOIN items AS i ON i.tenant_id = m.tenant_id AND i.item_id = ",
        jsonb!("m.body"),
        " #>> '{verdict,item_id}'"
    ),
];

/// The wanted contexts: open in a conversation, named, of a command, of an item.
const CONTEXTS: [&str; 4] = [
    "SELECT c.tenant_id, c.context_id FROM unnest($4::text[], $5::text[]) AS w (tenant_id, id)
        JOIN contexts AS c ON c.tenant_id = w.tenant_id AND c.conversation_id = w.id AND c.open",
    "SELECT w.tenant_id, w.id FROM unnest($6::text[], $7::text[]) AS w (tenant_id, id)",
    "SELECT c.tenant_id, c.context_id FROM unnest($14::text[], $15::text[]) AS w (tenant_id, id)
        JOIN commands AS c ON c.tenant_id = w.tenant_id AND c.command_id = w.id",
    "SELECT i.tenant_id, i.context_id FROM wanted_items AS w
        JOIN items AS i ON i.tenant_id = w.tenant_id AND i.item_id = w.item_id",
];

/// The wanted principals: named ones, and the actors of contexts.
const PRINCIPALS: [&str; 2] = [
    "SELECT w.tenant_id, w.id FROM unnest($20::text[], $21::text[]) AS w (tenant_id, id)",
    "SELECT c.tenant_id, c.actor_id FROM wanted_contexts AS w
        JOIN contexts AS c ON c.tenant_id = w.tenant_id AND c.context_id = w.context_id",
];

const HELD_PRINCIPALS: &str = "
    SELECT p.tenant_id, p.body FROM wanted_principals AS w
        JOIN principals AS p ON p.tenant_id = w.tenant_id AND p.principal_id = w.principal_id
        ORDER BY p.tenant_id, p.principal_id FOR SHARE OF p";

/// The result. `row` is the kind of `body`.
const ROWS: [&str; 11] = [
    "SELECT 'head' AS row, s.tenant_id, s.kind AS a, s.key AS b, s.stream_id AS c, s.seq, s.last_at, s.head_hash AS h,
            NULL AS body
        FROM unnest($1::text[], $2::text[], $3::text[]) AS w (tenant_id, kind, key)
        JOIN streams AS s ON s.tenant_id = w.tenant_id AND s.kind = w.kind AND s.key = w.key
        WHERE s.stream_id IS NOT NULL",
    "SELECT 'conversation', c.tenant_id, c.conversation_id, NULL, NULL, NULL, NULL, NULL, c.body
        FROM unnest($4::text[], $5::text[]) AS w (tenant_id, id)
        JOIN conversations AS c ON c.tenant_id = w.tenant_id AND c.conversation_id = w.id",
    "SELECT 'context', c.tenant_id, NULL, NULL, NULL, NULL, NULL, NULL, c.body FROM wanted_contexts AS w
        JOIN contexts AS c ON c.tenant_id = w.tenant_id AND c.context_id = w.context_id",
    "SELECT 'item', i.tenant_id, NULL, NULL, NULL, NULL, NULL, NULL, i.body FROM wanted_items AS w
        JOIN items AS i ON i.tenant_id = w.tenant_id AND i.item_id = w.item_id",
    "SELECT 'command', c.tenant_id, NULL, NULL, NULL, NULL, NULL, NULL, c.body
        FROM unnest($14::text[], $15::text[]) AS w (tenant_id, id)
        JOIN commands AS c ON c.tenant_id = w.tenant_id AND c.command_id = w.id",
    "SELECT 'command', c.tenant_id, NULL, NULL, NULL, NULL, NULL, NULL, c.body
        FROM unnest($16::text[], $17::text[]) AS w (tenant_id, id)
        JOIN commands AS c ON c.tenant_id = w.tenant_id AND c.idempotency_key = w.id",
    "SELECT 'message', m.tenant_id, NULL, NULL, NULL, NULL, NULL, NULL, m.body
        FROM unnest($18::text[], $19::bytea[]) AS w (tenant_id, id)
        JOIN messages AS m ON m.tenant_id = w.tenant_id AND m.message_key = w.id",
    "SELECT 'principal', p.tenant_id, NULL, NULL, NULL, NULL, NULL, NULL, p.body FROM held_principals AS p",
    "SELECT 'claim', c.tenant_id, NULL, NULL, NULL, NULL, NULL, c.claim_key, c.body
        FROM unnest($22::text[], $23::bytea[]) AS w (tenant_id, id)
        JOIN claims AS c ON c.tenant_id = w.tenant_id AND c.claim_key = w.id",
    "SELECT 'attempt', a.tenant_id, a.attempt_id, a.command_id, NULL, NULL, NULL, NULL, NULL
        FROM unnest($24::text[], $25::text[]) AS w (tenant_id, id)
        JOIN command_attempts AS a ON a.tenant_id = w.tenant_id AND a.attempt_id = w.id",
    "SELECT 'spent_name', n.tenant_id, NULL, NULL, NULL, NULL, NULL, n.name, NULL
        FROM unnest($28::text[], $29::bytea[]) AS w (tenant_id, id)
        JOIN spent_names AS n ON n.tenant_id = w.tenant_id AND n.name = w.id",
];

const LOAD_MORE: &str = "
    -- postgres: load.more
    WITH held_principals (tenant_id, body) AS MATERIALIZED (
        SELECT p.tenant_id, p.body FROM unnest($1::text[], $2::text[]) AS w (tenant_id, id)
            JOIN principals AS p ON p.tenant_id = w.tenant_id AND p.principal_id = w.id
            ORDER BY p.tenant_id, p.principal_id FOR SHARE OF p
    )
    SELECT 'principal' AS row, p.tenant_id, p.body FROM held_principals AS p
    UNION ALL
    SELECT 'item', i.tenant_id, i.body
        FROM unnest($3::text[], $4::text[]) AS w (tenant_id, id)
        JOIN items AS i ON i.tenant_id = w.tenant_id AND i.item_id = w.id";

/// Repeats the expression of each key's index, so that the index is used.
const KIN: &str = "-- postgres: load.kin
    SELECT p.body FROM principals AS p WHERE p.tenant_id = $1 AND p.principal_id IN (
        SELECT principal_id FROM principals WHERE tenant_id = $1 AND translate(principal_id, '+ -()', '') = ANY ($2::text[])
        UNION
        SELECT principal_id FROM principals WHERE tenant_id = $1 AND person_id IS NOT NULL
            AND translate(person_id, '+ -()', '') = ANY ($2::text[])
        UNION
        SELECT principal_id FROM principal_aliases WHERE tenant_id = $1 AND translate(value, '+ -()', '') = ANY ($2::text[]))
    ORDER BY p.principal_id LIMIT $3";

/// The query for principals with one of these keys; if `held`, they are locked until the transaction ends.
pub(super) fn kin_query<'q>(tenant_id: &'q TenantId, keys: &[PersonKey], held: bool) -> Query<'q> {
    let keys: Vec<String> = keys.iter().map(|key| key.as_str().to_owned()).collect();
    let sql = if held { format!("{KIN} FOR SHARE OF p") } else { KIN.to_owned() };
    sqlx::query(AssertSqlSafe(sql)).bind(tenant_id.as_str()).bind(keys).bind(i64::from(MAX_KIN) + 1)
}

pub(super) fn kin(rows: &[PgRow]) -> Result<Vec<Principal>, StorageError> {
    rows.iter().map(|row| body(row, "principals")).collect()
}

columns!(Heads { tenant_id: &'a str, kind: &'a str, key: &'a str });
columns!(Names { tenant_id: &'a str, id: &'a str });
columns!(Digests { tenant_id: &'a str, id: &'a [u8] });

/// The parameters of the load statement.
#[derive(Default)]
struct Asked<'a> {
    heads: Heads<'a>,
    conversations: Names<'a>,
    contexts: Names<'a>,
    items: Names<'a>,
    nonces: Digests<'a>,
    prompts: Names<'a>,
    commands: Names<'a>,
    idempotency_keys: Names<'a>,
    messages: Digests<'a>,
    principals: Names<'a>,
    claims: Digests<'a>,
    answering: Digests<'a>,
    attempts: Names<'a>,
    names: Digests<'a>,
}

impl<'a> Asked<'a> {
    /// Adds the rows that an operation needs besides its streams.
    fn name(&mut self, want: &'a Want) {
        let (tenant, needs) = (want.tenant_id.as_str(), &want.needs);
        needs.context.iter().for_each(|id| self.contexts.add((tenant, id.as_str())));
        for item in needs.items.iter().chain(&needs.seen) {
            match item {
                ItemRef::Id(id) => self.items.add((tenant, id.as_str())),
                ItemRef::Nonce(digest) => self.nonces.add((tenant, digest.as_bytes())),
                ItemRef::Prompt(message_id) => self.prompts.add((tenant, message_id.as_str())),
                ItemRef::AnsweredBy(key) => self.answering.add((tenant, key.as_bytes())),
            }
        }
        needs.command.iter().for_each(|id| self.commands.add((tenant, id.as_str())));
        needs.idempotency_key.iter().for_each(|key| self.idempotency_keys.add((tenant, key.as_str())));
        needs.attempt.iter().for_each(|id| self.attempts.add((tenant, id.as_str())));
        needs.names.iter().for_each(|name| self.names.add((tenant, name.as_bytes())));
        needs.messages.iter().for_each(|key| self.messages.add((tenant, key.as_bytes())));
        needs.principals.iter().for_each(|id| self.principals.add((tenant, id.as_str())));
        want.claim.iter().for_each(|key| self.claims.add((tenant, key.as_bytes())));
    }

    /// Loads all rows that the decisions of a batch may need, in one statement per batch. It is separate from the
    /// locking statement, so that it sees everything committed before the locks were held.
    ///
    /// An item comes with its context, because the earlier deadline of both counts, and a context with its actor,
    /// because a changed identity voids earlier questions; an item's actor is its context's. Principals are locked
    /// until the end of the transaction, so that identities cannot change between decision and commit.
    fn statement(&self) -> String {
        let (conversations, commands) = (!self.conversations.is_empty(), !self.commands.is_empty());
        let named = [!self.items.is_empty(), !self.nonces.is_empty(), !self.prompts.is_empty(), commands];
        let answering = !self.answering.is_empty();
        let items = [conversations, conversations, named[0], named[1], named[2], named[3], answering];
        let items = joined(&paired(items, ITEMS), "\n    UNION ");
        let contexts = [conversations, !self.contexts.is_empty(), commands, items.is_some()];
        let contexts = joined(&paired(contexts, CONTEXTS), "\n    UNION ");
        let principals = [!self.principals.is_empty(), contexts.is_some()];
        let principals = joined(&paired(principals, PRINCIPALS), "\n    UNION ");
        let rows = [
            // Always included, because it defines the column names.
            true,
            conversations,
            contexts.is_some(),
            items.is_some(),
            commands,
            !self.idempotency_keys.is_empty(),
            !self.messages.is_empty(),
            principals.is_some(),
            !self.claims.is_empty(),
            !self.attempts.is_empty(),
            !self.names.is_empty(),
        ];
        let rows = joined(&paired(rows, ROWS), "\n    UNION ALL ").unwrap_or_default();
        let mut with = With::default();
        if let Some(query) = items {
            with.add("wanted_items (tenant_id, item_id) AS", &query);
        }
        if let Some(query) = contexts {
            with.add("wanted_contexts (tenant_id, context_id) AS", &query);
        }
        if let Some(query) = principals {
            with.add("wanted_principals (tenant_id, principal_id) AS", &query);
            with.add("held_principals (tenant_id, body) AS MATERIALIZED", HELD_PRINCIPALS);
        }
        format!("-- postgres: load.rows{}", with.then(&rows))
    }

    async fn fetch(self, session: &mut Session) -> Result<Vec<PgRow>, StorageError> {
        let query = sqlx::query(AssertSqlSafe(self.statement()));
        let query = self.contexts.bind(self.conversations.bind(self.heads.bind(query)));
        let query = self.prompts.bind(self.nonces.bind(self.items.bind(query)));
        let query = self.messages.bind(self.idempotency_keys.bind(self.commands.bind(query)));
        let query = self.attempts.bind(self.claims.bind(self.principals.bind(query)));
        session.rows(self.names.bind(self.answering.bind(query))).await
    }
}

fn paired<const N: usize>(wanted: [bool; N], parts: [&'static str; N]) -> [(bool, &'static str); N] {
    std::array::from_fn(|at| (wanted[at], parts[at]))
}

/// Loads the rows of the operations whose streams are locked.
pub(super) async fn load(
    session: &mut Session,
    wants: &[Want],
    streams: Vec<Option<Vec<StreamKey>>>,
) -> Result<Loaded, StorageError> {
    let mut asked = Asked::default();
    let (mut heads, mut conversations) = (BTreeSet::new(), BTreeSet::new());
    for (want, keys) in wants.iter().zip(&streams) {
        let Some(keys) = keys else { continue };
        let tenant = want.tenant_id.as_str();
        for key in keys {
            heads.insert((tenant, key.kind(), key.key()));
            if let StreamKey::Conversation(id) = key {
                conversations.insert((tenant, id.as_str()));
            }
        }
        asked.name(want);
    }
    for head in heads {
        asked.heads.add(head);
    }
    for conversation in conversations {
        asked.conversations.add(conversation);
    }
    let rows = asked.fetch(session).await?;
    let mut loaded = Loaded { streams, ..Loaded::default() };
    for row in &rows {
        take(&mut loaded, row)?;
    }
    Ok(loaded)
}

fn take(loaded: &mut Loaded, row: &PgRow) -> Result<(), StorageError> {
    let kind: &str = row.try_get("row").map_err(failed)?;
    let tenant = tenant_id(row)?;
    let record = match kind {
        "head" => {
            loaded.heads.push((tenant, stream_key(row)?, head(row)?));
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
            let id = ConversationId::new(text(row, "a")?).map_err(|error| impossible("conversations", &error))?;
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
    session: &mut Session,
    principals: &[(TenantId, PrincipalId)],
    items: &[(TenantId, ItemId)],
) -> Result<Vec<(TenantId, Row)>, StorageError> {
    if principals.is_empty() && items.is_empty() {
        return Ok(Vec::new());
    }
    let (mut people, mut named) = (Names::default(), Names::default());
    for (tenant, id) in principals {
        people.add((tenant.as_str(), id.as_str()));
    }
    for (tenant, id) in items {
        named.add((tenant.as_str(), id.as_str()));
    }
    let mut loaded = Loaded::default();
    for row in &session.rows(named.bind(people.bind(sqlx::query(LOAD_MORE)))).await? {
        take(&mut loaded, row)?;
    }
    Ok(loaded.rows)
}
