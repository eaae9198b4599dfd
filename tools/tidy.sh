#!/bin/sh
# Checks the C files with clang-tidy (with the checks of .clang-tidy) and cppcheck. Tests, fuzzers and examples are
# checked without clang's static analyzer: cmocka's macros make it take 30 times as long as everything else, and the
# sanitizers find such bugs at run time. The analyzer relies on our assertions. It first covers all code of a function,
# then more and more paths. Stopping it after 50,000 steps makes it four times as fast on the largest functions.
# Usage: tools/tidy.sh [FILE...]
set -eu
[ $# -gt 0 ] || set -- $(tools/files.sh src adapters bindings/lua preload cli tests fuzz examples | grep '\.c$' | grep -Ev '^tests/(compile/|device/|help/generations|packaging/|windows/|web/)')
cppcheck --quiet --std=c11 -U__has_include --enable=warning,performance,portability --inline-suppr --error-exitcode=1 -Iinclude src adapters preload &
checker=$!
flags="-std=c11 -DKOLK_ASSERTIONS=1 -Iinclude -Isrc -Icli -Ibindings/lua $(printf ' -I%s' adapters/*/) $(pkg-config --cflags libpq lua5.4 sdl2 sqlite3 zlib)"
flags="$flags -Xclang -analyzer-config -Xclang max-nodes=50000"

# Files for the analyzer come first, each in a process of its own, because version 14 forgets a va_start after it has
# read another file. Of the others, files that say `with:` also have a process of their own.
analyzed=
own=
plain=
for file in "$@"; do
  case $file in
    tests/* | fuzz/* | examples/*)
      if grep -q '^/\* .*with: .*KOLK' "$file"; then own="$own $file"; else plain="$plain $file"; fi ;;
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
each 1 'clang-tidy-14 --quiet --checks="-clang-analyzer-*,-misc-unused-parameters" "$1" -- $FLAGS $(sed -n "/^.\* .*with: /s/[^K]*\(KOLK_[A-Z_]*=[^ ]*\)[^K]*/-D\1 /gp" "$1")' $own
each 12 'clang-tidy-14 --quiet --checks="-clang-analyzer-*,-misc-unused-parameters" "$@" -- $FLAGS' $plain
wait $checker || status=1
exit $status
