#!/bin/bash
# runs: long once
# kolk record: its traces of programs, and its exit codes.
#     exact       every operation of tests/preload/recorded.c, in order, with sizes, threads and functions; needs libdw
#     endings     crashes, signals, closed descriptors; outputs that cannot be written; programs that
#                 cannot be run or recorded
#     advice      the advice of kolk advise for tests/preload/advised.c, with and without lines and symbols; its header
#                 compiles
#     zones       objects of a zone, in programs that are linked in each way; without its macros, only a hint
#     pools       kolk's pools, by name, and what would happen with other capacities
#     times       the processor time of the program, without its children
#     programs    everyday programs: their traces are replayed (full runs take long)
# Usage: CC=... KOLK=... record.sh WAY BUILD
set -euo pipefail
. tests/preload/help.sh "$2"
[[ -x $KOLK ]] || { echo "skipped: there is no kolk command"; exit 77; }
command -v zstd > /dev/null || { echo "skipped: there is no zstd"; exit 77; }
KOLK=$(realpath "$KOLK")
trace=$work/t.zst

record() { "$KOLK" record -o "$trace" -- "$@"; }

# Succeeds if traces contain function names.
has_names() { [[ $(ldd "$KOLK") == *libdw* ]]; }

make_recorded() {
  compile -w tests/preload/recorded.c -o "$work/recorded" -ldl
  printf '#include <stdlib.h>\nint steps;\nvoid *plugin_make(size_t size) { void *p = malloc(size); steps++; return p; }\n' > "$work/plugin.c"
  compile -shared -fPIC "$work/plugin.c" -o "$work/plugin.so"
}

# Extracts the operations on blocks that the test's own functions allocate: thread, operation, block, size, functions.
known() {
  zstd -dcq "$trace" > "$work/text" || fail "the trace is not whole"
  awk '
    function own(frames,    at, n, parts, words) {
      n = split(frames, parts, " < ")
      if (parts[1] !~ /\((recorded|plugin)\.c:[0-9]+\)$/) return ""
      for (at = 1; at <= n; at++)
        if (parts[at] ~ /\((recorded|plugin)\.c:[0-9]+\)$/) { sub(/ .*/, "", parts[at]); words = words " " parts[at] }
      return words
    }
    FNR == NR && /^= Call / { call[$3] = own(substr($0, length("= Call " $3) + 2)) }
    FNR == NR { next }
    /^= Thread / { thread = $3 }
    function allocates(name, size) {
      delete block[$4]
      if (call[$2] && $4 == "(nil)") print thread, "fails", size call[$2]
      if (!call[$2] || $4 == "(nil)") return
      block[$4] = ++blocks
      print thread, name, blocks, size call[$2]
    }
    $1 == "@" && $3 == "+" { allocates("alloc", $5) }
    $1 == "@" && $3 == "*" { allocates("calloc", $5 "*" $6) }
    $1 == "@" && $3 == "%" { allocates("aligned", $5 "%" $6) }
    $1 == "@" && $3 == ">" && from == "(nil)" { allocates("realloc", $5) }
    $1 == "@" && $3 == "!" && $4 in block { print thread, "fails", block[$4], $5 call[$2] }
    $1 == "@" && $3 == "-" && $4 in block { print thread, "free", block[$4] call[$2]; delete block[$4] }
    $1 == "<" { from = $2 }
    $1 == "@" && $3 == ">" && from in block {
      n = block[from]; delete block[from]; block[$4] = n; print thread, "resize", n, $5 call[$2]
    }
  ' "$work/text" "$work/text" > "$work/known"
}

