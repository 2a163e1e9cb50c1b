//! Tenants and their credentials.

use async_trait::async_trait;

use super::record::voice_columns;
use super::sql::{Database, Statement, api_key, first, tenant};
use super::{ApiKey, StorageError, Tenant};
use crate::domain::canonical::Digest;
use crate::domain::id::{KeyId, PrincipalId, TenantId};
use crate::domain::speaking::SpeaksFor;
use crate::domain::time::Timestamp;

/// Storage of tenants and of the keys to them.
#[async_trait]
pub trait ControlStore: Send + Sync {
    /// Creates a tenant; an error of kind [`StorageError::Exists`] if the id is taken.
    async fn create_tenant(&self, tenant: &Tenant) -> Result<(), StorageError>;
    /// Every tenant, by id.
    async fn tenants(&self) -> Result<Vec<Tenant>, StorageError>;
    async fn tenant(&self, tenant_id: &TenantId) -> Result<Option<Tenant>, StorageError>;
    /// Enables or disables a tenant; `false` if there is none.
    async fn set_tenant_enabled(&self, tenant_id: &TenantId, enabled: bool) -> Result<bool, StorageError>;
    /// Attaches a tenant to a pack by name, or to none; `false` if there is no such tenant.
    async fn set_tenant_policy(&self, tenant_id: &TenantId, pack: Option<&str>) -> Result<bool, StorageError>;
    async fn create_key(&self, key: &ApiKey) -> Result<(), StorageError>;
    /// The keys of a tenant, oldest first.
    async fn keys(&self, tenant_id: &TenantId) -> Result<Vec<ApiKey>, StorageError>;
    /// Revokes a key; `false` if there is none.
    async fn revoke_key(&self, tenant_id: &TenantId, key_id: &KeyId, at: Timestamp) -> Result<bool, StorageError>;
    /// Replaces whom a key may speak for; `false` if there is no such key.
    async fn set_key_voice(
        &self,
        tenant_id: &TenantId,
        key_id: &KeyId,
        speaks_for: &SpeaksFor,
    ) -> Result<bool, StorageError>;
    /// The key with this digest and its tenant, revoked or not.
    async fn find_key(&self, digest: &Digest) -> Result<Option<(ApiKey, Tenant)>, StorageError>;
}

const TENANTS: &str = "
    SELECT tenant_id, environment, policy_pack, key AS tenant_key, enabled, created_at AS tenant_created_at
    FROM tenants";

fn created(rows: u64) -> Result<(), StorageError> {
    if rows == 1 { Ok(()) } else { Err(StorageError::Exists) }
}

#[async_trait]
impl<D: Database> ControlStore for D {
    async fn create_tenant(&self, tenant: &Tenant) -> Result<(), StorageError> {
        let columns = [
            ("tenant_id", tenant.tenant_id.as_str().into()),
            ("environment", tenant.environment.as_str().into()),
            ("policy_pack", tenant.policy_pack.as_deref().into()),
            ("key", (&tenant.key).into()),
            ("enabled", tenant.enabled.into()),
            ("created_at", tenant.created_at.into()),
        ];
        let insert = Statement::insert("control.create_tenant", "tenants", columns);
        created(self.change(Some(&tenant.tenant_id), insert).await?)
    }

    async fn tenants(&self) -> Result<Vec<Tenant>, StorageError> {
        let mut all = Statement::new("control.tenants", TENANTS);
        all.push(" ORDER BY tenant_id");
        self.rows(None, all).await?.iter().map(tenant).collect()
    }

    async fn tenant(&self, tenant_id: &TenantId) -> Result<Option<Tenant>, StorageError> {
        let mut one = Statement::new("control.tenant", TENANTS);
        one.when(" WHERE tenant_id = :tenant", "tenant", Some(tenant_id.as_str()));
        first(self, Some(tenant_id), one).await?.as_ref().map(tenant).transpose()
    }

    async fn set_tenant_enabled(&self, tenant_id: &TenantId, enabled: bool) -> Result<bool, StorageError> {
        let sql = "UPDATE tenants SET enabled = :enabled WHERE tenant_id = :tenant";
        let update = Statement::new("control.set_tenant_enabled", sql).bind("tenant", tenant_id.as_str());
        Ok(self.change(Some(tenant_id), update.bind("enabled", enabled)).await? == 1)
    }

