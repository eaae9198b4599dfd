#!/bin/bash
# runs: long once
# A program and the libraries that it loads all contain kolk. Either the dynamic linker binds the libraries to the
# program's copy of kolk, and pools may outlive a library; or each has a copy with pools of its own, and reports on those
# when it is unloaded.
# Usage: CC=... copies.sh
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

{
  echo '#include "src/os/system.h"' # comes before the first header of the C library
  printf '#include "%s"\n' src/*/*.c
} > "$folder/all.c"
compile=("$CC" -std=c11 -O0 -fPIC -Wall -Wextra -Werror -Iinclude -I.)
"${compile[@]}" -c "$folder/all.c" -o "$folder/kolk.o"
ar rcs "$folder/libkolk.a" "$folder/kolk.o"

module() { # NAME OPTION...: makes NAME1.so and NAME2.so
  "${compile[@]}" -shared tests/build/copies_module.c "${@:2}" -o "$folder/${1}1.so" -pthread
  cp "$folder/${1}1.so" "$folder/${1}2.so"
}
module plain "$folder/kolk.o"
module symbolic -Wl,-Bsymbolic "$folder/kolk.o"
module excluded -Wl,--exclude-libs,ALL -L"$folder" -lkolk
module without
"${compile[@]}" tests/build/copies.c "$folder/kolk.o" -o "$folder/closed" -pthread -ldl
"${compile[@]}" -rdynamic tests/build/copies.c "$folder/kolk.o" -o "$folder/open" -pthread -ldl

check() { # SETTING HOST MODULE STEPS EXPECTED: what stderr must have, without the sites of allocs; it is a pattern
  local said
  said=$(env "$1" "$folder/$2" "$folder/${3}1.so" "$folder/${3}2.so" "$4" 2>&1 | sed 's/; allocated by .*//' | tr '\n' '|') || true
  [[ $said == $5 ]] && return
  printf '%s %s %s %s says\n%s\nnot\n%s\n' "$1" "$2" "$3" "$4" "$said" "$5" >&2
  exit 1
}

lost='not deinit?d before its kolk is unloaded with the library that contains it: it is lost'
alive='objects are still alive, the oldest in slot 0'
hosts="exit|kolk: hosts: 5 $alive|"
own() { # HOST MODULE: each has a copy of its own
  check KOLK_DEBUG=all "$1" "$2" h1kea "h|1|k|e|a|$hosts"
  check KOLK_DEBUG=all "$1" "$2" h1ka "h|1|k|a|kolk: kept: 3 $alive|kolk: kept: $lost|$hosts"
  check KOLK_DEBUG=all "$1" "$2" h1k2kaeb "h|1|k|2|k|a|kolk: kept: 3 $alive|kolk: kept: $lost|e|b|$hosts"
  check KOLK_DEBUG=fill:hosts "$1" "$2" h1kea 'h|1|k|e|a|exit|'
  check KOLK_DEBUG=all "$1" "$2" 1wd2wdab '1|w|d|2|w|d|a|b|exit|'
  check KOLK_DEBUG= "$1" "$2" 1w2d '1|w|2|d|kolk: world: it was never initialised, or is a copy of a pool that is deinit?d, or belongs to another copy of kolk*'
}
one() { # HOST MODULE: both use the program's copy
  local debug
  for debug in '' all; do
    check KOLK_DEBUG=$debug "$1" "$2" 1wu2uaudb '1|w|u|2|u|a|u|d|b|exit|'
    check KOLK_DEBUG=$debug "$1" "$2" 1wua2udb '1|w|u|a|2|u|d|b|exit|'
  done
  check KOLK_DEBUG=all "$1" "$2" 1wa "1|w|a|exit|kolk: world: 3 $alive|" # its name lay in the library
  check KOLK_DEBUG=all "$1" "$2" h1kea "h|1|k|e|a|$hosts"
  check KOLK_DEBUG=all "$1" "$2" h1ka "h|1|k|a|${hosts}kolk: kept: its storage was freed or went out of scope without a deinit, or it was moved: what it had is lost|"
}
own closed plain
own closed symbolic
own closed excluded
own open symbolic
own open excluded
one open plain
one open without
echo "copies of kolk in one process keep to their own pools"
