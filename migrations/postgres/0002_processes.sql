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

-- The oldest schema version whose servers may still work on this database: raised by a migration that takes away what
-- they need.
CREATE TABLE schema_floor (
    one     BIGINT NOT NULL CHECK (one = 1),
    version BIGINT NOT NULL,
    PRIMARY KEY (one)
);
INSERT INTO schema_floor (one, version) VALUES (1, 1);

-- A second fence between tenants, for those who put it into force: a transaction sees the rows of the tenant that it
-- names, or of all if it names all. Until then a policy does nothing.
CREATE POLICY one_tenant ON tenants USING
    ((SELECT current_setting('cscp.tenant', true)) IN (tenant_id, '*'));
CREATE POLICY one_tenant ON api_keys USING
    ((SELECT current_setting('cscp.tenant', true)) IN (tenant_id, '*'));
CREATE POLICY one_tenant ON streams USING
    ((SELECT current_setting('cscp.tenant', true)) IN (tenant_id, '*'));
CREATE POLICY one_tenant ON conversations USING
    ((SELECT current_setting('cscp.tenant', true)) IN (tenant_id, '*'));
CREATE POLICY one_tenant ON contexts USING
    ((SELECT current_setting('cscp.tenant', true)) IN (tenant_id, '*'));
CREATE POLICY one_tenant ON items USING
    ((SELECT current_setting('cscp.tenant', true)) IN (tenant_id, '*'));
CREATE POLICY one_tenant ON item_prompts USING
    ((SELECT current_setting('cscp.tenant', true)) IN (tenant_id, '*'));
CREATE POLICY one_tenant ON commands USING
    ((SELECT current_setting('cscp.tenant', true)) IN (tenant_id, '*'));
CREATE POLICY one_tenant ON messages USING
    ((SELECT current_setting('cscp.tenant', true)) IN (tenant_id, '*'));
CREATE POLICY one_tenant ON principals USING
    ((SELECT current_setting('cscp.tenant', true)) IN (tenant_id, '*'));
CREATE POLICY one_tenant ON principal_aliases USING
    ((SELECT current_setting('cscp.tenant', true)) IN (tenant_id, '*'));
CREATE POLICY one_tenant ON principal_roles USING
    ((SELECT current_setting('cscp.tenant', true)) IN (tenant_id, '*'));
CREATE POLICY one_tenant ON frames USING
    ((SELECT current_setting('cscp.tenant', true)) IN (tenant_id, '*'));
CREATE POLICY one_tenant ON claims USING
    ((SELECT current_setting('cscp.tenant', true)) IN (tenant_id, '*'));
CREATE POLICY one_tenant ON log_entries USING
    ((SELECT current_setting('cscp.tenant', true)) IN (tenant_id, '*'));
CREATE POLICY one_tenant ON log_payloads USING
    ((SELECT current_setting('cscp.tenant', true)) IN (tenant_id, '*'));
