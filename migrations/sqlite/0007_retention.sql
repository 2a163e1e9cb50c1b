-- Retention: what is past its time is found by tenant and time.

-- How long readings are kept is the policy of now, so they are found by when they came, not by an end that was written
-- with them. A server of an earlier version writes 0: such a row goes when the end has come that it was written with.
ALTER TABLE messages ADD COLUMN received_at INTEGER NOT NULL DEFAULT 0;
UPDATE messages SET received_at =
    unixepoch(substr(body->>'$.received_at', 1, 19)) * 1000000 + substr(body->>'$.received_at', 21, 6);
DROP INDEX messages_by_age;
CREATE INDEX messages_by_age ON messages (tenant_id, received_at);

DROP INDEX claims_by_age;
CREATE INDEX claims_by_age ON claims (tenant_id, expires_at);

-- An ended context does not change any more.
CREATE INDEX contexts_closed ON contexts (tenant_id, updated_at) WHERE status = 'closed';
CREATE INDEX contexts_expired ON contexts (tenant_id, updated_at) WHERE status = 'expired';
CREATE INDEX frames_by_age ON frames (tenant_id, created_at);
CREATE INDEX log_payloads_by_age ON log_payloads (tenant_id, at, stream_id, seq);

-- When a record of a fact space ended, as far as it has.
ALTER TABLE space_records ADD COLUMN ended_at INTEGER;
UPDATE space_records SET ended_at = CASE kind
    WHEN 'fact' THEN max(
        unixepoch(substr(body->>'$.since', 1, 19)) * 1000000 + substr(body->>'$.since', 21, 6),
        unixepoch(substr(body->>'$.recorded_at', 1, 19)) * 1000000 + substr(body->>'$.recorded_at', 21, 6))
    WHEN 'reading' THEN max(
        at, unixepoch(substr(body->>'$.recorded_at', 1, 19)) * 1000000 + substr(body->>'$.recorded_at', 21, 6))
    WHEN 'item' THEN unixepoch(substr(body->>'$.expires_at', 1, 19)) * 1000000 + substr(body->>'$.expires_at', 21, 6)
    WHEN 'signal' THEN unixepoch(substr(body->>'$.stale_at', 1, 19)) * 1000000 + substr(body->>'$.stale_at', 21, 6)
    WHEN 'pack' THEN at
    END;
CREATE INDEX space_records_ended ON space_records (tenant_id, kind, ended_at) WHERE ended_at IS NOT NULL;
