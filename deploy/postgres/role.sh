#!/bin/sh
# The roles and the database of memoryhub, none of them a superuser. The PostgreSQL image runs it when its data folder is
# new; run it again after an upgrade, or to change a password: it makes what is missing.
#   memoryhub                            migrates, and owns the tables
#   memoryhub_app                        serves: reads and writes rows, within the policies of row-level security
#   memoryhub_staff, _jobs, _signin      the wider roles that memoryhub_app takes for a transaction, never inherits
# The passwords are read from the environment, so that no command line shows them.
set -eu
psql --set ON_ERROR_STOP=1 --username postgres --dbname postgres --no-psqlrc --quiet <<'SQL'
\getenv password MEMORYHUB_DATABASE_PASSWORD
\getenv app_password MEMORYHUB_APP_PASSWORD
SELECT format('CREATE ROLE %I', name)
FROM unnest(ARRAY['memoryhub', 'memoryhub_app', 'memoryhub_staff', 'memoryhub_jobs', 'memoryhub_signin']) AS name
WHERE name NOT IN (SELECT rolname FROM pg_roles) \gexec
ALTER ROLE memoryhub LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS PASSWORD :'password';
ALTER ROLE memoryhub_app LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS NOINHERIT PASSWORD :'app_password';
GRANT memoryhub_staff, memoryhub_jobs, memoryhub_signin TO memoryhub_app;
SELECT 'CREATE DATABASE memoryhub OWNER memoryhub'
WHERE NOT EXISTS (SELECT 1 FROM pg_database WHERE datname = 'memoryhub') \gexec
REVOKE ALL ON DATABASE memoryhub FROM PUBLIC;
GRANT CONNECT ON DATABASE memoryhub TO memoryhub_app;
SQL
