-- Executions: which bound commands wait for a report.

-- From this time on nobody knows whether the command was executed; NULL once its owner reported. A command that was bound
-- before this was recorded, and was never reported on, is unknown since ever.
ALTER TABLE commands ADD COLUMN unknown_from BIGINT;
UPDATE commands SET unknown_from = 0 WHERE jsonb_array_length(body::jsonb -> 'results') = 0;
CREATE INDEX commands_unreported ON commands (tenant_id, unknown_from, command_id) WHERE unknown_from IS NOT NULL;

-- Programs that do not know these steps would overwrite a command that another conversation bound, and would not read a
-- context in which an approval is open and no question is: they may not start on this database any more.
UPDATE schema_floor SET version = 9;
