#!/bin/bash
# runs: long once
# Runs programs under a tool, with the ordinary library of a build. mistakes.c makes mistakes with pooled objects, which
# the tool must report in its usual form and with the program's functions in its stacks; clean.c and threads.c make no
# mistakes, so the tool must be silent. TOOL.said lists the mistakes and the expected reports: see condense below.
# `races` checks the library itself: it builds the library with ThreadSanitizer and runs tests of the queue, the shared
# pool, the resource pool and the pool between processes, of their classes for C++, and of all kinds while their
# statistics are written.
# Usage: CC=... tools.sh asan|lsan|msan|tsan|races|memcheck|malloc|probes BUILD
set -euo pipefail
. tests/help/script.sh
tool=$1
compiler=$CC
build=$(realpath "$2")
work=$(mktemp -d "${TMPDIR:-/tmp}/kolk tools.XXXXXX")
trap 'rm -rf "$work"' EXIT
unset KOLK_DEBUG KOLK_STATS KOLK_BYPASS ASAN_OPTIONS LSAN_OPTIONS MSAN_OPTIONS TSAN_OPTIONS UBSAN_OPTIONS VALGRIND_OPTS
export LC_ALL=C LD_LIBRARY_PATH=$work:$build

flags=(-std=c11 -g -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls -pthread -Iinclude)
run=() # the command that runs a program under the tool, if one is needed

machine() { readelf -h "$1" | grep -E 'Class|Machine'; }

# Checks that the tool works, by running a program without kolk under it.
need() {
  command -v "$compiler" > /dev/null || skip "there is no $compiler"
  echo 'int main(void) { return 0; }' > "$work/empty.c"
  "$compiler" "${flags[@]}" "$work/empty.c" -o "$work/empty" 2> /dev/null || skip "$compiler has no $1"
  "${run[@]}" "$work/empty" > "$work/said" 2>&1 || skip "$1 runs no programs here: $(grep -m 1 . "$work/said")"
  [[ $(machine "$work/empty") == "$(machine "$build/libkolk.so")" ]] ||
    skip "the library is not for the machine of $compiler"
  [[ $1 != *Sanitizer || $compiler != *clang* ]] || command -v llvm-symbolizer > /dev/null ||
    skip "there is no llvm-symbolizer, without which $1 names no functions"
}

# make_programs NAME...: builds NAME.static and NAME.shared
make_programs() {
  local name
  for name in "$@"; do
    "$compiler" "${flags[@]}" -c "tests/tools/$name.c" -o "$work/$name.o"
    "$compiler" "${flags[@]}" "$work/$name.o" "$build/libkolk.a" -o "$work/$name.static"
    "$compiler" "${flags[@]}" "$work/$name.o" -L"$build" -lkolk -o "$work/$name.shared"
  done
}

# Extracts from each report the lines that state what happened, each followed by the program's own functions in its
# stack; if there is no report, prints all output and the exit code. condense SETTINGS: reads what mistakes.c wrote.
condense() {
  awk -v settings="$1" -v functions="$(sed -nE 's/^(PLACE .*[ *]|int )([a-z_]+)\(.*\{$/\2/p' tests/tools/mistakes.c)" '
    BEGIN { split(functions, names, "\n"); for (n in names) ours[names[n]] = 1 }
    function end_stack() {
      if (stack) print "    " substr(stack, 4)
      stack = ""
    }
    /^> / { print "> " settings substr($0, 3); all = ""; reported = 0; next }
    /^status: / { end_stack(); if (!reported) print all "  exit code " $2; next }
    { all = all $0 "\n"; sub(/^==[0-9]+== */, "") }
    /^ *(#[0-9]+|at|by) / {
      sub(/^.* (in|0x[0-9A-F]+:) /, "")
      sub(/[ .].*/, "")
      if (told && $0 in ours) stack = stack " < " $0
      next
    }
    { end_stack() }
    { told = match($0, /(ERROR|WARNING): [A-Za-z]+Sanitizer: [a-z-]+( memory leaks)?|(READ|WRITE) of size [0-9]+/) ||
             match($0, /[a-z]+ (allocated )?by thread|Direct leak of .* object\(s\)|Uninitialized value was .*/) ||
             match($0, /^(Invalid|Conditional|Block|Uninitialised) .*|is [0-9]+ bytes .*|[0-9]+ bytes in .* lost/) ||
             match($0, /^kolk: .* slot [0-9]+/) }
    told { print "  " substr($0, RSTART, RLENGTH); reported = 1 }
    END { end_stack() }' "$work/said"
}

