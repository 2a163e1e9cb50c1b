//! What a batch needs under its locks: the texts that find the streams of each operation and load its rows.

use std::collections::{BTreeSet, HashMap};

use super::disposal::StoredMessage;
use super::load_parts::{CONTEXTS, HEADS, HELD_PRINCIPALS, ITEMS, KIN, LOCATED, PRINCIPALS, Part, ROWS};
use super::sql::{
    Column, Columns, Rows, Scalar, Statement, Type, Value, With, body, digest, head, impossible, number, stream_key,
    tenant_id, text,
};
use super::{Loaded, MAX_KIN, Row, StorageError, Want};
use crate::domain::event::StreamKey;
use crate::domain::id::{AttemptId, CommandId, ConversationId, ItemId, PrincipalId, TenantId};
use crate::domain::operation::ItemRef;
use crate::domain::principal::PersonKey;

const STREAM: [Column; 3] = [("tenant_id", Type::Text), ("kind", Type::Text), ("key", Type::Text)];
const BY_NAME: [Column; 2] = [("tenant_id", Type::Text), ("id", Type::Text)];
const BY_DIGEST: [Column; 2] = [("tenant_id", Type::Text), ("id", Type::Bytes)];
const PLACED_NAME: [Column; 3] = [("position", Type::Number), ("tenant_id", Type::Text), ("id", Type::Text)];
const PLACED_DIGEST: [Column; 3] = [("position", Type::Number), ("tenant_id", Type::Text), ("id", Type::Bytes)];

