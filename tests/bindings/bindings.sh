#!/bin/bash
# runs: long once
# kolk from other languages.
#     headers   api.json and kolk_ffi.h say what the headers say, on other machines too, and list exactly the functions of
#               libkolk.so
#     python    a program with ctypes, and one with cffi, which reads kolk_ffi.h; sizes are those in api.json
#     luajit    a program of LuaJIT, whose FFI reads kolk_ffi.h; and the promises of bindings/lua/kolk_ffi.lua
#     lua       the module for Lua 5.4: its promises in lua5.4, and in a program with AddressSanitizer and pools of its
#               own; random operations against a model; and random nonsense, in every debug mode
#     rust      the crates: the generated declarations; the safe layer's tests, also with the debug mode and memcheck;
#               programs that the compiler must refuse; the example; build.rs; all of it by cargo, where there is cargo
# With KOLK_TEST_EFFORT=release, the random nonsense lasts five times as long.
# Usage: CC=... bindings.sh WAY BUILD
# promise: base.h "0 if there is no such struct"; README.md "[Lua](docs/lua.md), [Rust](docs/rust.md) or [others]"
set -euo pipefail
. tests/help/script.sh
library=$(realpath "$2")/libkolk.so
python=/usr/bin/python3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tools/api.py "$work"
header=$work/kolk_ffi.h

# Compiles kolk.h or kolk_ffi.h with what api.json says of types, sizes, offsets and enumerators.
asserts() { # HEADER
  "$python" - "$1" "$work/api.json" > "$work/asserts.c" << 'END'
import json, sys
api = json.load(open(sys.argv[2]))
same = "_Static_assert(__builtin_types_compatible_p(__typeof__({}), {}), {});".format
print(f'#include <stddef.h>\n#include "{sys.argv[1]}"')
for struct in api["structs"]:
    name = struct["name"]
    print(f'_Static_assert(sizeof({name}) == {struct["size"]} && _Alignof({name}) == {struct["align"]}, "{name}");')
    for field in struct["fields"]:
        size = f'sizeof ((({name} *)0)->{field["name"]}) == {field["size"]}'
        print(f'_Static_assert(offsetof({name}, {field["name"]}) == {field["offset"]} && {size}, "{name}.{field["name"]}");')
        print(same(f'(({name} *)0)->{field["name"]}', field["type"], f'"{name}.{field["name"]}"'))
for function in api["functions"]:
    parameters = ", ".join(each["type"] for each in function["parameters"]) or "void"
    print(same(function["name"], f'{function["returns"]}({parameters})', f'"{function["name"]}"'))
for enum in api["enums"]:
    for value in enum["values"]:
        print(f'_Static_assert({value["name"]} == {value["value"]}, "{value["name"]}");')
for constant in api["constants"]:
    if sys.argv[1] == "kolk.h" and constant["type"] == "uint32_t":
        print(f'_Static_assert({constant["name"]} == {constant["value"]}, "{constant["name"]}");')
END
  (($(grep -c _Static_assert "$work/asserts.c") > 1000)) || fail "api.json describes too little."
  "$CC" -std=c11 -Wall -Wextra -pedantic -Werror -fsyntax-only -Iinclude "-I$work" "$work/asserts.c"
}

