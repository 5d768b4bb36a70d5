#!/bin/bash
# In: MUNIMENT_OWNER_URL (or MUNIMENT_OWNER_URL_FILE, a file that holds it), and a superuser's session by the PG* or POSTGRES_* variables.
# Out: the owner role (no superuser), its database, and the extension `vector` in the schema `ext`, which only a superuser can make.
# The Postgres image runs it once, on an empty data folder.
set -euo pipefail

url=${MUNIMENT_OWNER_URL:-}
if [[ -z $url && -n ${MUNIMENT_OWNER_URL_FILE:-} ]]; then
    url=$(<"$MUNIMENT_OWNER_URL_FILE")
fi

if ! [[ $url =~ ^postgres(ql)?://([^:@/?#]+):([^@/?#]+)@[^@/?#]+/([^/?#]+) ]]; then
    # The URL itself is not shown: it holds a password.
    echo "MUNIMENT_OWNER_URL is not of the form postgresql://USER:PASSWORD@HOST:PORT/DATABASE with a percent-encoded password" >&2
    exit 1
fi

percent_decode() {
    local text=${1//\\/\\\\}
    printf '%b' "${text//%/\\x}"
}

# Through the environment, not as arguments, which other processes could read.
MUNIMENT_OWNER_NAME=$(percent_decode "${BASH_REMATCH[2]}")
MUNIMENT_OWNER_PASSWORD=$(percent_decode "${BASH_REMATCH[3]}")
MUNIMENT_OWNER_DATABASE=$(percent_decode "${BASH_REMATCH[4]}")
export MUNIMENT_OWNER_NAME MUNIMENT_OWNER_PASSWORD MUNIMENT_OWNER_DATABASE

psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --username="${POSTGRES_USER:-postgres}" --dbname="${POSTGRES_DB:-postgres}" <<'SQL'
\getenv owner MUNIMENT_OWNER_NAME
\getenv password MUNIMENT_OWNER_PASSWORD
\getenv database MUNIMENT_OWNER_DATABASE
-- The password must not reach the server's log, whatever it is set to log.
SET log_statement = 'none';
SET log_min_duration_statement = -1;
SET log_min_error_statement = 'panic';
CREATE ROLE :"owner" LOGIN NOSUPERUSER NOBYPASSRLS NOREPLICATION NOCREATEDB CREATEROLE PASSWORD :'password';
CREATE DATABASE :"database" OWNER :"owner";
\connect :"database"
CREATE SCHEMA ext AUTHORIZATION :"owner";
CREATE EXTENSION vector WITH SCHEMA ext;
SQL
