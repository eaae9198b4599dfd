#!/bin/sh
# No two files of the library need each other, not even by way of others. Which file an inline function of include/ is
# emitted in does not count.
# Usage: circles.sh LIBRARY
set -eu
inlines=$(sed -nE 's/^KOLK_[A-Z_]*INLINE .*\b(kolk_[a-z_]+)\(.*/\1/p' include/kolk/*.inl)
pairs=$(nm -A "$1" | sed -nE 's/^.*:([a-z_]+)\.c\.o(bj)?:[0-9a-f ]*([A-Z]) _?(kolk_[a-z0-9_]+)$/\3 \4 \1/p' |
  awk -v inlines="$inlines" '
    BEGIN { n = split(inlines, names, "\n"); while (n) is_inline[names[n--]] = 1 }
    is_inline[$2] { next }
    $1 != "U" { file_of[$2] = $3 }
    $1 == "U" { uses[$3 " " $2] }
    END { for (use in uses) { split(use, at, " "); if (at[2] in file_of) print at[1], file_of[at[2]] } }')
echo "$(echo "$pairs" | sort -u | wc -l) pairs of files, of which the first calls the second"
echo "$pairs" | grep -q . || { echo "nm tells nothing of $1" >&2; exit 1; }
echo "$pairs" | tsort > /dev/null
