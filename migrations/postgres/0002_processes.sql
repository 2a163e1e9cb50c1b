-- Many processes: what an ordinary message changes is in no index, upkeep is leased, and versions know each other.

-- Contexts are searched by their ids, which grow with time; a message changes no index entry.
DROP INDEX contexts_by_conversation;
DROP INDEX contexts_by_actor;
DROP INDEX contexts_by_change;
DROP INDEX contexts_due;
-- When the sweeper looks: it may lie before expires_at, never after.
ALTER TABLE contexts ADD COLUMN sweep_after BIGINT NOT NULL DEFAULT 0;
UPDATE contexts SET sweep_after = expires_at;
CREATE INDEX contexts_by_conversation ON contexts (tenant_id, conversation_id);
CREATE INDEX contexts_by_actor ON contexts (tenant_id, actor_id);
CREATE INDEX contexts_to_sweep ON contexts (sweep_after) WHERE open;

DROP INDEX commands_by_context;
CREATE INDEX commands_by_context ON commands (tenant_id, context_id);

-- What an auditor searches by: found by one column, sorted afterwards.
DROP INDEX log_payloads_by_conversation;
DROP INDEX log_payloads_by_context;
DROP INDEX log_payloads_by_command;
DROP INDEX log_payloads_by_correlation;
CREATE INDEX log_payloads_by_conversation ON log_payloads (tenant_id, conversation_id)
    WHERE conversation_id IS NOT NULL;
CREATE INDEX log_payloads_by_context ON log_payloads (tenant_id, context_id) WHERE context_id IS NOT NULL;
CREATE INDEX log_payloads_by_command ON log_payloads (tenant_id, command_id) WHERE command_id IS NOT NULL;
CREATE INDEX log_payloads_by_correlation ON log_payloads (tenant_id, correlation_id) WHERE correlation_id IS NOT NULL;

-- Who does the work that one process does for all.
CREATE TABLE leases (
    name   TEXT COLLATE "C" NOT NULL,
    holder TEXT COLLATE "C" NOT NULL,
    until  BIGINT NOT NULL,
    PRIMARY KEY (name)
);

-- The oldest schema version whose servers may still run on this database: one row.
CREATE TABLE schema_floor (version BIGINT NOT NULL);
INSERT INTO schema_floor (version) VALUES (1);
