#!/bin/sh
# Succeeds if this machine runs 32-bit x86 programs: some 64-bit kernels do not.
# Usage: tools/runs_i686.sh
set -eu
program=$(mktemp)
trap 'rm -f "$program"' EXIT
echo 'int main(void) { return 0; }' | i686-linux-gnu-gcc -x c - -o "$program"
"$program" 2> /dev/null
