//! Fact spaces: loading, reading and writing their rows.

use serde::Serialize;
use sqlx::{Row as _, SqliteConnection};

use super::rows::{Rows, unavailable};
use crate::domain::id::{SpaceId, StreamId, TenantId};
use crate::domain::time::Timestamp;
use crate::storage::sql::{count, impossible, tenant_id, text};
use crate::storage::{SpaceRow, SpaceRowKind, SpaceWant, StorageError, Writes};

/// The current rows of some spaces, and all rows of others. Records are concatenated in groups, each on a line after
/// its kind: passing a row from the driver's thread costs as much as finding it.
const LOAD: &str = "
    -- sqlite: spaces.load
    SELECT r.tenant_id, r.space_id, group_concat(r.kind || ' ' || r.body, char(10)) AS records FROM json_each(?1) AS w
        CROSS JOIN space_records AS r ON r.tenant_id = w.value->>0 AND r.space_id = w.value->>1 AND r.live = 1
        GROUP BY w.key, r.rowid / 64
    UNION ALL
    SELECT r.tenant_id, r.space_id, group_concat(r.kind || ' ' || r.body, char(10)) AS records FROM json_each(?2) AS w
        CROSS JOIN space_records AS r ON r.tenant_id = w.value->>0 AND r.space_id = w.value->>1 AND r.kind <> 'pack'
        GROUP BY w.key, r.rowid / 64";

/// The same, with facts that are named: by uid, or by label or key the newest invalid one with the facts that replaced
/// it. Valid facts are loaded anyway.
const LOAD_NAMED: &str = "
    -- sqlite: spaces.load_named
    WITH RECURSIVE
    names (tenant_id, space_id, name) AS (
        SELECT value->>0, value->>1, value->>2 FROM json_each(?3)
    ), named (tenant_id, space_id, record_id) AS (
        SELECT tenant_id, space_id, name FROM names
        UNION
        SELECT n.tenant_id, n.space_id, (SELECT r.record_id FROM space_records AS r
            WHERE r.tenant_id = n.tenant_id AND r.space_id = n.space_id AND r.label = n.name
            ORDER BY r.at DESC, r.record_id DESC LIMIT 1) FROM names AS n
        UNION
        SELECT n.tenant_id, n.space_id, (SELECT r.record_id FROM space_records AS r
            WHERE r.tenant_id = n.tenant_id AND r.space_id = n.space_id AND r.key = n.name
            ORDER BY r.at DESC, r.record_id DESC LIMIT 1) FROM names AS n
        UNION
        SELECT r.tenant_id, r.space_id, r.successor FROM named AS n
            CROSS JOIN space_records AS r ON r.tenant_id = n.tenant_id AND r.space_id = n.space_id
            AND r.kind = 'fact' AND r.record_id = n.record_id AND r.successor IS NOT NULL
    )
    SELECT r.tenant_id, r.space_id, group_concat(r.kind || ' ' || r.body, char(10)) AS records FROM json_each(?1) AS w
        CROSS JOIN space_records AS r ON r.tenant_id = w.value->>0 AND r.space_id = w.value->>1 AND r.live = 1
        GROUP BY w.key, r.rowid / 64
    UNION ALL
    SELECT r.tenant_id, r.space_id, group_concat(r.kind || ' ' || r.body, char(10)) AS records FROM json_each(?2) AS w
        CROSS JOIN space_records AS r ON r.tenant_id = w.value->>0 AND r.space_id = w.value->>1 AND r.kind <> 'pack'
        GROUP BY w.key, r.rowid / 64
    UNION ALL
    SELECT r.tenant_id, r.space_id, r.kind || ' ' || r.body FROM named AS n
        CROSS JOIN space_records AS r ON r.tenant_id = n.tenant_id AND r.space_id = n.space_id AND r.kind = 'fact'
        AND r.record_id = n.record_id
    UNION ALL
    SELECT r.tenant_id, r.space_id, r.kind || ' ' || r.body FROM (SELECT DISTINCT tenant_id, space_id FROM names) AS n
        CROSS JOIN space_records AS r ON r.tenant_id = n.tenant_id AND r.space_id = n.space_id AND r.kind = 'space'";

/// Deletes what else contains a deleted fact: log payloads, packs and stored answers.
const FORGET: [&str; 3] = [
    "-- sqlite: spaces.forget_facts
    DELETE FROM log_payloads WHERE fact_uid IS NOT NULL AND (tenant_id, fact_uid) IN (SELECT value->>0, value->>2 FROM json_each(?1))",
    "-- sqlite: spaces.forget_packs
    DELETE FROM space_records WHERE kind = 'pack' AND tenant_id IN (SELECT value->>0 FROM json_each(?1))
        AND EXISTS (SELECT 1 FROM json_each(?1) WHERE value->>0 = space_records.tenant_id AND instr(space_records.body, value->>2) > 0)",
    "-- sqlite: spaces.forget_answers
    UPDATE claims SET body = json_set(body, '$.result', json('{\"Err\":{\"space_code\":\"fact_deleted\"}}'))
        WHERE (tenant_id, claim_key) IN (SELECT c.tenant_id, c.claim_key FROM json_each(?1) AS w
            CROSS JOIN claims AS c ON c.tenant_id = w.value->>0 AND c.space_id = w.value->>1
            AND instr(c.body, w.value->>2) > 0)",
];

