#!/bin/bash
# runs: long once
# Makes gdb print what tests/build/gdb/program.c has of each member of the family, in the running program and in its core
# dump (`lost` only there), with and without optimisation, with the script inside the shared library and with the
# installed one, and with a library that was compiled without debug information. The files beside the program are
# dialogues: each line that begins with "> " is a command, and gdb must print exactly the lines after it, with N in place
# of the numbers of threads and processes, and ADDRESS in place of the addresses of items. No command may call a function
# of the program: that is impossible in a core dump, and in gdb 13 on processors with AMX. A string literal in an
# expression is such a call, as gdb allocates it with the program's malloc.
# Usage: CC=... gdb.sh BUILD
set -euo pipefail
. tests/help/script.sh
build=$(realpath "$1")
work=$(mktemp -d "${TMPDIR:-/tmp}/kolk gdb.XXXXXX")
trap 'rm -rf "$work"' EXIT
unset KOLK_DEBUG KOLK_STATS KOLK_BYPASS
export LC_ALL=C
command -v gdb > /dev/null || skip "there is no gdb"
gdb -nx -batch -ex 'python print("here")' 2>&1 | grep '^here$' > /dev/null || skip "this gdb has no Python"
gdb -nx -batch -ex run --args "$(command -v true)" 2>&1 | grep 'exited normally' > /dev/null || skip "gdb may run no programs here"

# The build's optimisation level, and the best level for gdb.
for level in 0 2; do
  "$CC" -std=c11 -g "-O$level" -Iinclude tests/build/gdb/program.c -L"$build" -lkolk -pthread -o "$work/program$level"
done

dialogues=(pools maps shared between queues resources)
if readelf -h "$work/program0" | grep ELF64 > /dev/null; then dialogues+=(heaps); fi # heaps are for 64 bits

# ask DIALOGUE... -- GDB'S ARGUMENTS: has these dialogues in one session. If an address has a name, the name is compared.
ask() {
  local line files=() commands=()
  echo "${*//"$work"/WORK}"
  while [[ $1 != -- ]]; do
    files+=("tests/build/gdb/$1")
    shift
  done
  cat "${files[@]}" > "$work/expected"
  while read -r line; do
    commands+=(-ex "echo > $line\\n" -ex "$line")
  done < <(sed -n 's/^> //p' "$work/expected")
  gdb -nx -batch -iex 'set debuginfod enabled off' -iex 'set may-call-functions off' "${@:2}" "${commands[@]}" \
    > "$work/all" 2>&1 || true
  sed -n '/^> /,$ { s/^\$[0-9]* = //; s/0x[0-9a-f]* \([<"]\)/\1/g; s/thread [0-9]*/thread N/g
    s/\] = 0x[0-9a-f]*\([,}]\)/] = ADDRESS\1/g; s/pid [0-9]*/pid N/g; p }' "$work/all" > "$work/said"
  diff -u "$work/expected" "$work/said"
  ! grep -A 9 Traceback "$work/all"
}

to_stop=(-ex 'break stop' -ex run)
use() { # FOLDER: with the library there
  trust=(-iex "add-auto-load-safe-path $1")
  library=(-iex "set environment LD_LIBRARY_PATH $1")
}

use "$build"
for level in 0 2; do
  core=$work/core$level
  ask "${dialogues[@]}" -- "${trust[@]}" "${library[@]}" "${to_stop[@]}" -ex "generate-core-file $core" "$work/program$level"
  ask "${dialogues[@]}" lost -- "${trust[@]}" "$work/program$level" "$core"
done
ask damage -- "${trust[@]}" "${library[@]}" "${to_stop[@]}" "$work/program0"
ask bypass -- "${trust[@]}" "${library[@]}" -ex 'set environment KOLK_BYPASS 1' "${to_stop[@]}" "$work/program0"

# A library as the build type Release compiles it, in which only embed.c has debug information. The other objects are
# those of this build, without what -g has added to them.
release=$work/release
cmake -S . -B "$release" -G 'Unix Makefiles' -DCMAKE_C_COMPILER="$CC" -DCMAKE_BUILD_TYPE=Release -DKOLK_BUILD_CLI=OFF \
  -DKOLK_BUILD_ADAPTERS=OFF -DKOLK_BUILD_MALLOC=OFF > "$work/log" && make -C "$release" debug/embed.c.o >> "$work/log" ||
  { cat "$work/log"; exit 1; }
types=CMakeFiles/kolk-shared.dir/debug/embed.c.o
if grep -aF -e "$PWD" -e "$build" -e "$work" "$build/$types" "$release/$types"; then
  echo "embed.c.o has paths of this machine" >&2
  exit 1
fi
cp -r "$build/CMakeFiles/kolk-shared.dir" "$work/objects"
rm "$work/objects/debug/embed.c.o"
find "$work/objects" -name '*.o' -exec strip --strip-debug {} + -exec "$CC" -shared -pthread -Wl,-soname,libkolk.so.1 \
  -o "$release/libkolk.so.1" "$release/$types" {} +
use "$release"
ask "${dialogues[@]}" -- "${trust[@]}" "${library[@]}" "${to_stop[@]}" -ex "generate-core-file $work/core" "$work/program2"
ask "${dialogues[@]}" -- "${trust[@]}" "$work/program2" "$work/core"

# Installed under gdb's own prefix: gdb finds the script twice, or once if the library is stripped.
cmake --install "$build" --prefix "$work/usr" > /dev/null
installed=$(dirname "$(find "$work/usr" -name libkolk.so)")
use "$installed"
trust=(-iex "add-auto-load-safe-path $work/usr" -iex "add-auto-load-scripts-directory $work/usr/share/gdb/auto-load")
ask pools -- "${trust[@]}" "${library[@]}" "${to_stop[@]}" "$work/program2"
strip "$installed/libkolk.so"
ask pools -- "${trust[@]}" "${library[@]}" "${to_stop[@]}" "$work/program2"
ask stripped -- "${trust[@]}" "${library[@]}" -ex 'set environment KOLK_BYPASS 1' "${to_stop[@]}" "$work/program2"