# The enumerators and the structs of kolk_ffi.h must be those of kolk.h, on other machines too. On 32-bit x86 with Linux's ABI, docs/bindings.md
# names the exceptions: 64-bit atomics of C have a greater alignment there.
layouts() {
  "$python" - "$("$CC" -print-file-name=include)" "$header" << 'END'
import sys
from clang import cindex
EXCEPTIONS = {"i686-linux-gnu": {"kolk_budget", "kolk_ipc", "kolk_magazine_", "kolk_queue", "kolk_queue_end_"}}

def layouts(header, target):
    options = ["-std=c11", "-target", target, "-ffreestanding", "-U__STDC_HOSTED__", "-D__STDC_HOSTED__=1", "-DKOLK_EXTERN", "-Iinclude", "-isystem", sys.argv[1]]
    unit = cindex.Index.create().parse(header, args=options)
    assert not [each for each in unit.diagnostics if each.severity >= cindex.Diagnostic.Error], list(unit.diagnostics)
    found = {"": []}
    for cursor in unit.cursor.get_children():
        if cursor.kind == cindex.CursorKind.STRUCT_DECL and cursor.is_definition():
            fields = [(each.spelling, each.get_field_offsetof()) for each in cursor.type.get_fields()]
            found[cursor.spelling] = (cursor.type.get_size(), cursor.type.get_align(), fields)
        if cursor.kind == cindex.CursorKind.ENUM_DECL:
            found[""] += [(each.spelling, each.enum_value) for each in cursor.get_children()]
    return found

for target in ("x86_64-w64-windows-gnu", "aarch64-linux-gnu", "armv7-linux-gnueabihf", "i686-w64-windows-gnu", "i686-linux-gnu"):
    ours, theirs = layouts("include/kolk.h", target), layouts(sys.argv[2], target)
    wrong = {name for name in theirs if theirs[name] != ours[name]}
    assert len(theirs) > 40 and wrong == EXCEPTIONS.get(target, set()), f"{target}: {wrong}"
END
}

way_headers() {
  asserts kolk.h
  asserts kolk_ffi.h
  grep -oE '\bkolk_[a-z_0-9]*\(' "$header" | tr -d '(' | sort > "$work/declared"
  nm -D --defined-only "$library" | awk '$2 == "T" && $3 !~ /_$/ { print $3 }' | sort > "$work/exported"
  diff "$work/declared" "$work/exported" || fail "kolk_ffi.h (<) and libkolk.so (>) have different functions."
  "$python" -c "import clang.cindex" 2> /dev/null || skip "this machine is compared, and the others need python3-clang-19"
  layouts
}

way_python() {
  "$python" tests/bindings/python.py "$library" "$work/api.json" > "$work/said"
  diff -u tests/bindings/python.expected "$work/said"
  "$python" -c "import cffi" 2> /dev/null || skip "ctypes works, and there is no python3-cffi"
  "$python" tests/bindings/cffi_reads.py "$library" "$header" > "$work/said"
  diff -u tests/bindings/python.expected "$work/said"
}

# Runs the Nth program of Lua in docs/lua.md, and compares what it prints with what its comments say.
manual() { # N LUA
  awk -v n="$1" '/^```lua/ { if (++blocks == n) within = 1; next } /^```/ { within = 0 } within' docs/lua.md |
    sed "s|/usr/local/include/kolk_ffi.h|$header|; s|libkolk.so.1|$library|" > "$work/manual.lua"
  "$2" "$work/manual.lua" | tr '\t' ' ' > "$work/said"
  sed -nE 's/^print.* -- ([^:]*).*/\1/p' "$work/manual.lua" | tr -s ' ' | diff - "$work/said" || fail "docs/lua.md prints something else."
}

way_luajit() {
  command -v luajit > /dev/null || skip "there is no luajit"
  luajit tests/bindings/luajit.lua "$library" "$header" > "$work/said"
  diff -u tests/bindings/python.expected "$work/said"
  luajit tests/bindings/lua/ffi.lua "$library" "$header" 2> "$work/said" || fail "$(cat "$work/said")"
  [ ! -s "$work/said" ] || fail "Pools that the collector ends are reported: $(cat "$work/said")"
  export LUA_PATH="bindings/lua/?.lua"
  sed 's/^struct kolk_pool {/&int another_version;/' "$header" > "$work/another.h"
  luajit -e 'require "kolk_ffi" {header = arg[1], library = arg[2]}' - "$work/another.h" "$library" < /dev/null 2> "$work/said" || true
  grep -q "kolk_ffi.h and libkolk are of different versions" "$work/said" || fail "A header of another version is taken."
  cat > "$work/twice.lua" << 'END'
local pool = require "kolk_ffi" {header = arg[2], library = arg[1]}.pool("int", {name = "twice", capacity = 300})
local all = {}
for i = 1, 300 do all[i] = pool:alloc() end
all[200] = all[199]
for i = 1, 300 do pool:free(all[i]) end -- LuaJIT has compiled it when the 200th comes
END
  { luajit "$work/twice.lua" "$library" "$header" || true; } 2> "$work/said"
  grep -q "kolk: twice: double free of slot 198" "$work/said" || fail "Compiled code frees an object twice without a sentence."
  manual 2 luajit
}

