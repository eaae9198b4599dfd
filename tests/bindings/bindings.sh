#!/bin/bash
# kolk from other languages.
#     headers   bindings/api.json and kolk_ffi.h say what the headers say, and list exactly the functions of libkolk.so
#     python    a program with ctypes, and one with cffi, which reads kolk_ffi.h; sizes are those in api.json
#     luajit    a program of LuaJIT, whose FFI reads kolk_ffi.h; and the promises of bindings/lua/kolk_ffi.lua
#     lua       the module for Lua 5.4: its promises in lua5.4, and in a program with AddressSanitizer and pools of its
#               own; random operations against a model; and random nonsense, in every debug mode
# Usage: CC=... bindings.sh WAY BUILD
set -euo pipefail
library=$(realpath "$2")/libkolk.so
python=/usr/bin/python3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "$*" >&2
  exit 1
}

skip() {
  echo "skipped: $*"
  exit 77
}

# Compiles kolk.h or kolk_ffi.h with what api.json says of sizes, offsets and enumerators.
asserts() { # HEADER
  "$python" - "$1" > "$work/asserts.c" << 'END'
import json, sys
api = json.load(open("bindings/api.json"))
print(f'#include <stddef.h>\n#include "{sys.argv[1]}"')
for struct in api["structs"]:
    name = struct["name"]
    print(f'_Static_assert(sizeof({name}) == {struct["size"]} && _Alignof({name}) == {struct["align"]}, "{name}");')
    for field in struct["fields"]:
        size = f'sizeof ((({name} *)0)->{field["name"]}) == {field["size"]}'
        print(f'_Static_assert(offsetof({name}, {field["name"]}) == {field["offset"]} && {size}, "{name}.{field["name"]}");')
for enum in api["enums"]:
    for value in enum["values"]:
        print(f'_Static_assert({value["name"]} == {value["value"]}, "{value["name"]}");')
END
  (($(grep -c _Static_assert "$work/asserts.c") > 500)) || fail "api.json describes too little."
  "$CC" -std=c11 -Wall -Wextra -pedantic -Werror -fsyntax-only -Iinclude -Ibindings "$work/asserts.c"
}

headers() {
  "$python" -c "import clang.cindex" 2> /dev/null || skip "there is no python3-clang-19"
  tools/api.py --check
  asserts kolk.h
  asserts kolk_ffi.h
  grep -oE '\bkolk_[a-z_0-9]*\(' bindings/kolk_ffi.h | tr -d '(' | sort > "$work/declared"
  nm -D --defined-only "$library" | awk '$2 == "T" && $3 !~ /_$/ { print $3 }' | sort > "$work/exported"
  diff "$work/declared" "$work/exported" || fail "kolk_ffi.h (<) and libkolk.so (>) have different functions."
}

python() {
  "$python" tests/bindings/python.py "$library" > "$work/said"
  diff -u tests/bindings/python.expected "$work/said"
  "$python" -c "import cffi" 2> /dev/null || skip "ctypes works, and there is no python3-cffi"
  "$python" tests/bindings/cffi_reads.py "$library" > "$work/said"
  diff -u tests/bindings/python.expected "$work/said"
}

# Runs the Nth program of Lua in docs/lua.md, and compares what it prints with what its comments say.
manual() { # N LUA
  awk -v n="$1" '/^```lua/ { if (++blocks == n) within = 1; next } /^```/ { within = 0 } within' docs/lua.md |
    sed "s|/usr/local/include/kolk_ffi.h|bindings/kolk_ffi.h|; s|libkolk.so.1|$library|" > "$work/manual.lua"
  command "$2" "$work/manual.lua" | tr '\t' ' ' > "$work/said"
  sed -nE 's/^print.* -- ([^:]*).*/\1/p' "$work/manual.lua" | tr -s ' ' | diff - "$work/said" || fail "docs/lua.md prints something else."
}

luajit() {
  command -v luajit > /dev/null || skip "there is no luajit"
  command luajit tests/bindings/luajit.lua "$library" > "$work/said"
  diff -u tests/bindings/python.expected "$work/said"
  command luajit tests/bindings/lua/ffi.lua "$library"
  LUA_PATH="bindings/lua/?.lua" manual 2 luajit
}

lua() {
  command -v lua5.4 > /dev/null || skip "there is no lua5.4"
  pkg-config --exists lua5.4 || skip "there is no liblua5.4-dev"
  local scripts=tests/bindings/lua seed=$((RANDOM * 32768 + RANDOM))
  local flags=(-std=c11 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wcast-qual -Werror -Iinclude)
  read -ra more <<< "$(pkg-config --cflags lua5.4)"
  flags+=("${more[@]}" "-L${library%/*}" "-Wl,-rpath,${library%/*}")
  "$CC" -O2 -shared -fPIC bindings/lua/kolk_lua.c "${flags[@]}" -lkolk -o "$work/kolk.so"
  echo '#include "kolk_lua.h"' > "$work/header.cc"
  "${CXX:-c++}" -std=c++17 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -Iinclude -Ibindings/lua "${more[@]}" "$work/header.cc"
  export LUA_CPATH="$work/?.so"
  lua5.4 $scripts/module.lua
  manual 1 lua5.4

  read -ra more <<< "$(pkg-config --libs lua5.4)"
  "$CC" -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all $scripts/host.c "${flags[@]}" -lkolk "${more[@]}" -o "$work/host"
  "$work/host" $scripts/module.lua
  "$work/host" $scripts/program.lua
  "$work/host" $scripts/model.lua 1000 $seed
  for setting in KOLK_BYPASS=1 KOLK_BYPASS=0 "KOLK_DEBUG=fill,guard,quarantine=8" "KOLK_DEBUG=all;move:a;move:slotmap" "KOLK_FAIL=*:every=7"; do
    echo "$setting"
    env KOLK_BYPASS=0 "$setting" "$work/host" $scripts/random.lua 10000 $seed
  done
}

"$1"
