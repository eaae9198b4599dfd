#!/bin/sh
# Builds and runs one test, or the tests of one folder of tests/, and nothing else, for quick checks between edits.
# Usage: tools/try.sh test_pool_full | pool
set -eu
[ $# = 1 ] || { echo "usage: tools/try.sh TEST, or FOLDER of tests/" >&2; exit 2; }
if [ -d "tests/$1" ]; then
  names=$(find "tests/$1" -name 'test_*.c' -exec basename {} .c \; | sort)
  [ -n "$names" ] || { echo "tools/try.sh: tests/$1 has no test_*.c; 'tools/preset.sh default -R $1' runs what has this name" >&2; exit 2; }
elif [ -n "$(find tests -name "$1.c")" ]; then
  names=$1
else
  echo "tools/try.sh: there is no folder tests/$1 and no tests/*/$1.c; 'tools/preset.sh default -R $1' runs what has this name" >&2
  exit 2
fi
KOLK_TARGETS=$(echo "$names" | tr '\n' ' ') tools/preset.sh default -R "^($(printf '%s' "$names" | tr '\n' '|'))\$"
