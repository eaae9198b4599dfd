#!/bin/sh
# kolk report: the exact data of a small recording; a real recording with the lines of its source; hostile names; the
# default name; and inputs and outputs that fail. page.sh looks at the page in a browser. KOLK is the path of the command.
# Usage: CC=... report.sh
set -u
. tests/cli/checks.sh

cat > its.trace << 'END'
= Start
@ 1 + 1000 64
@ 2 + 2000 a
@ 2 < 2000
@ 2 > 3000 14
@ 1 - 1000
@ 1 + 1000 0
= Call 1 make < main
= Call 2 grow < main
= End
END
run 0 "$kolk" report --json its.trace
prints '"file": "its.trace"' '"operations": 5' '"blocks": 4' '"bytes": 130' '"frees": 1' '"resizes": 1' \
  '"peak_bytes": 120' '"peak_blocks": 2' '"peak_at": 2' '"left_bytes": 20' '"left_blocks": 2' '"per_step": 1'
tr -d ' \n' < out > flat
check 'over time' grep -qF '"bytes_alive":[100,110,120,20,20],"blocks_alive":[1,2,2,1,2]' flat
check 'sizes' grep -qF '"sizes":[{"from":0,"to":0,"blocks":1,"bytes":0},{"from":8,"to":15,"blocks":1,"bytes":10},{"from":16,"to":31,"blocks":1,"bytes":20},{"from":64,"to":127,"blocks":1,"bytes":100}]' flat
check 'lives' grep -qF '"lives":[{"from":2,"to":3,"blocks":1,"bytes":100}]' flat
check 'paths' grep -qF '"paths":[["",120,130,4,[["main",120,130,4,[["grow",20,30,2,[]],["make",100,100,2,[]]]]]]]' flat
check 'no files' grep -qF '"files":{}' flat

# ---- a page ----

run 0 "$kolk" report its.trace
check 'the default name' [ -s its.html ]
check 'its sentence' grep -qx 'kolk: its.html: open it in a browser' err
check 'nothing on stdout' [ ! -s out ]
check 'a whole page' [ "$(tail -n 1 its.html)" = '</html>' ]
check 'no other file is needed' [ -z "$(grep -v Content-Security its.html | grep -E '(src|href|url|@import|fetch|XMLHttpRequest)[=( ]')" ]
run 0 "$kolk" report -o page.html its.trace
check 'the same page' cmp -s page.html its.html
run 0 "$kolk" report --no-advice < /dev/null
check 'the built-in recording' grep -q '"file": "sqlite.mtrace.zst"' sqlite.html

printf '= Start\n@ 1 + 1000 64\n= Call 1 </script><script>alert(1)</script> "quoted" \\ \001 \377 < main\n= End\n' > hostile.trace
run 0 "$kolk" report hostile.trace
check 'hostile names' [ "$(grep -c '</script' hostile.html)" -eq "$(grep -c '</script' its.html)" ]
check 'hostile names in the data' grep -qF '\u003c/script>\u003cscript>alert(1)\u003c/script> \"quoted\" \\ \u0001 \ufffd' hostile.html

# ---- a path of 50,000 frames: only the innermost are shown ----

awk 'BEGIN {
  printf "= Start\n@ 1 + 1000 64\n= Call 1 f0"
  for (n = 1; n < 50000; n++) printf " < f%d", n
  print "\n= End"
}' > deep.trace
run 0 "$kolk" report --json --no-advice deep.trace
prints '"f0"' '"f199"'
check 'no frame further out' [ "$(grep -c '"f200"' out)" -eq 0 ]

# ---- source lines ----

mkdir -p deep/er .hidden
cat > deep/er/program.c << 'END'
#include <stdlib.h>

static void *volatile kept;

static __attribute__((noinline)) void make(void) {
    kept = malloc(1000); /* <here> */
}

int main(void) {
    make();
    free(kept);
    return 0;
}
END
cp deep/er/program.c .hidden/
if "$CC" -g -O0 -o program deep/er/program.c 2> err && "$kolk" record -q -o real.trace.zst -- ./program 2> err; then
  run 0 "$kolk" report real.trace.zst
  if grep -q 'make (program.c:6)' real.html; then
    check 'the file' grep -qF '"path": "deep/er/program.c"' real.html
    check 'the line' grep -qF '"6": "    kept = malloc(1000); /* \u003chere> */"' real.html
    check 'lines around it' [ "$(grep -cE '^ *"(3|9)": ' real.html)" -eq 2 ]
    check 'no lines beyond' [ "$(grep -cE '^ *"(2|14)": ' real.html)" -eq 0 ]
    mkdir empty
    run 0 "$kolk" report --json --source empty real.trace.zst
    prints '"files": {'
    check 'no source' [ "$(grep -c program.c:6 out)" -eq 1 ]
  else
    skip "this kolk reads no debug information, so its recordings have no source lines"
  fi
  run 0 "$kolk" report --json real.trace.zst
  check 'the block' grep -q '"bytes": 1000$\|^ *1000,*$' out
else
  skip "no recording can be made here: $(cat err)"
fi

# ---- a log ----

printf '{"time": 1700000000.250, "pools": [{"name": "a", "kind": "pool", "count": 3, "peak": 4}]}\n' > server.log
run 0 "$kolk" report --json server.log
prints '"file": "server.log"' '"lines": 1' '"broken_lines": 0' '"begin": 1700000000250' '"name": "a"'
tr -d ' \n' < out > flat
check 'its numbers' grep -qF '"alive":[3],"peak":[4],"capacity":[0]' flat
run 0 "$kolk" report server.log
check 'its page' grep -q 'id="strips"' server.html
printf '{"time": 17, "po\n' > cut.log
refused 3 'cut.log: no line of it is whole' report cut.log

# ---- what fails ----

refused 3 'missing.trace: cannot be opened: No such file or directory' report missing.trace
echo 'not a trace' > bad.trace
run 3 "$kolk" report bad.trace
check 'no page' [ ! -e bad.html ]
run 1 "$kolk" report -o nowhere/its.html its.trace
run 2 "$kolk" report its.trace its.trace
finish