exact() {
  make_recorded
  has_names || { echo "skipped: kolk has no libdw"; exit 77; }
  ends 0 record "$work/recorded" all "$work/plugin.so"
  is '^2$' "$work/out"
  is "^kolk: $trace: [0-9]+ operations of 3 threads, [0-9]+ stacks, [0-9.]+ KiB; [0-9.]+ ms of processor time, (of which recording took [0-9.]+|much of it for recording: .*)\$" "$work/err"
  [[ $(wc -l < "$work/err") == 1 ]] || fail "it says more: $(cat "$work/err")"
  known
  diff - "$work/known" << 'END' || fail "these are not the operations of recorded.c"
0 alloc 1 11 get begin
0 calloc 2 10*2 family main
0 resize 2 1000 family main
0 free 2 family main
0 realloc 3 21 family main
0 realloc 4 66 family main
0 free 3 family main
0 free 4 family main
0 aligned 5 40%301 family main
0 free 5 family main
0 aligned 6 80%380 family main
0 free 6 family main
0 aligned 7 20%302 family main
0 free 7 family main
0 aligned 8 1000%303 family main
0 free 8 family main
0 aligned 9 1000%304 family main
0 free 9 family main
0 alloc 10 22 inlined family main
0 free 10 family main
0 alloc 11 23 deep deep deep deep deep deep deep deep
0 free 11 family main
0 alloc 12 24 get left family main
0 free 12 family main
0 alloc 13 25 get right family main
0 free 13 family main
0 alloc 14 31 get failures main
0 fails 7fffffffffffffff failures main
0 fails 14 7fffffffffffffff failures main
0 fails 7fffffffffffffff*4 failures main
0 fails ffffffffffffffff failures main
0 free 14 failures main
1 alloc 15 41 get first_thread
0 free 15 threads main
0 alloc 16 42 get threads main
2 free 16 second_thread
2 alloc 17 43 get second_thread
0 free 17 threads main
0 alloc 18 51 plugin_make libraries main
0 free 18 libraries main
0 alloc 19 62 get children main
0 free 19 children main
0 free 1 end
0 alloc 20 12 get end
0 free 20 end
END
  is "^= Call [0-9a-f]+ inlined \(recorded.c:$(grep -n 'malloc(size)' tests/preload/recorded.c | sed -n '2s/:.*//p')\) < family" "$work/text"
  is "^= Start$" "$work/text"
  is "^= Ran [0-9a-f]+ [0-9a-f]+ [0-9a-f]+$" "$work/text"
  is "^= End$" "$work/text"

  # If a program executes another one, the trace is that of the last program, whatever its environment.
  cp "$work/known" "$work/before"
  ends 0 record env A=b bash -c "cd / && exec \"\$@\"" sh "$work/recorded" all "$work/plugin.so"
  known
  cmp "$work/before" "$work/known" || fail "as a script's last program it is recorded otherwise"

  ends 0 "$KOLK" replay --json "$trace"
  is '"failed_left_out": 4,' "$work/out"
  is '"unknown_left_out": 0,' "$work/out"

  # By default the trace is named after the program and written to the current folder; -q prints nothing.
  cd "$work"
  ends 0 "$KOLK" record -q -- ./recorded all ./plugin.so
  [[ -s recorded.trace.zst && ! -s err ]] || fail "-q: $(cat err)"
}

# whole BLOCKS: the trace must be complete and, if it has names, contain this many blocks that get allocated.
whole() {
  known
  ! has_names || [[ $(grep -c ' alloc ' "$work/known") == "$1" ]] || fail "$2: not all is in it: $(cat "$work/known")"
  [[ $(tail -n 1 "$work/text") == "= End" ]] ||
    fail "$2: the trace is not whole: $(cat "$work/known")"
}

# signalled NAME: the recorder must pass this signal on to a waiting program.
signalled() {
  local code=0
  # shellcheck disable=SC2069
  "$KOLK" record -o "$trace" -- "$work/recorded" patient > "$work/out" 2> "$work/err" &
  recorder=$!
  until grep -q waits "$work/out"; do sleep 0.01; done
  kill -s "$1" $recorder
  wait $recorder || code=$?
  [[ $code == 7 ]] || fail "SIG$1: ended with $code: $(cat "$work/err")"
  whole 2 "SIG$1"
}

