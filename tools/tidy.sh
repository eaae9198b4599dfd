#!/bin/sh
# Reads the C files with clang-tidy (.clang-tidy says what for) and cppcheck. Tests, fuzzers and examples are read without
# clang's static analyzer: for cmocka's macros it takes 30 times as long as all else, and the sanitizers' rows find at run time
# what it would look for. The analyzer believes our assertions.
# Usage: tools/tidy.sh [FILE...]
set -eu
[ $# -gt 0 ] || set -- $(tools/files.sh src adapters preload cli tests fuzz examples | grep '\.c$' | grep -Ev '^tests/(compile/|packaging/|build/device)')
cppcheck --quiet --std=c11 -U__has_include --enable=warning,performance,portability --inline-suppr --error-exitcode=1 -Iinclude src adapters preload &
# One file a process: version 14 forgets a va_start when it has read another file before.
printf '%s\n' "$@" | xargs -P "$(nproc)" -I FILE sh -c 'case FILE in tests/* | fuzz/* | examples/*) checks="-clang-analyzer-*" ;; *) checks= ;; esac
  clang-tidy-14 --quiet --checks="$checks" FILE -- -std=c11 -DKOLK_ASSERTIONS=1 -Iinclude -Isrc -Icli $(printf " -I%s" adapters/*/) $(pkg-config --cflags libpq $(sed -n "s|^// needs:||p" FILE)) $(sed -n "s|^// define:||p" FILE | sed "s/  */ -D/g")'
wait $!
