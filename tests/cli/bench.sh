#!/bin/sh
# runs: long
# kolk bench: the tables, the file of results, a missing library, and the verdicts. The figures themselves are not
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

# ---- verdicts ----

run 0 "$kolk" bench --passes 2 --table visits --compare two.json
prints '^Medians of 2 passes' '^Since ' '^0 of 12 figures improved, 0 regressed; 0 are in one of the results only'

# 99 passes of an earlier kolk, whose visits all took so long beside those to a packed array.
older() { # FACTOR
  awk -v factor="$1" '
    /^ *\]/ { inside = 0 }
    !inside { print }
    /\[$/ {
      inside = 1
      for (n = 0; n < 99; n++) print (/"kolk/ ? factor : 1) (n < 98 ? "," : "")
    }' two.json
}
older 0.0001 > faster.json
run 1 "$kolk" bench --passes 2 --table visits --compare faster.json
prints '^visits  100 %  *kolk  *0.000  .* %  regressed' '^0 of 12 figures improved, 12 regressed'
older 1000000 > slower.json
run 0 "$kolk" bench --passes 2 --table visits --compare slower.json --json
prints '"comparison": \[' '"verdict": "improved"'
check 'all improved' [ "$(grep -c '"verdict": "improved"' out)" -eq 12 ]

# ---- what cannot be done ----

sed 's/"processor": "/&Another /' two.json > another.json
run 3 "$kolk" bench --passes 2 --table visits --compare another.json
check 'another machine' grep -q '^kolk: another.json: this was measured on another machine: Another ' err
refused 3 'none.json: No such file or directory' bench --compare none.json
head -n 12 two.json > torn.json
refused 3 'torn.json: this is no result of kolk bench --json' bench --compare torn.json
refused 3 'torn.json: this is no result of kolk advise, or not all of it' report torn.json
refused 2 "there is no table 'speed'; 'kolk help bench' lists them" bench --table speed
run 2 "$kolk" bench --passes 0
finish
