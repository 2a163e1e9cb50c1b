//! Locking: the head of each stream is its lock, and all heads of a batch are locked in one statement and one order.
//! After them the names of commands are locked, which belong to no stream: of two operations on the same command in
//! different conversations, the second one sees the result of the first.

use std::collections::BTreeSet;

use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, Row as _};

use super::assembly::{With, joined};
use super::columns::{Rows as _, columns};
use super::errors::failed;
use super::session::{Query, Session};
use crate::domain::event::StreamKey;
use crate::domain::id::TenantId;
use crate::domain::operation::ItemRef;
use crate::storage::sql::jsonb;
use crate::storage::sql::{stream_key, tenant_id, text};
use crate::storage::{Locking, StorageError, Want};

/// The conversations of contexts, items, nonces, prompts and commands that were named without their conversation. A
/// record never moves to another conversation, so this needs no lock.
const LOCATED: [&str; 6] = [
    "SELECT w.position, c.tenant_id, c.conversation_id
        FROM unnest($4::int4[], $5::text[], $6::text[]) AS w (position, tenant_id, id)
        JOIN contexts AS c ON c.tenant_id = w.tenant_id AND c.context_id = w.id",
    "SELECT w.position, i.tenant_id, i.conversation_id
        FROM unnest($7::int4[], $8::text[], $9::text[]) AS w (position, tenant_id, id)
        JOIN items AS i ON i.tenant_id = w.tenant_id AND i.item_id = w.id",
    "SELECT w.position, i.tenant_id, i.conversation_id
        FROM unnest($10::int4[], $11::text[], $12::bytea[]) AS w (position, tenant_id, digest)
        JOIN items AS i ON i.tenant_id = w.tenant_id AND i.nonce_digest = w.digest",
    "SELECT w.position, i.tenant_id, i.conversation_id
        FROM unnest($13::int4[], $14::text[], $15::text[]) AS w (position, tenant_id, id)
        JOIN item_prompts AS p ON p.tenant_id = w.tenant_id AND p.message_id = w.id
        JOIN items AS i ON i.tenant_id = p.tenant_id AND i.item_id = p.item_id",
    "SELECT w.position, c.tenant_id, c.conversation_id
        FROM unnest($16::int4[], $17::text[], $18::text[]) AS w (position, tenant_id, id)
        JOIN commands AS c ON c.tenant_id = w.tenant_id AND c.command_id = w.id",
    concat!(
        "SELECT w.position, i.tenant_id, i.conversation_id
        FROM unnest($19::int4[], $20::text[], $21::bytea[]) AS w (position, tenant_id, digest)
        JOIN messages AS m ON m.tenant_id = w.tenant_id AND m.message_key = w.digest
        JOIN items AS i ON i.tenant_id = m.tenant_id AND i.item_id = ",
        jsonb!("m.body"),
        " #>> '{verdict,item_id}'"
    ),
];

const NAMED: &str = "
    SELECT w.tenant_id, w.kind, w.key FROM unnest($1::text[], $2::text[], $3::text[]) AS w (tenant_id, kind, key)";
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
        FROM unnest($22::text[], $23::text[]) AS w (tenant_id, name) ORDER BY 1, 2
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
    SELECT NULL::int4 AS position, tenant_id, kind AS a, key AS b FROM held
    UNION ALL SELECT NULL, tenant_id, kind, key FROM created";
const AND_NAMES: &str = "
    UNION ALL SELECT NULL, tenant_id, 'command_name', name FROM held_names";

fn assembled(located: Option<&str>, names: bool, locking: Locking) -> String {
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
    format!("-- postgres: {name}{}", with.then(&rows))
}

/// How often locking is tried when waiting is allowed.
const ATTEMPTS: u32 = 3;

columns!(Heads { tenant_id: &'a str, kind: &'a str, key: &'a str });
columns!(CommandNames { tenant_id: &'a str, name: String });
columns!(Named { position: i32, tenant_id: &'a str, id: &'a str });
columns!(Digests { position: i32, tenant_id: &'a str, digest: &'a [u8] });

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
    let rows = session.rows(statement(wants, locking)).await?;
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

fn statement(wants: &[Want], locking: Locking) -> Query<'_> {
    let mut named = BTreeSet::new();
    let (mut contexts, mut items, mut prompts, mut commands) =
        (Named::default(), Named::default(), Named::default(), Named::default());
    let (mut nonces, mut answering) = (Digests::default(), Digests::default());
    for (position, want) in (0_i32..).zip(wants) {
        let (tenant, needs) = (want.tenant_id.as_str(), &want.needs);
        named.extend(needs.streams.iter().map(|key| (tenant, key.kind(), key.key())));
        needs.context.iter().for_each(|id| contexts.add((position, tenant, id.as_str())));
        for item in &needs.items {
            match item {
                ItemRef::Id(id) => items.add((position, tenant, id.as_str())),
                ItemRef::Nonce(digest) => nonces.add((position, tenant, digest.as_bytes())),
                ItemRef::Prompt(message_id) => prompts.add((position, tenant, message_id.as_str())),
                ItemRef::AnsweredBy(key) => answering.add((position, tenant, key.as_bytes())),
            }
        }
        let locked = needs.command.iter().filter(|_| needs.lock_command);
        locked.for_each(|id| commands.add((position, tenant, id.as_str())));
    }
    let mut of_commands = CommandNames::default();
    for want in wants {
        want.needs.names.iter().for_each(|name| of_commands.add((want.tenant_id.as_str(), name.to_hex())));
    }
    let mut heads = Heads::default();
    for name in named {
        heads.add(name);
    }
    let named = [&contexts, &items].map(|names| !names.is_empty());
    let named =
        [named[0], named[1], !nonces.is_empty(), !prompts.is_empty(), !commands.is_empty(), !answering.is_empty()];
    let parts: [(bool, &str); 6] = std::array::from_fn(|at| (named[at], LOCATED[at]));
    let located = joined(&parts, "\n    UNION ALL ");
    let query = sqlx::query(AssertSqlSafe(assembled(located.as_deref(), !of_commands.is_empty(), locking)));
    let query = nonces.bind(items.bind(contexts.bind(heads.bind(query))));
    of_commands.bind(answering.bind(commands.bind(prompts.bind(query))))
}

/// The meaning of a row.
enum Located {
    /// The conversation of the want at this position.
    In(i32, StreamKey),
    /// A head that is held.
    Held(TenantId, StreamKey),
    /// A name of a command that is held.
    HeldName(TenantId, String),
}

fn located(row: &PgRow) -> Result<Located, StorageError> {
    let (position, tenant_id): (Option<i32>, _) = (row.try_get("position").map_err(failed)?, tenant_id(row)?);
    if text(row, "a")? == "command_name" {
        return Ok(Located::HeldName(tenant_id, text(row, "b")?));
    }
    let key = stream_key(row)?;
    Ok(position.map_or(Located::Held(tenant_id, key.clone()), |position| Located::In(position, key)))
}
