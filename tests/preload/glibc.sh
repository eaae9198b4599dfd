#!/bin/bash
# runs: longest once
# glibc's own tests of malloc, from Debian's package glibc-source, under libkolk-malloc.so. A test that fails under the
# library is run again with glibc's malloc, and must fail there too. Tests of glibc's own features are left out; the
# script prints the reason for each.
# Usage: CC=... glibc.sh BUILD [NAME]
set -euo pipefail
library=$(realpath "$1/libkolk-malloc.so")
support=$(realpath tests/preload/glibc_support.h)
archive=$(compgen -G '/usr/src/glibc/glibc-*.tar.xz' | tail -n 1 || true)
[[ -n $archive ]] || { echo "skipped: there is no /usr/src/glibc/glibc-*.tar.xz (Debian's package glibc-source)"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/kolk-glibc.XXXXXX")
trap 'rm -rf "$work"' EXIT
unset KOLK_DEBUG KOLK_STATS KOLK_BYPASS KOLK_SIZES KOLK_FAIL LD_PRELOAD GLIBC_TUNABLES MALLOC_CHECK_
export LC_ALL=C TMPDIR=$work

declare -A why # the reason why a test is left out
because() {
  local name
  for name in "${@:2}"; do why[tst-$name]=$1; done
}
because "it is of glibc's inside" alloc_buffer dynarray dynarray-fail dynarray-at-fail scratch_buffer
because "it is a part of other tests" interpose-aux interpose-skeleton interpose-aux-nothread interpose-aux-thread
because "it brings a malloc of its own" interpose-nothread interpose-thread interpose-static-nothread interpose-static-thread
because "it needs symbols that are for old programs only" compathooks-off compathooks-on mallocstate
because "it is of mtrace, a part of glibc's malloc" mtrace
because "it is of glibc's tunables or MALLOC_CHECK_" malloc-usable malloc-usable-tunables mxfast
because "it is of malloc_stats, which tells of glibc's own heap" malloc-stats-cancellation
because "it overwrites what glibc keeps in its blocks" safe-linking malloc-backtrace

# Unpacks the tests, and replaces glibc's support headers by one header. Shortens long tests.
unpack() {
  local name
  tar -xJf "$archive" -C "$work" --strip-components=1 --wildcards '*/malloc/tst-*.c'
  sed -i -e 's/iterations = 10000/iterations = 200/; s/threads = 100000/threads = 15000/' \
    -e 's/target = 200 \* 1024 \* 1024/target = 64 * 1024 * 1024/' "$work"/malloc/*.c
  mkdir "$work/support" "$work/made"
  for name in support/{check,support,xthread,xunistd,xsignal,temp_file,test-driver}.h {libc-diag,array_length,malloc-size}.h; do
    echo "#include \"$support\"" > "$work/$name"
  done
  for name in support/test-driver.c test-skeleton.c; do
    printf '#define KOLK_MAIN\n#include "%s"\n' "$support" > "$work/$name"
  done
}

# A test's own alarm usually ends it first, after 60 s.
passes() { timeout --signal=KILL 90 "$@" > "$work/said" 2>&1 < /dev/null; }

# Runs one test; returns 1 if it passes only with glibc's malloc.
compare() {
  local name=$1
  if [[ -n ${why[$name]:-} ]]; then
    echo "$name: left out, as ${why[$name]}"
  elif ! "$CC" -std=gnu11 -O1 -w -fno-builtin -pthread -D_GNU_SOURCE -I"$work" "$work/malloc/$name.c" -o "$work/made/$name" \
    > "$work/said" 2>&1; then
    echo "$name: left out, as it does not compile by itself: $(grep -m 1 'error\|undefined' "$work/said" || true)"
  elif passes env LD_PRELOAD="$library" "$work/made/$name"; then
    passed=$((passed + 1))
  else
    mv "$work/said" "$work/said by kolk"
    if passes "$work/made/$name"; then
      echo "$name: FAILED under libkolk-malloc.so:"
      tail -n 20 "$work/said by kolk"
      return 1
    fi
    echo "$name: left out, as glibc's malloc does not pass it here: $(tail -n 1 "$work/said")"
  fi
}

unpack
passed=0
failed=0
for file in "$work"/malloc/tst-${2:-*}.c; do
  compare "$(basename "$file" .c)" || failed=$((failed + 1))
done
echo "$passed of glibc's tests pass under libkolk-malloc.so, $failed with glibc's malloc only"
[[ $failed == 0 && ($passed -ge 25 || -n ${2:-}) ]]
