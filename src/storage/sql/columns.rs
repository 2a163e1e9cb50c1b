//! Rows as a database returns them: parsed, not trusted.

use serde::de::DeserializeOwned;
use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;
use sqlx::{Decode, Postgres, Row as _, Sqlite, Type};

use crate::domain::canonical::Digest;
use crate::domain::event::StreamKey;
use crate::domain::id::{ArtifactId, ConversationId, KeyId, PrincipalId, SpaceId, StreamId, TenantId};
use crate::domain::time::Timestamp;
use crate::evidence::entry::{EntryBody, Header, LogEntry, StreamHead};
use crate::storage::record::speaks_for;
use crate::storage::{ApiKey, StorageError, Tenant};

/// A type that both databases can return.
pub(in crate::storage) trait Stored<'r>:
    Decode<'r, Sqlite> + Type<Sqlite> + Decode<'r, Postgres> + Type<Postgres>
{
}

impl<'r, T: Decode<'r, Sqlite> + Type<Sqlite> + Decode<'r, Postgres> + Type<Postgres>> Stored<'r> for T {}

/// The columns of a row, by name.
pub(in crate::storage) trait Columns {
    fn get<'r, T: Stored<'r>>(&'r self, column: &str) -> Result<T, StorageError>;
}

/// A row of either database.
pub(in crate::storage) enum Row {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

impl Columns for SqliteRow {
    fn get<'r, T: Stored<'r>>(&'r self, column: &str) -> Result<T, StorageError> {
        self.try_get(column).map_err(|error| unreadable(&error))
    }
}

impl Columns for PgRow {
    fn get<'r, T: Stored<'r>>(&'r self, column: &str) -> Result<T, StorageError> {
        self.try_get(column).map_err(|error| unreadable(&error))
    }
}

impl Columns for Row {
    fn get<'r, T: Stored<'r>>(&'r self, column: &str) -> Result<T, StorageError> {
        match self {
            Self::Sqlite(row) => Columns::get(row, column),
            Self::Postgres(row) => Columns::get(row, column),
        }
    }
}

/// A column that is missing or has another type. The driver's text may quote the value, so it is left out.
fn unreadable(_: &sqlx::Error) -> StorageError {
    StorageError::Inconsistent { table: "unknown", what: "a column has another type".to_owned() }
}

/// The error for a value that this program never writes.
pub(in crate::storage) fn impossible(table: &'static str, what: &dyn std::fmt::Display) -> StorageError {
    StorageError::Inconsistent { table, what: what.to_string() }
}

/// The JSON body of a row.
pub(in crate::storage) fn body<T: DeserializeOwned>(
    row: &impl Columns,
    table: &'static str,
) -> Result<T, StorageError> {
    let text: &str = row.get("body")?;
    // serde's own message may quote the value, so only its position is kept.
    serde_json::from_str(text)
        .map_err(|error| impossible(table, &format!("its body ends at column {}", error.column())))
}

/// A 32-byte column.
pub(in crate::storage) fn digest(row: &impl Columns, column: &str) -> Result<Digest, StorageError> {
    let bytes: &[u8] = row.get(column)?;
    let bytes: [u8; 32] = bytes.try_into().map_err(|_| impossible("unknown", &"a digest of another length"))?;
    Ok(Digest::from_bytes(bytes))
}

pub(in crate::storage) fn time(row: &impl Columns, column: &str) -> Result<Timestamp, StorageError> {
    number(row, column).map(Timestamp::from_micros)
}

pub(in crate::storage) fn optional_time(row: &impl Columns, column: &str) -> Result<Option<Timestamp>, StorageError> {
    let micros: Option<i64> = row.get(column)?;
    Ok(micros.map(Timestamp::from_micros))
}

pub(in crate::storage) fn text(row: &impl Columns, column: &str) -> Result<String, StorageError> {
    row.get(column)
}

pub(in crate::storage) fn number(row: &impl Columns, column: &str) -> Result<i64, StorageError> {
    row.get(column)
}

pub(in crate::storage) fn count(row: &impl Columns, column: &str) -> Result<u64, StorageError> {
    u64::try_from(number(row, column)?).map_err(|_| impossible("unknown", &"a negative count"))
}

/// A size of a tree or an index in it.
pub(in crate::storage) fn size(row: &impl Columns, column: &str) -> Result<u64, StorageError> {
    u64::try_from(number(row, column)?).map_err(|error| impossible("log_trees", &error))
}

pub(in crate::storage) fn tenant_id(row: &impl Columns) -> Result<TenantId, StorageError> {
    TenantId::new(text(row, "tenant_id")?).map_err(|error| impossible("tenants", &error))
}

/// The name of a stream, from the columns `a` and `b`.
pub(in crate::storage) fn stream_key(row: &impl Columns) -> Result<StreamKey, StorageError> {
    let (kind, key): (&str, String) = (row.get("a")?, text(row, "b")?);
    match kind {
        "conversation" => ConversationId::new(key).map(StreamKey::Conversation).map_err(|e| impossible("streams", &e)),
        "principal" => PrincipalId::new(key).map(StreamKey::Principal).map_err(|e| impossible("streams", &e)),
        "access" => Ok(StreamKey::Access(key)),
        "fact_space" => SpaceId::new(key).map(StreamKey::FactSpace).map_err(|e| impossible("streams", &e)),
        "disposal" => Ok(StreamKey::Disposal),
        _ => Err(impossible("streams", &"an unknown kind")),
    }
}

/// The head of a stream that has entries, from the columns `c`, `seq`, `h` and `last_at`.
pub(in crate::storage) fn head(row: &impl Columns) -> Result<StreamHead, StorageError> {
    let stream_id = StreamId::parse(row.get("c")?).ok_or_else(|| impossible("streams", &"a foreign stream id"))?;
    Ok(StreamHead { stream_id, seq: count(row, "seq")?, hash: digest(row, "h")?, at: optional_time(row, "last_at")? })
}

/// A log entry with its payload, unless that is erased.
pub(in crate::storage) fn entry(row: &impl Columns) -> Result<LogEntry, StorageError> {
    let wrong = |what: &'static str| impossible("log_entries", &what);
    let header = Header {
        v: u32::try_from(count(row, "v")?).map_err(|_| wrong("an impossible version"))?,
        tenant_id: tenant_id(row)?,
        stream_id: StreamId::parse(row.get("stream_id")?).ok_or_else(|| wrong("a foreign stream id"))?,
        seq: count(row, "seq")?,
        artifact_id: ArtifactId::parse(row.get("artifact_id")?).ok_or_else(|| wrong("a foreign artifact id"))?,
        kind: text(row, "type")?,
        at: time(row, "at")?,
        policy_hash: text(row, "policy_hash")?,
    };
    let payload: Option<String> = row.get("payload")?;
    let body = match payload {
        Some(payload) => Some(EntryBody { salt: digest(row, "salt")?, payload }),
        None => None,
    };
    Ok(LogEntry {
        header,
        payload_commitment: digest(row, "payload_commitment")?,
        prev_hash: digest(row, "prev_hash")?,
        entry_hash: digest(row, "entry_hash")?,
        body,
    })
}

pub(in crate::storage) fn tenant(row: &impl Columns) -> Result<Tenant, StorageError> {
    Ok(Tenant {
        tenant_id: tenant_id(row)?,
        environment: text(row, "environment")?,
        policy_pack: row.get("policy_pack")?,
        key: digest(row, "tenant_key")?,
        enabled: row.get("enabled")?,
        created_at: time(row, "tenant_created_at")?,
    })
}

pub(in crate::storage) fn api_key(row: &impl Columns) -> Result<ApiKey, StorageError> {
    let wrong = |what: &'static str| impossible("api_keys", &what);
    let maybe = |name: &str| row.get::<Option<String>>(name);
    let principal = maybe("principal_id")?;
    let speaks_for =
        speaks_for(&text(row, "speaks_for")?, maybe("viewer_id")?, (maybe("organization")?, maybe("capability")?));
    Ok(ApiKey {
        key_id: KeyId::parse(row.get("key_id")?).ok_or_else(|| wrong("a foreign key id"))?,
        tenant_id: tenant_id(row)?,
        digest: digest(row, "digest")?,
        kind: serde_json::from_value(text(row, "kind")?.into()).map_err(|_| wrong("an unknown kind"))?,
        scopes: serde_json::from_str(row.get("scopes")?).map_err(|_| wrong("an unknown scope"))?,
        principal_id: principal.map(PrincipalId::new).transpose().map_err(|_| wrong("an impossible principal"))?,
        speaks_for: speaks_for.ok_or_else(|| wrong("somebody it cannot speak for"))?,
        label: text(row, "label")?,
        created_at: time(row, "created_at")?,
        revoked_at: optional_time(row, "revoked_at")?,
    })
}
