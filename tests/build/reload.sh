#!/bin/bash
# runs: long
# Builds examples/reload, two programs and two versions of the module that they load, and runs them, with and without
# debug mode: they must print the contents of examples/reload.expected, and nothing to stderr. A module whose struct has
# grown is refused.
# Usage: CC=... reload.sh LIBRARY
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

compile=("$CC" -std=c11 -O2 -Wall -Wextra -Wpedantic -Werror -Iinclude)
"${compile[@]}" -rdynamic examples/reload/main.c -Wl,--whole-archive "$1" -Wl,--no-whole-archive \
  -o "$folder/reload" -pthread -ldl
for version in 1 2; do
  "${compile[@]}" -fPIC -shared -DVERSION=$version examples/reload/game/game.c -o "$folder/game$version.so"
done
sed 's/int number, x;/int number, x, y;/' examples/reload/world.h > "$folder/world.h"
mkdir "$folder/game"
cp examples/reload/game/game.c "$folder/game"
"${compile[@]}" -fPIC -shared -DVERSION=2 "$folder/game/game.c" -o "$folder/grown.so"

for debug in '' all; do
  KOLK_DEBUG=$debug "$folder/reload" "$folder/game1.so" "$folder/game2.so" > "$folder/said" 2>&1
  diff -u examples/reload.expected "$folder/said"
done

# The same in a window, as users run SDL's programs on machines without a screen.
if pkg-config --exists sdl2 && echo '#include <SDL.h>' | "$CC" -E $(pkg-config --cflags sdl2) - > /dev/null 2>&1; then
  read -ra sdl <<< "$(pkg-config --cflags --libs sdl2)"
  "${compile[@]}" -rdynamic examples/reload/window.c "${sdl[@]}" -Wl,--whole-archive "$1" -Wl,--no-whole-archive \
    -o "$folder/window" -pthread -ldl
  SDL_VIDEODRIVER=dummy KOLK_DEBUG=all "$folder/window" "$folder/game1.so" "$folder/game2.so" ..r..n.q > "$folder/said" 2>&1
  diff -u examples/reload.expected "$folder/said"
  echo "the game is reloaded in a window"
else
  echo "the window is left out: this needs libsdl2-dev for this compiler"
fi

said=$("$folder/reload" "$folder/game1.so" "$folder/grown.so" 2>&1 >&-) && { echo "the grown struct is accepted" >&2; exit 1; }
[[ $said == *"cannot take over: the objects' size or alignment is not the one that the pool was initialised with"* ]] || {
  echo "$said" >&2
  exit 1
}
echo "the game is reloaded in both orders"
