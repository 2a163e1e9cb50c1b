//! Tenants and credentials.

use sqlx::SqlitePool;

use super::rows::{api_key, tenant, unavailable};
use crate::domain::canonical::Digest;
use crate::domain::id::{KeyId, TenantId};
use crate::domain::speaking::SpeaksFor;
use crate::domain::time::Timestamp;
use crate::storage::record::voice_columns;
use crate::storage::{ApiKey, StorageError, Tenant};

fn created(result: Result<sqlx::sqlite::SqliteQueryResult, sqlx::Error>) -> Result<(), StorageError> {
    match result {
        Ok(done) if done.rows_affected() == 1 => Ok(()),
        Ok(_) => Err(StorageError::Exists),
        Err(error) => Err(unavailable(error)),
    }
}

pub(super) async fn create_tenant(pool: &SqlitePool, tenant: &Tenant) -> Result<(), StorageError> {
    let sql = "-- sqlite: control.create_tenant
        INSERT INTO tenants (tenant_id, environment, policy_pack, key, enabled, created_at)
        VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING";
    let query = sqlx::query(sql)
        .bind(tenant.tenant_id.as_str())
        .bind(&tenant.environment)
        .bind(&tenant.policy_pack)
        .bind(tenant.key.as_bytes().as_slice())
        .bind(tenant.enabled)
        .bind(tenant.created_at.as_micros());
    created(query.execute(pool).await)
}

pub(super) async fn tenants(pool: &SqlitePool, only: Option<&TenantId>) -> Result<Vec<Tenant>, StorageError> {
    let sql = "-- sqlite: control.tenants
        SELECT tenant_id, environment, policy_pack, key AS tenant_key, enabled, created_at AS tenant_created_at
        FROM tenants WHERE ?1 IS NULL OR tenant_id = ?1 ORDER BY tenant_id";
    let query = sqlx::query(sql).bind(only.map(TenantId::as_str));
    query.fetch_all(pool).await.map_err(unavailable)?.iter().map(tenant).collect()
}

pub(super) async fn set_tenant_enabled(
    pool: &SqlitePool,
    tenant_id: &TenantId,
    enabled: bool,
) -> Result<bool, StorageError> {
    let sql = "-- sqlite: control.set_tenant_enabled
        UPDATE tenants SET enabled = ? WHERE tenant_id = ?";
    let done = sqlx::query(sql).bind(enabled).bind(tenant_id.as_str()).execute(pool).await.map_err(unavailable)?;
    Ok(done.rows_affected() == 1)
}

pub(super) async fn set_tenant_policy(
    pool: &SqlitePool,
    tenant_id: &TenantId,
    pack: Option<&str>,
) -> Result<bool, StorageError> {
    let sql = "-- sqlite: control.set_tenant_policy
        UPDATE tenants SET policy_pack = ? WHERE tenant_id = ?";
    let done = sqlx::query(sql).bind(pack).bind(tenant_id.as_str()).execute(pool).await.map_err(unavailable)?;
    Ok(done.rows_affected() == 1)
}

pub(super) async fn create_key(pool: &SqlitePool, key: &ApiKey) -> Result<(), StorageError> {
    let sql = "-- sqlite: control.create_key
        INSERT INTO api_keys (tenant_id, key_id, digest, kind, scopes, principal_id, label, created_at, revoked_at,
                              speaks_for, viewer_id, organization, capability)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL, ?, ?, ?, ?) ON CONFLICT DO NOTHING";
    let ((word, viewer), capability) = (voice_columns(&key.speaks_for), key.speaks_for.capability.as_ref());
    let kind = serde_json::to_value(key.kind).ok().and_then(|kind| kind.as_str().map(str::to_owned));
    let query = sqlx::query(sql)
        .bind(key.tenant_id.as_str())
        .bind(key.key_id.as_str())
        .bind(key.digest.as_bytes().as_slice())
        .bind(kind)
        .bind(serde_json::to_string(&key.scopes).unwrap_or_default())
        .bind(key.principal_id.as_ref().map(crate::domain::id::PrincipalId::as_str))
        .bind(&key.label)
        .bind(key.created_at.as_micros())
        .bind(word)
        .bind(viewer)
        .bind(capability.map(|own| &own.organization))
        .bind(capability.map(|own| &own.capability));
    created(query.execute(pool).await)
}

pub(super) async fn keys(pool: &SqlitePool, tenant_id: &TenantId) -> Result<Vec<ApiKey>, StorageError> {
    let sql = "-- sqlite: control.keys
        SELECT tenant_id, key_id, digest, kind, scopes, principal_id, label, created_at, revoked_at,
               speaks_for, viewer_id, organization, capability
        FROM api_keys WHERE tenant_id = ? ORDER BY created_at, key_id";
    let rows = sqlx::query(sql).bind(tenant_id.as_str()).fetch_all(pool).await.map_err(unavailable)?;
    rows.iter().map(api_key).collect()
}

pub(super) async fn revoke_key(
    pool: &SqlitePool,
    tenant_id: &TenantId,
    key_id: &KeyId,
    at: Timestamp,
) -> Result<bool, StorageError> {
    let sql = "-- sqlite: control.revoke_key
        UPDATE api_keys SET revoked_at = coalesce(revoked_at, ?) WHERE tenant_id = ? AND key_id = ?";
    let query = sqlx::query(sql).bind(at.as_micros()).bind(tenant_id.as_str()).bind(key_id.as_str());
    Ok(query.execute(pool).await.map_err(unavailable)?.rows_affected() == 1)
}

pub(super) async fn set_key_voice(
    pool: &SqlitePool,
    tenant_id: &TenantId,
    key_id: &KeyId,
    speaks_for: &SpeaksFor,
) -> Result<bool, StorageError> {
    let sql = "-- sqlite: control.set_key_voice
        UPDATE api_keys SET speaks_for = ?, viewer_id = ?, organization = ?, capability = ?
        WHERE tenant_id = ? AND key_id = ?";
    let ((word, viewer), capability) = (voice_columns(speaks_for), speaks_for.capability.as_ref());
    let query = sqlx::query(sql)
        .bind(word)
        .bind(viewer)
        .bind(capability.map(|own| &own.organization))
        .bind(capability.map(|own| &own.capability))
        .bind(tenant_id.as_str())
        .bind(key_id.as_str());
    Ok(query.execute(pool).await.map_err(unavailable)?.rows_affected() == 1)
}

pub(super) async fn find_key(pool: &SqlitePool, digest: &Digest) -> Result<Option<(ApiKey, Tenant)>, StorageError> {
    let sql = "-- sqlite: control.find_key
        SELECT k.tenant_id, k.key_id, k.digest, k.kind, k.scopes, k.principal_id, k.label, k.created_at, k.revoked_at,
               k.speaks_for, k.viewer_id, k.organization, k.capability,
               t.environment, t.policy_pack, t.key AS tenant_key, t.enabled, t.created_at AS tenant_created_at
        FROM api_keys AS k JOIN tenants AS t ON t.tenant_id = k.tenant_id WHERE k.digest = ?";
    let row = sqlx::query(sql).bind(digest.as_bytes().as_slice()).fetch_optional(pool).await.map_err(unavailable)?;
    row.as_ref().map(|row| Ok((api_key(row)?, tenant(row)?))).transpose()
}
