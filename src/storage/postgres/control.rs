//! Tenants and credentials.

use super::rows::{api_key, tenant};
use super::session::{Desk, EVERYBODY};
use crate::domain::canonical::Digest;
use crate::domain::id::{KeyId, TenantId};
use crate::domain::speaking::SpeaksFor;
use crate::domain::time::Timestamp;
use crate::storage::record::voice_columns;
use crate::storage::{ApiKey, StorageError, Tenant};

fn created(rows: u64) -> Result<(), StorageError> {
    if rows == 1 { Ok(()) } else { Err(StorageError::Exists) }
}

pub(super) async fn create_tenant(desk: &Desk, tenant: &Tenant) -> Result<(), StorageError> {
    let sql = "-- postgres: control.create_tenant
        INSERT INTO tenants (tenant_id, environment, policy_pack, key, enabled, created_at)
        VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING";
    let query = sqlx::query(sql)
        .bind(tenant.tenant_id.as_str())
        .bind(&tenant.environment)
        .bind(&tenant.policy_pack)
        .bind(tenant.key.as_bytes().as_slice())
        .bind(tenant.enabled)
        .bind(tenant.created_at.as_micros());
    created(desk.change(tenant.tenant_id.as_str(), query).await?)
}

pub(super) async fn tenants(desk: &Desk, only: Option<&TenantId>) -> Result<Vec<Tenant>, StorageError> {
    let sql = "-- postgres: control.tenants
        SELECT tenant_id, environment, policy_pack, key AS tenant_key, enabled, created_at AS tenant_created_at
        FROM tenants WHERE $1::text IS NULL OR tenant_id = $1 ORDER BY tenant_id";
    let query = sqlx::query(sql).bind(only.map(TenantId::as_str));
    desk.rows(only.map_or(EVERYBODY, TenantId::as_str), query).await?.iter().map(tenant).collect()
}

pub(super) async fn set_tenant_enabled(desk: &Desk, tenant_id: &TenantId, enabled: bool) -> Result<bool, StorageError> {
    let sql = "-- postgres: control.set_tenant_enabled
        UPDATE tenants SET enabled = $1 WHERE tenant_id = $2";
    let query = sqlx::query(sql).bind(enabled).bind(tenant_id.as_str());
    Ok(desk.change(tenant_id.as_str(), query).await? == 1)
}

pub(super) async fn set_tenant_policy(
    desk: &Desk,
    tenant_id: &TenantId,
    pack: Option<&str>,
) -> Result<bool, StorageError> {
    let sql = "-- postgres: control.set_tenant_policy
        UPDATE tenants SET policy_pack = $1 WHERE tenant_id = $2";
    let query = sqlx::query(sql).bind(pack).bind(tenant_id.as_str());
    Ok(desk.change(tenant_id.as_str(), query).await? == 1)
}

pub(super) async fn create_key(desk: &Desk, key: &ApiKey) -> Result<(), StorageError> {
    let sql = "-- postgres: control.create_key
        INSERT INTO api_keys (tenant_id, key_id, digest, kind, scopes, principal_id, label, created_at, revoked_at,
                              speaks_for, viewer_id, organization, capability)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, NULL, $9, $10, $11, $12) ON CONFLICT DO NOTHING";
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
    created(desk.change(key.tenant_id.as_str(), query).await?)
}

pub(super) async fn keys(desk: &Desk, tenant_id: &TenantId) -> Result<Vec<ApiKey>, StorageError> {
    let sql = "-- postgres: control.keys
        SELECT tenant_id, key_id, digest, kind, scopes, principal_id, label, created_at, revoked_at,
               speaks_for, viewer_id, organization, capability
        FROM api_keys WHERE tenant_id = $1 ORDER BY created_at, key_id";
    let rows = desk.rows(tenant_id.as_str(), sqlx::query(sql).bind(tenant_id.as_str())).await?;
    rows.iter().map(api_key).collect()
}

pub(super) async fn revoke_key(
    desk: &Desk,
    tenant_id: &TenantId,
    key_id: &KeyId,
    at: Timestamp,
) -> Result<bool, StorageError> {
    let sql = "-- postgres: control.revoke_key
        UPDATE api_keys SET revoked_at = coalesce(revoked_at, $1) WHERE tenant_id = $2 AND key_id = $3";
    let query = sqlx::query(sql).bind(at.as_micros()).bind(tenant_id.as_str()).bind(key_id.as_str());
    Ok(desk.change(tenant_id.as_str(), query).await? == 1)
}

pub(super) async fn set_key_voice(
    desk: &Desk,
    tenant_id: &TenantId,
    key_id: &KeyId,
    speaks_for: &SpeaksFor,
) -> Result<bool, StorageError> {
    let sql = "-- postgres: control.set_key_voice
        UPDATE api_keys SET speaks_for = $1, viewer_id = $2, organization = $3, capability = $4
        WHERE tenant_id = $5 AND key_id = $6";
    let ((word, viewer), capability) = (voice_columns(speaks_for), speaks_for.capability.as_ref());
    let query = sqlx::query(sql)
        .bind(word)
        .bind(viewer)
        .bind(capability.map(|own| &own.organization))
        .bind(capability.map(|own| &own.capability))
        .bind(tenant_id.as_str())
        .bind(key_id.as_str());
    Ok(desk.change(tenant_id.as_str(), query).await? == 1)
}

pub(super) async fn find_key(desk: &Desk, digest: &Digest) -> Result<Option<(ApiKey, Tenant)>, StorageError> {
    let sql = "-- postgres: control.find_key
        SELECT k.tenant_id, k.key_id, k.digest, k.kind, k.scopes, k.principal_id, k.label, k.created_at, k.revoked_at,
               k.speaks_for, k.viewer_id, k.organization, k.capability,
               t.environment, t.policy_pack, t.key AS tenant_key, t.enabled, t.created_at AS tenant_created_at
        FROM api_keys AS k JOIN tenants AS t ON t.tenant_id = k.tenant_id WHERE k.digest = $1";
    let rows = desk.rows(EVERYBODY, sqlx::query(sql).bind(digest.as_bytes().as_slice())).await?;
    rows.first().map(|row| Ok((api_key(row)?, tenant(row)?))).transpose()
}
