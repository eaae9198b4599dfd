#!/bin/bash
# Measures particles in Lua 5.4 and LuaJIT: as tables, in a pool of the module, and in a pool of LuaJIT's FFI. Each way
# runs five times, in turn; prints the medians. Usage: bench/lua.sh LIBKOLK.so
set -euo pipefail
library=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
read -ra flags <<< "$(pkg-config --cflags lua5.4)"
cc -O2 -shared -fPIC -Iinclude "${flags[@]}" bindings/lua/kolk_lua.c "$library" -Wl,-rpath,"${library%/*}" -o "$work/kolk.so"
export LUA_CPATH="$work/?.so"
tools/api.py "$work"

ways=("lua5.4 tables" "lua5.4 module" "luajit tables" "luajit ffi")
for _ in 1 2 3 4 5; do
  for way in "${ways[@]}"; do
    echo "$way $(${way% *} bench/lua/particles.lua ${way#* } "$library" "$work/kolk_ffi.h")" >> "$work/times"
  done
done
[[ $(cut -d' ' -f5 "$work/times" | sort -u | wc -l) == 1 ]] || echo "The ways have different sums." >&2
echo "way, median frame in ms, longest frame in ms"
for way in "${ways[@]}"; do
  median() { grep "^$way " "$work/times" | cut -d' ' -f"$1" | sort -n | sed -n 3p; }
  echo "$way: $(median 3) $(median 4)"
done
