#!/bin/sh
# Four clients at work on the server of tools/with_postgres.sh, whose conninfo this gets.
set -eu
pgbench -i -q "$1" 2> /dev/null
pgbench -c 4 -j 2 -t 300 "$1"
