//! The statement that writes each table in a batch.

use super::sql::{Column, Type};

use Type::{Bytes, Number, Text};

/// What a batch does with one table.
pub(super) struct Part {
    /// Its name, which is also the name of its rows in its text.
    pub(super) name: &'static str,
    pub(super) columns: &'static [Column],
    /// The statement; `{columns}` are the names of all columns.
    text: &'static str,
    /// Whether it must affect as many rows as it gets: changed rows exist and are locked since the load, and new rows
    /// must not exist. What has to be unique across streams is claimed this way and never overwritten.
    pub(super) counted: bool,
}

impl Part {
    const fn counted(name: &'static str, columns: &'static [Column], text: &'static str) -> Self {
        Self { name, columns, text, counted: true }
    }

    const fn uncounted(name: &'static str, columns: &'static [Column], text: &'static str) -> Self {
        Self { name, columns, text, counted: false }
    }

    pub(super) fn text(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(|(name, _)| *name).collect();
        self.text.replace("{columns}", &names.join(", "))
    }
}

/// The text of a part that makes rows which must not exist yet.
macro_rules! made {
    ($table:literal, $rows:literal) => {
        concat!(
            "INSERT INTO ",
            $table,
            " ({columns}) SELECT {columns} FROM :",
            $rows,
            " AS n WHERE true ON CONFLICT DO NOTHING{| RETURNING 1}"
        )
    };
}

/// On PostgreSQL the row of a head is its lock and exists since the load; on SQLite the transaction is the lock.
pub(super) static HEADS: Part = Part::counted(
    "heads",
    &[
        ("tenant_id", Text),
        ("kind", Text),
        ("key", Text),
        ("stream_id", Text),
        ("seq", Number),
        ("head_hash", Bytes),
        ("last_at", Number),
    ],
    "{INSERT INTO streams (tenant_id, kind, key, stream_id, seq, head_hash, last_at)
        SELECT tenant_id, kind, key, stream_id, seq, head_hash, last_at FROM :heads AS n WHERE true
        ON CONFLICT (tenant_id, kind, key) DO UPDATE SET
            seq = excluded.seq, head_hash = excluded.head_hash, last_at = excluded.last_at
    |UPDATE streams AS s SET stream_id = n.stream_id, seq = n.seq, head_hash = n.head_hash, last_at = n.last_at
        FROM :heads AS n WHERE s.tenant_id = n.tenant_id AND s.kind = n.kind AND s.key = n.key RETURNING 1}",
);

pub(super) static CONVERSATIONS: Part = Part::uncounted(
    "conversations",
    &[("tenant_id", Text), ("conversation_id", Text), ("last_item_id", Text), ("body", Text)],
    "INSERT INTO conversations (tenant_id, conversation_id, {|last_item_id, }body)
        SELECT tenant_id, conversation_id, {|last_item_id, }body FROM :conversations AS n WHERE true
        ON CONFLICT (tenant_id, conversation_id) DO UPDATE SET
            {|last_item_id = excluded.last_item_id, }body = excluded.body",
);

/// Ended contexts come first in the rows, so that a new one does not collide in the unique index with the one that it
/// replaces.
pub(super) static CONTEXTS: Part = Part::uncounted(
    "contexts",
    &[
        ("tenant_id", Text),
        ("context_id", Text),
        ("conversation_id", Text),
        ("actor_id", Text),
        ("status", Text),
        ("expires_at", Number),
        ("updated_at", Number),
        ("body", Text),
    ],
    "INSERT INTO contexts ({columns}, sweep_after) SELECT {columns}, expires_at FROM :contexts AS n WHERE true
        ON CONFLICT (tenant_id, context_id) DO UPDATE SET
            status = excluded.status, expires_at = excluded.expires_at, updated_at = excluded.updated_at,
            body = excluded.body, sweep_after = {min|least}(contexts.sweep_after, excluded.expires_at)",
);

pub(super) static ITEMS: Part = Part::counted(
    "items",
    &[
        ("tenant_id", Text),
        ("item_id", Text),
        ("kind", Text),
        ("state", Text),
        ("context_id", Text),
        ("conversation_id", Text),
        ("actor_id", Text),
        ("identity_epoch", Number),
        ("command_id", Text),
        ("asked_at", Number),
        ("expires_at", Number),
        ("nonce_digest", Bytes),
        ("body", Text),
    ],
    made!("items", "items"),
);

pub(super) static CHANGED_ITEMS: Part = Part::counted(
    "changed_items",
    &[("tenant_id", Text), ("item_id", Text), ("state", Text), ("body", Text)],
    "UPDATE items SET state = n.state, body = n.body FROM :changed_items AS n
        WHERE items.tenant_id = n.tenant_id AND items.item_id = n.item_id{| RETURNING 1}",
);

pub(super) static PROMPTS: Part = Part::counted(
    "prompts",
    &[("tenant_id", Text), ("message_id", Text), ("item_id", Text)],
    made!("item_prompts", "prompts"),
);

pub(super) static COMMANDS: Part = Part::counted(
    "commands",
    &[
        ("tenant_id", Text),
        ("command_id", Text),
        ("idempotency_key", Text),
        ("context_id", Text),
        ("conversation_id", Text),
        ("updated_at", Number),
        ("body", Text),
        ("unknown_from", Number),
    ],
    made!("commands", "commands"),
);

pub(super) static CHANGED_COMMANDS: Part = Part::counted(
    "changed_commands",
    &[("tenant_id", Text), ("command_id", Text), ("updated_at", Number), ("body", Text), ("unknown_from", Number)],
    "UPDATE commands SET updated_at = n.updated_at, body = n.body, unknown_from = n.unknown_from
        FROM :changed_commands AS n
        WHERE commands.tenant_id = n.tenant_id AND commands.command_id = n.command_id{| RETURNING 1}",
);

