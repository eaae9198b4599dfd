#!/bin/sh
# runs: long
# The kolk command at its limits: traces whose times are impossible, outputs that block or lie behind links, and signals.
# KOLK is the path of the command.
set -u
. tests/cli/checks.sh

# ---- numbers ----

# Shares and times are printed by three functions, which know the bounds. So no other file has their formats.
check 'only print.c has the formats of shares and times' [ -z "$(grep -rnE --include='*.c' \
  '%[-+]?[0-9]*\.[0-9*]+f( ?%%| ms| ns| s[^a-z])' "$top/cli" | grep -v '/cli/print\.c:' | tee out)" ]

# possible: no share in `out` is above 100 % or below -100 %, no time is negative, and nothing is nan or inf.
possible() {
  check 'no number is impossible' awk '
    /-?(nan|inf)([^a-z]|$)/ { print; bad = 1 }
    { for (at = 2; at <= NF; at++) {
        number = $(at - 1); gsub(/,/, "", number)
        if ($at ~ /^%/ && number ~ /^[-+]?[0-9.]+$/ && (number > 100 || number < -100)) { print; bad = 1 } } }
    END { exit bad }' out
}

pools() { # TIMES: a trace with a source for a pool, and these lines at its end
  awk -v times="$1" 'BEGIN {
    print "= Start\n= Thread 0\n= Call a a_new (a.c:1) < main (m.c:1)"
    for (round = 0; round < 20; round++) {
      for (i = 1; i <= 60; i++) printf "@ a + 0x%x 0x20\n", i * 64
      for (i = 1; i <= 60; i++) printf "@ a - 0x%x\n", i * 64 }
    printf "%s= End\n", times }'
}

# ---- C++ ----

# Objects of new, and nodes of containers, cannot come from a typed pool of C.
awk 'BEGIN {
  print "= Start\n= Thread 0\n= Call a _Znwm (libstdc++.so.6+0x1) < _ZN4shop3addEi (shop.cc:3) < main (shop.cc:9)"
  print "= Call b _Znwm (libstdc++.so.6+0x1) < _ZNSt15__new_allocatorISt10_List_nodeIiEE8allocateEmPKv (new_allocator.h:137) < main (shop.cc:12)"
  print "= Call c _ZdlPv (libstdc++.so.6+0x2) < _ZN4shop3endEi (shop.cc:5)"
  for (round = 0; round < 20; round++) {
    for (i = 1; i <= 60; i++) printf "@ a + 0x%x 0x20\n@ b + 0x%x 0x40\n", i * 64, 65536 + i * 64
    for (i = 1; i <= 60; i++) printf "@ c - 0x%x\n@ c - 0x%x\n", i * 64, 65536 + (61 - i) * 64
  }
  print "= End" }' > cxx
run 0 "$kolk" advise cxx
prints 'shop::add (shop.cc:3)' 'In C++, that is a kolk::pool of their class: emplace replaces new, and erase delete.$' \
  'std::__new_allocator<...>::allocate' 'They are nodes of a container of C++: give it a kolk::allocator, or a std::pmr container a kolk::node_resource.$'
check 'no mangled name' [ "$(grep -c _Z out)" -eq 0 ]
run 0 "$kolk" advise --patch cxx
prints '^#   kolk::pool<YOUR_CLASS> [a-z_]*{{.name = "[a-z_]*", .capacity = 80, .max_capacity = 2147483647}};$' \
  '^#   kolk::node_resource [a-z_]*_nodes; // std::pmr::list<T> list{&'
