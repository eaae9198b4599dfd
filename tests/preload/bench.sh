#!/bin/sh
# Runs pgbench with four clients against the server of tools/with_postgres.sh. The argument is the server's conninfo.
set -eu
pgbench -i -q "$1"
pgbench -c 4 -j 2 -t 300 "$1"
