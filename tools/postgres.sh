#!/bin/sh
# Runs a temporary PostgreSQL server in an empty folder, for tests and for make bank. It runs as an unprivileged user,
# listens on a socket in that folder, and does not make data durable. The user postgres needs no password; alice has the
# password "secret".
#     make FOLDER             creates it; if PostgreSQL is not installed, prints that and exits with 77
#     run FOLDER [OPTION...]  becomes the server until a signal: SIGINT ends it quickly, SIGQUIT immediately
# Usage: tools/postgres.sh make|run FOLDER [OPTION...]
set -eu
folder=$2

bin=$(ls -d /usr/lib/postgresql/*/bin 2> /dev/null | sort -t/ -k5n | tail -1)
[ -n "$bin" ] || bin=$(pg_config --bindir 2> /dev/null || true)
if [ ! -x "$bin/initdb" ]; then
  echo "skipped: no PostgreSQL server is installed (tools/setup.sh test)"
  exit 77
fi

as="setpriv --pdeathsig QUIT" # it ends when the program that started it ends
if [ "$(id -u)" = 0 ]; then   # postgres refuses to run as root
  user=postgres
  id "$user" > /dev/null 2>&1 || user=nobody
  as="$as --reuid $user --regid $(id -g "$user") --clear-groups"
  [ "$1" = run ] || chown "$user" "$folder"
fi

case $1 in
  make)
    $as "$bin/initdb" -D "$folder/data" -U postgres -A trust --no-locale -E UTF8 -N --no-instructions > "$folder/initdb.log" 2>&1 || {
      cat "$folder/initdb.log" >&2
      exit 1
    }
    printf 'host all alice 127.0.0.1/32 scram-sha-256\n%s\n' "$(cat "$folder/data/pg_hba.conf")" > "$folder/data/pg_hba.conf"
    printf "create role alice login password 'secret';\n" |
      $as "$bin/postgres" --single -j -D "$folder/data" postgres > "$folder/initdb.log" 2>&1 || {
      cat "$folder/initdb.log" >&2
      exit 1
    }
    ;;
  run)
    shift 2
    cd "$folder"
    exec $as "$bin/postgres" -D "$folder/data" -k "$folder" -c listen_addresses= -c fsync=off -c full_page_writes=off \
      -c shared_buffers=16MB -c autovacuum=off -c max_wal_senders=0 -c max_logical_replication_workers=0 \
      "$@" >> "$folder/server.log" 2>&1
    ;;
  *)
    sed -n 's/^# Usage: /usage: /p' "$0" >&2
    exit 2
    ;;
esac
