-- Fact spaces: the state layer's records, and the evidence about them.

-- A fact space is a stream like a conversation. SQLite cannot change a CHECK, so the table is made anew.
CREATE TABLE streams_with_spaces (
    tenant_id TEXT    NOT NULL,
    kind      TEXT    NOT NULL CHECK (kind IN ('conversation', 'principal', 'access', 'fact_space')),
    key       TEXT    NOT NULL,
    stream_id TEXT    NOT NULL,
    seq       INTEGER NOT NULL CHECK (seq >= 0),
    head_hash BLOB    NOT NULL CHECK (length(head_hash) = 32),
    last_at   INTEGER,
    PRIMARY KEY (tenant_id, kind, key)
) STRICT, WITHOUT ROWID;
INSERT INTO streams_with_spaces (tenant_id, kind, key, stream_id, seq, head_hash, last_at)
    SELECT tenant_id, kind, key, stream_id, seq, head_hash, last_at FROM streams;
DROP TABLE streams;
ALTER TABLE streams_with_spaces RENAME TO streams;
CREATE UNIQUE INDEX streams_by_id ON streams (tenant_id, stream_id);

-- Everything in a fact space, told apart by kind. `live` is what is in force: loading a space costs what stands in it,
-- not what once stood. `successor` is the fact that replaced this one. A space has no rows of another tenant or space.
CREATE TABLE space_records (
    tenant_id TEXT    NOT NULL,
    space_id  TEXT    NOT NULL,
    kind      TEXT    NOT NULL CHECK (kind IN ('space', 'fact', 'reading', 'ruling', 'signal', 'item', 'pack')),
    record_id TEXT    NOT NULL,
    at        INTEGER NOT NULL,
    live      INTEGER NOT NULL CHECK (live IN (0, 1)),
    label     TEXT,
    key       TEXT,
    successor TEXT,
    body      TEXT    NOT NULL,
    PRIMARY KEY (tenant_id, space_id, kind, record_id)
) STRICT;
CREATE INDEX space_records_live ON space_records (tenant_id, space_id) WHERE live = 1;
CREATE INDEX space_records_by_label ON space_records (tenant_id, space_id, label, at) WHERE label IS NOT NULL;
CREATE INDEX space_records_by_key ON space_records (tenant_id, space_id, key, at) WHERE key IS NOT NULL;
CREATE INDEX space_records_packs ON space_records (tenant_id, record_id) WHERE kind = 'pack';

-- What a deleted fact or an erased space has said in the log goes with it; the hashes stay.
ALTER TABLE log_payloads ADD COLUMN space_id TEXT;
ALTER TABLE log_payloads ADD COLUMN fact_uid TEXT;
CREATE INDEX log_payloads_by_space ON log_payloads (tenant_id, space_id) WHERE space_id IS NOT NULL;
CREATE INDEX log_payloads_by_fact ON log_payloads (tenant_id, fact_uid) WHERE fact_uid IS NOT NULL;
