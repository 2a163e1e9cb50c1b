-- Spent names: what was bound once is never bound again, and an erasure does not change that.

-- A keyed digest of the id or of the idempotency key of a command that was erased. It names nobody, and stays.
CREATE TABLE spent_names (
    tenant_id TEXT COLLATE "C" NOT NULL,
    name      BYTEA NOT NULL,
    PRIMARY KEY (tenant_id, name)
);
CREATE POLICY one_tenant ON spent_names USING ((SELECT current_setting('cscp.tenant', true)) IN (tenant_id, '*'));

-- Programs that do not know this step would erase commands without keeping their names.
UPDATE schema_floor SET version = 10;
