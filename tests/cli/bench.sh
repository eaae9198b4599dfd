#!/bin/sh
# runs: long
# kolk bench: the tables, the file of results, and a missing library. The figures themselves are not
# checked, as they are the machine's. KOLK is the path of the command.
# Usage: bench.sh
set -u
. tests/cli/checks.sh

# ---- tables ----

printf 'no library' > libmimalloc.so.2
run 0 env LD_LIBRARY_PATH="$folder" "$kolk" bench --passes 1 --table calls
prints '^kolk [0-9]' 'malloc: ' '^One alloc and one free' ' 100, written  burst of 100  ' '^malloc  ' '^the book' '^kolk FIFO  ' \
  '^kolk  ' '^One pass' '^Left out: mimalloc: '
check 'no other table' [ "$(grep -c ', ns$' out)" -eq 1 ]
check 'mimalloc has no line' [ "$(grep -c '^mimalloc' out)" -eq 0 ]

run 0 "$kolk" bench --passes 2 --table visits --json -o two.json
check 'it says what it is' grep -q '^ "kolk_bench": 1,$' two.json
check 'two samples of each' [ "$(grep -cE '^ *"[^"]*": \[$' two.json) $(grep -cE '^ *[0-9.e+-]+,?$' two.json)" = '24 48' ]
check 'its machine' grep -q '"processor": ".* processors"' two.json
if command -v python3 > /dev/null; then check 'it is JSON' python3 -m json.tool two.json /dev/null; fi

run 0 "$kolk" bench --passes 2 --table visits
prints '^A visit' '^Medians of 2 passes'

# ---- what cannot be done ----

refused 2 "there is no table 'speed'; 'kolk help bench' lists them" bench --table speed
run 2 "$kolk" bench --passes 0
finish