way_lua() {
  command -v lua5.4 > /dev/null || skip "there is no lua5.4"
  pkg-config --exists lua5.4 || skip "there is no liblua5.4-dev"
  local scripts=tests/bindings/lua seed=$((RANDOM * 32768 + RANDOM)) operations=4000
  [ "${KOLK_TEST_EFFORT:-}" != release ] || operations=20000
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
    env KOLK_BYPASS=0 "$setting" "$work/host" $scripts/random.lua $operations $seed
  done
}

# The lines of a program that rustc refuses must be those that end with the number of the error.
refused() { # FILE
  "$RUSTC" "${edition[@]}" --emit=metadata --error-format=short -L "$work" --extern kolk="$work/libkolk.rlib" "$1" --out-dir "$work" \
    2> "$work/errors" && fail "$1 compiles."
  sed -nE 's/^[^:]*:([0-9]+):[0-9]+: error\[(E[0-9]+)\].*/\1 \2/p' "$work/errors" | sort -n > "$work/refused"
  grep -n '//~' "$1" | sed -E 's|^([0-9]+):.*//~ |\1 |' > "$work/expected"
  diff -u "$work/expected" "$work/refused" || { cat "$work/errors"; fail "$1: lines that should be refused (-) and that are (+)"; }
}

# What build.rs tells cargo.
told() { # EXPECTED VARIABLE=VALUE...
  env -u KOLK_LIB_DIR -u KOLK_STATIC "${@:2}" "$work/build" | grep -v rerun > "$work/said" || true
  grep -qxF "$1" "$work/said" || { cat "$work/said"; fail "build.rs does not say $1"; }
}

# The first block of this language in a page.
fenced() { # LANGUAGE PAGE
  awk -v begin="^\`\`\`$1\$" '$0 ~ begin { within = 1; next } /^```/ && within { exit } within' "$2"
}

