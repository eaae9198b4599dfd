#!/bin/sh
# Runs four processes of the bank, with 8 connections each, on a server that has 8 connections for all of them. They
# connect through PgBouncer, which gives a connection a server process only for the length of a transaction.
# Usage: tests/pq/pgbouncer.sh BANK EXPECTED
# promise: "statements get no names, because the next one"
set -eu
bank=$1
if ! command -v pgbouncer > /dev/null; then
  echo "skipped: PgBouncer is not installed (tools/setup.sh test)"
  exit 77
fi

folder=$(mktemp -d "${TMPDIR:-/tmp}/kolk-pgbouncer.XXXXXX")
server= pooler=
trap 'for pid in $pooler $server; do kill -INT "$pid" && wait "$pid" || true; done; rm -rf "$folder"' EXIT
await() { # SOCKET PID LOG
  until [ -S "$1" ]; do
    kill -0 "$2" || { cat "$3" >&2; exit 1; }
    sleep 0.1
  done
}

tools/postgres.sh make "$folder"
tools/postgres.sh run "$folder" -c max_connections=10 &
server=$!
await "$folder/.s.PGSQL.5432" "$server" "$folder/server.log"

cat > "$folder/pgbouncer.ini" <<END
[databases]
postgres = host=$folder user=postgres
[pgbouncer]
auth_type = any
unix_socket_dir = $folder
listen_port = 6432
pool_mode = transaction
default_pool_size = 8
max_client_conn = 100
END
as=
[ "$(id -u)" != 0 ] || as="setpriv --reuid $(stat -c %u "$folder") --regid $(stat -c %g "$folder") --clear-groups"
$as pgbouncer -q "$folder/pgbouncer.ini" > "$folder/pgbouncer.log" 2>&1 &
pooler=$!
await "$folder/.s.PGSQL.6432" "$pooler" "$folder/pgbouncer.log"

# If PgBouncer's first login at the server fails, it rejects all clients that wait for it. So one client connects first.
tries=0
until psql -h "$folder" -p 6432 -U postgres -Atc "SELECT 1" postgres > "$folder/first" 2>&1; do
  tries=$((tries + 1))
  [ $tries -lt 100 ] || { cat "$folder/first" "$folder/pgbouncer.log" >&2; exit 1; }
  sleep 0.1
done

export KOLK_BANK_POOLER=1
banks=
for name in north south east west; do
  "$bank" "host=$folder port=6432 user=postgres dbname=postgres" 8 800 $name > "$folder/$name" 2> "$folder/$name.errors" &
  banks="$banks $!"
done
failed=0
for pid in $banks; do wait "$pid" || failed=1; done
cat "$folder/north" "$folder/south" "$folder/east" "$folder/west" > "$folder/all"
cat "$folder/all"
grep 'in the ledger' "$folder/all" | diff -u "$2" - || failed=1
if [ $failed = 1 ]; then
  head -20 "$folder"/*.errors >&2
  tail -20 "$folder/pgbouncer.log" >&2
  exit 1
fi
counts=$(psql -h "$folder" -U postgres -Atc "SELECT (SELECT sum(balance) FROM account), (SELECT count(*) FROM ledger)" postgres)
[ "$counts" = "100000|3200" ] || { echo "sum and transfers: $counts" >&2; exit 1; }
