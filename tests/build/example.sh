#!/bin/sh
# Runs an example: it must end well and print exactly what is expected.
# Usage: example.sh PROGRAM EXPECTED
set -eu
actual=$(mktemp)
trap 'rm -f "$actual"' EXIT
${EMULATOR:-} "$1" > "$actual"
diff -u "$2" "$actual"