pub(super) static ATTEMPTS: Part = Part::counted(
    "attempts",
    &[("tenant_id", Text), ("attempt_id", Text), ("command_id", Text)],
    made!("command_attempts", "attempts"),
);

pub(super) static MESSAGES: Part = Part::counted(
    "messages",
    &[
        ("tenant_id", Text),
        ("message_key", Bytes),
        ("conversation_id", Text),
        ("keep_until", Number),
        ("body", Text),
        ("received_at", Number),
    ],
    made!("messages", "messages"),
);

pub(super) static FRAMES: Part = Part::counted(
    "frames",
    &[
        ("tenant_id", Text),
        ("context_frame_id", Text),
        ("context_id", Text),
        ("command_id", Text),
        ("created_at", Number),
        ("body", Text),
    ],
    made!("frames", "frames"),
);

/// An unexpired claim is never overwritten on PostgreSQL: another process answered that key. On SQLite there is one
/// process, which has loaded the claim.
pub(super) static CLAIMS: Part = Part::counted(
    "claims",
    &[("tenant_id", Text), ("claim_key", Bytes), ("expires_at", Number), ("space_id", Text), ("body", Text)],
    "INSERT INTO claims ({columns}) SELECT {columns} FROM :claims AS n WHERE true
        ON CONFLICT (tenant_id, claim_key) DO UPDATE SET
            expires_at = excluded.expires_at, space_id = excluded.space_id, body = excluded.body
            {|WHERE claims.expires_at <= :now RETURNING 1}",
);

pub(super) static ENTRIES: Part = Part::uncounted(
    "entries",
    &[
        ("tenant_id", Text),
        ("stream_id", Text),
        ("seq", Number),
        ("v", Number),
        ("artifact_id", Text),
        ("type", Text),
        ("at", Number),
        ("policy_hash", Text),
        ("payload_commitment", Bytes),
        ("prev_hash", Bytes),
        ("entry_hash", Bytes),
    ],
    "INSERT INTO log_entries ({columns}) SELECT {columns} FROM :entries AS n",
);

/// New entries wait for a leaf in the tree.
pub(super) static OUTBOX: Part = Part::uncounted(
    "outbox",
    &[("tenant_id", Text), ("stream_id", Text), ("seq", Number), ("entry_hash", Bytes)],
    "INSERT INTO log_outbox ({columns}) SELECT {columns} FROM :outbox AS n",
);

pub(super) static PAYLOADS: Part = Part::uncounted(
    "payloads",
    &[
        ("tenant_id", Text),
        ("stream_id", Text),
        ("seq", Number),
        ("at", Number),
        ("conversation_id", Text),
        ("context_id", Text),
        ("command_id", Text),
        ("correlation_id", Text),
        ("space_id", Text),
        ("fact_uid", Text),
        ("salt", Bytes),
        ("payload", Text),
    ],
    "INSERT INTO log_payloads ({columns}) SELECT {columns} FROM :payloads AS n",
);

/// The parts of every batch, in the order of execution. None depends on another.
pub(super) static PARTS: [&Part; 15] = [
    &HEADS,
    &CONVERSATIONS,
    &CONTEXTS,
    &ITEMS,
    &CHANGED_ITEMS,
    &PROMPTS,
    &COMMANDS,
    &CHANGED_COMMANDS,
    &ATTEMPTS,
    &MESSAGES,
    &FRAMES,
    &CLAIMS,
    &ENTRIES,
    &OUTBOX,
    &PAYLOADS,
];

pub(super) static PRINCIPALS: Part = Part::uncounted(
    "principals",
    &[("tenant_id", Text), ("principal_id", Text), ("person_id", Text), ("identity_epoch", Number), ("body", Text)],
    "INSERT INTO principals ({columns}) SELECT {columns} FROM :principals AS n WHERE true
        ON CONFLICT (tenant_id, principal_id) DO UPDATE SET
            person_id = excluded.person_id, identity_epoch = excluded.identity_epoch, body = excluded.body",
);

const NAMES: &[Column] = &[("tenant_id", Text), ("principal_id", Text)];

pub(super) static FORMER_ALIASES: Part = Part::uncounted(
    "former_aliases",
    NAMES,
    "DELETE FROM principal_aliases
        WHERE (tenant_id, principal_id) IN (SELECT n.tenant_id, n.principal_id FROM :former_aliases AS n)",
);

pub(super) static ALIASES: Part = Part::uncounted(
    "aliases",
    &[("tenant_id", Text), ("kind", Text), ("value", Text), ("principal_id", Text)],
    made!("principal_aliases", "aliases"),
);

pub(super) static FORMER_ROLES: Part = Part::uncounted(
    "former_roles",
    NAMES,
    "DELETE FROM principal_roles
        WHERE (tenant_id, principal_id) IN (SELECT n.tenant_id, n.principal_id FROM :former_roles AS n)",
);

pub(super) static ROLES: Part = Part::uncounted(
    "roles",
    &[("tenant_id", Text), ("role", Text), ("principal_id", Text)],
    made!("principal_roles", "roles"),
);

/// The parts of a batch that changes principals, which is rare: lookup rows are replaced as a whole, one statement
/// after the other.
pub(super) static IDENTITY: [&Part; 5] = [&PRINCIPALS, &FORMER_ALIASES, &ALIASES, &FORMER_ROLES, &ROLES];
