//! Rows as SQLite returns them: parsed, not trusted.

use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use crate::domain::canonical::Digest;
use crate::domain::event::StreamKey;
use crate::domain::id::{ArtifactId, ConversationId, KeyId, PrincipalId, SpaceId, StreamId, TenantId};
use crate::domain::time::Timestamp;
use crate::evidence::entry::{EntryBody, Header, LogEntry, StreamHead};
use crate::storage::record::speaks_for;
use crate::storage::{ApiKey, StorageError, Tenant};

/// Rows for a statement, as one JSON array. They are serialized directly, without building a JSON tree.
#[derive(Debug, Default)]
pub(super) struct Rows(String);

impl Rows {
    /// Adds a row, given as a tuple of its columns.
    pub(super) fn add(&mut self, row: &impl Serialize) {
        self.0.push(if self.0.is_empty() { '[' } else { ',' });
        // If a row cannot be serialized, the array is invalid and SQLite refuses the batch.
        self.0.push_str(&serde_json::to_string(row).unwrap_or_default());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn into_array(mut self) -> String {
        self.0.push_str(if self.0.is_empty() { "[]" } else { "]" });
        self.0
    }
}

/// Converts a database error. The text names the kind of failure and contains no data.
#[expect(clippy::needless_pass_by_value, reason = "passed to map_err")]
pub(super) fn unavailable(error: sqlx::Error) -> StorageError {
    // A violated constraint is a bug or a tampered database; repeating the call does not help.
    if let sqlx::Error::Database(database) = &error
        && !matches!(database.kind(), sqlx::error::ErrorKind::Other)
    {
        return StorageError::Inconsistent {
            table: "unknown",
            what: "a constraint of the schema was broken".to_owned(),
        };
    }
    let what = match &error {
        sqlx::Error::Database(database) => match database.code() {
            Some(code) => format!("SQLite error {code}"),
            None => "SQLite error".to_owned(),
        },
        sqlx::Error::PoolTimedOut => "no connection was free in time".to_owned(),
        sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) | sqlx::Error::ColumnNotFound(_) => {
            return StorageError::Inconsistent { table: "unknown", what: "a column has another type".to_owned() };
        }
        sqlx::Error::Io(_) => "input or output failed".to_owned(),
        _ => "the connection failed".to_owned(),
    };
    StorageError::Unavailable(what)
}

/// The error for a value that this program never writes.
pub(super) fn impossible(table: &'static str, what: &dyn std::fmt::Display) -> StorageError {
    StorageError::Inconsistent { table, what: what.to_string() }
}

/// The JSON body of a row.
pub(super) fn body<T: DeserializeOwned>(row: &SqliteRow, table: &'static str) -> Result<T, StorageError> {
    let text: String = row.try_get("body").map_err(unavailable)?;
    // serde's own message may quote the value, so only its position is kept.
    serde_json::from_str(&text)
        .map_err(|error| impossible(table, &format!("its body ends at column {}", error.column())))
}

/// A 32-byte column.
pub(super) fn digest(row: &SqliteRow, column: &str) -> Result<Digest, StorageError> {
    let bytes: Vec<u8> = row.try_get(column).map_err(unavailable)?;
    let bytes: [u8; 32] = bytes.try_into().map_err(|_| impossible("unknown", &"a digest of another length"))?;
    Ok(Digest::from_bytes(bytes))
}

pub(super) fn time(row: &SqliteRow, column: &str) -> Result<Timestamp, StorageError> {
    row.try_get(column).map(Timestamp::from_micros).map_err(unavailable)
}

fn optional_time(row: &SqliteRow, column: &str) -> Result<Option<Timestamp>, StorageError> {
    let micros: Option<i64> = row.try_get(column).map_err(unavailable)?;
    Ok(micros.map(Timestamp::from_micros))
}

pub(super) fn text(row: &SqliteRow, column: &str) -> Result<String, StorageError> {
    row.try_get(column).map_err(unavailable)
}

pub(super) fn count(row: &SqliteRow, column: &str) -> Result<u64, StorageError> {
    let number: i64 = row.try_get(column).map_err(unavailable)?;
    u64::try_from(number).map_err(|_| impossible("unknown", &"a negative count"))
}

