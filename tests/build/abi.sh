#!/bin/sh
# runs: long once
# Compares the interface of the shared library with the one in tests/build/abi.xml.xz: exported functions, and the types
# in the headers that they use. Programs compiled with the old interface run with a new library of the same SONAME only
# if nothing but functions and statuses was added. --write replaces the old interface with the library's.
# Usage: abi.sh [--write] LIBRARY, which has debug information
set -eu
dump=tests/build/abi.xml.xz
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Leaves out this machine's paths, and anything that depends on the level of optimisation.
describe() {
  abidw --headers-dir include --drop-private-types --exported-interfaces-only --no-corpus-path --no-comp-dir-path --no-show-locs \
    --no-parameter-names --no-elf-needed --type-id-style hash "$1" > "$work/described"
  sed "s| path='$PWD/| path='|; s| declared-inline='yes'||; s|^ *||" "$work/described"
}

if [ "$1" = --write ]; then
  describe "$2" > "$work/new"
  xz -9ec "$work/new" > $dump
  echo "$dump: $(wc -c < $dump) bytes, $(grep -c '<function-decl' "$work/new") functions"
  exit 0
fi

describe "$1" > "$work/new"
xz -dc $dump > "$work/old"
abidiff "$work/old" "$work/new" && exit 0
if abidiff --no-added-syms "$work/old" "$work/new" > "$work/changed"; then
  echo "Functions were added, which old programs do without. Run make abi, and commit $dump."
else
  echo "Old programs do not run with this library. If they are of a release, KOLK_ABI (include/kolk/base.h), the number in the"
  echo "SONAME, has to be another one than there. Then run make abi, and commit $dump."
fi
exit 1
