//! Fact spaces: loading and writing their rows.

use sqlx::Row as _;
use sqlx::postgres::PgRow;

use super::columns::{Rows as _, columns};
use super::errors::failed;
use super::session::{Query, Session};
use crate::domain::id::{SpaceId, StreamId, TenantId};
use crate::domain::time::Timestamp;
use crate::storage::sql::jsonb;
use crate::storage::sql::{count, impossible, tenant_id, text};
use crate::storage::{SpaceRow, SpaceRowKind, SpaceWant, StorageError, Writes};

/// The current rows of some spaces, and all rows of others. Each space is looked up separately: whatever the planner
/// estimates, it reads no rows of other spaces.
const LOAD: &str = "
    -- postgres: spaces.load
    SELECT r.tenant_id, r.space_id, r.kind, r.body FROM unnest($1::text[], $2::text[]) AS w (tenant_id, space_id)
        CROSS JOIN LATERAL (SELECT * FROM space_records AS r
            WHERE r.tenant_id = w.tenant_id AND r.space_id = w.space_id AND r.live OFFSET 0) AS r
    UNION ALL
    SELECT r.tenant_id, r.space_id, r.kind, r.body FROM unnest($3::text[], $4::text[]) AS w (tenant_id, space_id)
        CROSS JOIN LATERAL (SELECT * FROM space_records AS r
            WHERE r.tenant_id = w.tenant_id AND r.space_id = w.space_id AND r.kind <> 'pack' OFFSET 0) AS r";

/// The same, with facts that are named: by uid, or by label or key the newest invalid one with the facts that replaced
/// it. Valid facts are loaded anyway.
const LOAD_NAMED: &str = r#"
    -- postgres: spaces.load_named
    WITH RECURSIVE names (tenant_id, space_id, name) AS (
        SELECT w.tenant_id COLLATE "C", w.space_id COLLATE "C", w.name COLLATE "C"
            FROM unnest($5::text[], $6::text[], $7::text[]) AS w (tenant_id, space_id, name)
    ), first_named (tenant_id, space_id, record_id) AS (
        SELECT tenant_id, space_id, name FROM names
        UNION
        SELECT n.tenant_id, n.space_id, r.record_id FROM names AS n
            CROSS JOIN LATERAL (SELECT r.record_id FROM space_records AS r
                WHERE r.tenant_id = n.tenant_id AND r.space_id = n.space_id AND r.label = n.name
                ORDER BY r.at DESC, r.record_id DESC LIMIT 1) AS r
        UNION
        SELECT n.tenant_id, n.space_id, r.record_id FROM names AS n
            CROSS JOIN LATERAL (SELECT r.record_id FROM space_records AS r
                WHERE r.tenant_id = n.tenant_id AND r.space_id = n.space_id AND r.key = n.name
                ORDER BY r.at DESC, r.record_id DESC LIMIT 1) AS r
    ), named (tenant_id, space_id, record_id) AS (
        SELECT * FROM first_named
        UNION
        SELECT r.tenant_id, r.space_id, r.successor FROM named AS n
            JOIN space_records AS r ON r.tenant_id = n.tenant_id AND r.space_id = n.space_id
            AND r.kind = 'fact' AND r.record_id = n.record_id AND r.successor IS NOT NULL
    )
    SELECT r.tenant_id, r.space_id, r.kind, r.body FROM unnest($1::text[], $2::text[]) AS w (tenant_id, space_id)
        CROSS JOIN LATERAL (SELECT * FROM space_records AS r
            WHERE r.tenant_id = w.tenant_id AND r.space_id = w.space_id AND r.live OFFSET 0) AS r
    UNION ALL
    SELECT r.tenant_id, r.space_id, r.kind, r.body FROM unnest($3::text[], $4::text[]) AS w (tenant_id, space_id)
        CROSS JOIN LATERAL (SELECT * FROM space_records AS r
            WHERE r.tenant_id = w.tenant_id AND r.space_id = w.space_id AND r.kind <> 'pack' OFFSET 0) AS r
    UNION ALL
    SELECT r.tenant_id, r.space_id, r.kind, r.body FROM named AS n
        JOIN space_records AS r ON r.tenant_id = n.tenant_id AND r.space_id = n.space_id AND r.kind = 'fact'
        AND r.record_id = n.record_id
    UNION ALL
    SELECT r.tenant_id, r.space_id, r.kind, r.body FROM (SELECT DISTINCT tenant_id, space_id FROM names) AS n
        JOIN space_records AS r ON r.tenant_id = n.tenant_id AND r.space_id = n.space_id AND r.kind = 'space'"#;

