//! What is left of fact spaces that are being erased. Their records in the space itself and in the log are read as
//! everywhere else.

use async_trait::async_trait;

use super::sql::{
    Columns as _, Database, Dialect, Row, Statement, Value, body, count, digest, impossible, jsonb, text,
};
use super::{StorageError, StoredClaim};
use crate::domain::canonical::Digest;
use crate::domain::id::{PackId, SpaceId, TenantId};
use crate::state_layer::space::SpaceRecord;

/// Packs of other spaces that show something of a space, among some packs in the order of their ids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShowingPacks {
    /// Where each is kept, its id, and the bytes of its row.
    pub packs: Vec<(SpaceId, PackId, u64)>,
    /// The last pack that was looked at; none if there are no more.
    pub next: Option<PackId>,
}

/// Reads for erasing a space in steps, without locks.
#[async_trait]
pub trait GoingStore: Send + Sync {
    /// The records of the spaces that are being erased, the longest erased first. There are hardly ever any.
    async fn going_spaces(&self, tenant_id: &TenantId) -> Result<Vec<SpaceRecord>, StorageError>;

    /// Looks through the packs after `after`, at most `limit` of them, for those of other spaces that show facts of this
    /// one. None can be added once the space is going: a pack is kept only if what it shows still stands.
    async fn packs_showing(
        &self,
        tenant_id: &TenantId,
        space_id: &SpaceId,
        after: Option<&PackId>,
        limit: u32,
    ) -> Result<ShowingPacks, StorageError>;

    /// Kept answers about a space after `after`, by key, with the bytes of their rows.
    async fn answers_about(
        &self,
        tenant_id: &TenantId,
        space_id: &SpaceId,
        after: Option<&Digest>,
        limit: u32,
    ) -> Result<Vec<(Digest, StoredClaim, u64)>, StorageError>;
}

const GOING: &str = "
    SELECT body FROM space_records
    WHERE tenant_id = :tenant AND kind = 'space' AND ended_at IS NOT NULL ORDER BY ended_at";

const PACKS_ON_SQLITE: &str = "
    SELECT p.record_id AS id, p.space_id, octet_length(p.body) AS bytes,
        p.space_id <> :space AND EXISTS (SELECT 1 FROM json_tree(p.body, '$.pack') AS named
            CROSS JOIN space_records AS f ON f.tenant_id = :tenant AND f.space_id = :space AND f.kind = 'fact'
            AND f.record_id = named.value WHERE named.type = 'text') AS shows
        FROM (SELECT * FROM space_records WHERE tenant_id = :tenant AND kind = 'pack' AND record_id > :after
            ORDER BY record_id LIMIT :limit) AS p ORDER BY p.record_id";

const PACKS_ON_POSTGRES: &str = concat!(
    "
    SELECT p.record_id AS id, p.space_id, octet_length(p.body)::int8 AS bytes,
        p.space_id <> :space AND EXISTS (SELECT 1 FROM (
                SELECT jsonb_array_elements_text(",
    jsonb!("p.body"),
    " #> '{pack,facts_included}') AS uid
                UNION ALL
                SELECT jsonb_array_elements(",
    jsonb!("p.body"),
    " #> '{pack,omitted}') ->> 'id'
            ) AS named
            JOIN space_records AS f ON f.tenant_id = :tenant AND f.space_id = :space AND f.kind = 'fact'
                AND f.record_id = named.uid) AS shows
        FROM (SELECT * FROM space_records WHERE tenant_id = :tenant AND kind = 'pack' AND record_id > :after
            ORDER BY record_id LIMIT :limit) AS p ORDER BY p.record_id"
);

const ANSWERS: &str = "
    SELECT claim_key, CAST(octet_length(body) AS BIGINT) AS bytes, body FROM claims
    WHERE tenant_id = :tenant AND space_id = :space AND claim_key > :after ORDER BY claim_key LIMIT :limit";

const WITHDRAW_ON_SQLITE: &str = r#"
    UPDATE claims SET body = json_set(body, '$.result', json('{"Err":{"space_code":"space_not_found"}}'))
    WHERE tenant_id = :tenant AND space_id = :space AND claim_key IN (:keys)"#;

const WITHDRAW_ON_POSTGRES: &str = concat!(
    "UPDATE claims AS c SET body = jsonb_set(",
    jsonb!("c.body"),
    r#", '{result}', '{"Err":{"space_code":"space_not_found"}}')::text
    WHERE c.tenant_id = :tenant AND c.space_id = :space AND c.claim_key IN (:keys)"#
);

/// Withdraws kept answers: repetitions are told that there is no such space.
pub(super) fn withdrawing(dialect: Dialect, tenant_id: &TenantId, space_id: &SpaceId, keys: &[Digest]) -> Statement {
    Statement::new("going.withdraw", dialect.choose(WITHDRAW_ON_SQLITE, WITHDRAW_ON_POSTGRES))
        .bind("tenant", tenant_id.as_str())
        .bind("space", space_id.as_str())
        .bind("keys", Value::digests(keys))
}

fn answer(row: &Row) -> Result<(Digest, StoredClaim, u64), StorageError> {
    Ok((digest(row, "claim_key")?, body(row, "claims")?, count(row, "bytes")?))
}

#[async_trait]
impl<D: Database> GoingStore for D {
    async fn going_spaces(&self, tenant_id: &TenantId) -> Result<Vec<SpaceRecord>, StorageError> {
        let going = Statement::new("going.spaces", GOING).bind("tenant", tenant_id.as_str());
        self.rows(Some(tenant_id), going).await?.iter().map(|row| body(row, "space_records")).collect()
    }

    async fn packs_showing(
        &self,
        tenant_id: &TenantId,
        space_id: &SpaceId,
        after: Option<&PackId>,
        limit: u32,
    ) -> Result<ShowingPacks, StorageError> {
        let packs = Statement::new("going.packs", self.dialect().choose(PACKS_ON_SQLITE, PACKS_ON_POSTGRES))
            .bind("tenant", tenant_id.as_str())
            .bind("space", space_id.as_str())
            .bind("after", after.map_or("", PackId::as_str))
            .bind("limit", limit);
        let mut found = ShowingPacks::default();
        for row in self.rows(Some(tenant_id), packs).await? {
            let wrong = |what: &'static str| impossible("space_records", &what);
            let pack_id = PackId::parse(row.get("id")?).ok_or_else(|| wrong("a foreign pack id"))?;
            if row.get("shows")? {
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
        let answers = Statement::new("going.answers", ANSWERS)
            .bind("tenant", tenant_id.as_str())
            .bind("space", space_id.as_str())
            .bind("after", after.map_or_else(Vec::new, |key| key.as_bytes().to_vec()))
            .bind("limit", limit);
        self.rows(Some(tenant_id), answers).await?.iter().map(answer).collect()
    }
}
