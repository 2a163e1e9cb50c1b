//! Locking: the head of each stream is its lock, and all heads of a batch are locked in one statement and one order.
//! After them the names of commands are locked, which belong to no stream: of two operations on the same command in
//! different conversations, the second one sees the result of the first.

use std::collections::BTreeSet;

use sqlx::postgres::PgRow;

use super::database::query;
use super::session::Session;
use crate::domain::event::StreamKey;
use crate::domain::id::TenantId;
use crate::storage::loading::Locating;
use crate::storage::sql::{Column, Columns, Statement, Type, Value, With, stream_key, tenant_id, text};
use crate::storage::{Locking, StorageError, Want};

const NAMED: &str = "
    SELECT w.tenant_id, w.kind, w.key FROM :streams AS w";
const OF_LOCATED: &str = "
    UNION SELECT l.tenant_id, 'conversation', l.conversation_id FROM located AS l";

/// Existing heads, in the order of their names.
const HELD: &str = "
    SELECT s.tenant_id, s.kind, s.key FROM wanted AS w
        JOIN streams AS s ON s.tenant_id = w.tenant_id AND s.kind = w.kind AND s.key = w.key
        ORDER BY s.tenant_id, s.kind, s.key FOR UPDATE OF s";

/// Missing heads are created: an inserted row is locked as well.
const MISSING: &str = "
    SELECT w.tenant_id, w.kind, w.key FROM wanted AS w
        WHERE NOT EXISTS (SELECT 1 FROM streams AS s
            WHERE s.tenant_id = w.tenant_id AND s.kind = w.kind AND s.key = w.key)
        ORDER BY w.tenant_id, w.kind, w.key";
const CREATED: &str = "
    INSERT INTO streams (tenant_id, kind, key, seq) SELECT m.tenant_id, m.kind, m.key, 0 FROM missing AS m";
/// Before a head is created its name is locked, so that a concurrent transaction leaves it out.
const UNCLAIMED: &str = "
    WHERE pg_try_advisory_xact_lock(hashtextextended(concat_ws(E'\\x1f', m.tenant_id, m.kind, m.key), 0))";
/// Or waits for it.
const CLAIMED: &str = "
    WHERE (SELECT true FROM pg_advisory_xact_lock(
        hashtextextended(concat_ws(E'\\x1f', m.tenant_id, m.kind, m.key), 0)))";
const ONCE: &str = "
    ON CONFLICT DO NOTHING RETURNING tenant_id, kind, key";

/// Names of commands, as advisory locks. They are waited for after all heads are locked: a transaction that waits for a
/// head holds no names, so there is no deadlock.
const NAMES: &str = "
    SELECT n.tenant_id, n.name, n.lock FROM (
        SELECT DISTINCT w.tenant_id, w.name, hashtextextended(concat_ws(E'\\x1f', w.tenant_id, 'command_name', w.name), 0)
        FROM :names AS w ORDER BY 1, 2
    ) AS n (tenant_id, name, lock)";
const UNCLAIMED_NAMES: &str = "
    SELECT n.tenant_id, n.name FROM names AS n WHERE pg_try_advisory_xact_lock(n.lock)";
const CLAIMED_NAMES: &str = "
    SELECT n.tenant_id, n.name FROM names AS n WHERE
        (SELECT count(*) FROM wanted) = (SELECT count(*) FROM held) + (SELECT count(*) FROM created)
        AND (SELECT true FROM pg_advisory_xact_lock(n.lock))";

const LOCATIONS: &str = "
    SELECT position, tenant_id, 'conversation' AS a, conversation_id AS b FROM located
    UNION ALL SELECT NULL, tenant_id, kind, key FROM held
    UNION ALL SELECT NULL, tenant_id, kind, key FROM created";
const HEADS_ONLY: &str = "
    SELECT NULL::int8 AS position, tenant_id, kind AS a, key AS b FROM held
    UNION ALL SELECT NULL, tenant_id, kind, key FROM created";
const AND_NAMES: &str = "
    UNION ALL SELECT NULL, tenant_id, 'command_name', name FROM held_names";

fn assembled(located: Option<&str>, names: bool, locking: Locking) -> Statement {
    let (name, skip, claim, claim_names) = match locking {
        Locking::Skip => ("lock.skip", " SKIP LOCKED", UNCLAIMED, UNCLAIMED_NAMES),
        Locking::Wait => ("lock.wait", "", CLAIMED, CLAIMED_NAMES),
    };
    let mut with = With::default();
    if let Some(query) = located {
        with.add("located (position, tenant_id, conversation_id) AS MATERIALIZED", query);
    }
    let of_located = if located.is_some() { OF_LOCATED } else { "" };
    with.add("wanted (tenant_id, kind, key) AS MATERIALIZED", &format!("{NAMED}{of_located}"));
    with.add("held AS MATERIALIZED", &format!("{HELD}{skip}"));
    with.add("missing AS MATERIALIZED", MISSING);
    with.add("created AS", &format!("{CREATED}{claim}{ONCE}"));
    let mut rows = if located.is_some() { LOCATIONS } else { HEADS_ONLY }.to_owned();
    if names {
        with.add("names AS MATERIALIZED", NAMES);
        with.add("held_names AS MATERIALIZED", claim_names);
        rows.push_str(AND_NAMES);
    }
    Statement::new(name, with.then(&rows))
}

