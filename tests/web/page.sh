#!/bin/bash
# runs: long once
# The page of make web in a real browser, from a file: the game by keys and by mouse, rewound, and playing itself; stolen voices;
# the small pools; reduced motion, no request, a clean console, and no complaint of axe-core, a checker of accessibility; in
# light and dark, wide and as narrow as a phone.
# Usage: page.sh BUILD    where axe-core is kept
# promise: README.md "`make web` builds this page"
set -euo pipefail
. tests/help/script.sh
need_browser "$1"
command -v emcc > /dev/null || skip "there is no emscripten"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
tools/web.sh "$folder"
timeout 600 node tests/web/page.js "$browser" "$folder" "$axe"
