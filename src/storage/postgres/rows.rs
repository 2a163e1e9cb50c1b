//! Rows as PostgreSQL returns them: parsed, not trusted.

use serde::de::DeserializeOwned;
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use crate::domain::canonical::Digest;
use crate::domain::event::StreamKey;
use crate::domain::id::{ArtifactId, ConversationId, KeyId, PrincipalId, SpaceId, StreamId, TenantId};
use crate::domain::time::Timestamp;
use crate::evidence::entry::{EntryBody, Header, LogEntry, StreamHead};
use crate::storage::record::speaks_for;
use crate::storage::{ApiKey, StorageError, Tenant};

/// Converts a database error. The text names the kind of failure and contains no data.
#[expect(clippy::needless_pass_by_value, reason = "passed to map_err")]
pub(super) fn failed(error: sqlx::Error) -> StorageError {
    let unavailable = |what: &str| StorageError::Unavailable(what.to_owned());
    match &error {
        sqlx::Error::Database(database) => refused(database.code().as_deref().unwrap_or("")),
        sqlx::Error::PoolTimedOut => unavailable("no connection was free in time"),
        sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) | sqlx::Error::ColumnNotFound(_) => {
            StorageError::Inconsistent { table: "unknown", what: "a column has another type".to_owned() }
        }
        sqlx::Error::Tls(_) => unavailable("the connection could not be made secure"),
        sqlx::Error::Io(_) => unavailable("input or output failed"),
        _ => unavailable("the connection failed"),
    }
}

/// The meaning of a database error code for callers.
fn refused(code: &str) -> StorageError {
    match code {
        // A lock was not released in time.
        "55P03" => StorageError::Contended,
        // Another process wrote that row first, or won a deadlock.
        "23505" | "40001" | "40P01" => StorageError::Conflict,
        // A violated constraint is a bug or a tampered database; repeating the call does not help.
        code if code.starts_with("23") => {
            StorageError::Inconsistent { table: "unknown", what: "a constraint of the schema was broken".to_owned() }
        }
        "28P01" | "28000" => StorageError::Unavailable("the database refuses the user or the password".to_owned()),
        "08P01" => StorageError::Unavailable(
            "a pooler between here and the database refuses the connection's settings: start with --postgres-pooler"
                .to_owned(),
        ),
        "3D000" => StorageError::Unavailable("there is no database of that name".to_owned()),
        "42501" => StorageError::Unavailable("the user lacks a right (PostgreSQL error 42501)".to_owned()),
        "42P01" | "42703" => StorageError::Schema("a table or a column is missing".to_owned()),
        "53100" => StorageError::Unavailable("the disk is full (PostgreSQL error 53100)".to_owned()),
        "53300" => StorageError::Unavailable("too many connections (PostgreSQL error 53300)".to_owned()),
        code => StorageError::Unavailable(format!("PostgreSQL error {code}")),
    }
}

/// The error for a value that this program never writes.
pub(super) fn impossible(table: &'static str, what: &dyn std::fmt::Display) -> StorageError {
    StorageError::Inconsistent { table, what: what.to_string() }
}

/// The JSON body of a row.
pub(super) fn body<T: DeserializeOwned>(row: &PgRow, table: &'static str) -> Result<T, StorageError> {
    let text: &str = row.try_get("body").map_err(failed)?;
    // serde's own message may quote the value, so only its position is kept.
    serde_json::from_str(text)
        .map_err(|error| impossible(table, &format!("its body ends at column {}", error.column())))
}

/// A 32-byte column.
pub(super) fn digest(row: &PgRow, column: &str) -> Result<Digest, StorageError> {
    let bytes: &[u8] = row.try_get(column).map_err(failed)?;
    let bytes: [u8; 32] = bytes.try_into().map_err(|_| impossible("unknown", &"a digest of another length"))?;
    Ok(Digest::from_bytes(bytes))
}

pub(super) fn time(row: &PgRow, column: &str) -> Result<Timestamp, StorageError> {
    row.try_get(column).map(Timestamp::from_micros).map_err(failed)
}

fn optional_time(row: &PgRow, column: &str) -> Result<Option<Timestamp>, StorageError> {
    let micros: Option<i64> = row.try_get(column).map_err(failed)?;
    Ok(micros.map(Timestamp::from_micros))
}

pub(super) fn text(row: &PgRow, column: &str) -> Result<String, StorageError> {
    row.try_get(column).map_err(failed)
}

pub(super) fn number(row: &PgRow, column: &str) -> Result<i64, StorageError> {
    row.try_get(column).map_err(failed)
}

pub(super) fn count(row: &PgRow, column: &str) -> Result<u64, StorageError> {
    u64::try_from(number(row, column)?).map_err(|_| impossible("unknown", &"a negative count"))
}

pub(super) fn tenant_id(row: &PgRow) -> Result<TenantId, StorageError> {
    TenantId::new(text(row, "tenant_id")?).map_err(|error| impossible("tenants", &error))
}

/// The name of a stream, from the columns of the load statement.
pub(super) fn stream_key(row: &PgRow) -> Result<StreamKey, StorageError> {
    let (kind, key): (&str, String) = (row.try_get("a").map_err(failed)?, text(row, "b")?);
    match kind {
        "conversation" => ConversationId::new(key).map(StreamKey::Conversation).map_err(|e| impossible("streams", &e)),
        "principal" => PrincipalId::new(key).map(StreamKey::Principal).map_err(|e| impossible("streams", &e)),
        "access" => Ok(StreamKey::Access(key)),
        "fact_space" => SpaceId::new(key).map(StreamKey::FactSpace).map_err(|e| impossible("streams", &e)),
        "disposal" => Ok(StreamKey::Disposal),
        _ => Err(impossible("streams", &"an unknown kind")),
    }
}

/// The head of a stream that has entries.
pub(super) fn head(row: &PgRow) -> Result<StreamHead, StorageError> {
    let stream_id = StreamId::parse(&text(row, "c")?).ok_or_else(|| impossible("streams", &"a foreign stream id"))?;
    Ok(StreamHead { stream_id, seq: count(row, "seq")?, hash: digest(row, "h")?, at: optional_time(row, "last_at")? })
}

/// A log entry with its payload, unless that is erased.
pub(super) fn entry(row: &PgRow) -> Result<LogEntry, StorageError> {
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
    let payload: Option<String> = row.try_get("payload").map_err(failed)?;
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

pub(super) fn tenant(row: &PgRow) -> Result<Tenant, StorageError> {
    Ok(Tenant {
        tenant_id: tenant_id(row)?,
        environment: text(row, "environment")?,
        policy_pack: row.try_get("policy_pack").map_err(failed)?,
        key: digest(row, "tenant_key")?,
        enabled: row.try_get("enabled").map_err(failed)?,
        created_at: time(row, "tenant_created_at")?,
    })
}

pub(super) fn api_key(row: &PgRow) -> Result<ApiKey, StorageError> {
    let wrong = |what: &'static str| impossible("api_keys", &what);
    let maybe = |name: &str| row.try_get::<Option<String>, _>(name).map_err(failed);
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
