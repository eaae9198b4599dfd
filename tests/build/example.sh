#!/bin/sh
# Runs an example: it must exit with 0 and print exactly the expected text.
# Usage: example.sh PROGRAM EXPECTED
set -eu
actual=$(mktemp)
trap 'rm -f "$actual"' EXIT
${EMULATOR:-} "$1" > "$actual"
diff -u "$2" "$actual"
