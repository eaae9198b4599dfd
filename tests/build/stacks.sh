#!/bin/sh
# runs: long once
# Builds tests/build/stacks.c in the usual ways of building programs, and compares the calls named in its report of a
# double free with its source. KOLK_TEST_EFFORT=quick: in one way; full: in most of them.
# Usage: CC=... stacks.sh BUILD
# promise: base.h "It names at most ... calls cover", "they name the three ... out, it is 3"
set -eu
work=$(mktemp -d "${TMPDIR:-/tmp}/kolk stacks.XXXXXX")
trap 'rm -rf "$work"' EXIT
effort=${KOLK_TEST_EFFORT:-release}
tried=0

fail() {
  echo "$*" >&2
  exit 1
}

case ${CC##*/} in
  gcc | clang) ;;
  *)
    echo "skipped: it is tried with the machine's own gcc and clang, not with $CC"
    exit 77 ;;
esac
if ! command -v addr2line > /dev/null; then
  echo "skipped: addr2line is missing"
  exit 77
fi

line() { sed -n "\|/\* $1 \*/|=" tests/build/stacks.c; }
drop="message_drop (stacks.c:$(line 'in message_drop'))" new="message_new (stacks.c:$(line 'in message_new'))"
time_out="time_out (stacks.c:$(line 'in time_out'))" post="post (stacks.c:$(line 'in post'))"
later="tick (stacks.c:$(line 'in tick, later'))" first="tick (stacks.c:$(line 'in tick, the first'))"
main="main (stacks.c:$(line 'in main'))"
three="$drop < $time_out < $later; allocated by $new < $post < $first, freed by $drop < $time_out < $later"
four="$drop < $time_out < $later < $main; allocated by $new < $post < $first < $main, freed by $drop < $time_out < $later < $main"
one="$drop; allocated by $new, freed by $drop"

# check SETTING WORDS OPTIONS AND FILES: the report must have these words, without the offsets.
check() {
  setting=$1 expected="kolk: messages: double free of slot 0 by $2"
  shift 2
  "$cc" -std=c11 -g -Iinclude "$@" -pthread -o "$work/stacks" > "$work/messages" 2>&1 || {
    case " $* " in *" -static"* | *" -flto "*)
      echo "skipped: $cc $*: $(head -n 1 "$work/messages")"
      return ;;
    esac
    cat "$work/messages" >&2
    fail "$cc $* fails."
  }
  KOLK_BYPASS=0 KOLK_DEBUG=$setting "$work/stacks" > "$work/printed" 2>&1 && fail "$cc $*: nothing is reported."
  said=$(head -n 1 "$work/printed" | sed 's/+0x[0-9a-f]*//g')
  [ "$said" = "$expected" ] || fail "$cc $*, KOLK_DEBUG=$setting:
 it says   $said
 should be $expected"
  tried=$((tried + 1))
}

# check_local OPTIONS AND FILES: the report must name the function into which a typed one was inlined, also without
# debug information.
check_local() {
  "$cc" -std=c11 -Iinclude tests/build/stacks_local.c "$@" -pthread -o "$work/local"
  "$work/local" > "$work/printed" 2>&1 && fail "$cc $*: nothing is reported."
  said=$(head -n 1 "$work/printed" | sed 's/+0x[0-9a-f]*//g')
  case $said in
    *"alloc through a local whose pool is deinit'd by take < main") tried=$((tried + 1)) ;;
    *) fail "$cc $*: it says $said" ;;
  esac
}

program=tests/build/stacks.c
# The parts of the library that a program with a pool needs, as one file, which compiles in half the time; without
# base.c, which emits functions that are inline elsewhere, and without what reads all kinds of pools in other processes.
{
  echo '#include "src/os/system.h"'
  printf '#include "%s"\n' src/base/*.c src/core/*.c src/os/*.c src/watch/*.c src/pool/*.c | sed '/\/base.c"$/d; /remote/d'
} > "$work/kolk.c"
for cc in gcc clang; do
  if ! command -v $cc > /dev/null; then
    echo "skipped: $cc is missing"
    continue
  fi
  if [ $cc = clang ] && ! command -v llvm-addr2line > /dev/null; then
    echo "skipped: clang, without llvm-addr2line"
    continue
  fi
  library=$1/libkolk.a
  check sites "$three" -O2 $program "$library"
  check_local -O2 "$library"
  check sites "$three" -O0 -DALLOC=messages_alloc_zeroed $program "$library"
  [ "$effort" = quick ] && continue
  check sites=4 "$four" -O2 $program "$library"
  check sites=1 "$one" -O0 $program "$library"
  levels="-O0 -O2"
  [ "$effort" = full ] || levels="-O0 -Og -O1 -O2 -O3 -Os"
  for level in $levels; do
    check_local $level "$library"
    check sites "$three" $level $program "$library"
    check sites "$three" $level -DALLOC=messages_alloc_zeroed $program "$library"
  done
  check sites "$three" -O2 -no-pie $program "$library"
  check sites "$three" -O2 -static $program "$library"
  check sites "$three" -O2 -fno-omit-frame-pointer $program "$library"
  check sites "$three" -O2 $program -L"$1" -Wl,-rpath,"$1" -lkolk
  check sites "$three" -O0 $program -L"$1" -Wl,-rpath,"$1" -lkolk
  [ $cc = clang ] || check sites "$three" -Og -I. $program "$work/kolk.c" src/base/base.c
  linker=bfd
  [ $cc = clang ] && linker=lld
  check sites "$three" -O2 -flto -fuse-ld=$linker -I. $program "$work/kolk.c" src/base/base.c
done
for verb in $(sed -nE 's/.*name##_((alloc|free)_[a-z]+)\(.*/\1/p' include/kolk/typed.h | grep -v free_count); do
  grep -q "\"_$verb\"" src/watch/sites_call.c || fail "sites_call.c does not know that there are typed functions with $verb."
done
[ $tried -gt 0 ] || { echo "skipped: no compiler"; exit 77; }
echo "$tried programs say where they were"
