#!/bin/sh
# Formats all C and C++ files, or with --check says which are not formatted.
# Usage: tools/format.sh [--check]
set -eu
if [ "${1:-}" = --check ]; then set -- --dry-run -Werror; else set -- -i; fi
tools/files.sh | xargs clang-format-14 "$@"