check 'no type of C' [ "$(grep -c KOLK_POOL_TYPE out)" -eq 0 ]
run 0 "$kolk" advise -o cxx.h cxx
cp cxx.h out
prints '^// kolk::pool<YOUR_CLASS> ' '^// kolk::node_resource '
check 'no type of C' [ "$(grep -c KOLK_POOL_TYPE out)" -eq 0 ]
if [ -n "${CXX:-}" ]; then
  { echo '#include <kolk/kolk.hpp>
#include <list>
#include "cxx.h"
struct YOUR_CLASS { YOUR_CLASS() {} ~YOUR_CLASS() {} char bytes[32]; };
int main() {'
    sed -n 's/^\/\/ //p' cxx.h
    sed -n 's/^\/\/ kolk::node_resource \([a-z_]*\);.*/std::pmr::list<int> one{\&\1}; std::list<int, kolk::allocator<int>> two{\&\1}; one.push_back(1); two.push_back(2);/p' cxx.h
    sed -n 's/^\/\/ kolk::pool<YOUR_CLASS> \([a-z_]*\){.*/\1.erase(\1.emplace());/p' cxx.h
    echo '}'; } > cxx.cc
  run 0 $CXX -std=c++20 -Wall -Wextra -Werror -I"$top/include" -I. -fsyntax-only cxx.cc
fi

# ---- impossible numbers ----

huge=ffffffffffffffff
for times in "= Ran 1 $huge 1\\n" "= Ran $huge $huge $huge\\n" '= Ran 0 0 0\n' \
  "= Run 0 0\\n= Run 0 $huge\\n= Ran 1 0 1\\n" "= Run $huge 1\\n= Run 1 1\\n= Run 2 1\\n= Ran $huge 0 1\\n"; do
  pools "$times" > trace
  run 0 "$kolk" advise trace
  possible
done
run 0 "$kolk" replay trace
possible
pools '' > trace
run 0 "$kolk" advise --json trace
possible
pools "= Run 1 $huge\\n= Ran 1 0 1\\n" > trace
run 0 "$kolk" advise trace
prints '^kolk run -- ...: not known well: it took more than twice the time in one of 1 run$'
possible
pools '= Ran 64 0 64\n' > trace
run 0 "$kolk" advise trace
prints "^How much of the program's time that is cannot be told: the replay took more time than the program had"
possible
pools '= Ran 3e8 3e0 3e8\n' > trace
run 0 "$kolk" advise trace
prints "^How much of the program's time that is cannot be told: much of the trace's processor time was for recording"
possible
pools "= Run 0 5\\n= Ran $huge 0 1\\n" > trace
run 0 "$kolk" advise trace
prints '^kolk run -- ...: not measured' '^Pools would not make this program faster: together they save no'
check 'the verdict is said before the pools' [ "$(grep -n '^Pools would not' out | cut -d: -f1)" -lt "$(grep -n '^advice ' out | cut -d: -f1)" ]

# ---- help ----

for verb in $("$kolk" help | sed -n '/^Verbs/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
  run 0 "$kolk" help "$verb"
  check 'its prose fits into a terminal' awk 'NR > 1 && /^[^ ]/ && length > 90 { bad = 1 } END { exit bad }' out
done

# ---- outputs ----

run 0 "$kolk" replay -o - trace
prints '^trace: 2,400 operations'
run 0 "$kolk" report --no-advice -o - trace
prints '^<!doctype html>$'
check 'there is no file named -' [ ! -e ./- ]
if [ -e "$(dirname "$kolk")/libkolk-record.so" ]; then
  refused 2 "the trace cannot go to stdout, which is the program's: -o takes a file or a pipe" record -o - -- true
  refused 2 "statistics cannot go to stdout, which is the program's: without -o they go to stderr" run --stats -o - -- true
fi

# ---- nothing to be seen ----

printf '{"time": "2026-01-01T00:00:00Z", "pools": []}\n' > log
refused 3 'log: there is no pool in it' report -o page.html log

# ---- a terminal ----

if command -v script > out; then
  script -qec "'$kolk' demo" typescript > out 2> err < /dev/null
  check 'the heading is bold' grep -q "$(printf '\033')\[1ma program" typescript
  check 'the rows are below' grep -q 'the pool is whole' typescript
else
  skip 'there is no command script to play a terminal'
fi

# ---- folders that are missing or cannot be written ----

if command -v python3 > /dev/null; then
  run 1 "$top/tools/dist.py" two trace/folder
  check 'its sentence' [ "$(cat err)" = 'tools/dist.py: trace/folder: Not a directory' ]
fi
mkdir -p copy/build
cp -r "$top/tools" copy
touch copy/build/default
run 1 sh -c 'cd copy && tools/preset.sh default'
check 'its sentence' [ "$(cat err)" = 'tools/preset.sh: build/default cannot be written: remove build/, or build in a copy of this folder that is yours' ]
check 'and no more' [ ! -s out ]

# ---- signals ----

# ends_by SIGNAL CODE: the process `child` ends within 5 seconds once it has got the signal.
ends_by() {
  kill -s "$1" $child
  tries=0
  while kill -0 $child 2> /dev/null && [ $tries -lt 50 ]; do
    sleep 0.1
    tries=$((tries + 1))
  done
  check "SIG$1 ends it" [ $tries -lt 50 ]
  [ $tries -lt 50 ] || kill -s KILL $child
  wait $child 2> /dev/null
}

# Nobody reads the pipe, so record waits for a reader.
mkfifo pipe
if [ -e "$(dirname "$kolk")/libkolk-record.so" ]; then
  for signal in TERM HUP; do
    "$kolk" record -o pipe -- touch ran > out 2> err &
    child=$!
    sleep 0.3
    ends_by $signal
    check 'and the program has not run' [ ! -e ran ]
  done
fi

# Only these two start processes: one so that they end with the command, the other one the program that is recorded.
check 'children of the command end with it' [ "$(cd "$top/cli" && grep -rlw 'fork()' ./* | sort | tr '\n' ' ')" = './measure.c ./record/program.c ' ]

not() { ! "$@"; }
"$kolk" advise trace > out 2> err &
child=$! tries=0 children=
while [ -z "$children" ] && [ $tries -lt 2000 ]; do
  tries=$((tries + 1))
  sleep 0.005
  read -r children < "/proc/$child/task/$child/children"
done
check "advise has children" [ -n "$children" ]
kill -s KILL $child
wait $child 2> /dev/null
sleep 0.3
for process in $children; do
  check "advise, killed, leaves no process" not grep -qs '^State:.*[^Z] (' "/proc/$process/status" # zombies have ended
  kill -s KILL "$process" 2> /dev/null
done

finish
