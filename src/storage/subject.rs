//! Searches the database for a person: every table, page by page, for texts that name them.
//!
//! A search reads every record of the tenant. There is no index over everything that may name a person, because the
//! index itself would have to be erased.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::StorageError;
use crate::domain::canonical::Digest;
use crate::domain::id::{ConversationId, ErasureId, HoldId, KeyId, PrincipalId, TenantId};
use crate::domain::time::Timestamp;

/// How long the digest of an erasure's `Idempotency-Key` is kept after the erasure's end: a day, in microseconds.
pub(in crate::storage) const ERASURE_KEY_MICROS: i64 = 24 * 60 * 60 * 1_000_000;

/// A table that may contain a person's name.
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
    /// All tables, in the order of the search.
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

    /// Its name in counts and exports.
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

/// The key of a record without the tenant, in parts. A digest is in hexadecimal, a number in decimal; unused parts are
/// empty.
pub type Place = [String; 3];

/// A record that may name a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub place: Place,
    /// Its conversation, if the table has that column.
    pub conversation_id: Option<String>,
    /// Its actor, if the table has that column.
    pub actor_id: Option<String>,
    /// Its context, if the table has that column.
    pub context_id: Option<String>,
    /// Its content: JSON in every table but streams, where it is the key.
    pub body: String,
}

/// One page of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Searched {
    /// Records that contain one of the texts, in the order of the table.
    pub found: Vec<Found>,
    /// Where the next page begins; none at the end of the table.
    pub next: Option<Place>,
}

/// The stored record of an erasure. It contains nothing that identifies the person.
#[derive(Debug, Clone, PartialEq)]
pub struct ErasureRow {
    pub erasure_id: ErasureId,
    /// Keyed digest of the request's `Idempotency-Key`.
    pub request: Option<Digest>,
    pub started_at: Timestamp,
    pub finished_at: Option<Timestamp>,
    /// Its progress, as JSON.
    pub body: String,
}

/// The kind of thing under a hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Held {
    /// Everything about a principal.
    Principal,
    Conversation,
}

impl Held {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Principal => "principal",
            Self::Conversation => "conversation",
        }
    }

    /// Parses the stored name.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Principal, Self::Conversation].into_iter().find(|held| held.as_str() == word)
    }
}

/// A legal hold. It has to name the person or conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldRow {
    pub hold_id: HoldId,
    /// What kind of thing it holds.
    pub kind: Held,
    /// The principal or the conversation.
    pub subject: String,
    pub placed_at: Timestamp,
    pub terms: HoldTerms,
}

/// Details of a hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldTerms {
    /// The credential that placed it.
    pub key_id: KeyId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placed_by: Option<PrincipalId>,
    /// A reference to the legal matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The salt of the commitment to the subject in the disposal stream. It is deleted with the hold.
    pub salt: Digest,
}

/// A change of the rows of erasures, holds or keys; see [`super::Transaction::keep`].
#[derive(Debug, Clone, PartialEq)]
pub enum Kept {
    /// An erasure's new state.
    Erasure(ErasureRow),
    Hold(HoldRow),
    /// Deletes a lifted hold.
    NoHold(HoldId),
    /// Revokes the credentials of these principals and removes the principals from them.
    NoKeysOf(Vec<PrincipalId>, Timestamp),
}

/// Reads about a person. No decision may rest on them.
#[async_trait]
pub trait SubjectStore: Send + Sync {
    /// Searches up to `limit` records of a table, after a place in its order, for one of the texts. The caller checks
    /// whether a match counts.
    async fn search(
        &self,
        tenant_id: &TenantId,
        table: Table,
        needles: &[String],
        after: Option<&Place>,
        limit: u32,
    ) -> Result<Searched, StorageError>;

    /// Conversations in which one of these principals acted.
    async fn conversations_of(
        &self,
        tenant_id: &TenantId,
        actors: &[PrincipalId],
    ) -> Result<Vec<ConversationId>, StorageError>;

    /// The principals who acted in a conversation, by its contexts and the rest of its log.
    async fn actors_in(&self, tenant_id: &TenantId, id: &ConversationId) -> Result<Vec<String>, StorageError>;

    async fn erasure(&self, tenant_id: &TenantId, id: &ErasureId) -> Result<Option<ErasureRow>, StorageError>;

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

/// The SQL fragments of a table's search that both databases share: its key, the start of a page, and the columns for
/// conversation, actor, context and text.
pub(in crate::storage) struct Terms {
    pub(in crate::storage) table: &'static str,
    /// The parts of the key, as text.
    pub(in crate::storage) key: [&'static str; 3],
    /// The key as a sort order.
    pub(in crate::storage) order: &'static str,
    /// The condition that the key is after the given place.
    pub(in crate::storage) after: &'static str,
    pub(in crate::storage) of: [&'static str; 3],
    pub(in crate::storage) body: &'static str,
    pub(in crate::storage) text: &'static str,
}

impl Terms {
    /// The fragments of a table; `$2` to `$4` are the parts of the place, `{hex}` and `{unhex}` are replaced by each
    /// database's functions.
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

    /// The fragments of a table with a composite key.
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
                // The last part is not in the key: it is empty for a name that was created only to be locked.
                key: ["kind", "key", "coalesce(stream_id, '')"],
                order: "kind, key",
                after: "$2, $3",
                of: [NONE, NONE, NONE],
                body: "key",
                text: "CASE WHEN kind IN ('erased', 'disposal') THEN '' ELSE key END",
            },
        }
    }

    /// The statement: `$1` is the tenant, `$2` to `$4` the place, `$5` the limit, and `holds` the condition that a text
    /// contains one of the needles.
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
