-- Fact spaces: the state layer's records, and the evidence about them.

-- A fact space is a stream like a conversation.
ALTER TABLE streams DROP CONSTRAINT streams_kind_check;
ALTER TABLE streams ADD CONSTRAINT streams_kind_check
    CHECK (kind IN ('conversation', 'principal', 'access', 'fact_space'));

-- Everything in a fact space, told apart by kind. `live` is what is in force: loading a space costs what stands in it,
-- not what once stood. `successor` is the fact that replaced this one. A space has no rows of another tenant or space.
CREATE TABLE space_records (
    tenant_id TEXT COLLATE "C" NOT NULL,
    space_id  TEXT COLLATE "C" NOT NULL,
    kind      TEXT COLLATE "C" NOT NULL
        CHECK (kind IN ('space', 'fact', 'reading', 'ruling', 'signal', 'item', 'pack')),
    record_id TEXT COLLATE "C" NOT NULL,
    at        BIGINT NOT NULL,
    live      BOOLEAN NOT NULL,
    label     TEXT COLLATE "C",
    key       TEXT COLLATE "C",
    successor TEXT COLLATE "C",
    body      TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, space_id, kind, record_id)
) WITH (fillfactor = 75);
CREATE INDEX space_records_live ON space_records (tenant_id, space_id) WHERE live;
CREATE INDEX space_records_by_label ON space_records (tenant_id, space_id, label, at) WHERE label IS NOT NULL;
CREATE INDEX space_records_by_key ON space_records (tenant_id, space_id, key, at) WHERE key IS NOT NULL;
CREATE INDEX space_records_packs ON space_records (tenant_id, record_id) WHERE kind = 'pack';
CREATE POLICY one_tenant ON space_records USING
    ((SELECT current_setting('cscp.tenant', true)) IN (tenant_id, '*'));

-- What a deleted fact or an erased space has said in the log goes with it; the hashes stay.
ALTER TABLE log_payloads ADD COLUMN space_id TEXT COLLATE "C";
ALTER TABLE log_payloads ADD COLUMN fact_uid TEXT COLLATE "C";
CREATE INDEX log_payloads_by_space ON log_payloads (tenant_id, space_id) WHERE space_id IS NOT NULL;
CREATE INDEX log_payloads_by_fact ON log_payloads (tenant_id, fact_uid) WHERE fact_uid IS NOT NULL;
