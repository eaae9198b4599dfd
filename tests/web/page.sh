#!/bin/bash
# The page of make web in a real browser, from a file: the mouse, keys, the numbers that each policy promises, a handle that
# goes stale, reduced motion, no request, a clean console, and no complaint of axe-core, a checker of accessibility; in light
# and dark, wide and as narrow as a phone.
# Usage: page.sh BUILD    where axe-core is kept
set -euo pipefail

skip() {
  echo "skipped: $*"
  exit 77
}
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip "there is no chromium"
command -v emcc > /dev/null || skip "there is no emscripten"
command -v npm > /dev/null || skip "there is no npm, which fetches axe-core"
axe=$1/npm/node_modules/axe-core/axe.min.js
[[ -e $axe ]] || npm install --silent --no-audit --no-fund --no-save --prefix "$1/npm" axe-core@4.10.3 > /dev/null 2>&1 ||
  skip "axe-core cannot be fetched"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
tools/web.sh "$folder"
timeout 240 node tests/web/page.js "$browser" "$folder" "$(realpath "$axe")"
