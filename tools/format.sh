#!/bin/sh
# Formats all C and C++ files. With --check, lists unformatted files and lines longer than 120 columns, as clang-format
# does not wrap comments. Lines between `clang-format off` and `on` may be longer.
# Usage: tools/format.sh [--check]
set -eu
if [ "${1:-}" = --check ]; then
  tools/files.sh | xargs awk '
    FNR == 1 { off = 0 }
    /clang-format off/ { off = 1 }
    /clang-format on/ { off = 0 }
    !off && length > 120 { printf "%s:%d: %d columns, 120 are the most\n", FILENAME, FNR, length; bad = 1 }
    END { exit bad }' >&2
  tools/files.sh | xargs clang-format-14 --dry-run -Werror
else
  tools/files.sh | xargs clang-format-14 -i
fi