endings() {
  local child
  make_recorded
  ends 5 record "$work/recorded" code 5
  whole 3 "exit code 5"
  ends 134 record "$work/recorded" crash
  is "^kolk: $work/recorded: ended by signal 6 \(Aborted\)$" "$work/err"
  whole 2 crash
  ends 137 record "$work/recorded" killed
  whole 2 killed
  ends 0 record "$work/recorded" closed
  whole 4 closed
  signalled TERM

  # Ctrl-C in a terminal reaches all foreground processes, so the recorder must not pass it on to the program again.
  if command -v python3 > /dev/null; then
    cat > "$work/terminal.py" << 'END'
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0: os.execv(sys.argv[1], sys.argv[1:])
said = b""
while b"waits" not in said: said += os.read(terminal, 1000)
os.write(terminal, b"\x03")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
    ends 7 python3 "$work/terminal.py" "$KOLK" record -o "$trace" -- "$work/recorded" patient
    whole 2 Ctrl-C
  fi

  # If the recorder is killed, the program goes on.
  "$KOLK" record -o "$trace" -- "$work/recorded" many > "$work/out" 2> "$work/err" &
  recorder=$!
  until grep -q begins "$work/out"; do sleep 0.01; done
  { kill -KILL $recorder; wait $recorder; } 2> /dev/null || true
  for _ in {1..1000}; do
    ! grep -q "^done" "$work/out" || break
    sleep 0.02
  done
  is '^done$' "$work/out"

  # Outputs.
  ends 1 "$KOLK" record -o /dev/full -- "$work/recorded" closed
  is '^kolk: /dev/full: cannot be written: No space left on device$' "$work/err"
  ends 1 bash -c 'ulimit -f 1 && exec "$@"' sh "$KOLK" record -o "$trace" -- true
  is "^kolk: there is no memory to share with the program: File too large$" "$work/err"
  ends 1 "$KOLK" record -o "$work/no/such" -- touch "$work/ran"
  is "^kolk: $work/no/such: cannot be written: No such file or directory$" "$work/err"
  [[ ! -e $work/ran ]] || fail "the program ran, and there was no output for it"
  mkfifo "$work/pipe"
  zstd -dcq < "$work/pipe" > "$work/text" &
  child=$!
  ends 0 "$KOLK" record -o "$work/pipe" -- "$work/recorded" code 0
  wait $child
  is '^= End$' "$work/text"

  # Nobody reads the pipe: the program waits, and after its end the recorder. The program gets the first signal, the
  # next one waits for the trace, and another one ends the recorder.
  printf '#include <stdlib.h>\nint main(void) { for (;;) free(malloc(rand() %% 500)); }\n' > "$work/endless.c"
  compile -w "$work/endless.c" -o "$work/endless"
  sleep 60 < "$work/pipe" &
  child=$!
  "$KOLK" record -o "$work/pipe" -- "$work/endless" 2> "$work/err" &
  recorder=$!
  sleep 0.5
  for _ in 1 2 3 4 5 6; do
    kill -s TERM $recorder 2> /dev/null || break
    sleep 0.3
  done
  if kill -0 $recorder 2> /dev/null; then
    kill -s KILL $recorder $child
    fail "signals do not end a recorder that waits for the reader of a pipe"
  fi
  { wait $recorder || true; kill $child; wait $child || true; } 2> /dev/null

  # What the recorder has written before it is killed can be used.
  "$KOLK" record -o "$trace" -- "$work/endless" 2> "$work/err" &
  recorder=$!
  until [[ $(stat -c %s "$trace" 2> /dev/null || echo 0) -gt 1000000 ]]; do sleep 0.01; done
  read -r child < "/proc/$recorder/task/$recorder/children" || true # it has no newline
  { kill -s KILL $recorder "$child"; wait $recorder || true; } 2> /dev/null
  ends 0 "$KOLK" report --json --no-advice "$trace"
  is "^kolk: $trace: the recording is cut off in line [0-9,]+, and used up to there; what kolk record writes last is missing" "$work/err"

  # If a program cannot be run, no trace is written, and an old trace is kept.
  rm "$trace"
  ends 127 record no-such-program
  is '^kolk: no-such-program: cannot be run: No such file or directory$' "$work/err"
  [[ ! -e $trace ]] || fail "there is a trace of a program that is not there"
  echo precious > "$trace"
  ends 126 record /etc/passwd
  is '^kolk: /etc/passwd: cannot be run: Permission denied$' "$work/err"
  is '^precious$' "$trace"
  rm "$trace"
  ends 2 "$KOLK" record
  is '^kolk: record expects a program' "$work/err"
  ends 2 "$KOLK" record --json -- true

  # The recorder cannot tell a program that allocates nothing from one with its own malloc.
  echo 'int main(void) { return 4; }' > "$work/idle.c"
  compile "$work/idle.c" -o "$work/idle"
  ends 4 record "$work/idle"
  is "^kolk: $trace: no operation is in it: $work/idle: it asks for no memory, or has a malloc within itself$" "$work/err"
  rm "$trace"
  if "$CC" -static -w tests/preload/recorded.c -o "$work/static" 2> /dev/null; then
    ends 3 record "$work/static" code 3
    is "^kolk: $work/static: nothing was recorded: it is linked statically" "$work/err"
    ends 1 record "$work/static" code 0
    [[ ! -e $trace ]] || fail "there is a trace of a static program"
  fi
}

