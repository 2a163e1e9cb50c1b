-- What the servers' role may do, table by table. As the owner, after every `cscp migrate`; it can be repeated.
BEGIN;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO cscp_server;
-- The schema is the owner's.
REVOKE INSERT, UPDATE, DELETE ON _sqlx_migrations, schema_floor FROM cscp_server;
-- Servers live by what was published; `cscp policy publish` is done with the owner's role.
REVOKE INSERT, UPDATE, DELETE ON policy_versions FROM cscp_server;
-- The record grows and nothing else: entries are neither changed nor deleted.
REVOKE UPDATE, DELETE ON log_entries FROM cscp_server;
-- What the log said goes (DELETE) with a deleted fact, an erased fact space or person, or when its time is over; its
-- hashes stay, and the record says that it went. Frames go with it. Nothing is changed.
REVOKE UPDATE ON log_payloads, frames FROM cscp_server;
-- That there was an erasure stays.
REVOKE DELETE ON erasures FROM cscp_server;
-- Leaves, checkpoints and what witnesses signed under them are written once.
REVOKE UPDATE, DELETE ON log_leaves, log_checkpoints, log_cosignatures FROM cscp_server;
-- Trees and tiles only grow.
REVOKE DELETE ON log_trees, log_tiles FROM cscp_server;
-- Tenants and keys are disabled and revoked, never deleted.
REVOKE DELETE ON tenants, api_keys FROM cscp_server;
COMMIT;
