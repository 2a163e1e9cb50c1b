//! What a database tells of a person: a search through every table for texts that name somebody, page by page.
//!
//! The search costs what reading every record of the tenant costs. No table is indexed by everything that may name a
//! person, and an index of that would itself be what has to be erased.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::StorageError;
use crate::domain::canonical::Digest;
use crate::domain::id::{ConversationId, ErasureId, HoldId, KeyId, PrincipalId, TenantId};
use crate::domain::time::Timestamp;

/// How long the digest of an erasure's `Idempotency-Key` is kept after its end: a day, in microseconds.
pub(in crate::storage) const ERASURE_KEY_MICROS: i64 = 24 * 60 * 60 * 1_000_000;

/// A table that may name somebody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    Streams,
    Contexts,
    Items,
    Commands,
    Frames,
    Messages,
    Claims,
    Principals,
    SpaceRecords,
    LogPayloads,
    ApiKeys,
}

impl Table {
    /// Every one, in the order in which they are searched.
    pub const ALL: [Self; 11] = [
        Self::Streams,
        Self::Contexts,
        Self::Items,
        Self::Commands,
        Self::Frames,
        Self::Messages,
        Self::Claims,
        Self::Principals,
        Self::SpaceRecords,
        Self::LogPayloads,
        Self::ApiKeys,
    ];

    /// The word for its records in counts and exports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Streams => "streams",
            Self::Contexts => "contexts",
            Self::Items => "items",
            Self::Commands => "commands",
            Self::Frames => "frames",
            Self::Messages => "messages",
            Self::Claims => "claims",
            Self::Principals => "principals",
            Self::SpaceRecords => "space_records",
            Self::LogPayloads => "payloads",
            Self::ApiKeys => "api_keys",
        }
    }
}

/// Where a record stands in a table: the parts of its key after the tenant. A digest is in hexadecimal, a number in
/// decimal; parts that the table does not have are empty.
pub type Place = [String; 3];

/// A record that may name somebody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub place: Place,
    /// Its conversation, where the table has that.
    pub conversation_id: Option<String>,
    /// Its actor, where the table has that.
    pub actor_id: Option<String>,
    /// Its context, where the table has that.
    pub context_id: Option<String>,
    /// What it says: JSON in every table but streams, where it is the key.
    pub body: String,
}

/// One page of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Searched {
    /// What holds one of the texts, in the order of the table.
    pub found: Vec<Found>,
    /// Where the next page begins; none at the end of the table.
    pub next: Option<Place>,
}

/// A subject erasure as it is kept. Nothing in it tells about whom it is.
#[derive(Debug, Clone, PartialEq)]
pub struct ErasureRow {
    pub erasure_id: ErasureId,
    /// Keyed digest of the `Idempotency-Key` that it was asked with.
    pub request: Option<Digest>,
    pub started_at: Timestamp,
    pub finished_at: Option<Timestamp>,
    /// What there is to say of it, as JSON.
    pub body: String,
}

/// What a hold holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Held {
    /// Everything about a principal.
    Principal,
    Conversation,
}

impl Held {
    /// The word as it is stored.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Principal => "principal",
            Self::Conversation => "conversation",
        }
    }

    /// What has this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Principal, Self::Conversation].into_iter().find(|held| held.as_str() == word)
    }
}

/// A legal hold. It names whom or what it holds, because it must.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldRow {
    pub hold_id: HoldId,
    /// What kind of thing it holds.
    pub kind: Held,
    /// The principal or the conversation.
    pub subject: String,
    /// When it was placed.
    pub placed_at: Timestamp,
    /// What else there is to say of it.
    pub terms: HoldTerms,
}

/// Why something is held, and who says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldTerms {
    /// The credential that placed it.
    pub key_id: KeyId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placed_by: Option<PrincipalId>,
    /// Why: a reference to the matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The secret under which the record's commitment names the subject. It goes with the hold.
    pub salt: Digest,
}

/// A row that an erasure or a hold leaves; see [`super::Transaction::keep`].
#[derive(Debug, Clone, PartialEq)]
pub enum Kept {
    /// An erasure in its new form.
    Erasure(ErasureRow),
    Hold(HoldRow),
    /// A hold that is lifted.
    NoHold(HoldId),
    /// Credentials of these principals work no longer and name nobody.
    NoKeysOf(Vec<PrincipalId>, Timestamp),
}

/// What is asked of a database about a person. Nothing that was read here decides anything.
#[async_trait]
pub trait SubjectStore: Send + Sync {
    /// Looks through up to `limit` records of a table after a place, in the order of the table, for one of the texts.
    /// Whether what was found counts is for the caller to say.
    async fn search(
        &self,
        tenant_id: &TenantId,
        table: Table,
        needles: &[String],
        after: Option<&Place>,
        limit: u32,
    ) -> Result<Searched, StorageError>;

    /// Conversations in which one of these has acted.
    async fn conversations_of(
        &self,
        tenant_id: &TenantId,
        actors: &[PrincipalId],
    ) -> Result<Vec<ConversationId>, StorageError>;

    /// Whoever has acted in a conversation, as its contexts and what is left of its log say.
    async fn actors_in(&self, tenant_id: &TenantId, id: &ConversationId) -> Result<Vec<String>, StorageError>;

    async fn erasure(&self, tenant_id: &TenantId, id: &ErasureId) -> Result<Option<ErasureRow>, StorageError>;