# advises WHAT: the advice for the trace must have the rows on stdin, sorted by size: advice, name, size, alignment.
advises() {
  ends 0 "$KOLK" advise "$trace"
  grep -E '^(pool|arena|shared pool) ' "$work/out" | sed 's/shared pool/shared/' | sort -n -k 3 | awk '{ print $1, $2, $3, $4 }' > "$work/rows"
  diff - "$work/rows" || fail "this is not the advice for advised.c, $1"
}

advice() {
  compile -w tests/preload/advised.c -o "$work/advised"
  ends 0 record "$work/advised"
  if has_names; then
    pools="arena parse_pool 24 8
pool list_pool 40 8
arena tree_add_pool 64 16
shared post_pool 80 16"
    advises "with lines" <<< "$pools"
    is '^list_pool: list \(advised.c:[0-9]+\), through get$' "$work/out"
    is '^  Freed at list \(advised.c:[0-9]+\) \([0-9,]+\); at list \(advised.c:[0-9]+\) \([0-9,]+\).$' "$work/out"
    is '^leave it: names \(advised.c:[0-9]+\), through get$' "$work/out"
    is 'Sizes vary, from 2 to 31 bytes, and a pool has one size' "$work/out"
    ends 0 "$KOLK" advise -o "$work/pools.h" "$trace"
    echo '#include "pools.h"' > "$work/use.c"
    "$CC" -std=c11 -Wall -Wextra -Werror -Iinclude -fsyntax-only "$work/use.c" || fail "the header is no C11"
    "${CXX:-c++}" -std=c++17 -Wall -Wextra -Werror -Iinclude -fsyntax-only -x c++ "$work/use.c" || fail "the header is no C++17"

    # Without line numbers, pools are still named after functions, but sites are offsets in the program.
    strip --strip-debug "$work/advised"
    ends 0 record "$work/advised"
    advises "without lines" <<< "$pools"
    is '^post_pool: post \(advised\+0x[0-9a-f]+\), through get$' "$work/out"
  fi

  # Without symbols, a pool's name consists of the file's name and the size.
  strip "$work/advised"
  ends 0 record "$work/advised"
  advises "without symbols" << 'END'
arena advised_24_pool 24 8
pool advised_40_pool 40 8
arena advised_64_pool 64 16
shared advised_80_pool 80 16
END
  is '^advised_40_pool: advised\+0x[0-9a-f]+, through advised\+0x[0-9a-f]+$' "$work/out"
}

zones() {
  local way folder_of=tests/cli/zone
  has_names || { echo "skipped: kolk has no libdw"; exit 77; }
  for way in "-O0 -fpie -pie" "-O2 -fpie -pie" "-O2 -fno-pie -no-pie" "-O2 -shared -fPIC"; do
    case $way in # in the program, or in a library
      *-shared*) compile $way tests/preload/zoned.c -o "$work/libzone.so" -ldl &&
        compile -O2 "$folder_of/game.c" "$work/libzone.so" -o "$work/zoned" ;;
      *) compile $way "$folder_of/game.c" tests/preload/zoned.c -o "$work/zoned" -ldl ;;
    esac
    ends 0 record "$work/zoned"
    "$work/zoned" | cmp - "$work/out" || fail "$way: it prints something else"
    zstd -dcq "$trace" > "$work/text"
    is '^= Call [0-9a-f]+ Z_Malloc \(zoned.c:[0-9]+\) < spawn \(game.c:[0-9]+\) < main ' "$work/text"
    is '^= Call [0-9a-f]+ Z_Free \(zoned.c:[0-9]+\) < kill \(game.c:[0-9]+\) < main ' "$work/text"
    is '^= Call [0-9a-f]+ ck_free \(zoned.c:[0-9]+\) < ' "$work/text"
    [[ $(grep -Ec '^@ [0-9a-f]+ [-+] 8000[0-9a-f]{12}( |$)' "$work/text") == 12000 ]] || fail "$way: not all is in it"
  done

  advises "a zone" << 'END'
