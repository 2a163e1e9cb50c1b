//! What is left of fact spaces that are being erased.

use async_trait::async_trait;

use super::SqliteStore;
use super::rows::{Rows, body, count, digest, impossible, text, unavailable};
use crate::domain::canonical::Digest;
use crate::domain::id::{PackId, SpaceId, TenantId};
use crate::state_layer::space::SpaceRecord;
use crate::storage::{GoingStore, ShowingPacks, StorageError, StoredClaim};

const GOING: &str = "-- sqlite: going.spaces
    SELECT body FROM space_records WHERE tenant_id = ?1 AND kind = 'space' AND ended_at IS NOT NULL ORDER BY ended_at";

const PACKS: &str = "-- sqlite: going.packs
    SELECT p.record_id AS id, p.space_id, octet_length(p.body) AS bytes,
        p.space_id <> ?2 AND EXISTS (SELECT 1 FROM json_tree(p.body, '$.pack') AS named
            CROSS JOIN space_records AS f ON f.tenant_id = ?1 AND f.space_id = ?2 AND f.kind = 'fact'
            AND f.record_id = named.value WHERE named.type = 'text') AS shows
        FROM (SELECT * FROM space_records WHERE tenant_id = ?1 AND kind = 'pack' AND record_id > ?3
            ORDER BY record_id LIMIT ?4) AS p ORDER BY p.record_id";

const ANSWERS: &str = "-- sqlite: going.answers
    SELECT claim_key, octet_length(body) AS bytes, body FROM claims WHERE tenant_id = ?1 AND space_id = ?2 AND claim_key > unhex(?3) ORDER BY claim_key LIMIT ?4";

/// Withdraws kept answers: repetitions are told that there is no such space.
const WITHDRAW: &str = "-- sqlite: going.withdraw
    UPDATE claims SET body = json_set(body, '$.result', json('{\"Err\":{\"space_code\":\"space_not_found\"}}'))
        WHERE space_id = ?2 AND (tenant_id, claim_key) IN (SELECT ?1, unhex(value) FROM json_each(?3))";

pub(super) async fn withdraw(
    connection: &mut sqlx::SqliteConnection,
    tenant_id: &TenantId,
    space_id: &SpaceId,
    keys: &[Digest],
) -> Result<u64, StorageError> {
    let mut wanted = Rows::default();
    for key in keys {
        wanted.add(key);
    }
    let query = sqlx::query(WITHDRAW).bind(tenant_id.as_str()).bind(space_id.as_str()).bind(wanted.into_array());
    Ok(query.execute(connection).await.map_err(unavailable)?.rows_affected())
}

#[async_trait]
impl GoingStore for SqliteStore {
    async fn going_spaces(&self, tenant_id: &TenantId) -> Result<Vec<SpaceRecord>, StorageError> {
        let query = sqlx::query(GOING).bind(tenant_id.as_str());
        let rows = query.fetch_all(&self.readers).await.map_err(unavailable)?;
        rows.iter().map(|row| body(row, "space_records")).collect()
    }

    async fn packs_showing(
        &self,
        tenant_id: &TenantId,
        space_id: &SpaceId,
        after: Option<&PackId>,
        limit: u32,
    ) -> Result<ShowingPacks, StorageError> {
        let query = sqlx::query(PACKS).bind(tenant_id.as_str()).bind(space_id.as_str());
        let query = query.bind(after.map_or("", PackId::as_str)).bind(i64::from(limit));
        let mut found = ShowingPacks::default();
        for row in query.fetch_all(&self.readers).await.map_err(unavailable)? {
            let wrong = |what: &'static str| impossible("space_records", &what);
            let pack_id = PackId::parse(&text(&row, "id")?).ok_or_else(|| wrong("a foreign pack id"))?;
            if count(&row, "shows")? == 1 {
                let place = SpaceId::new(text(&row, "space_id")?).map_err(|_| wrong("an impossible space"))?;
                found.packs.push((place, pack_id.clone(), count(&row, "bytes")?));
            }
            found.next = Some(pack_id);
        }
        Ok(found)
    }

    async fn answers_about(
        &self,
        tenant_id: &TenantId,
        space_id: &SpaceId,
        after: Option<&Digest>,
        limit: u32,
    ) -> Result<Vec<(Digest, StoredClaim, u64)>, StorageError> {
        let query = sqlx::query(ANSWERS).bind(tenant_id.as_str()).bind(space_id.as_str());
        let query = query.bind(after.map(Digest::to_hex).unwrap_or_default()).bind(i64::from(limit));
        let rows = query.fetch_all(&self.readers).await.map_err(unavailable)?;
        rows.iter().map(|row| Ok((digest(row, "claim_key")?, body(row, "claims")?, count(row, "bytes")?))).collect()
    }
}