    async fn set_tenant_policy(&self, tenant_id: &TenantId, pack: Option<&str>) -> Result<bool, StorageError> {
        let sql = "UPDATE tenants SET policy_pack = :pack WHERE tenant_id = :tenant";
        let update = Statement::new("control.set_tenant_policy", sql).bind("tenant", tenant_id.as_str());
        Ok(self.change(Some(tenant_id), update.bind("pack", pack)).await? == 1)
    }

    async fn create_key(&self, key: &ApiKey) -> Result<(), StorageError> {
        let ((word, viewer), capability) = (voice_columns(&key.speaks_for), key.speaks_for.capability.as_ref());
        let kind = serde_json::to_value(key.kind).unwrap_or_default();
        let columns = [
            ("tenant_id", key.tenant_id.as_str().into()),
            ("key_id", key.key_id.as_str().into()),
            ("digest", (&key.digest).into()),
            ("kind", kind.as_str().into()),
            ("scopes", serde_json::to_string(&key.scopes).unwrap_or_default().into()),
            ("principal_id", key.principal_id.as_ref().map(PrincipalId::as_str).into()),
            ("label", key.label.as_str().into()),
            ("created_at", key.created_at.into()),
            ("speaks_for", word.into()),
            ("viewer_id", viewer.into()),
            ("organization", capability.map(|own| own.organization.as_str()).into()),
            ("capability", capability.map(|own| own.capability.as_str()).into()),
        ];
        created(self.change(Some(&key.tenant_id), Statement::insert("control.create_key", "api_keys", columns)).await?)
    }

    async fn keys(&self, tenant_id: &TenantId) -> Result<Vec<ApiKey>, StorageError> {
        let sql = "
            SELECT tenant_id, key_id, digest, kind, scopes, principal_id, label, created_at, revoked_at,
                   speaks_for, viewer_id, organization, capability
            FROM api_keys WHERE tenant_id = :tenant ORDER BY created_at, key_id";
        let of_tenant = Statement::new("control.keys", sql).bind("tenant", tenant_id.as_str());
        self.rows(Some(tenant_id), of_tenant).await?.iter().map(api_key).collect()
    }

    async fn revoke_key(&self, tenant_id: &TenantId, key_id: &KeyId, at: Timestamp) -> Result<bool, StorageError> {
        let sql = "
            UPDATE api_keys SET revoked_at = coalesce(revoked_at, :at) WHERE tenant_id = :tenant AND key_id = :key";
        let update = Statement::new("control.revoke_key", sql).bind("tenant", tenant_id.as_str());
        Ok(self.change(Some(tenant_id), update.bind("key", key_id.as_str()).bind("at", at)).await? == 1)
    }

    async fn set_key_voice(
        &self,
        tenant_id: &TenantId,
        key_id: &KeyId,
        speaks_for: &SpeaksFor,
    ) -> Result<bool, StorageError> {
        let sql = "
            UPDATE api_keys SET speaks_for = :word, viewer_id = :viewer, organization = :organization,
                capability = :capability
            WHERE tenant_id = :tenant AND key_id = :key";
        let ((word, viewer), capability) = (voice_columns(speaks_for), speaks_for.capability.as_ref());
        let update = Statement::new("control.set_key_voice", sql)
            .bind("word", word)
            .bind("viewer", viewer)
            .bind("organization", capability.map(|own| own.organization.as_str()))
            .bind("capability", capability.map(|own| own.capability.as_str()))
            .bind("tenant", tenant_id.as_str())
            .bind("key", key_id.as_str());
        Ok(self.change(Some(tenant_id), update).await? == 1)
    }

    async fn find_key(&self, digest: &Digest) -> Result<Option<(ApiKey, Tenant)>, StorageError> {
        let sql = "
            SELECT k.tenant_id, k.key_id, k.digest, k.kind, k.scopes, k.principal_id, k.label, k.created_at,
                   k.revoked_at, k.speaks_for, k.viewer_id, k.organization, k.capability,
                   t.environment, t.policy_pack, t.key AS tenant_key, t.enabled, t.created_at AS tenant_created_at
            FROM api_keys AS k JOIN tenants AS t ON t.tenant_id = k.tenant_id WHERE k.digest = :digest";
        let row = first(self, None, Statement::new("control.find_key", sql).bind("digest", digest)).await?;
        row.as_ref().map(|row| Ok((api_key(row)?, tenant(row)?))).transpose()
    }
}