const TOLD_OF: &str = "
    -- sqlite: spaces.told_of
    SELECT p.stream_id, p.seq FROM json_each(?2) AS w
        CROSS JOIN log_payloads AS p ON p.tenant_id = ?1 AND p.fact_uid = w.value ORDER BY p.stream_id, p.seq";

const REMOVE: &str = "
    -- sqlite: spaces.remove
    DELETE FROM space_records WHERE (tenant_id, space_id, kind, record_id) IN
        (SELECT value->>0, value->>1, value->>2, value->>3 FROM json_each(?1))";

const WRITE: &str = "
    -- sqlite: spaces.write
    INSERT INTO space_records (tenant_id, space_id, kind, record_id, at, live, label, key, successor, ended_at, body)
    SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7, value->>8, value->>9,
           value->>10 FROM json_each(?1) WHERE true
    ON CONFLICT (tenant_id, space_id, kind, record_id) DO UPDATE SET
        at = excluded.at, live = excluded.live, label = excluded.label, key = excluded.key,
        successor = excluded.successor, ended_at = excluded.ended_at, body = excluded.body";

/// Loads the wanted rows of fact spaces.
pub(super) async fn load(
    connection: &mut SqliteConnection,
    wants: &[SpaceWant],
) -> Result<Vec<(TenantId, SpaceId, SpaceRow)>, StorageError> {
    let (mut live, mut whole, mut names) = (Rows::default(), Rows::default(), Rows::default());
    for want in wants {
        let space = (&want.tenant_id, &want.space_id);
        if want.whole {
            whole.add(&space);
        } else if want.live {
            live.add(&space);
        }
        want.named.iter().for_each(|name| names.add(&(space.0, space.1, name)));
    }
    let query = if names.is_empty() {
        sqlx::query(LOAD).bind(live.into_array()).bind(whole.into_array())
    } else {
        sqlx::query(LOAD_NAMED).bind(live.into_array()).bind(whole.into_array()).bind(names.into_array())
    };
    let mut loaded = Vec::new();
    for row in query.fetch_all(connection).await.map_err(unavailable)? {
        let space_id = SpaceId::new(text(&row, "space_id")?).map_err(|error| impossible("space_records", &error))?;
        let tenant_id = tenant_id(&row)?;
        let records: &str = row.try_get("records").map_err(unavailable)?;
        // JSON has no line breaks inside strings, and bodies are serialized without others.
        for written in records.split('\n') {
            loaded.push((tenant_id.clone(), space_id.clone(), record(written)?));
        }
    }
    Ok(loaded)
}

/// Parses a kind and a body.
fn record(written: &str) -> Result<SpaceRow, StorageError> {
    let (kind, body) =
        written.split_once(' ').ok_or_else(|| impossible("space_records", &"a record without a kind"))?;
    let kind = SpaceRowKind::parse(kind).ok_or_else(|| impossible("space_records", &"an unknown kind"))?;
    // serde's own message may quote the value, so only its position is kept.
    SpaceRow::read(kind, body)
        .map_err(|error| impossible("space_records", &format!("its body ends at column {}", error.column())))
}

/// Writes the changes of a batch in fact spaces; deletions come first.
pub(super) async fn write(connection: &mut SqliteConnection, writes: &Writes) -> Result<(), StorageError> {
    for sql in FORGET {
        change(connection, sql, writes.forgotten.iter()).await?;
    }
    let gone = writes.gone_space_rows.iter().map(|(tenant, space, kind, id)| (tenant, space, kind.as_str(), id));
    change(connection, REMOVE, gone).await?;
    let rows = writes.space_rows.iter().map(|(tenant, space, row)| {
        let (label, key) = row.names();
        let at = Timestamp::as_micros(row.at());
        (
            tenant,
            space,
            row.kind().as_str(),
            row.id(),
            at,
            u8::from(row.is_live()),
            label,
            key,
            row.successor(),
            row.ended_at().map(Timestamp::as_micros),
            row.body(),
        )
    });
    change(connection, WRITE, rows).await
}

/// The entries about these facts or readings.
pub(super) async fn told_of(
    connection: &mut SqliteConnection,
    tenant_id: &TenantId,
    ids: &[String],
) -> Result<Vec<(StreamId, u64)>, StorageError> {
    let mut wanted = Rows::default();
    for id in ids {
        wanted.add(id);
    }
    let rows = sqlx::query(TOLD_OF).bind(tenant_id.as_str()).bind(wanted.into_array());
    let rows = rows.fetch_all(connection).await.map_err(unavailable)?;
    let place = |row| {
        let stream_id = StreamId::parse(&text(row, "stream_id")?);
        Ok((stream_id.ok_or_else(|| impossible("log_payloads", &"a foreign stream id"))?, count(row, "seq")?))
    };
    rows.iter().map(place).collect()
}

async fn change<T: Serialize>(
    connection: &mut SqliteConnection,
    sql: &'static str,
    rows: impl Iterator<Item = T>,
) -> Result<(), StorageError> {
    let mut array = Rows::default();
    rows.for_each(|row| array.add(&row));
    if array.is_empty() {
        return Ok(());
    }
    sqlx::query(sql).bind(array.into_array()).execute(connection).await.map(drop).map_err(unavailable)
}