/// Sets of wanted rows, by name.
#[derive(Default)]
struct Wanted(HashMap<&'static str, Rows>);

impl Wanted {
    fn add<const N: usize>(&mut self, set: &'static str, columns: &'static [Column; N], row: [Scalar; N]) {
        self.0.entry(set).or_insert_with(|| Rows::new(columns)).add(row);
    }

    fn has(&self, set: &str) -> bool {
        self.0.contains_key(set)
    }

    fn bind(self, statement: Statement) -> Statement {
        self.0.into_iter().fold(statement, |statement, (name, rows)| statement.bind(name, Value::Rows(rows)))
    }
}

/// The parts that have what they need, one after the other; none if there is none.
fn joined(parts: &[Part], has: impl Fn(&str) -> bool, between: &str) -> Option<String> {
    let wanted: Vec<&str> = parts.iter().filter(|(needs, _)| has(needs)).map(|(_, part)| *part).collect();
    (!wanted.is_empty()).then(|| wanted.join(between))
}

/// What is needed to find the conversations of the operations: the text of a query with the columns `position` (of the
/// operation), `tenant_id` and `conversation_id`, and the values that it names. None if all of them are known.
pub(super) struct Locating {
    pub(super) text: String,
    wanted: Wanted,
}

impl Locating {
    pub(super) fn of(wants: &[Want]) -> Option<Self> {
        let mut wanted = Wanted::default();
        for (position, want) in (0_u64..).zip(wants) {
            let (tenant, needs) = (want.tenant_id.as_str(), &want.needs);
            let mut name = |set, id: &str| wanted.add(set, &PLACED_NAME, [position.into(), tenant.into(), id.into()]);
            needs.context.iter().for_each(|id| name("contexts", id.as_str()));
            needs.command.iter().filter(|_| needs.lock_command).for_each(|id| name("commands", id.as_str()));
            for item in &needs.items {
                match item {
                    ItemRef::Id(id) => name("items", id.as_str()),
                    ItemRef::Prompt(id) => name("prompts", id.as_str()),
                    ItemRef::Nonce(_) | ItemRef::AnsweredBy(_) => {}
                }
            }
            for item in &needs.items {
                let (set, id) = match item {
                    ItemRef::Nonce(digest) => ("nonces", digest),
                    ItemRef::AnsweredBy(key) => ("answering", key),
                    ItemRef::Id(_) | ItemRef::Prompt(_) => continue,
                };
                wanted.add(set, &PLACED_DIGEST, [position.into(), tenant.into(), id.into()]);
            }
        }
        let text = joined(&LOCATED, |set| wanted.has(set), "\n    UNION ALL ")?;
        Some(Self { text, wanted })
    }

    pub(super) fn bind(self, statement: Statement) -> Statement {
        self.wanted.bind(statement)
    }
}

/// The conversation of a located record, with the position of its operation.
pub(super) fn located(row: &impl Columns) -> Result<(usize, StreamKey), StorageError> {
    let position = usize::try_from(number(row, "position")?).map_err(|error| impossible("items", &error))?;
    let id = ConversationId::new(text(row, "conversation_id")?).map_err(|error| impossible("items", &error))?;
    Ok((position, StreamKey::Conversation(id)))
}

/// Loads all rows that the decisions of a batch may need. `streams` are those of each operation, none for one that is
/// skipped.
///
/// An item comes with its context, because the earlier deadline of both counts, and a context with its actor, because a
/// changed identity voids earlier questions; an item's actor is its context's.
pub(super) fn loading(wants: &[Want], streams: &[Option<Vec<StreamKey>>]) -> Statement {
    let mut wanted = Wanted(HashMap::from([("heads", Rows::new(&STREAM))]));
    let (mut heads, mut conversations) = (BTreeSet::new(), BTreeSet::new());
    for (want, keys) in wants.iter().zip(streams) {
        let Some(keys) = keys else { continue };
        let tenant = want.tenant_id.as_str();
        for key in keys {
            heads.insert((tenant, key.kind(), key.key()));
            if let StreamKey::Conversation(id) = key {
                conversations.insert((tenant, id.as_str()));
            }
        }
        name(&mut wanted, want);
    }
    for (tenant, kind, key) in heads {
        wanted.add("heads", &STREAM, [tenant.into(), kind.into(), key.into()]);
    }
    for (tenant, id) in conversations {
        wanted.add("conversations", &BY_NAME, [tenant.into(), id.into()]);
    }
    let has = |set: &str| wanted.has(set);
    let items = joined(&ITEMS, has, "\n        UNION ");
    let contexts = joined(&CONTEXTS, |set| has(set) || set == "wanted_items" && items.is_some(), "\n        UNION ");
    let principals =
        joined(&PRINCIPALS, |set| has(set) || set == "wanted_contexts" && contexts.is_some(), "\n        UNION ");
    let made = [("wanted_items", &items), ("wanted_contexts", &contexts), ("wanted_principals", &principals)];
    let made = |set: &str| made.iter().any(|(name, query)| *name == set && query.is_some());
    let rows = joined(&ROWS, |set| has(set) || made(set), "\n    UNION ALL ");
    let mut with = With::default();
    if let Some(query) = &items {
        with.add("wanted_items (tenant_id, item_id) AS", query);
    }
    if let Some(query) = &contexts {
        with.add("wanted_contexts (tenant_id, context_id) AS", query);
    }
    if let Some(query) = &principals {
        with.add("wanted_principals (tenant_id, principal_id) AS", query);
        with.add("held_principals (tenant_id, body) AS MATERIALIZED", HELD_PRINCIPALS);
    }
    let rows = rows.map_or_else(|| HEADS.to_owned(), |rows| format!("{HEADS}\n    UNION ALL {rows}"));
    wanted.bind(Statement::new("load.rows", with.then(&rows)))
}

/// Adds the rows that an operation needs besides its streams.
fn name(wanted: &mut Wanted, want: &Want) {
    let (tenant, needs) = (want.tenant_id.as_str(), &want.needs);
    let mut name = |set, id: &str| wanted.add(set, &BY_NAME, [tenant.into(), id.into()]);
    needs.context.iter().for_each(|id| name("contexts", id.as_str()));
    needs.command.iter().for_each(|id| name("commands", id.as_str()));
    needs.idempotency_key.iter().for_each(|key| name("idempotency_keys", key.as_str()));
    needs.attempt.iter().for_each(|id| name("attempts", id.as_str()));
    needs.principals.iter().for_each(|id| name("principals", id.as_str()));
    let items = || needs.items.iter().chain(&needs.seen);
    for item in items() {
        match item {
            ItemRef::Id(id) => name("items", id.as_str()),
            ItemRef::Prompt(id) => name("prompts", id.as_str()),
            ItemRef::Nonce(_) | ItemRef::AnsweredBy(_) => {}
        }
    }
    let mut digest = |set, id| wanted.add(set, &BY_DIGEST, [tenant.into(), Scalar::from(id)]);
    for item in items() {
        match item {
            ItemRef::Nonce(id) => digest("nonces", id),
            ItemRef::AnsweredBy(key) => digest("answering", key),
            ItemRef::Id(_) | ItemRef::Prompt(_) => {}
        }
    }
    needs.names.iter().for_each(|name| digest("names", name));
    needs.messages.iter().for_each(|key| digest("messages", key));
    want.claim.iter().for_each(|key| digest("claims", key));
}

/// Loads principals and items that only the rows of the first load name; none if there are none.
pub(super) fn loading_more(principals: &[(TenantId, PrincipalId)], items: &[(TenantId, ItemId)]) -> Option<Statement> {
    let mut wanted = Wanted::default();
    for (tenant, id) in principals {
        wanted.add("wanted_principals", &BY_NAME, [tenant.as_str().into(), id.as_str().into()]);
    }
    for (tenant, id) in items {
        wanted.add("wanted_items", &BY_NAME, [tenant.as_str().into(), id.as_str().into()]);
    }
    let parts = [
        ("wanted_principals", "SELECT 'principal' AS row, p.tenant_id, p.body FROM held_principals AS p"),
        (
            "wanted_items",
            "SELECT 'item' AS row, i.tenant_id, i.body FROM :wanted_items AS w
            {join} items AS i ON i.tenant_id = w.tenant_id AND i.item_id = w.id",
        ),
    ];
    let rows = joined(&parts, |set| wanted.has(set), "\n    UNION ALL ")?;
    let mut with = With::default();
    if wanted.has("wanted_principals") {
        let named = "SELECT w.tenant_id, w.id FROM :wanted_principals AS w";
        with.add("wanted_principals (tenant_id, principal_id) AS", named);
        with.add("held_principals (tenant_id, body) AS MATERIALIZED", HELD_PRINCIPALS);
    }
    Some(wanted.bind(Statement::new("load.more", with.then(&rows))))
}

/// Searches for principals with one of these keys; if `held`, they are locked until the transaction ends.
pub(super) fn searching_kin(tenant_id: &TenantId, keys: &[PersonKey], held: bool) -> Statement {
    let mut sql = KIN.to_owned();
    for column in ["principal_id", "person_id", "value"] {
        let key = format!(
            "{{replace(replace(replace(replace(replace({column}, '+', ''), ' ', ''), '-', ''), '(', ''), ')', '')\
             |translate({column}, '+ -()', '')}}"
        );
        sql = sql.replace(&format!("KEY_OF({column})"), &key);
    }
    if held {
        sql.push_str(" {|FOR SHARE OF p}");
    }
    Statement::new("load.kin", sql)
        .bind("tenant", tenant_id.as_str())
        .bind("keys", Value::texts(keys.iter().map(PersonKey::as_str)))
        .bind("limit", i64::from(MAX_KIN) + 1)
}

/// Adds a loaded row.
pub(super) fn take(loaded: &mut Loaded, row: &impl Columns) -> Result<(), StorageError> {
    let tenant = tenant_id(row)?;
    let record = match row.get("row")? {
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
