//! The statement that writes a batch, part by part, and the arrays with its rows.

use super::columns::columns;

/// The number of parts of the statement.
pub(super) const PART_COUNT: usize = 15;

/// All tables that an operation changes, each with its part of the statement. The parts run on one snapshot, and none
/// depends on another. A part that ends with `RETURNING 1` must affect as many rows as it gets: heads and changed rows
/// exist and are locked since the load, and new rows must not exist. What has to be unique across streams is claimed
/// this way and never overwritten. Ended contexts come first in their arrays, so that a new one does not collide in the
/// unique index with the one it replaces. An unexpired claim is never overwritten: another process answered that key.
pub(super) const PARTS: [(&str, &str); PART_COUNT] = [
    (
        "heads AS",
        "
        UPDATE streams AS s
        SET stream_id = n.stream_id, seq = n.seq, head_hash = n.head_hash, last_at = n.last_at
        FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::int8[], $6::bytea[], $7::int8[])
            AS n (tenant_id, kind, key, stream_id, seq, head_hash, last_at)
        WHERE s.tenant_id = n.tenant_id AND s.kind = n.kind AND s.key = n.key
        RETURNING 1",
    ),
    (
        "conversations_written AS",
        "
        INSERT INTO conversations (tenant_id, conversation_id, last_item_id, body)
        SELECT * FROM unnest($8::text[], $9::text[], $10::text[], $11::text[])
        ON CONFLICT (tenant_id, conversation_id) DO UPDATE SET
            last_item_id = excluded.last_item_id, body = excluded.body",
    ),
    (
        "contexts_written AS",
        "
        INSERT INTO contexts (tenant_id, context_id, conversation_id, actor_id, status, expires_at, updated_at, body,
                              sweep_after)
        SELECT n.*, n.expires_at FROM unnest(
            $12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::int8[], $18::int8[], $19::text[])
            AS n (tenant_id, context_id, conversation_id, actor_id, status, expires_at, updated_at, body)
        ON CONFLICT (tenant_id, context_id) DO UPDATE SET
            status = excluded.status, expires_at = excluded.expires_at, updated_at = excluded.updated_at,
            body = excluded.body, sweep_after = least(contexts.sweep_after, excluded.expires_at)",
    ),
    (
        "items_made AS",
        "
        INSERT INTO items (tenant_id, item_id, kind, state, context_id, conversation_id, actor_id, identity_epoch,
                           command_id, asked_at, expires_at, nonce_digest, body)
        SELECT * FROM unnest(
            $20::text[], $21::text[], $22::text[], $23::text[], $24::text[], $25::text[], $26::text[], $27::int8[],
            $28::text[], $29::int8[], $30::int8[], $31::bytea[], $32::text[])
        ON CONFLICT DO NOTHING RETURNING 1",
    ),
    (
        "items_changed AS",
        "
        UPDATE items AS i SET state = n.state, body = n.body
        FROM unnest($84::text[], $85::text[], $86::text[], $87::text[]) AS n (tenant_id, item_id, state, body)
        WHERE i.tenant_id = n.tenant_id AND i.item_id = n.item_id
        RETURNING 1",
    ),
    (
        "prompts_made AS",
        "
        INSERT INTO item_prompts (tenant_id, message_id, item_id)
        SELECT * FROM unnest($33::text[], $34::text[], $35::text[])
        ON CONFLICT DO NOTHING RETURNING 1",
    ),
    (
        "commands_made AS",
        "
        INSERT INTO commands (tenant_id, command_id, idempotency_key, context_id, conversation_id, updated_at, body,
                              unknown_from)
        SELECT * FROM unnest(
            $36::text[], $37::text[], $38::text[], $39::text[], $40::text[], $41::int8[], $42::text[], $96::int8[])
        ON CONFLICT DO NOTHING RETURNING 1",
    ),
    (
        "commands_changed AS",
        "
        UPDATE commands AS c SET updated_at = n.updated_at, body = n.body, unknown_from = n.unknown_from
        FROM unnest($88::text[], $89::text[], $90::int8[], $91::text[], $92::int8[])
            AS n (tenant_id, command_id, updated_at, body, unknown_from)
        WHERE c.tenant_id = n.tenant_id AND c.command_id = n.command_id
        RETURNING 1",
    ),
    (
        "attempts_made AS",
        "
        INSERT INTO command_attempts (tenant_id, attempt_id, command_id)
        SELECT * FROM unnest($93::text[], $94::text[], $95::text[])
        ON CONFLICT DO NOTHING RETURNING 1",
    ),
    (
        "messages_made AS",
        "
        INSERT INTO messages (tenant_id, message_key, conversation_id, keep_until, body, received_at)
        SELECT * FROM unnest($43::text[], $44::bytea[], $45::text[], $46::int8[], $47::text[], $83::int8[])
        ON CONFLICT DO NOTHING RETURNING 1",
    ),
    (
        "frames_made AS",
        "
        INSERT INTO frames (tenant_id, context_frame_id, context_id, command_id, created_at, body)
        SELECT * FROM unnest($48::text[], $49::text[], $50::text[], $51::text[], $52::int8[], $53::text[])
        ON CONFLICT DO NOTHING RETURNING 1",
    ),
    (
        "entries_written AS",
        "
        INSERT INTO log_entries (tenant_id, stream_id, seq, v, artifact_id, type, at, policy_hash, payload_commitment,
                                 prev_hash, entry_hash)
        SELECT * FROM unnest(
            $54::text[], $55::text[], $56::int8[], $57::int8[], $58::text[], $59::text[], $60::int8[], $61::text[],
            $62::bytea[], $63::bytea[], $64::bytea[])",
    ),
    (
        "payloads_written AS",
        "
        INSERT INTO log_payloads (tenant_id, stream_id, seq, at, conversation_id, context_id, command_id,
                                  correlation_id, space_id, fact_uid, salt, payload)
        SELECT * FROM unnest(
            $65::text[], $66::text[], $67::int8[], $68::int8[], $69::text[], $70::text[], $71::text[], $72::text[],
            $73::text[], $74::text[], $75::bytea[], $76::text[])",
    ),
    (
        "claims_written AS",
        "
        INSERT INTO claims (tenant_id, claim_key, expires_at, space_id, body)
        SELECT * FROM unnest($77::text[], $78::bytea[], $79::int8[], $80::text[], $81::text[])
        ON CONFLICT (tenant_id, claim_key) DO UPDATE SET
            expires_at = excluded.expires_at, space_id = excluded.space_id, body = excluded.body
            WHERE claims.expires_at <= $82
        RETURNING 1",
    ),
    // New entries wait for a leaf in the tree.
    (
        "outbox_filled AS",
        "
        INSERT INTO log_outbox (tenant_id, stream_id, seq, entry_hash)
        SELECT * FROM unnest($54::text[], $55::text[], $56::int8[], $64::bytea[])",
    ),
];

