-- Retention: what is past its time is found by tenant and time.

-- How long readings are kept is the policy of now, so they are found by when they came, not by an end that was written
-- with them. A server of an earlier version writes 0: such a row goes when the end has come that it was written with.
ALTER TABLE messages ADD COLUMN received_at BIGINT NOT NULL DEFAULT 0;
UPDATE messages SET received_at = (extract(epoch FROM (body::jsonb ->> 'received_at')::timestamptz) * 1000000)::int8;
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
ALTER TABLE space_records ADD COLUMN ended_at BIGINT;
UPDATE space_records SET ended_at = CASE kind
    -- Of two instants the later, and none where the fact stands.
    WHEN 'fact' THEN (extract(epoch FROM CASE WHEN body::jsonb ? 'since' THEN greatest(
        (body::jsonb ->> 'since')::timestamptz, (body::jsonb ->> 'recorded_at')::timestamptz) END) * 1000000)::int8
    WHEN 'reading' THEN
        greatest(at, (extract(epoch FROM (body::jsonb ->> 'recorded_at')::timestamptz) * 1000000)::int8)
    WHEN 'item' THEN (extract(epoch FROM (body::jsonb ->> 'expires_at')::timestamptz) * 1000000)::int8
    WHEN 'signal' THEN (extract(epoch FROM (body::jsonb ->> 'stale_at')::timestamptz) * 1000000)::int8
    WHEN 'pack' THEN at
    END;
CREATE INDEX space_records_ended ON space_records (tenant_id, kind, ended_at) WHERE ended_at IS NOT NULL;
