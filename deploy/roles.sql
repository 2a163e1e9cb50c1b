-- A database with two roles: one that owns the tables and migrates, one that the servers use. Once, as a superuser:
--
--   CSCP_OWNER_PASSWORD=… CSCP_SERVER_PASSWORD=… psql -X -v ON_ERROR_STOP=1 -d postgres -f roles.sql
--   cscp migrate --database postgres://cscp_owner@HOST/cscp
--   psql -X -v ON_ERROR_STOP=1 -d postgres://cscp_owner@HOST/cscp -f grants.sql      (after every migrate)
--
-- Passwords come from the environment: an option would stand in the list of processes.
\getenv owner_password CSCP_OWNER_PASSWORD
\getenv server_password CSCP_SERVER_PASSWORD
-- What a statement carries is personal, and here it carries a password.
SET log_statement = 'none';
SET log_min_duration_statement = -1;
SET log_min_error_statement = 'panic';

CREATE ROLE cscp_owner LOGIN PASSWORD :'owner_password' NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS;
CREATE ROLE cscp_server LOGIN PASSWORD :'server_password' NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS;
-- Values of statements are what people wrote and who they are: they stay out of the server's log.
ALTER ROLE cscp_server SET log_parameter_max_length = 0;
ALTER ROLE cscp_server SET log_parameter_max_length_on_error = 0;

CREATE DATABASE cscp OWNER cscp_owner TEMPLATE template0 ENCODING 'UTF8';
REVOKE ALL ON DATABASE cscp FROM PUBLIC;
GRANT CONNECT ON DATABASE cscp TO cscp_server;

\connect cscp
-- Before version 15 everybody may create tables here.
REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT ALL ON SCHEMA public TO cscp_owner;
GRANT USAGE ON SCHEMA public TO cscp_server;
-- A table that an upgrade adds can be used at once, by servers that were started before.
ALTER DEFAULT PRIVILEGES FOR ROLE cscp_owner IN SCHEMA public
    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO cscp_server;