columns!(Heads {
    tenant_id: &'a str,
    kind: &'a str,
    key: &'a str,
    stream_id: &'a str,
    seq: i64,
    head_hash: &'a [u8],
    last_at: Option<i64>,
});
columns!(Conversations { tenant_id: &'a str, conversation_id: &'a str, last_item_id: Option<&'a str>, body: String });
columns!(Contexts {
    tenant_id: &'a str,
    context_id: &'a str,
    conversation_id: &'a str,
    actor_id: &'a str,
    status: &'a str,
    expires_at: i64,
    updated_at: i64,
    body: String,
});
columns!(Items {
    tenant_id: &'a str,
    item_id: &'a str,
    kind: &'a str,
    state: &'a str,
    context_id: &'a str,
    conversation_id: &'a str,
    actor_id: &'a str,
    identity_epoch: i64,
    command_id: Option<&'a str>,
    asked_at: i64,
    expires_at: i64,
    nonce_digest: &'a [u8],
    body: String,
});
columns!(ChangedItems { tenant_id: &'a str, item_id: &'a str, state: &'a str, body: String });
columns!(Prompts { tenant_id: &'a str, message_id: &'a str, item_id: &'a str });
columns!(Commands {
    tenant_id: &'a str,
    command_id: &'a str,
    idempotency_key: &'a str,
    context_id: &'a str,
    conversation_id: &'a str,
    updated_at: i64,
    body: String,
});
columns!(ChangedCommands {
    tenant_id: &'a str,
    command_id: &'a str,
    updated_at: i64,
    body: String,
    unknown_from: Option<i64>,
});
columns!(Attempts { tenant_id: &'a str, attempt_id: &'a str, command_id: &'a str });
columns!(Messages {
    tenant_id: &'a str,
    message_key: &'a [u8],
    conversation_id: &'a str,
    keep_until: i64,
    body: String,
});
columns!(Frames {
    tenant_id: &'a str,
    context_frame_id: &'a str,
    context_id: &'a str,
    command_id: &'a str,
    created_at: i64,
    body: String,
});
columns!(Entries {
    tenant_id: &'a str,
    stream_id: &'a str,
    seq: i64,
    v: i64,
    artifact_id: &'a str,
    kind: &'a str,
    at: i64,
    policy_hash: &'a str,
    payload_commitment: &'a [u8],
    prev_hash: &'a [u8],
    entry_hash: &'a [u8],
});
columns!(Payloads {
    tenant_id: &'a str,
    stream_id: &'a str,
    seq: i64,
    at: i64,
    conversation_id: Option<&'a str>,
    context_id: Option<&'a str>,
    command_id: Option<&'a str>,
    correlation_id: Option<&'a str>,
    space_id: Option<&'a str>,
    fact_uid: Option<&'a str>,
    salt: &'a [u8],
    payload: &'a str,
});
columns!(Claims { tenant_id: &'a str, claim_key: &'a [u8], expires_at: i64, space_id: Option<&'a str>, body: String });
