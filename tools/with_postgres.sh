#!/bin/sh
# Starts a temporary PostgreSQL server, runs a program with the server's conninfo as its first argument, then stops the
# server.
# Usage: tools/with_postgres.sh PROGRAM [ARGUMENT...]
set -eu
program=$1
shift
folder=$(mktemp -d "${TMPDIR:-/tmp}/kolk-postgres.XXXXXX")
server=
trap '[ -z "$server" ] || kill -INT "$server"; wait; rm -rf "$folder"' EXIT
tools/postgres.sh make "$folder"
tools/postgres.sh run "$folder" &
server=$!
until grep -q 'ready to accept connections' "$folder/server.log" 2> /dev/null; do # it has its socket a moment earlier
  kill -0 "$server" || { cat "$folder/server.log" >&2; exit 1; }
  sleep 0.1
done
"$program" "host=$folder user=postgres dbname=postgres" "$@"
