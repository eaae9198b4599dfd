#!/bin/sh
# Lists our C and C++ files for the formatter and the checkers.
# Usage: tools/files.sh [FOLDER...]
set -eu
[ $# -gt 0 ] || set -- include src adapters bindings/lua debug preload cli web tests fuzz bench examples
for folder; do
  [ ! -d "$folder" ] || find "$folder" -name '*.[ch]' -o -name '*.cc' -o -name '*.hpp' -o -name '*.inl'
done | sort
