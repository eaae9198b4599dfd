#!/bin/sh
# runs: long once
# Builds a program that looks up its own functions, in the usual ways of building and installing programs, and compares
# its output.
# Usage: CC=... sites.sh BUILD
set -eu
work=$(mktemp -d "${TMPDIR:-/tmp}/kolk sites.XXXXXX")
trap 'rm -rf "$work"' EXIT

fail() {
  echo "$*" >&2
  exit 1
}

# build FILE OPTIONS AND FILES
build() {
  file=$work/$1
  shift
  "$CC" -std=c11 -Iinclude "$@" -o "$file"
}

# A program: program NAME OPTIONS
program() {
  name=$1
  shift
  build "$name" -O1 "$@" tests/build/sites.c "$work/libkolk.a"
}

# The command, run in the programs' folder, must print these lines, with +N for each offset: expect "LINE LINE LINE"
# COMMAND
expect() {
  printf '%s\n' $1 > "$work/expected"
  shift
  (cd "$work" && "$@") > "$work/printed" || fail "$* failed."
  sed -i -e 's/+0x[0-9a-f]*/+N/' -e 's/ (/(/' "$work/printed"
  diff -u "$work/expected" "$work/printed" >&2 || fail "$* prints other words."
  echo "$*: $(head -n 1 "$work/printed")"
}

# The offset in a stripped program must be the address that addr2line takes for the full program: same_place STRIPPED
# FULL
same_place() {
  offset=$("$work/$1" | sed -n '1s/.*+//p')
  found=$(addr2line -f -e "$work/$2" "$(printf '0x%x' $((offset - 1)))" | head -n 1)
  [ "$found" = aim ] || fail "$1+$offset is in $found of $2."
}

aim="aim+N(sites.c:$(sed -n '/in aim/=' tests/build/sites.c))"
fire="fire+N(sites.c:$(sed -n '/in fire/=' tests/build/sites.c))"
full="$aim $fire kolk_status_text+N"
strip -g -o "$work/libkolk.a" "$1/libkolk.a"

program bare
expect "aim+N fire+N kolk_status_text+N" ./bare
program small -s
expect "small+N small+N small+N" ./small
program exported -s -rdynamic
expect "exported+N fire+N kolk_status_text+N" ./exported

if ! command -v addr2line > /dev/null; then
  echo "skipped: the places, as addr2line is missing"
  exit 0
fi
for options in "" -no-pie -static -static-pie; do
  if ! program "full$options" -g $options 2> "$work/messages"; then
    case $options in -static*) echo "skipped: $CC $options, for which libraries are missing"; continue ;; esac
    cat "$work/messages" >&2
    exit 1
  fi
  expect "$full" "./full$options"
  expect "aim+N fire+N kolk_status_text+N" env PATH=/nowhere "./full$options"
  strip -o "$work/stripped$options" "$work/full$options"
  expect "stripped$options+N stripped$options+N stripped$options+N" "./stripped$options"
  same_place "stripped$options" "full$options"
done

# Debug information in a separate file, next to the program.
objcopy --only-keep-debug "$work/full" "$work/apart.debug"
(cd "$work" && objcopy --strip-all --add-gnu-debuglink=apart.debug full apart)
expect "aim${aim#*+N} fire${fire#*+N} apart+N" ./apart

# From another folder, by another name, and after the program was deleted, or replaced by another one.
expect "$full" ./full leave
ln -s full "$work/link"
expect "$full" ./link
cp "$work/full" "$work/gone"
expect "$full" ./gone delete
cp "$work/full" "$work/replaced"
cp "$work/small" "$work/rebuilt"
expect "$full" ./replaced replace rebuilt

# The library as a module: its exported functions have names even if it is stripped.
if [ ! -e "$1/libkolk.so" ]; then
  echo "left out: a program with libkolk.so, which this build has not"
  exit
fi
for file in "$1"/libkolk.so*; do strip -s -o "$work/${file##*/}" "$file"; done
build shared -O1 -g tests/build/sites.c -L"$work" -Wl,-rpath,"$work" -lkolk
expect "$full" ./shared