/// How often locking is tried when waiting is allowed.
const ATTEMPTS: u32 = 3;

const STREAM: [Column; 3] = [("tenant_id", Type::Text), ("kind", Type::Text), ("key", Type::Text)];
const NAME: [Column; 2] = [("tenant_id", Type::Text), ("name", Type::Text)];

/// Locks the heads of all streams that the operations need. Returns the streams of each operation, or `None` if another
/// process has locked one of them. Later operations of the batch that share a stream with a skipped one are skipped
/// too, so that nothing overtakes it.
pub(super) async fn lock(
    session: &mut Session,
    wants: &[Want],
    locking: Locking,
) -> Result<Vec<Option<Vec<StreamKey>>>, StorageError> {
    for _ in 0..ATTEMPTS {
        let streams = attempt(session, wants, locking).await?;
        // A head that another process was creating exists now and can be waited for.
        if locking == Locking::Skip || streams.iter().all(Option::is_some) {
            return Ok(streams);
        }
    }
    Err(StorageError::Contended)
}

async fn attempt(
    session: &mut Session,
    wants: &[Want],
    locking: Locking,
) -> Result<Vec<Option<Vec<StreamKey>>>, StorageError> {
    let rows = session.rows(query(statement(wants, locking))).await?;
    let mut streams: Vec<Vec<StreamKey>> = wants.iter().map(|want| want.needs.streams.clone()).collect();
    let (mut held, mut held_names) = (BTreeSet::new(), BTreeSet::new());
    for row in &rows {
        match located(row)? {
            Located::In(position, key) => {
                let wanted = usize::try_from(position).ok().and_then(|position| streams.get_mut(position));
                if let Some(keys) = wanted.filter(|keys| !keys.contains(&key)) {
                    keys.push(key);
                }
            }
            Located::Held(tenant_id, key) => drop(held.insert((tenant_id, key))),
            Located::HeldName(tenant_id, name) => drop(held_names.insert((tenant_id, name))),
        }
    }
    let mut out_of_reach = BTreeSet::new();
    let mut reached = |want: &Want, keys: Vec<StreamKey>| {
        let named: Vec<_> = keys.iter().map(|key| (want.tenant_id.clone(), key.clone())).collect();
        let has_names =
            want.needs.names.iter().all(|name| held_names.contains(&(want.tenant_id.clone(), name.to_hex())));
        if has_names && named.iter().all(|name| held.contains(name) && !out_of_reach.contains(name)) {
            return Some(keys);
        }
        out_of_reach.extend(named);
        None
    };
    Ok(wants.iter().zip(streams).map(|(want, keys)| reached(want, keys)).collect())
}

fn statement(wants: &[Want], locking: Locking) -> Statement {
    let streams: BTreeSet<_> = wants
        .iter()
        .flat_map(|want| want.needs.streams.iter().map(|key| (want.tenant_id.as_str(), key.kind(), key.key())))
        .collect();
    let names: Vec<_> = wants
        .iter()
        .flat_map(|want| want.needs.names.iter().map(|name| [want.tenant_id.as_str().into(), name.to_hex().into()]))
        .collect();
    let locating = Locating::of(wants);
    let statement = assembled(locating.as_ref().map(|locating| locating.text.as_str()), !names.is_empty(), locking);
    let streams = streams.into_iter().map(|(tenant, kind, key)| [tenant.into(), kind.into(), key.into()]);
    let statement = statement.bind("streams", Value::rows(&STREAM, streams)).bind("names", Value::rows(&NAME, names));
    match locating {
        Some(locating) => locating.bind(statement),
        None => statement,
    }
}

/// The meaning of a row.
enum Located {
    /// The conversation of the want at this position.
    In(i64, StreamKey),
    /// A head that is held.
    Held(TenantId, StreamKey),
    /// A name of a command that is held.
    HeldName(TenantId, String),
}

fn located(row: &PgRow) -> Result<Located, StorageError> {
    let (position, tenant_id): (Option<i64>, _) = (Columns::get(row, "position")?, tenant_id(row)?);
    if text(row, "a")? == "command_name" {
        return Ok(Located::HeldName(tenant_id, text(row, "b")?));
    }
    let key = stream_key(row)?;
    Ok(position.map_or(Located::Held(tenant_id, key.clone()), |position| Located::In(position, key)))
}
