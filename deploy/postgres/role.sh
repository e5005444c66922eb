#!/bin/sh
# Run once, by the PostgreSQL image, when its data folder is new: a role and a database for memoryhub, which is no
# superuser. The password is read from the environment, so that no command line shows it.
set -eu
psql --set ON_ERROR_STOP=1 --username postgres --dbname postgres --no-psqlrc --quiet <<'SQL'
\getenv password MEMORYHUB_DATABASE_PASSWORD
CREATE ROLE memoryhub LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD :'password';
CREATE DATABASE memoryhub OWNER memoryhub;
REVOKE ALL ON DATABASE memoryhub FROM PUBLIC;
SQL
