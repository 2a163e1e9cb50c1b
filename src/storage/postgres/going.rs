//! What is left of fact spaces that are being erased.

use async_trait::async_trait;

use super::PostgresStore;
use super::json::jsonb;
use super::rows::{body, count, digest, impossible, text};
use super::session::Query;
use crate::domain::canonical::Digest;
use crate::domain::id::{PackId, SpaceId, TenantId};
use crate::state_layer::space::SpaceRecord;
use crate::storage::{GoingStore, ShowingPacks, StorageError, StoredClaim};

const GOING: &str = "-- postgres: going.spaces
    SELECT body FROM space_records WHERE tenant_id = $1 AND kind = 'space' AND ended_at IS NOT NULL ORDER BY ended_at";

const PACKS: &str = concat!(
    "-- postgres: going.packs
    SELECT p.record_id AS id, p.space_id, octet_length(p.body)::int8 AS bytes,
        (p.space_id <> $2 AND EXISTS (SELECT 1 FROM (
                SELECT jsonb_array_elements_text(",
    jsonb!("p.body"),
    " #> '{pack,facts_included}') AS uid
                UNION ALL
                SELECT jsonb_array_elements(",
    jsonb!("p.body"),
    " #> '{pack,omitted}') ->> 'id'
            ) AS named
            JOIN space_records AS f ON f.tenant_id = $1 AND f.space_id = $2 AND f.kind = 'fact'
                AND f.record_id = named.uid))::int4::int8 AS shows
        FROM (SELECT * FROM space_records WHERE tenant_id = $1 AND kind = 'pack' AND record_id > $3
            ORDER BY record_id LIMIT $4) AS p ORDER BY p.record_id"
);

const ANSWERS: &str = "-- postgres: going.answers
    SELECT claim_key, octet_length(body)::int8 AS bytes, body FROM claims
        WHERE tenant_id = $1 AND space_id = $2 AND claim_key > decode($3, 'hex') ORDER BY claim_key LIMIT $4";

/// Withdraws kept answers: repetitions are told that there is no such space.
const WITHDRAW: &str = concat!(
    "-- postgres: going.withdraw
    UPDATE claims AS c
        SET body = jsonb_set(",
    jsonb!("c.body"),
    ", '{result}', '{\"Err\":{\"space_code\":\"space_not_found\"}}')::text
        WHERE c.tenant_id = $1 AND c.space_id = $2 AND c.claim_key = ANY ($3::bytea[])"
);

/// The statement that withdraws kept answers.
pub(super) fn withdraw<'a>(tenant_id: &'a TenantId, space_id: &'a SpaceId, keys: &[Digest]) -> Query<'a> {
    let keys: Vec<Vec<u8>> = keys.iter().map(|key| key.as_bytes().to_vec()).collect();
    sqlx::query(WITHDRAW).bind(tenant_id.as_str()).bind(space_id.as_str()).bind(keys)
}

#[async_trait]
impl GoingStore for PostgresStore {
    async fn going_spaces(&self, tenant_id: &TenantId) -> Result<Vec<SpaceRecord>, StorageError> {
        let query = sqlx::query(GOING).bind(tenant_id.as_str());
        let rows = self.rest.rows(tenant_id.as_str(), query).await?;
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
        for row in self.rest.rows(tenant_id.as_str(), query).await? {
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
        let rows = self.rest.rows(tenant_id.as_str(), query).await?;
        rows.iter().map(|row| Ok((digest(row, "claim_key")?, body(row, "claims")?, count(row, "bytes")?))).collect()
    }
}
