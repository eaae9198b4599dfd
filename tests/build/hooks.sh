#!/bin/sh
# Each function of a member is a row of tests/contracts/test_all_hooks.c or is called by one, and each function that the
# user gives a member is a column of this member's table there.
# Usage: hooks.sh
set -eu
test=tests/contracts/test_all_hooks.c
wrong=$(mktemp)
trap 'rm -f "$wrong"' EXIT

# An init begins a member, of which no hook runs yet; a memory_size has no member.
functions=$(cat include/kolk/*.h | grep -Eo '\bkolk_(pool|age_cursor|cursor|slotmap|shared|ipc|queue|resource|heap)_[a-z_]*[a-z]\(' | tr -d '(' | sort -u |
  grep -Ev '^kolk_(pool|slotmap|shared|ipc|queue|resource)_init$|_memory_size$')
[ "$(echo "$functions" | wc -l)" -gt 120 ] || echo "The functions are not found any more." >> "$wrong"
called=$(grep -oE '\bkolk_[a-z_]+\(' "$test" | tr -d '(')
echo "$functions" | grep -vxF "$called" | sed "s|\$|: $test does not call it in a hook.|" >> "$wrong" || true

# Prints the columns of a table.
columns() {
  sed -n "/^static const column $1_columns/,/;\$/p" "$test" | grep -o '{"[a-z_]*"' | tr -d '{"'
}

life='/^typedef struct kolk_life /,/^}/' # of pools and shared pools only

# Usage: check HEADER TABLE [SED]: each function that these lines of the header name is a column of the table.
check() {
  hooks=$(sed -n "${3:-$life!p}" "include/kolk/$1.h" | grep -Eo '\(\*[a-z_]+\)\(' | tr -d '(*)' | sort -u)
  [ -n "$hooks" ] || echo "$1.h: no hooks are found any more." >> "$wrong"
  # No member calls put and handler while it changes.
  echo "$hooks" | grep -vxE 'put|handler' | grep -vxF "$(columns "$2")" |
    sed "s|.*|$1.h: & is no column of $2_columns in $test.|" >> "$wrong" || true
}

check pool pool
check slotmap map
check base pool "${life}p"
check base shared "${life}p"
check queue queue
check resource resource
check ipc ipc
check heap heap
for table in pool map; do
  check base $table
  check budget $table
done

cat "$wrong"
echo "$(echo "$functions" | wc -l) functions, $(wc -l < "$wrong") complaints"
[ ! -s "$wrong" ]
