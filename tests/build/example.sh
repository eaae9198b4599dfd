#!/bin/sh
# Runs an example: it must exit with 0 and print exactly the expected text.
# Usage: example.sh PROGRAM EXPECTED
set -eu
actual=$(mktemp)
trap 'rm -f "$actual"' EXIT
${EMULATOR:-} "$1" > "$actual"
case $1 in *.exe) sed -i 's/\r$//' "$actual" ;; esac # Windows ends lines in its own way
diff -u "$2" "$actual"