# Makes each mistake that TOOL.said lists in a line "> SETTINGS MISTAKE": with typed pools and the static library, and
# with untyped pools and the shared one. Mistakes with the same settings are made in one run. If no report is expected,
# the program must exit with 0 and print nothing.
check_reports() {
  local way settings names
  export LSAN_OPTIONS=use_stacks=0:use_registers=0 # stale values there sometimes hide a leak
  for way in static:typed shared:untyped; do
    while IFS='|' read -r settings names; do
      env $settings "${run[@]}" "$work/mistakes.${way%:*}" "${way#*:}" $names > "$work/said" 2>&1 ||
        fail "$tool, $way, $settings: the program itself ended with $?: $(cat "$work/said")"
      condense "$settings"
    done < <(sed -n 's/^> //p' "tests/tools/$1.said" | awk '
      { name = $NF; settings = substr($0, 1, length($0) - length(name)) }
      settings != last { if (NR > 1) print last "|" names; names = "" }
      { last = settings; names = names " " name }
      END { print last "|" names }') > "$work/all"
    diff -u "tests/tools/$1.said" "$work/all" || fail "$tool, $way: the difference is above."
  done
  unset LSAN_OPTIONS
}

# check_silent SETTINGS PROGRAM ARGUMENTS...: the program must exit with 0 and print nothing.
check_silent() {
  env $1 "${run[@]}" "$work/$2" "${@:3}" > "$work/said" 2>&1 || fail "$*: exit code $?: $(cat "$work/said")"
  [[ ! -s $work/said ]] || fail "$*: not silent: $(cat "$work/said")"
}

# Runs the clean program in every mode. It must use every function of base.h and pool.h, directly or by its typed form.
check_clean() {
  local name
  for name in $(sed '/---- Inside/,$d' include/kolk/{base,pool}.h |
    sed -nE 's/^(KOLK_API_|KOLK_USES_\(1\)|KOLK_INLINE_USES_\(1\)|KOLK_INLINE_|KOLK_FOLDED_INLINE_|KOLK_BASE_INLINE) .*\bkolk_([a-z_]+)\(.*/\2/p'); do
    grep -qE "[a-z]_${name#pool_}\b" tests/tools/clean.c ||
      fail "clean.c does not use kolk_$name"
  done
  check_silent "" clean.static
  check_silent KOLK_BYPASS=1 clean.shared
  check_silent KOLK_DEBUG=all clean.static
  check_silent "KOLK_BYPASS=0 KOLK_DEBUG=all" clean.shared
  check_silent "KOLK_BYPASS=0 KOLK_STATS=json:/dev/null" clean.static
}

# check_packed MISTAKE WORDS ...: the tool must report each mistake with slot maps in these words, and be silent about
# their correct use in every mode.
check_packed() {
  local settings names=() words=() n
  make_programs packed
  check_silent "" packed.shared
  check_silent "KOLK_BYPASS=0 KOLK_DEBUG=all,move" packed.static
  check_silent KOLK_DEBUG=all,move packed.shared
  for (( n = 1; n < $#; n += 2 )); do names+=("${@:n:1}") words+=("${@:n+1:1}"); done
  for settings in "" KOLK_DEBUG=move; do
    env $settings "${run[@]}" "$work/packed.static" "${names[@]}" > "$work/all" 2>&1 || true
    for n in "${!names[@]}"; do
      sed -n "/^> ${names[n]}\$/,/^status: /p" "$work/all" > "$work/said"
      grep -q '^status: [^0]' "$work/said" && grep -Eq "${words[n]}" "$work/said" ||
        fail "packed ${names[n]} $settings: not \"${words[n]}\": $(cat "$work/all")"
    done
    [[ $(head -n 1 "$work/all") == "> ${names[0]}" ]] || fail "packed $settings: before the mistakes: $(cat "$work/all")"
  done
}

# ---- the tools ----

# promise: heap.h "each block is a malloc ... still applies"; README.md "as if it came from malloc"
asan() {
  flags+=(-fsanitize=address)
  need AddressSanitizer
  make_programs mistakes clean threads
  check_reports asan
  check_clean
  check_silent "" threads.shared bypassed
  check_packed kept use-after-poison read use-after-poison
}

# promise: README.md "as if it came from malloc"
lsan() {
  flags+=(-fsanitize=leak)
  need LeakSanitizer
  make_programs mistakes clean
  check_reports lsan
  check_clean
}

# promise: README.md "as if it came from malloc"
msan() {
  flags+=(-fsanitize=memory -fsanitize-memory-track-origins)
  need MemorySanitizer
  make_programs mistakes clean
  check_reports msan
  check_clean
  check_packed fresh use-of-uninitialized-value
}

tsan() {
  flags+=(-fsanitize=thread)
  need ThreadSanitizer
  make_programs threads
  check_silent "" threads.static plain
  check_silent KOLK_DEBUG=all threads.shared plain
  make_programs race
  ! "$work/race.static" > "$work/said" 2>&1 || fail "a race of the program is not found: $(cat "$work/said")"
  grep -q "data race" "$work/said" || fail "this is no report of a race: $(cat "$work/said")"
}

# ThreadSanitizer finds races by happens-before, so two threads need to take each path only a few times, not ten
# thousand times. The build is without optimisation, which takes a third of the time: the orders of atomic operations
# are still constants, and no access is removed. Two tests run in parallel, because they wait half of the time.
races() { # runs: two-processors
  flags+=(-O0 -g1 -fsanitize=thread -DKOLK_BUILD -DKOLK_CHAOS=1 -Isrc)
  need ThreadSanitizer
  { # compiled as one file, which takes a fifth of the time; base.c, which emits inline functions, is separate
    echo '#include "src/os/system.h"'
    printf '%s\n' src/*/*.c | sed '/\/base.c$/d; s/.*/#include "&"/'
  } > "$work/kolk.c"
  "$compiler" "${flags[@]}" -I. -c "$work/kolk.c" -o "$work/kolk.o"
  "$compiler" "${flags[@]}" -c src/base/base.c -o "$work/base.o"
  echo 'void kolk_chaos_(void); void kolk_chaos_(void) {}' > "$work/calm.c"
  "$compiler" "${flags[@]}" -c "$work/calm.c" -o "$work/calm.o"
  "$CXX" -std=c++17 -O0 -g1 -fsanitize=thread -Iinclude tests/cpp/threads.cc "$work"/{kolk,base,calm}.o -o "$work/classes" -pthread
  "$work/classes" || fail "the classes of kolk.hpp have races."
  export -f race
  export work compiler
  printf '%s\n' queue_threads queue_histories shared_threads shared_histories shared_wait_threads shared_death \
    shared_debug_threads resource_threads resource_fd resource_creation stats_threads ipc |
    xargs -P 2 -I NAME bash -c 'race "$@"' race NAME "${flags[@]}" || fail "what failed is above."
}

race() { # TEST FLAG...
  local wraps operations=150
  case $1 in
    shared_histories) operations=30 ;;        # rounds of a thousand calls
    queue_* | shared_death) operations=40 ;;  # items, windows, forks
    shared_wait_threads) operations=1000 ;;   # they are short, and find the rarest races
    stats_threads) operations=20 ;;           # statistics of everything
  esac
  mapfile -t wraps < <(sed -nE 's/.*__wrap_(\w+)\(.*/-Wl,--wrap=\1/p' tests/*/"test_$1.c")
  "$compiler" "${@:2}" tests/*/"test_$1.c" "$work"/{kolk,base}.o "${wraps[@]}" -lcmocka -o "$work/$1" &&
    KOLK_TEST_OPS=$operations "$work/$1" > "$work/$1.said" 2>&1 || { echo "$1: exit code $?: $(cat "$work/$1.said")" >&2; exit 1; }
}

