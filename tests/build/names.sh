#!/bin/sh
# runs: once
# A name itself shows whether it is public: private functions, types, macros and enumerators that begin with kolk_ or
# KOLK_ end in `_`, in the code and so in nm's output. The public names are those that a header declares before its part
# "Inside".
# Usage: names.sh LIBRARY, a static one
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Build options, and header guards.
options='KOLK_(ASSERTIONS|BASE_INLINE|CHAOS|GENERATION_MAX|NO_DIAGNOSTICS|NO_FUTEX|SCHEDULED|[A-Z_]+_(H|INL))'

names() { grep -owhE '(kolk|KOLK)_[A-Za-z0-9_]*[A-Za-z0-9]' "$@" | sort -u; }

for header in include/kolk/*.h adapters/*/kolk/*.h; do
  sed '/^\/\* ---- Inside/,$d' "$header"
done > "$work/headers"
names "$work/headers" > "$work/public"
names include/kolk/*.h include/kolk/*.inl adapters/*/*.[ch] adapters/*/kolk/*.h src/*/*.[ch] | grep -vxE "$options" > "$work/used"
nm -g --defined-only "$1" | awk 'NF == 3 && $3 !~ /_$/ && $3 !~ /^(_\.stapsdt\.base|__x86\.get_pc_thunk\..*)$/ { print $3 }' | sort -u > "$work/symbols"

for list in used symbols; do
  comm -23 "$work/$list" "$work/public" > "$work/wrong"
  [ -s "$work/wrong" ] || continue
  echo "Neither public nor marked by a last _ ($list):"
  cat "$work/wrong"
  failed=1
done
exit ${failed:-0}