arena ck_calloc_pool 24 8
pool spawn_pool 56 8
END
  is '^spawn_pool: spawn \(game.c:[0-9]+\), through Z_Malloc$' "$work/out"
  is '^  Freed at kill \(game.c:[0-9]+\), through Z_Free' "$work/out"
  is '^ck_calloc_pool: ck_calloc \(zoned.c:[0-9]+\), through Z_Malloc$' "$work/out"
  is '^  Freed at ck_free \(zoned.c:[0-9]+\)' "$work/out"
  is '^leave it: name_of \(game.c:[0-9]+\), through Z_Malloc$' "$work/out"
  is "cannot be told: the replay has malloc in place of the program's own allocator.$" "$work/out"
  ! grep -q throughout "$work/out" || fail "it asks for macros that are there"

  # Linked statically it cannot be recorded, and runs as without the macros.
  if "$CC" -O2 -w -static "$folder_of/game.c" tests/preload/zoned.c -o "$work/static" -ldl 2> "$work/err"; then
    ends 1 record "$work/static"
    is "nothing was recorded: it is linked statically" "$work/err"
    "$work/zoned" | cmp - "$work/out"
  fi

  compile -DSILENT "$folder_of/game.c" tests/preload/zoned.c -o "$work/zoned"
  ends 0 record "$work/zoned"
  ends 0 "$KOLK" advise "$trace"
  is "^1 block of 2.0 MiB lives throughout, by Z_Malloc .*: perhaps an allocator of the program's own is in it" "$work/out"
  is '^With KOLK_RECORD_ALLOC and KOLK_RECORD_FREE in .* \(kolk_record.h\), it sees what is in the block.$' "$work/out"
}

# with ARGUMENT PATTERN: what kolk replay says of this pool
with() {
  ends 0 "$KOLK" replay --pool "$1" "$trace"
  is "$2" "$work/out"
}

pools() {
  compile -w -Iinclude tests/preload/pooled.c "$build/libkolk.a" -o "$work/pooled" -ldl
  ends 0 "$work/pooled"
  ends 0 record "$work/pooled"
  zstd -dcq "$trace" > "$work/text"
  is '^= Call [0-9a-f]+ bullets$' "$work/text"
  with bullets=1000 '^bullets, as recorded: 2,000 allocations, at most 204 alive$'
  is '^with 1,000 slots: at most 204 alive, 0 failed, 0 evicted$' "$work/out"
  with bullets=128 '^with 128 slots: at most 128 alive, 720 failed, 0 evicted$'
  with bullets=128,evict_oldest '^with 128 slots, evict_oldest: at most 128 alive, 0 failed, 1,872 evicted, when they had lived for 128 to 128 allocations$'
  with '?=2' '^with 2 slots: at most 2 alive, 0 failed, 0 evicted$' # its objects have 4 bytes each

  # Blocks of no malloc are told from those of malloc at the same address.
  ends 0 "$KOLK" replay --json "$trace"
  is '"unknown_left_out": 0,' "$work/out"
  is '"failed_left_out": 0,' "$work/out"
  [[ $(grep -Ec '^@ [0-9a-f]+ [-+>] 8000[0-9a-f]{12}( |$)' "$work/text") == 12005 ]] || fail "not all is in it"
}

