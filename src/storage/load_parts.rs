//! The parts of the statements that find the streams of a batch and load its rows.

use super::sql::jsonb;

/// A part of a statement, and what it needs: a set of wanted rows or an earlier part. Without it, it is left out.
pub(super) type Part = (&'static str, &'static str);

/// The conversations of records that were named without their conversation. A record never moves to another
/// conversation, so this needs no lock.
pub(super) const LOCATED: [Part; 6] = [
    (
        "contexts",
        "SELECT w.position, c.tenant_id, c.conversation_id FROM :contexts AS w
            {join} contexts AS c ON c.tenant_id = w.tenant_id AND c.context_id = w.id",
    ),
    (
        "items",
        "SELECT w.position, i.tenant_id, i.conversation_id FROM :items AS w
            {join} items AS i ON i.tenant_id = w.tenant_id AND i.item_id = w.id",
    ),
    (
        "nonces",
        "SELECT w.position, i.tenant_id, i.conversation_id FROM :nonces AS w
            {join} items AS i ON i.tenant_id = w.tenant_id AND i.nonce_digest = w.id",
    ),
    (
        "prompts",
        "SELECT w.position, i.tenant_id, i.conversation_id FROM :prompts AS w
            {join} item_prompts AS p ON p.tenant_id = w.tenant_id AND p.message_id = w.id
            {join} items AS i ON i.tenant_id = p.tenant_id AND i.item_id = p.item_id",
    ),
    (
        "commands",
        "SELECT w.position, c.tenant_id, c.conversation_id FROM :commands AS w
            {join} commands AS c ON c.tenant_id = w.tenant_id AND c.command_id = w.id",
    ),
    (
        "answering",
        concat!(
            "SELECT w.position, i.tenant_id, i.conversation_id FROM :answering AS w
            {join} messages AS m ON m.tenant_id = w.tenant_id AND m.message_key = w.id
            {join} items AS i ON i.tenant_id = m.tenant_id
                AND i.item_id = {m.body->'$.verdict'->>'item_id'|",
            jsonb!("m.body"),
            " -> 'verdict' ->> 'item_id'}"
        ),
    ),
];

/// The wanted items: open in a conversation or asked last there, or named in some way.
pub(super) const ITEMS: [Part; 7] = [
    (
        "conversations",
        "SELECT i.tenant_id, i.item_id FROM :conversations AS w
            {join} items AS i ON i.tenant_id = w.tenant_id AND i.conversation_id = w.id
                AND i.state IN ('open', 'granted')",
    ),
    (
        "conversations",
        "SELECT c.tenant_id, {c.body->'$.last_question'->>'item_id'|c.last_item_id} FROM :conversations AS w
            {join} conversations AS c ON c.tenant_id = w.tenant_id AND c.conversation_id = w.id
            {|WHERE c.last_item_id IS NOT NULL}",
    ),
    ("items", "SELECT w.tenant_id, w.id FROM :items AS w"),
    (
        "nonces",
        "SELECT i.tenant_id, i.item_id FROM :nonces AS w
            {join} items AS i ON i.tenant_id = w.tenant_id AND i.nonce_digest = w.id",
    ),
    (
        "prompts",
        "SELECT p.tenant_id, p.item_id FROM :prompts AS w
            {join} item_prompts AS p ON p.tenant_id = w.tenant_id AND p.message_id = w.id",
    ),
    (
        "commands",
        "SELECT i.tenant_id, i.item_id FROM :commands AS w
            {join} items AS i ON i.tenant_id = w.tenant_id AND i.command_id = w.id",
    ),
    (
        "answering",
        concat!(
            "SELECT m.tenant_id, {m.body->'$.verdict'->>'item_id'|",
            jsonb!("m.body"),
            " -> 'verdict' ->> 'item_id'} FROM :answering AS w
            {join} messages AS m ON m.tenant_id = w.tenant_id AND m.message_key = w.id"
        ),
    ),
];

/// The wanted contexts: open in a conversation, named, of a command, of an item.
pub(super) const CONTEXTS: [Part; 4] = [
    (
        "conversations",
        "SELECT c.tenant_id, c.context_id FROM :conversations AS w
            {join} contexts AS c ON c.tenant_id = w.tenant_id AND c.conversation_id = w.id
                AND {c.status IN ('active', 'pending', 'blocked')|c.open}",
    ),
    ("contexts", "SELECT w.tenant_id, w.id FROM :contexts AS w"),
    (
        "commands",
        "SELECT c.tenant_id, c.context_id FROM :commands AS w
            {join} commands AS c ON c.tenant_id = w.tenant_id AND c.command_id = w.id",
    ),
    (
        "wanted_items",
        "SELECT i.tenant_id, i.context_id FROM wanted_items AS w
            {join} items AS i ON i.tenant_id = w.tenant_id AND i.item_id = w.item_id",
    ),
];

/// The wanted principals: named ones, and the actors of contexts.
pub(super) const PRINCIPALS: [Part; 2] = [
    ("principals", "SELECT w.tenant_id, w.id FROM :principals AS w"),
    (
        "wanted_contexts",
        "SELECT c.tenant_id, c.actor_id FROM wanted_contexts AS w
            {join} contexts AS c ON c.tenant_id = w.tenant_id AND c.context_id = w.context_id",
    ),
];

/// Principals are locked until the end of the transaction, so that identities cannot change between decision and commit.
pub(super) const HELD_PRINCIPALS: &str = "SELECT p.tenant_id, p.body FROM wanted_principals AS w
            {join} principals AS p ON p.tenant_id = w.tenant_id AND p.principal_id = w.principal_id
            ORDER BY p.tenant_id, p.principal_id {|FOR SHARE OF p}";

/// The heads, which also give the columns of the result their names. `row` is the kind of `body`.
pub(super) const HEADS: &str =
    "SELECT 'head' AS row, s.tenant_id, s.kind AS a, s.key AS b, s.stream_id AS c, s.seq, s.last_at,
        s.head_hash AS h, NULL AS body FROM :heads AS w
    {join} streams AS s ON s.tenant_id = w.tenant_id AND s.kind = w.kind AND s.key = w.key
    WHERE s.stream_id IS NOT NULL";

/// The rows besides the heads.
pub(super) const ROWS: [Part; 10] = [
    (
        "conversations",
        "SELECT 'conversation', c.tenant_id, c.conversation_id, NULL, NULL, NULL, NULL, NULL, c.body
        FROM :conversations AS w
        {join} conversations AS c ON c.tenant_id = w.tenant_id AND c.conversation_id = w.id",
    ),
    (
        "wanted_contexts",
        "SELECT 'context', c.tenant_id, NULL, NULL, NULL, NULL, NULL, NULL, c.body FROM wanted_contexts AS w
        {join} contexts AS c ON c.tenant_id = w.tenant_id AND c.context_id = w.context_id",
    ),
    (
        "wanted_items",
        "SELECT 'item', i.tenant_id, NULL, NULL, NULL, NULL, NULL, NULL, i.body FROM wanted_items AS w
        {join} items AS i ON i.tenant_id = w.tenant_id AND i.item_id = w.item_id",
    ),
    (
        "commands",
        "SELECT 'command', c.tenant_id, NULL, NULL, NULL, NULL, NULL, NULL, c.body FROM :commands AS w
        {join} commands AS c ON c.tenant_id = w.tenant_id AND c.command_id = w.id",
    ),
    (
        "idempotency_keys",
        "SELECT 'command', c.tenant_id, NULL, NULL, NULL, NULL, NULL, NULL, c.body FROM :idempotency_keys AS w
        {join} commands AS c ON c.tenant_id = w.tenant_id AND c.idempotency_key = w.id",
    ),
    (
        "messages",
        "SELECT 'message', m.tenant_id, NULL, NULL, NULL, NULL, NULL, NULL, m.body FROM :messages AS w
        {join} messages AS m ON m.tenant_id = w.tenant_id AND m.message_key = w.id",
    ),
    (
        "wanted_principals",
        "SELECT 'principal', p.tenant_id, NULL, NULL, NULL, NULL, NULL, NULL, p.body FROM held_principals AS p",
    ),
    (
        "claims",
        "SELECT 'claim', c.tenant_id, NULL, NULL, NULL, NULL, NULL, c.claim_key, c.body FROM :claims AS w
        {join} claims AS c ON c.tenant_id = w.tenant_id AND c.claim_key = w.id",
    ),
    (
        "attempts",
        "SELECT 'attempt', a.tenant_id, a.attempt_id, a.command_id, NULL, NULL, NULL, NULL, NULL FROM :attempts AS w
        {join} command_attempts AS a ON a.tenant_id = w.tenant_id AND a.attempt_id = w.id",
    ),
    (
        "names",
        "SELECT 'spent_name', n.tenant_id, NULL, NULL, NULL, NULL, NULL, n.name, NULL FROM :names AS w
        {join} spent_names AS n ON n.tenant_id = w.tenant_id AND n.name = w.id",
    ),
];

/// Principals with one of some keys. Repeats the expression of each key's index, so that the index is used.
pub(super) const KIN: &str = "
    SELECT p.body FROM principals AS p WHERE p.tenant_id = :tenant AND p.principal_id IN (
        SELECT principal_id FROM principals WHERE tenant_id = :tenant AND KEY_OF(principal_id) IN (:keys)
        UNION
        SELECT principal_id FROM principals
            WHERE tenant_id = :tenant AND person_id IS NOT NULL AND KEY_OF(person_id) IN (:keys)
        UNION
        SELECT principal_id FROM principal_aliases WHERE tenant_id = :tenant AND KEY_OF(value) IN (:keys))
    ORDER BY p.principal_id LIMIT :limit";
