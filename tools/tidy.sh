#!/bin/sh
# Reads the C files with clang-tidy (.clang-tidy says what for) and cppcheck. Tests, fuzzers and examples are read without
# clang's static analyzer: for cmocka's macros it takes 30 times as long as all else, and the sanitizers' rows find at run time
# what it would look for. The analyzer believes our assertions. Of a function it sees all code first, then more and more ways
# through it: after 50,000 steps it has enough, which is four times as fast for the largest functions.
# Usage: tools/tidy.sh [FILE...]
set -eu
[ $# -gt 0 ] || set -- $(tools/files.sh src adapters preload cli tests fuzz examples | grep '\.c$' | grep -Ev '^tests/(compile/|packaging/|build/device)')
cppcheck --quiet --std=c11 -U__has_include --enable=warning,performance,portability --inline-suppr --error-exitcode=1 -Iinclude src adapters preload &
checker=$!
flags="-std=c11 -DKOLK_ASSERTIONS=1 -Iinclude -Isrc -Icli $(printf ' -I%s' adapters/*/) $(pkg-config --cflags libpq)"
flags="$flags -Xclang -analyzer-config -Xclang max-nodes=50000"

# Those for the analyzer come first, one a process: version 14 forgets a va_start when it has read another file before. Of the
# others, those with options of their own have a process each.
analyzed=
own=
plain=
for file in "$@"; do
  case $file in
    tests/* | fuzz/* | examples/*)
      if grep -Eq '^// (needs|define):' "$file"; then own="$own $file"; else plain="$plain $file"; fi ;;
    *) analyzed="$analyzed $file" ;;
  esac
done
# each HOW-MANY COMMAND FILE...
status=0
each() {
  [ $# -gt 2 ] || return 0
  many=$1 command=$2
  shift 2
  printf '%s\n' "$@" | FLAGS=$flags xargs -P "$(nproc)" -n "$many" sh -c "$command" sh || status=1
}
each 1 'clang-tidy-14 --quiet "$1" -- $FLAGS' $analyzed
each 1 'clang-tidy-14 --quiet --checks="-clang-analyzer-*" "$1" -- $FLAGS $(sed -n "s|^// define:||p" "$1" | sed "s/  */ -D/g") $(pkg-config --cflags libpq $(sed -n "s|^// needs:||p" "$1"))' $own
each 12 'clang-tidy-14 --quiet --checks="-clang-analyzer-*" "$@" -- $FLAGS' $plain
wait $checker || status=1
exit $status
