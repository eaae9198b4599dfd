#!/bin/sh
# Four clients on the server of tools/with_postgres.sh; the argument is its conninfo.
set -eu
pgbench -i -q "$1" 2> /dev/null
pgbench -c 4 -j 2 -t 300 "$1"