# The time is that of the recorded process: what its children take does not count, and what recording takes is told.
times() {
  local way used ran whole=0
  make_recorded
  for way in busy child; do
    ends 0 record "$work/recorded" "$way" 300
    zstd -dcq "$trace" > "$work/text"
    read -ra ran <<< "$(grep '^= Ran ' "$work/text")"
    used=$((16#${ran[2]}))
    ((used > 0 && 16#${ran[3]} > 0 && 16#${ran[4]} > 0)) || fail "$way: a time is missing: ${ran[*]}"
    ((16#${ran[3]} <= used)) || fail "$way: recording took longer than the program: ${ran[*]}"
    [[ $way == busy ]] && ((used < 300000000)) && fail "it took 300 ms, not $used ns"
    [[ $way == child ]] && ((used >= 300000000)) && fail "the child took 300 ms, not the program: $used ns"
    echo "$way: $used ns"
  done

  # A program that does little but allocate: recording takes a third of the time or more, and from there on what is left
  # must not be a number. In such samples, an interrupt must not count for all the calls between them.
  printf '#include <stdlib.h>\nint main(void) { void *p[50] = {0}; for (long i = 0; i < 600000; i++) { free(p[i %% 50]); p[i %% 50] = malloc(24 + i %% 3 * 8); } return 0; }\n' > "$work/tight.c"
  compile "$work/tight.c" -o "$work/tight"
  for _ in 1 2 3 4 5; do
    ends 0 record "$work/tight"
    is ' ms of processor time, (much of it for recording: what the program takes is not known well; --runs 5 measures it|of which recording took [0-9.]+)$' "$work/err"
    zstd -dcq "$trace" > "$work/text"
    read -ra ran <<< "$(grep '^= Ran ' "$work/text")"
    ((16#${ran[3]} <= 16#${ran[2]})) || fail "recording took longer than the program: ${ran[*]}"
    ((whole += 16#${ran[3]} == 16#${ran[2]})) || true
  done
  ((whole < 5)) || fail "recording took all of the time in each run, so its estimate is too high"

  # With --runs, the program runs before: as it is, and with kolk, in turn. The time is the median of those as it is.
  ends 0 "$KOLK" record --runs 3 -o "$trace" -- bash -c 'p=${LD_PRELOAD##*/}; echo "run: ${p:-plain} ${KOLK_RECORD:-alone}"'
  sed 's/record.so [0-9].*/record/' "$work/out" > "$work/ways"
  diff - "$work/ways" << 'END' || fail "--runs: these are not its runs"
run: plain alone
run: libkolk-malloc.so alone
run: libkolk-malloc.so alone
run: plain alone
run: plain alone
run: libkolk-malloc.so alone
run: libkolk-record
END
  is '[0-9.]+ ms of processor time without recording$' "$work/err"
  zstd -dcq "$trace" > "$work/text"
  is '^= Ran [1-9a-f][0-9a-f]* 0 [1-9a-f][0-9a-f]*$' "$work/text"
  [[ $(grep -Ec '^= Run [1-9a-f][0-9a-f]* [1-9a-f][0-9a-f]*$' "$work/text") == 3 ]] || fail "--runs: not three lines"
  [[ $(awk '$2 == "Run" { print length($3), $3 }' "$work/text" | sort | sed -n '2s/.* //p') == "$(awk '$2 == "Ran" { print $3 }' "$work/text")" ]] ||
    fail "--runs: the time is not the median: $(grep '^= R' "$work/text")"
  if has_names; then
    ends 0 "$KOLK" advise "$trace"
    [[ $(head -n 1 "$work/out") =~ ^'kolk run -- ...: '[-0-9.]+' to '[-0-9.]+' % less processor time, measured in 3 runs'$ ]] ||
      fail "--runs: advise begins otherwise: $(head -n 1 "$work/out")"
  fi
  ends 2 "$KOLK" record --runs 22 -- true
  ends 0 env LD_PRELOAD=libm.so.6 "$KOLK" record --runs 1 -o "$trace" -- bash -c 'echo "run: ${LD_PRELOAD##*/}"'
  [[ $(head -n 1 "$work/out") == "run: libm.so.6" && $(sed -n 2p "$work/out") == *libm.so.6 ]] || fail "--runs: $(cat "$work/out")"
  rm "$trace"
  ends 1 "$KOLK" record --runs 1 -o "$work/no/such" -- touch "$work/ran"
  [[ ! -e $work/ran ]] || fail "--runs: the program ran, and there was no output for it"
  ends 127 "$KOLK" record --runs 1 -o "$trace" -- no-such-program
  ends 134 "$KOLK" record --runs 1 -o "$trace" -- "$work/recorded" crash
  [[ ! -e $trace ]] || fail "--runs: there is a trace, and the first run was ended by a signal"
}

programs() {
  local program
  for program in "python3 -c 'import json, threading; print(len(json.dumps([{\"a\": \"x\" * i} for i in range(2000)])))'" \
    "lua5.4 -e 'local t = {} for i = 1, 20000 do t[i % 100] = (\"x\"):rep(i % 300) .. i end print(#t)'"; do
    command -v "${program%% *}" > /dev/null || { skipped+=("${program%% *}"); continue; }
    bash -c "$program" > "$work/plain"
    ends 0 record bash -c "exec $program"
    cmp "$work/plain" "$work/out" || fail "$program prints something else"
    known # fails if the trace is not complete
    [[ $(grep -Ec '^@ [0-9a-f]+ [-+*%>] ' "$work/text") -gt 4000 ]] || fail "$program: there are few operations"
    [[ ${KOLK_TEST_EFFORT:-} != quick ]] || continue
    ends 0 "$KOLK" replay --json "$trace"
    is '"failed_left_out": 0,' "$work/out"
    is '"unknown_left_out": 0,' "$work/out"
  done
}

way=$1
$way
[[ ${#skipped[@]} == 0 ]] || echo "left out, as they are not installed: ${skipped[*]}"
echo "$way: done"
