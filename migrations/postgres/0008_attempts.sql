-- Attempts: one worker's try for one command, and for no other one.

-- An attempt belongs to whichever command was bound with it first. Erased with its command.
CREATE TABLE command_attempts (
    tenant_id  TEXT COLLATE "C" NOT NULL,
    attempt_id TEXT COLLATE "C" NOT NULL,
    command_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, attempt_id)
);
INSERT INTO command_attempts (tenant_id, attempt_id, command_id)
    SELECT DISTINCT ON (c.tenant_id, c.body::jsonb ->> 'attempt_id')
           c.tenant_id, c.body::jsonb ->> 'attempt_id', c.command_id
    FROM commands AS c
    ORDER BY c.tenant_id, c.body::jsonb ->> 'attempt_id', (c.body::jsonb ->> 'bound_at')::timestamptz, c.command_id;
CREATE POLICY one_tenant ON command_attempts USING ((SELECT current_setting('cscp.tenant', true)) IN (tenant_id, '*'));