# Runs the programs in the comments of a crate.
documented() { # FILE PROGRAMS [ARGUMENT...]
  LD_LIBRARY_PATH=${library%/*} "${RUSTC/%rustc/rustdoc}" --test --edition 2021 "$1" -L "$work" -L "${library%/*}" \
    --extern kolk="$work/libkolk.rlib" "${@:3}" > "$work/said" 2>&1 || { cat "$work/said"; fail "$1 has a program that fails."; }
  grep -q "test result: ok. $2 passed" "$work/said" || { cat "$work/said"; fail "$1 has not $2 programs."; }
}

way_rust() {
  tools/rust.py --check
  RUSTC=${RUSTC:-rustc}
  command -v "$RUSTC" > /dev/null || skip "the declarations are as generated, and there is no rustc"
  local crates=bindings/rust folder=${library%/*} edition=(--edition 2021 -D warnings)
  local links=(-L "$work" --extern kolk="$work/libkolk.rlib" -L "$folder" -C "link-arg=-Wl,-rpath,$folder")
  # As docs/rust.md prints it: the commands, and the program, whose assertions hold.
  cp -r $crates/kolk $crates/kolk-sys "$work"
  fenced rust docs/rust.md > "$work/game.rs"
  fenced sh docs/rust.md | sed "s|--edition 2021|${edition[*]}|; s|/usr/local/lib|$folder|; s|^rustc |$RUSTC |" > "$work/commands"
  (cd "$work" && sh -e commands && LD_LIBRARY_PATH=$folder ./game) || fail "docs/rust.md: its commands fail."
  "$RUSTC" "${edition[@]}" --test $crates/kolk-sys/src/lib.rs -L "$folder" -l kolk -o "$work/offsets"
  "$work/offsets" > "$work/said" || { cat "$work/said"; fail "fields of kolk_sys are not where C has them."; }
  for kind in borrows types; do refused $crates/kolk/tests/refused/$kind.rs; done
  "$RUSTC" "${edition[@]}" $crates/kolk/examples/bullets.rs "${links[@]}" -o "$work/bullets"
  "$work/bullets" > "$work/said"
  diff -u $crates/kolk/examples/bullets.expected "$work/said"
  "$RUSTC" "${edition[@]}" --emit=metadata $crates/kolk/examples/bench.rs "${links[@]}" --out-dir "$work"
  documented $crates/kolk/src/lib.rs 1 --crate-name kolk --extern kolk_sys="$work/libkolk_sys.rlib"

  "$RUSTC" "${edition[@]}" --test $crates/kolk/tests/safe.rs "${links[@]}" -o "$work/safe"
  export RUST_BACKTRACE=0
  "$work/safe" --quiet
  # The debug mode reports handles of other pools, and pools that are not deinitialised.
  KOLK_DEBUG=fill,guard,quarantine=8,sites=1 KOLK_STEPS=1000 "$work/safe" --quiet --skip any_bits --skip from_thread --skip reuses 2> "$work/said"
  if grep "kolk: " "$work/said"; then fail "The debug mode reports mistakes of the crate."; fi
  # Under memcheck, each object is a block of malloc, so there are no pages to trim.
  if command -v valgrind > /dev/null; then
    local leaks=(--leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite)
    KOLK_STEPS=300 valgrind -q --error-exitcode=1 "${leaks[@]}" "$work/safe" --quiet --test-threads=1 --skip grows
  else
    echo "left out: memcheck, as there is no valgrind"
  fi

  "$RUSTC" "${edition[@]}" $crates/kolk-sys/build.rs -o "$work/build"
  told cargo:rustc-link-search=native=/else/where KOLK_LIB_DIR=/else/where
  told cargo:rustc-link-lib=dylib=kolk KOLK_LIB_DIR=/else/where
  told cargo:rustc-link-lib=static=kolk KOLK_LIB_DIR=/else/where KOLK_STATIC=1
  printf 'Name: kolk\nDescription: kolk\nVersion: 1\nLibs: -L/some/where -lkolk\nLibs.private: -pthread -lm\n' > "$work/kolk.pc"
  told cargo:rustc-link-search=native=/some/where PKG_CONFIG_PATH="$work"
  mkdir -p "$work/a prefix of words/pc"
  sed 's|^Libs:.*|Libs: -L${pcfiledir}/lib -L"/with quotes" -lkolk|' "$work/kolk.pc" > "$work/a prefix of words/pc/kolk.pc"
  told "cargo:rustc-link-search=native=$work/a prefix of words/pc/lib" PKG_CONFIG_PATH="$work/a prefix of words/pc"
  told "cargo:rustc-link-search=native=/with quotes" PKG_CONFIG_PATH="$work/a prefix of words/pc"
  told cargo:rustc-link-lib=static=kolk PKG_CONFIG_PATH="$work" KOLK_STATIC=1
  told cargo:rustc-link-lib=dylib=m PKG_CONFIG_PATH="$work" KOLK_STATIC=1
  env -u KOLK_LIB_DIR PKG_CONFIG=/no/pkg-config "$work/build" > /dev/null 2> "$work/said" && fail "build.rs finds no kolk, and succeeds."
  grep -q "set KOLK_LIB_DIR to the folder of libkolk" "$work/said"

  command -v cargo > /dev/null || { echo "left out: cargo, as there is none"; return; }
  cp -r $crates "$work/crates"
  cd "$work/crates"
  env -u RUSTC LD_LIBRARY_PATH="$folder" KOLK_LIB_DIR="$folder" cargo run --offline --quiet --example bullets > "$work/said"
  diff -u kolk/examples/bullets.expected "$work/said"
}

"way_$1"
