-- Cosignatures: what witnesses sign under a checkpoint, and which checkpoint is given out to anybody.

-- A witness's key (vkey) and the signature line that it made under the checkpoint of that size, as it came.
CREATE TABLE log_cosignatures (
    tenant_id TEXT COLLATE "C" NOT NULL,
    size      BIGINT NOT NULL CHECK (size > 0),
    witness   TEXT COLLATE "C" NOT NULL,
    line      TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, size, witness)
);
CREATE POLICY one_tenant ON log_cosignatures USING ((SELECT current_setting('cscp.tenant', true)) IN (tenant_id, '*'));

-- The size of the newest checkpoint that was given out to anybody; 0 if none was. It only grows, whatever quorum of
-- cosignatures is asked for later. Until now each was given out when it was signed.
ALTER TABLE log_trees ADD COLUMN published BIGINT NOT NULL DEFAULT 0 CHECK (published BETWEEN 0 AND signed);
UPDATE log_trees SET published = signed;

-- Programs that do not know this step would give out checkpoints that no witness has signed.
UPDATE schema_floor SET version = 13;