# promise: README.md "as if it came from malloc"
memcheck() {
  flags+=(-O0) # at -O1, the reported line of a call is wrong if the mistake is at the beginning of the called function
  # Only definite leaks count, as memory of glibc's, for the unwinder that it loads, is "possibly lost".
  run=(valgrind -q --leak-check=full --show-leak-kinds=definite --error-exitcode=9)
  command -v valgrind > /dev/null || skip "there is no valgrind"
  need memcheck
  make_programs mistakes clean
  "${run[@]}" "$work/mistakes.static" typed nothing > "$work/said" 2>&1 || true
  ! grep -q 'debuginfo reader' "$work/said" || skip "this valgrind does not understand $CC's debug information"
  run+=(--track-origins=yes)
  check_reports memcheck
  unset 'run[-1]' # tracking origins takes long, and the remaining checks do not need it
  check_clean
  check_packed kept 'Invalid write of size 1' read 'Invalid read of size 1' fresh 'Conditional jump'
}

# A tool that supports malloc but not kolk must see a block for each life of an object, or for each slot if objects keep
# their contents.
malloc() {
  local kind
  need malloc
  make_programs served
  "$compiler" "${flags[@]}" -fPIC -shared tests/tools/count_blocks.c -o "$work/count_blocks.so"
  for kind in static shared; do
    LD_PRELOAD=count_blocks.so "$work/served.$kind" > "$work/said"
    KOLK_BYPASS=1 LD_PRELOAD=count_blocks.so "$work/served.$kind" >> "$work/said"
    diff -u tests/tools/malloc.said "$work/said" || fail "$kind: the difference is above."
  done
}

