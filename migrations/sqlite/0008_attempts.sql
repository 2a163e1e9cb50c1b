-- Attempts: one worker's try for one command, and for no other one.

-- An attempt belongs to whichever command was bound with it first. Erased with its command.
CREATE TABLE command_attempts (
    tenant_id  TEXT NOT NULL,
    attempt_id TEXT NOT NULL,
    command_id TEXT NOT NULL,
    PRIMARY KEY (tenant_id, attempt_id)
) STRICT, WITHOUT ROWID;
INSERT INTO command_attempts (tenant_id, attempt_id, command_id)
    SELECT tenant_id, body->>'$.attempt_id', command_id FROM commands WHERE true
    ORDER BY body->>'$.bound_at', command_id
    ON CONFLICT DO NOTHING;
