#!/bin/bash
# Builds the page with a small game: web/*.c and the two files of make dist, with the members that they use, by emscripten; then
# all of it as one file that needs nothing else.
# Usage: tools/web.sh FOLDER    where kolk.html is put
set -euo pipefail
folder=${1:?usage: tools/web.sh FOLDER}
mkdir -p "$folder"
tools/dist.py two "$folder" pool slotmap bytemap queue > /dev/null
# Without emscripten's own loader: page.js answers what the program asks of a system.
emcc -std=c11 -Os -Wall -Wextra -Werror -DKOLK_NO_DIAGNOSTICS -ffunction-sections -I"$folder" web/*.c "$folder/kolk.c" \
  -sSTANDALONE_WASM --no-entry -sALLOW_MEMORY_GROWTH -o "$folder/game.wasm"
python3 - "$folder" << 'END'
import base64, pathlib, sys

folder = pathlib.Path(sys.argv[1])
page = pathlib.Path("web/page.html").read_text(encoding="utf-8")
parts = {
    "@VERSION@": pathlib.Path("VERSION").read_text().strip(),
    "@WASM@": base64.b64encode((folder / "game.wasm").read_bytes()).decode(),
    "@SCRIPT@\n": "".join(pathlib.Path("web", name).read_text(encoding="utf-8") for name in ("page.js", "classics.js")),
}
for name, text in parts.items():
    if page.count(name) != 1:
        sys.exit(f"tools/web.sh: page.html has {name} {page.count(name)} times")
    page = page.replace(name, text)
(folder / "kolk.html").write_text(page, encoding="utf-8")
END
