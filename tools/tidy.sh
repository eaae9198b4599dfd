#!/bin/sh
# Reads the C files with clang-tidy (.clang-tidy says what for) and cppcheck.
# Usage: tools/tidy.sh [FILE...]
set -eu
[ $# -gt 0 ] || set -- $(tools/files.sh src cli tests fuzz examples | grep '\.c$' | grep -Ev '^tests/(compile|packaging)/')
# One file a process: version 14 forgets a va_start when it has read another file before.
printf '%s\n' "$@" | xargs -P "$(nproc)" -I FILE sh -c \
  'clang-tidy-14 --quiet FILE -- -std=c11 -Iinclude -Isrc -Icli $(sed -n "s|^// define:||p" FILE | sed "s/  */ -D/g")'
cppcheck --quiet --std=c11 -U__has_include --enable=warning,performance,portability --inline-suppr --error-exitcode=1 -Iinclude src