# The probes must be in the shared library and in a static program, and gdb must read the arguments that probes.c
# prints.
probes() {
  local kind file names status=0
  command -v gdb > /dev/null || skip "there is no gdb"
  run=(gdb -nx -batch -iex 'set auto-load off' -iex 'set debuginfod enabled off')
  need gdb
  make_programs probes
  "$work/probes.static" > "$work/said" || status=$?
  [[ $status != 77 ]] || skip "the library was built without <sys/sdt.h>"
  for file in "$build/libkolk.so" "$work/probes.static"; do
    names=$(readelf -n "$file" | awk '/Provider: kolk$/ { getline; print $2 }' | sort -u | tr '\n' ' ')
    [[ $names == "alloc deinit empty free full grow init leak stale_handle wait waited " ]] || fail "$file has these probes: $names"
  done
  for kind in static shared; do
    check_probes $kind "" 'init|deinit|grow|full|empty|wait|waited|leak|stale_handle'
    check_probes $kind KOLK_DEBUG=trace:sparks '.*'
  done
  if command -v bpftrace > /dev/null; then
    check_commands
  else
    echo "left out: the commands of docs/debugging.md, as there is no bpftrace"
  fi
}

# bpftrace must find the tracepoints in the library, and compile the commands of docs/debugging.md for it. Running them
# would take rights that tests don't have.
check_commands() {
  local library=$build/libkolk.so
  sed -n "/^    bpftrace -e/,/'$/p" docs/debugging.md | sed "s|usdt:./game:|usdt:$library:|g" > "$work/commands"
  [[ $(grep -c bpftrace "$work/commands") == 2 ]] || fail "docs/debugging.md has other commands than expected"
  compiles() { bpftrace -d -e "$2" > "$work/compiled" 2>&1; }
  ! compiles -e "usdt:$library:kolk:wait { nosuchfunction(1); }" || fail "bpftrace finds no mistake"
  sed -i 's/bpftrace/compiles/; s/}.$/& || fail "$(tail -n 3 "$work\/compiled")"/' "$work/commands"
  . "$work/commands"
  echo "bpftrace compiles the commands of docs/debugging.md"
}

# check_probes KIND SETTINGS WHICH: of the lines that probes.c prints, gdb must print those of these probes.
check_probes() {
  env PRINTED="$work/printed" $2 "${run[@]}" -x tests/tools/probes.gdb "$work/probes.$1" > "$work/all" 2>&1 || true
  grep -E "^($3) " "$work/printed" > "$work/expected"
  grep -E '^(alloc|free|init|deinit|grow|full|empty|wait|waited|leak|stale_handle) ' "$work/all" > "$work/said" || true
  diff -u "$work/expected" "$work/said" || fail "$*: the difference is above. $(cat "$work/all")"
}

"$tool"