    /// The erasure that was asked for with this key.
    async fn erasure_by_request(
        &self,
        tenant_id: &TenantId,
        request: &Digest,
    ) -> Result<Option<ErasureRow>, StorageError>;

    /// Erasures after `after`, by id.
    async fn erasures(
        &self,
        tenant_id: &TenantId,
        after: Option<&ErasureId>,
        limit: u32,
    ) -> Result<Vec<ErasureRow>, StorageError>;

    /// Holds after `after`, by id.
    async fn holds(
        &self,
        tenant_id: &TenantId,
        after: Option<&HoldId>,
        limit: u32,
    ) -> Result<Vec<HoldRow>, StorageError>;

    async fn hold(&self, tenant_id: &TenantId, id: &HoldId) -> Result<Option<HoldRow>, StorageError>;
}

/// How each table is searched, in words that both databases know: its key, how a page begins after a place, and its
/// conversation, actor, context and text.
pub(in crate::storage) struct Terms {
    pub(in crate::storage) table: &'static str,
    /// The parts of the key, as text.
    pub(in crate::storage) key: [&'static str; 3],
    /// The key as it is sorted.
    pub(in crate::storage) order: &'static str,
    /// The place that was given, as it compares to the key.
    pub(in crate::storage) after: &'static str,
    pub(in crate::storage) of: [&'static str; 3],
    pub(in crate::storage) body: &'static str,
    pub(in crate::storage) text: &'static str,
}

impl Terms {
    /// The terms of a table; `$2` to `$4` are the parts of the place, `{hex}` and `{unhex}` stand for the database's own
    /// way of writing a digest.
    pub(in crate::storage) fn of(table: Table) -> Self {
        const NONE: &str = "NULL";
        let one = |table, key, of, body, text| Self {
            table,
            key: [key, "''", "''"],
            order: key,
            after: "$2",
            of,
            body,
            text,
        };
        match table {
            Table::Contexts => {
                one("contexts", "context_id", ["conversation_id", "actor_id", "context_id"], "body", "body")
            }
            Table::Items => one("items", "item_id", ["conversation_id", "actor_id", "context_id"], "body", "body"),
            Table::Commands => one("commands", "command_id", ["conversation_id", NONE, "context_id"], "body", "body"),
            Table::Frames => one("frames", "context_frame_id", [NONE, NONE, "context_id"], "body", "body"),
            Table::Principals => one("principals", "principal_id", [NONE, "principal_id", NONE], "body", "body"),
            Table::ApiKeys => {
                let text = "coalesce(principal_id, '') || ' ' || coalesce(viewer_id, '') || ' ' || label";
                one("api_keys", "key_id", [NONE, "principal_id", NONE], "label", text)
            }
            Table::Streams | Table::Messages | Table::Claims | Table::SpaceRecords | Table::LogPayloads => {
                Self::of_larger_key(table)
            }
        }
    }

    /// The terms of a table whose key is no single text.
    fn of_larger_key(table: Table) -> Self {
        const NONE: &str = "NULL";
        let digest = |table, key, order, second, of| Self {
            table,
            key: [key, second, "''"],
            order,
            after: "{unhex $2}",
            of,
            body: "body",
            text: "body",
        };
        match table {
            Table::Messages => {
                digest("messages", "{hex message_key}", "message_key", "''", ["conversation_id", NONE, NONE])
            }
            Table::Claims => {
                digest("claims", "{hex claim_key}", "claim_key", "coalesce(space_id, '')", [NONE, NONE, NONE])
            }
            Table::SpaceRecords => Self {
                table: "space_records",
                key: ["space_id", "kind", "record_id"],
                order: "space_id, kind, record_id",
                after: "$2, $3, $4",
                of: [NONE, NONE, NONE],
                body: "body",
                text: "space_id || ' ' || record_id || ' ' || body",
            },
            Table::LogPayloads => Self {
                table: "log_payloads",
                key: ["stream_id", "CAST(seq AS TEXT)", "''"],
                order: "stream_id, seq",
                after: "$2, {number $3}",
                of: ["conversation_id", NONE, "context_id"],
                body: "payload",
                text: "payload",
            },
            _ => Self {
                table: "streams",
                // The last is no part of the key: it is empty for a name that was only locked.
                key: ["kind", "key", "coalesce(stream_id, '')"],
                order: "kind, key",
                after: "$2, $3",
                of: [NONE, NONE, NONE],
                body: "key",
                text: "CASE WHEN kind IN ('erased', 'disposal') THEN '' ELSE key END",
            },
        }
    }

    /// The statement, with `$1` the tenant, `$2` to `$4` a place, `$5` how many, and the condition that a text holds one
    /// of the needles.
    pub(in crate::storage) fn statement(&self, began: bool, holds: &str) -> String {
        let Self { table, key, order, after, of, body, text } = self;
        let [first, second, third] = key;
        let [conversation, actor, context] = of;
        let from = if began { format!("AND ({order}) > ({after})") } else { String::new() };
        format!(
            "SELECT {first} AS k1, {second} AS k2, {third} AS k3, {conversation} AS conversation_id, {actor} AS actor_id,
                {context} AS context_id, CASE WHEN {} THEN {body} END AS body
            FROM {table} WHERE tenant_id = $1 {from} ORDER BY {order} LIMIT $5",
            holds.replace("{text}", text)
        )
    }
}