pub(super) fn tenant_id(row: &SqliteRow) -> Result<TenantId, StorageError> {
    TenantId::new(text(row, "tenant_id")?).map_err(|error| impossible("tenants", &error))
}

/// The head of a stream, from the columns of the load statement.
pub(super) fn head(row: &SqliteRow) -> Result<(StreamKey, StreamHead), StorageError> {
    let (kind, key) = (text(row, "a")?, text(row, "b")?);
    let key = match kind.as_str() {
        "conversation" => StreamKey::Conversation(ConversationId::new(key).map_err(|e| impossible("streams", &e))?),
        "principal" => StreamKey::Principal(PrincipalId::new(key).map_err(|e| impossible("streams", &e))?),
        "access" => StreamKey::Access(key),
        "fact_space" => StreamKey::FactSpace(SpaceId::new(key).map_err(|e| impossible("streams", &e))?),
        "disposal" => StreamKey::Disposal,
        _ => return Err(impossible("streams", &"an unknown kind")),
    };
    Ok((key, nameless_head(row)?))
}

/// The head of a stream, without its name.
pub(super) fn nameless_head(row: &SqliteRow) -> Result<StreamHead, StorageError> {
    let stream_id = StreamId::parse(&text(row, "c")?).ok_or_else(|| impossible("streams", &"a foreign stream id"))?;
    Ok(StreamHead { stream_id, seq: count(row, "seq")?, hash: digest(row, "h")?, at: optional_time(row, "last_at")? })
}

/// A log entry with its payload, unless that is erased.
pub(super) fn entry(row: &SqliteRow) -> Result<LogEntry, StorageError> {
    let wrong = |what: &'static str| impossible("log_entries", &what);
    let header = Header {
        v: u32::try_from(count(row, "v")?).map_err(|_| wrong("an impossible version"))?,
        tenant_id: tenant_id(row)?,
        stream_id: StreamId::parse(&text(row, "stream_id")?).ok_or_else(|| wrong("a foreign stream id"))?,
        seq: count(row, "seq")?,
        artifact_id: ArtifactId::parse(&text(row, "artifact_id")?).ok_or_else(|| wrong("a foreign artifact id"))?,
        kind: text(row, "type")?,
        at: time(row, "at")?,
        policy_hash: text(row, "policy_hash")?,
    };
    let payload: Option<String> = row.try_get("payload").map_err(unavailable)?;
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

pub(super) fn tenant(row: &SqliteRow) -> Result<Tenant, StorageError> {
    Ok(Tenant {
        tenant_id: tenant_id(row)?,
        environment: text(row, "environment")?,
        policy_pack: row.try_get("policy_pack").map_err(unavailable)?,
        key: digest(row, "tenant_key")?,
        enabled: row.try_get("enabled").map_err(unavailable)?,
        created_at: time(row, "tenant_created_at")?,
    })
}

pub(super) fn api_key(row: &SqliteRow) -> Result<ApiKey, StorageError> {
    let wrong = |what: &'static str| impossible("api_keys", &what);
    let maybe = |name: &str| row.try_get::<Option<String>, _>(name).map_err(unavailable);
    let principal = maybe("principal_id")?;
    let speaks_for =
        speaks_for(&text(row, "speaks_for")?, maybe("viewer_id")?, (maybe("organization")?, maybe("capability")?));
    Ok(ApiKey {
        key_id: KeyId::parse(&text(row, "key_id")?).ok_or_else(|| wrong("a foreign key id"))?,
        tenant_id: tenant_id(row)?,
        digest: digest(row, "digest")?,
        kind: serde_json::from_value(text(row, "kind")?.into()).map_err(|_| wrong("an unknown kind"))?,
        scopes: serde_json::from_str(&text(row, "scopes")?).map_err(|_| wrong("an unknown scope"))?,
        principal_id: principal.map(PrincipalId::new).transpose().map_err(|_| wrong("an impossible principal"))?,
        speaks_for: speaks_for.ok_or_else(|| wrong("somebody it cannot speak for"))?,
        label: text(row, "label")?,
        created_at: time(row, "created_at")?,
        revoked_at: optional_time(row, "revoked_at")?,
    })
}
