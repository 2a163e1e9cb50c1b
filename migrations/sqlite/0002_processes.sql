-- Several servers on one database, and fewer index entries for each message.

-- A message changes its context's time of change and its deadline. Neither is indexed any more: lists follow ids, which
-- grow with time, and the sweeper looks by a column that is only moved when it comes up (sweep_after <= expires_at).
DROP INDEX contexts_by_conversation;
DROP INDEX contexts_by_actor;
DROP INDEX contexts_by_change;
DROP INDEX contexts_due;
ALTER TABLE contexts ADD COLUMN sweep_after INTEGER NOT NULL DEFAULT 0;
UPDATE contexts SET sweep_after = expires_at;
CREATE INDEX contexts_by_conversation ON contexts (tenant_id, conversation_id);
CREATE INDEX contexts_by_actor ON contexts (tenant_id, actor_id);
CREATE INDEX contexts_to_sweep ON contexts (sweep_after) WHERE status IN ('active', 'pending', 'blocked');

DROP INDEX commands_by_context;
CREATE INDEX commands_by_context ON commands (tenant_id, context_id);

-- What an auditor searches by leads to a handful of entries or to one stream: they are sorted when they are found.
DROP INDEX log_payloads_by_conversation;
DROP INDEX log_payloads_by_context;
DROP INDEX log_payloads_by_command;
DROP INDEX log_payloads_by_correlation;
CREATE INDEX log_payloads_by_conversation ON log_payloads (tenant_id, conversation_id) WHERE conversation_id IS NOT NULL;
CREATE INDEX log_payloads_by_context ON log_payloads (tenant_id, context_id) WHERE context_id IS NOT NULL;
CREATE INDEX log_payloads_by_command ON log_payloads (tenant_id, command_id) WHERE command_id IS NOT NULL;
CREATE INDEX log_payloads_by_correlation ON log_payloads (tenant_id, correlation_id) WHERE correlation_id IS NOT NULL;

-- Work that one process does for all: whose turn it is, and until when.
CREATE TABLE leases (
    name   TEXT    NOT NULL,
    holder TEXT    NOT NULL,
    until  INTEGER NOT NULL,
    PRIMARY KEY (name)
) STRICT, WITHOUT ROWID;

-- The oldest schema version whose servers may still work on this database: raised by a migration that takes away what
-- they need.
CREATE TABLE schema_floor (
    one     INTEGER NOT NULL CHECK (one = 1),
    version INTEGER NOT NULL,
    PRIMARY KEY (one)
) STRICT, WITHOUT ROWID;
INSERT INTO schema_floor (one, version) VALUES (1, 1);