/// Deletes what else contains a deleted fact: log payloads, packs and stored answers.
const FORGET: [&str; 3] = [
    "-- postgres: spaces.forget_facts
    DELETE FROM log_payloads AS p USING unnest($1::text[], $2::text[], $3::text[]) AS w (tenant_id, space_id, fact_uid)
        WHERE p.tenant_id = w.tenant_id AND p.fact_uid = w.fact_uid",
    "-- postgres: spaces.forget_packs
    DELETE FROM space_records AS p
        USING unnest($1::text[], $2::text[], $3::text[]) AS w (tenant_id, space_id, fact_uid)
        WHERE p.tenant_id = w.tenant_id AND p.kind = 'pack' AND strpos(p.body, w.fact_uid) > 0",
    concat!(
        "-- postgres: spaces.forget_answers
    UPDATE claims AS c
        SET body = jsonb_set(",
        jsonb!("c.body"),
        ", '{result}', '{\"Err\":{\"space_code\":\"fact_deleted\"}}')::text
        FROM unnest($1::text[], $2::text[], $3::text[]) AS w (tenant_id, space_id, fact_uid)
        WHERE c.tenant_id = w.tenant_id AND c.space_id = w.space_id AND strpos(c.body, w.fact_uid) > 0"
    ),
];

/// The entries about these facts or readings.
pub(super) const TOLD_OF: &str = "-- postgres: spaces.told_of
    SELECT stream_id, seq FROM log_payloads WHERE tenant_id = $1 AND fact_uid = ANY($2) ORDER BY stream_id, seq";

pub(super) fn place(row: &PgRow) -> Result<(StreamId, u64), StorageError> {
    let stream_id = StreamId::parse(&text(row, "stream_id")?);
    Ok((stream_id.ok_or_else(|| impossible("log_payloads", &"a foreign stream id"))?, count(row, "seq")?))
}

const REMOVE: &str = "
    -- postgres: spaces.remove
    DELETE FROM space_records AS r
        USING unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS w (tenant_id, space_id, kind, record_id)
        WHERE r.tenant_id = w.tenant_id AND r.space_id = w.space_id AND r.kind = w.kind AND r.record_id = w.record_id";

const WRITE: &str = "
    -- postgres: spaces.write
    INSERT INTO space_records (tenant_id, space_id, kind, record_id, at, live, label, key, successor, ended_at, body)
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::int8[], $6::bool[], $7::text[], $8::text[],
                         $9::text[], $10::int8[], $11::text[])
    ON CONFLICT (tenant_id, space_id, kind, record_id) DO UPDATE SET
        at = excluded.at, live = excluded.live, label = excluded.label, key = excluded.key,
        successor = excluded.successor, ended_at = excluded.ended_at, body = excluded.body";

columns!(Places { tenant_id: &'a str, id: &'a str });
columns!(Names { tenant_id: &'a str, space_id: &'a str, name: &'a str });
columns!(Gone { tenant_id: &'a str, space_id: &'a str, kind: &'a str, record_id: &'a str });
columns!(Records {
    tenant_id: &'a str,
    space_id: &'a str,
    kind: &'a str,
    record_id: &'a str,
    at: i64,
    live: bool,
    label: Option<&'a str>,
    key: Option<&'a str>,
    successor: Option<&'a str>,
    ended_at: Option<i64>,
    body: String,
});

/// The statement that loads the wanted rows.
pub(super) fn query(wants: &[SpaceWant]) -> Query<'_> {
    let (mut live, mut whole, mut names) = (Places::default(), Places::default(), Names::default());
    for want in wants {
        let (tenant, space) = (want.tenant_id.as_str(), want.space_id.as_str());
        if want.whole {
            whole.add((tenant, space));
        } else if want.live {
            live.add((tenant, space));
        }
        want.named.iter().for_each(|name| names.add((tenant, space, name.as_str())));
    }
    if names.is_empty() {
        return whole.bind(live.bind(sqlx::query(LOAD)));
    }
    names.bind(whole.bind(live.bind(sqlx::query(LOAD_NAMED))))
}

/// Reads a row of the statement.
pub(super) fn row(row: &PgRow) -> Result<(TenantId, SpaceId, SpaceRow), StorageError> {
    let space_id = SpaceId::new(text(row, "space_id")?).map_err(|error| impossible("space_records", &error))?;
    let kind: &str = row.try_get("kind").map_err(failed)?;
    let kind = SpaceRowKind::parse(kind).ok_or_else(|| impossible("space_records", &"an unknown kind"))?;
    let body: &str = row.try_get("body").map_err(failed)?;
    // serde's own message may quote the value, so only its position is kept.
    let read = SpaceRow::read(kind, body);
    let read =
        read.map_err(|error| impossible("space_records", &format!("its body ends at column {}", error.column())));
    Ok((tenant_id(row)?, space_id, read?))
}

/// Writes the changes of a batch in fact spaces; deletions come first.
pub(super) async fn write(session: &mut Session, writes: &Writes) -> Result<(), StorageError> {
    for sql in FORGET {
        let mut forgotten = Names::default();
        let names = writes.forgotten.iter();
        names.for_each(|(tenant, space, id)| forgotten.add((tenant.as_str(), space.as_str(), id.as_str())));
        if !forgotten.is_empty() {
            session.count(forgotten.bind(sqlx::query(sql))).await?;
        }
    }
    let mut gone = Gone::default();
    for (tenant, space, kind, id) in &writes.gone_space_rows {
        gone.add((tenant.as_str(), space.as_str(), kind.as_str(), id));
    }
    if !gone.is_empty() {
        session.count(gone.bind(sqlx::query(REMOVE))).await?;
    }
    let mut records = Records::default();
    for (tenant, space, row) in &writes.space_rows {
        let (label, key) = row.names();
        let (kind, at) = (row.kind().as_str(), Timestamp::as_micros(row.at()));
        let (tenant, space) = (tenant.as_str(), space.as_str());
        let ended_at = row.ended_at().map(Timestamp::as_micros);
        let (id, live, successor) = (row.id(), row.is_live(), row.successor());
        records.add((tenant, space, kind, id, at, live, label, key, successor, ended_at, row.body()));
    }
    if !records.is_empty() {
        session.count(records.bind(sqlx::query(WRITE))).await?;
    }
    Ok(())
}
