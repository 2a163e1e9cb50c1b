//! How each table is searched for the texts that name a person.

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

/// The SQL fragments of a table's search: its key, the start of a page, and the columns for conversation, actor, context
/// and text.
pub(super) struct Terms {
    table: &'static str,
    /// The parts of the key, as text.
    key: [&'static str; 3],
    /// The key as a sort order.
    order: &'static str,
    /// The condition that the key is after the given place.
    after: &'static str,
    of: [&'static str; 3],
    body: &'static str,
    text: &'static str,
}

impl Terms {
    /// The fragments of a table; `:first` to `:third` are the parts of the place.
    pub(super) fn of(table: Table) -> Self {
        const NONE: &str = "NULL";
        let one = |table, key, of, body, text| Self {
            table,
            key: [key, "''", "''"],
            order: key,
            after: ":first",
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
            after: "{unhex(:first)|decode(:first, 'hex')}",
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
                after: ":first, :second, :third",
                of: [NONE, NONE, NONE],
                body: "body",
                text: "space_id || ' ' || record_id || ' ' || body",
            },
            Table::LogPayloads => Self {
                table: "log_payloads",
                key: ["stream_id", "CAST(seq AS TEXT)", "''"],
                order: "stream_id, seq",
                after: ":first, CAST(:second AS BIGINT)",
                of: ["conversation_id", NONE, "context_id"],
                body: "payload",
                text: "payload",
            },
            _ => Self {
                table: "streams",
                // The last part is not in the key: it is empty for a name that was created only to be locked.
                key: ["kind", "key", "coalesce(stream_id, '')"],
                order: "kind, key",
                after: ":first, :second",
                of: [NONE, NONE, NONE],
                body: "key",
                text: "CASE WHEN kind IN ('erased', 'disposal') THEN '' ELSE key END",
            },
        }
    }

    /// The text of the statement that searches for one of the needles.
    pub(super) fn statement(&self, began: bool) -> String {
        let Self { table, key, order, after, of, body, text } = self;
        let [first, second, third] = key;
        let [conversation, actor, context] = of;
        let from = if began { format!("AND ({order}) > ({after})") } else { String::new() };
        format!(
            "SELECT {first} AS k1, {second} AS k2, {third} AS k3, {conversation} AS conversation_id, {actor} AS actor_id,
                {context} AS context_id, CASE WHEN EXISTS (
                    SELECT 1 FROM :needles AS n WHERE {{instr|strpos}}({text}, n.needle) > 0) THEN {body} END AS body
            FROM {table} WHERE tenant_id = :tenant {from} ORDER BY {order} LIMIT :limit"
        )
    }
}
