#!/bin/bash
# runs: long once
# Runs programs that were not written for kolk under libkolk-malloc.so: output and exit code must be the same as without
# it.
#     answers     the results of malloc and its family, compared with glibc's manual
#     operators   C++'s operators new and delete
#     life        constructors and destructors, libraries that are loaded and unloaded, threads and their keys
#     forks       forks while other threads are in the middle of malloc
#     misuse      the mistakes of docs/misuse.md that can be made with malloc
#     caught      mistakes with the first blocks of a program
#     limits      too little memory: NULL and ENOMEM
#     sandbox     a filter of system calls; locked memory; core dumps
#     settings    KOLK_STATS, KOLK_DEBUG, KOLK_SIZES, KOLK_BYPASS; a program that uses kolk itself
#     run         kolk run
#     programs    everyday programs
#     servers     servers, and programs in other languages (long)
# Usage: CC=... KOLK=... preload.sh WAY BUILD
set -euo pipefail
. tests/preload/help.sh "$2"
library=$build/libkolk-malloc.so
here=$PWD

under() { env LD_PRELOAD="$library" "$@"; }

# same COMMAND...: output and exit code must be the same without and with the library.
same() {
  local code=0 other=0
  "$@" > "$work/without" 2>&1 < /dev/null || code=$?
  under "$@" > "$work/with" 2>&1 < /dev/null || other=$?
  cmp "$work/without" "$work/with" && [[ $code == "$other" ]] ||
    fail "$*: ended with $code without and $other with the library; $(diff -a "$work/without" "$work/with" | head -n 20)"
}

# The same for a program that may not be installed.
same_if_there() {
  if command -v "$1" > /dev/null; then
    same "$@"
  else
    skipped+=("$1")
  fi
}

make_life() {
  compile -shared -fPIC tests/preload/early.c -o "$work/libearly.so"
  compile -shared -fPIC tests/preload/early.c -o "$work/plugin.so"
  compile tests/preload/life.c -o "$work/life" -L"$work" -learly -Wl,-rpath,"$work" -ldl
}

answers() {
  compile -w tests/preload/answers.c -o "$work/answers" -ldl
  same "$work/answers"
  [[ $(wc -l < "$work/with") -gt 2000 ]] || fail "there are few answers"
  ends 0 under "$work/answers" more
  diff - "$work/out" << 'END'
first call 18446744073709551615: NULL, errno ENOMEM
freed 1
aligned_alloc 24 100: NULL, errno EINVAL
aligned_alloc 0 100: NULL, errno EINVAL
cfree 0
END
  names=$(nm -D --defined-only "$library" | sed 's/.* //' | sort | xargs)
  [[ $(grep -c '^_Z' <<< "${names// /$'\n'}") == 20 ]] || fail "the library shows $names"
  names=$(tr ' ' '\n' <<< "$names" | grep -v '^_Z' | xargs)
  [[ $names == "__libc_calloc __libc_free __libc_malloc __libc_memalign __libc_pvalloc __libc_realloc __libc_valloc aligned_alloc calloc free free_aligned_sized free_sized mallinfo mallinfo2 malloc malloc_trim malloc_usable_size\
 memalign posix_memalign pvalloc realloc reallocarray valloc" ]] || fail "the library shows $names"
  cat > "$work/names.c" << 'END'
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);
void *__libc_valloc(size_t), *__libc_pvalloc(size_t);
void __libc_free(void *);
int main(void) {
    for (size_t size = 1; size < 1000000; size *= 10) {
        void *blocks[] = {__libc_malloc(size), __libc_calloc(2, size), __libc_realloc(malloc(10), size), __libc_memalign(64, size),
                          __libc_valloc(size), __libc_pvalloc(size),   malloc(size)};
        if ((uintptr_t)blocks[3] % 64 || (uintptr_t)blocks[4] % 4096 || *(char *)blocks[1]) return 1;
        for (size_t n = 0; n < sizeof blocks / sizeof *blocks; n++) memset(blocks[n], 1, size);
        for (size_t n = 0; n < sizeof blocks / sizeof *blocks; n++) n % 2 ? free(blocks[n]) : __libc_free(blocks[n]);
    }
    return 0;
}
END
  compile -w "$work/names.c" -o "$work/names"
  ends 0 "$work/names"
  ends 0 under "$work/names"
  readelf -dW "$library" | grep INITFIRST > /dev/null || fail "its handlers of forks are not the first"
  ! readelf -rW "$library" | grep -E 'DTPMOD|TLSDESC' || fail "some thread-local variables are allocated at their first use"
}

operators() {
  local way compile=("${CXX:-c++}" -std=c++17 -O0 -w tests/preload/operators.cc) # -O0: no call is left out
  for way in KEEPS REPLACES; do
    "${compile[@]}" "-D$way" -o "$work/operators_$way"
    same "$work/operators_$way"
  done
  is 'its own operators: [1-9]' "$work/with"
  "${compile[@]}" -DPLUGIN -shared -fPIC -o "$work/operators.so"
  echo '#include <dlfcn.h>
    int main(int argc, char **argv) {
        void *library = dlopen(argv[argc - 1], RTLD_NOW | RTLD_LOCAL);
        if (!library) return 1;
        ((void (*)(void))dlsym(library, "plugin"))();
        return 0;
    }' > "$work/host.c"
  compile -w "$work/host.c" -o "$work/host" -ldl
  same "$work/host" "$work/operators.so"
  ends 134 under "$work/operators_KEEPS" twice
  is '^kolk: malloc: double free of a block by main' "$work/err"
}

life() {
  make_life
  same "$work/life" libraries "$work"
  same "$work/life" threads "$work"
  ends 0 env KOLK_DEBUG=all LD_PRELOAD="$library" "$work/life" libraries "$work"
}

forks() {
  make_life
  same "$work/life" forks "$work"
  [[ ${KOLK_TEST_EFFORT:-} == quick ]] || # debug mode takes ten times as long, so a part of the test is enough
    ends 0 env KOLK_TEST_EFFORT=quick KOLK_DEBUG=fill,guard,quarantine=64 LD_PRELOAD="$library" "$work/life" forks "$work"
}

make_mistakes() {
  compile -w -DMALLOC tests/misuse/pool.c -o "$work/mistakes"
}

# says SETTINGS NAME|REPORT...: the first report of each of these programs must be this; `silent`: there must be none.
# With twins=clean, of their clean twins.
says() {
  local rows=("${@:2}") row said
  ends 0 env $1 LD_PRELOAD="$library" "$work/mistakes" ${twins:-} "${rows[@]%%|*}"
  for row in "${rows[@]}"; do
    read -r said || true
    [[ $said == "$row"* ]] || fail "$1: '$said', not '$row': $(cat "$work/err")"
  done < <(awk '/^program: / { name = $2; said = "silent" }
    /^kolk: / && !/still alive/ && said == "silent" { said = $0; sub(/^kolk: malloc[^:]*: /, "", said) }
    /^status: / { print name "|" said }' "$work/err")
}

# Runs the programs of the table for malloc, and checks their reports without settings, and with KOLK_DEBUG=all.
misuse() {
  local table
  make_mistakes
  mapfile -t table << 'END'
double_free_at_once|double free of a block|double free of slot
double_free_later|double free of a block|double free of slot
double_free_reused|double free of a block|double free of slot
after_free_read|silent|silent
after_free_write|write after free to a block of 32 bytes|silent
bounds_overflow_1|overflow of a block of 32 bytes|overflow of slot
bounds_overflow_16|underflow of a block of 32 bytes|overflow of slot
bounds_overread|silent|silent
bounds_underflow|underflow of a block of 32 bytes|underflow of slot
pointer_global|free of a pointer that does not belong to this heap|free of a pointer that does not belong to this heap
pointer_interior|free of a pointer into a block|free of a pointer into slot
pointer_misaligned|free of a pointer into a block|free of a pointer into slot
pointer_stack|free of a pointer that does not belong to this heap|free of a pointer that does not belong to this heap
pointer_wild|free of a pointer that does not belong to this heap|free of a pointer that does not belong to this heap
uninitialised_read|silent|silent
leak_exit|silent|silent
END
  says "" "${table[@]%|*}"
  says KOLK_DEBUG=all "${table[@]/|*|/|}"
  twins=clean says KOLK_DEBUG=all "${table[@]/|*/|silent}"
  first_call
}

# If the program's very first call is a mistake, the report must still name the heap.
first_call() {
  local arguments
  echo '#include <stddef.h>
    void free(void *), free_sized(void *, size_t);
    size_t malloc_usable_size(void *);
    int main(int count, char **arguments) {
        int local;
        if (count == 1) free(&local);
        if (count == 2) free_sized(&local, 4);
        return !arguments || (count == 3 && malloc_usable_size(&local));
    }' > "$work/first.c"
  compile "$work/first.c" "$library" -o "$work/first"
  for arguments in '' a 'a b'; do
    ends 134 under "$work/first" $arguments
    is '^kolk: malloc: (free|usable_size) of a pointer that does not belong to this heap' "$work/err"
  done
}

caught() {
  compile -w tests/preload/caught.c -o "$work/caught"
  local setting
  for setting in '' sample=1000; do
    ends 0 env ${setting:+KOLK_DEBUG=$setting} LD_PRELOAD="$library" "$work/caught"
    diff - "$work/out" <<< '0 of 231 were missed' || fail "some mistakes were missed"
  done
}

# A list grows until memory runs out; then some of it is freed.
limits() { # runs: longest
  local limit
  cat > "$work/fill.c" << 'END'
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
static volatile size_t sizes[] = {16, 100, 5000, 300000};
int main(int argc, char **argv) {
    size_t more = strtoul(argv[argc - 1], NULL, 10) << 20;
    setrlimit(RLIMIT_AS, &(struct rlimit){more, more});
    for (int n = 3; n >= 0; n--) {
        void **list = NULL, **block;
        size_t bytes = 0;
        errno = 0;
        while ((block = malloc(sizes[n]))) *block = list, list = block, bytes += sizes[n];
        if (errno != ENOMEM || malloc(more) || errno != ENOMEM || bytes < more / 100) return printf("%zu: %zu\n", sizes[n], bytes), 1;
        while (list) block = *list, free(list), list = block;
        for (int i = 0; i < 1000; i++) free(malloc(sizes[n]));
    }
    puts("done");
}
END
  compile "$work/fill.c" -o "$work/fill"
  for limit in 25 40 60 200; do
    ends 0 env LD_PRELOAD="$library" bash -c "ulimit -v ${limit}000 && exec \"\$0\" $limit" "$work/fill"
    is '^done$' "$work/out"
    ((limit < 50)) || continue # here, malloc's heap has no classes, and settings have no effect
    ends 0 env LD_PRELOAD="$library" KOLK_DEBUG=fill bash -c "ulimit -v ${limit}000 && exec \"\$0\" $limit" "$work/fill"
    is '^done$' "$work/out"
  done
  compile -rdynamic tests/preload/refused.c -o "$work/refused"
  ends 0 under "$work/refused"
  is '^done$' "$work/out"
  cat > "$work/list.py" << 'END'
try: list(range(10 ** 9))
except MemoryError: print("a list is too large")
kept = []
try:
    while True: kept.append("x" * (len(kept) % 3000) + str(len(kept)))
except MemoryError:
    many = len(kept) > 10000
    kept = None
print(many, "went on with", len(set(str(i) * 5 for i in range(20000))))
END
  for limit in "-v 200000" "-d 120000"; do
    runs_out "$limit" 0 '^True went on with 20000$' python3 "$work/list.py"
    runs_out "$limit" 1 '^Out of memory!$' perl -e 'while (1) { push @kept, "x" x 5000 }'
    [[ ${KOLK_TEST_EFFORT:-} != quick ]] || continue
    runs_out "$limit" 7 'out of memory' sqlite3 :memory: "create table t(x); with recursive n(i) as
      (select 1 union all select i + 1 from n where i < 1000000) insert into t select randomblob(1000) from n"
    runs_out "$limit" 2 'cannot allocate [0-9]* bytes' bash -c 'x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done'
  done
}

# Parts are skipped where there are no sandboxes, or memory can't be locked. A core dump contains only memory in use:
# neither reserved memory nor a class's spare memory.
sandbox() {
  local way code
  compile -rdynamic tests/preload/sandbox.c -o "$work/sandbox"
  for way in alone threads locked; do
    code=0
    under "$work/sandbox" $way > "$work/out" 2>&1 || code=$?
    [[ $code != 77 ]] || { skipped+=("what sandbox $way needs"); continue; }
    [[ $code == 0 ]] || fail "sandbox $way: $code: $(cat "$work/out")"
  done
  if command -v gcore > /dev/null; then
    cat > "$work/dumped.c" << 'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void) {
    for (size_t size = 1; size < 300000; size *= 2)
        if (!malloc(size)) return 1;
    puts("ready");
    fflush(stdout);
    pause();
}
END
    compile "$work/dumped.c" -o "$work/dumped"
    serve "$work/dumped"
    until grep -q ready "$work/server.log"; do sleep 0.1; done
    gcore -o "$work/core" $server > "$work/out" 2>&1 || skipped+=("gcore of a program that runs")
    kill $server
    for code in "$work"/core.*; do
      [[ ! -e $code || $(stat -c %s "$code") -lt 300000000 ]] || fail "a core dump has $(stat -c %s "$code") bytes"
    done
  else
    skipped+=(gcore)
  fi
}

# runs_out LIMIT CODE PATTERN PROGRAM...: with this memory limit, the program must exit with this code and this message,
# without and with the library.
runs_out() {
  local limited=(bash -c "ulimit $1 && exec \"\$@\"" -- "${@:4}")
  command -v "$4" > /dev/null || { skipped+=("$4"); return; }
  ends "$2" "${limited[@]}"
  is "$3" <(cat "$work/out" "$work/err")
  ends "$2" env LD_PRELOAD="$library" "${limited[@]}"
  is "$3" <(cat "$work/out" "$work/err")
}

# With sample=N, programs print the same. A program that overflows a guarded block, or touches a freed one, ends at that
# access.
guards() {
  local name program=(sqlite3 :memory: "with recursive n(i) as (select 1 union all select i + 1 from n where i < 9999)
    select sum(length(s)) from (select group_concat(hex(i * 7919), '-') s from n group by i % 97)")
  command -v sqlite3 > /dev/null || program=(awk 'BEGIN { for (; i < 99999; i++) s[i % 997] = s[i % 97] i; print length(s[5]) }')
  ends 0 "${program[@]}"
  mv "$work/out" "$work/without"
  for name in 1 100; do
    ends 0 env KOLK_DEBUG=sample=$name KOLK_STATS=json:"$work/s.json" LD_PRELOAD="$library" "${program[@]}"
    cmp "$work/out" "$work/without"
    [[ ! -s $work/err ]] || fail "with sample=$name: $(cat "$work/err")"
    is '"name": "malloc", .*"debug": \["sample"\]' "$work/s.json"
  done
  make_mistakes
  says KOLK_DEBUG=sample=1 "after_free_read|silent" "after_free_write|silent" "bounds_overflow_16|silent"
  [[ $(grep -c '^status: -11$' "$work/err") == 3 ]] || fail "with sample=1: $(cat "$work/err")"
  says KOLK_DEBUG=sample=1 "double_free_later|double free of guarded block 0 by free_object (misuse.h:"
}

settings() {
  cat > "$work/few.c" << 'END'
#include <stdio.h>
#include <stdlib.h>
static void *volatile kept;
int main(void) {
    for (int i = 0; i < 7; i++) kept = malloc(60);
    kept = malloc(1000000);
    puts("few");
}
END
  compile "$work/few.c" -o "$work/few"
  ends 0 under "$work/few"
  [[ ! -s $work/err ]] || fail "it is not silent: $(cat "$work/err")"
  ends 0 env KOLK_STATS=1 LD_PRELOAD="$library" "$work/few"
  is '^malloc +heap ' "$work/err"
  is '^malloc/64 +heap +64 +7 ' "$work/err"
  ends 0 env KOLK_STATS=json:"$work/s.json" LD_PRELOAD="$library" "$work/few"
  [[ ! -s $work/err ]] || fail "with a file: $(cat "$work/err")"
  python3 -c 'import json, sys; print(*[p["count"] for p in json.load(open(sys.argv[1]))["pools"] if p["name"] == "malloc/64"])' \
    "$work/s.json" > "$work/out"
  is '^7$' "$work/out"
  ends 0 env KOLK_DEBUG=sites LD_PRELOAD="$library" "$work/few"
  is '^kolk: malloc/64: 7 objects are still alive, .*; allocated by main\+0x' "$work/err"
  ends 0 env KOLK_DEBUG="fill,guard,quarantine=64:malloc/64" KOLK_STATS=json LD_PRELOAD="$library" "$work/few"
  guards
  ends 0 env KOLK_DEBUG=nonsense KOLK_SIZES=/etc/passwd KOLK_BYPASS=1 LD_PRELOAD="$library" "$work/few"
  is '^kolk: KOLK_DEBUG: "nonsense" is not a setting' "$work/err"
  [[ $(wc -l < "$work/err") == 1 ]] || fail "it says more: $(cat "$work/err")"
  ends 0 env KOLK_BYPASS=1 KOLK_STATS=1 LD_PRELOAD="$library" "$work/few" # no effect: the heap is malloc
  is '^malloc/64 +heap +64 +7 ' "$work/err"

  # A server that is told to end. Its first malloc starts the thread that writes.
  KOLK_STATS=text:"$work/s.txt" KOLK_STATS_AT=TERM LD_PRELOAD="$library" sleep 1000 &
  until grep -q "SigCgt:.*4[0-9a-f]\{3\}$" /proc/$!/status; do sleep 0.01; done # SIGTERM has a handler
  kill $!
  ends 143 wait $!
  is '^malloc +heap ' "$work/s.txt"

  # A program that uses kolk itself: it and the library have separate pools. If both write their statistics to the same
  # file, the library's remain.
  compile -Iinclude examples/hello.c -o "$work/hello" -L"$build" -lkolk -Wl,-rpath,"$build"
  same "$work/hello"
  ends 0 env KOLK_STATS=1 LD_PRELOAD="$library" "$work/hello"
  is '^bullets +pool ' "$work/err"
  is '^malloc +heap ' "$work/err"
  ends 0 env KOLK_SIZES=/no/such/file LD_PRELOAD="$library" "$work/hello"
  [[ $(grep -c KOLK_SIZES "$work/err") == 1 ]] || fail "not one report: $(cat "$work/err")"
}

run() {
  local mid folder
  [[ -x $KOLK ]] || { echo "skipped: there is no kolk command"; exit 77; }
  KOLK=$(realpath "$KOLK")
  ends 5 "$KOLK" run -- bash -c 'echo "$LD_PRELOAD:$0:$*"; exit 5' a "b c"
  is "^$library:a:b c$" "$work/out"
  ends 0 env LD_PRELOAD=libm.so.6 "$KOLK" run -- bash -c 'echo "$LD_PRELOAD"'
  is "^$library:libm.so.6$" "$work/out"
  ends 0 "$KOLK" run --stats -- python3 -c 'print("done")'
  is '^done$' "$work/out"
  is '^malloc/64 +heap ' "$work/err"
  (cd "$work" && ends 0 "$KOLK" run --stats --json -o s.json -- bash -c 'cd / && ls')
  is '"malloc/64"' "$work/s.json"
  ends 134 "$KOLK" run --debug=fill,guard -- bash -c 'kill -ABRT $$'
  ends 0 "$KOLK" run --debug=fill,guard -- bash -c 'echo "$KOLK_DEBUG"'
  is '^fill,guard$' "$work/out"
  ends 2 "$KOLK" run --stats
  is '^kolk: run expects a program' "$work/err"
  ends 2 "$KOLK" run --json -- true
  is '^kolk: --json and --output are for statistics: add --stats$' "$work/err"
  ends 127 "$KOLK" run -- no-such-program
  is '^kolk: no-such-program: cannot be run: No such file or directory$' "$work/err"
  ends 126 "$KOLK" run -- /etc/passwd
  is '^kolk: /etc/passwd: cannot be run: Permission denied$' "$work/err"

  # Where nothing is served, a sentence says so, and the program runs.
  cat > "$work/own.c" << 'END'
#include <stddef.h>
static char arena[1 << 22];
static size_t used;
void *malloc(size_t size) { void *p = arena + used; used += (size + 31) / 16 * 16; return used < sizeof arena ? p : NULL; }
void free(void *p) { (void)p; }
void *calloc(size_t n, size_t size) { return malloc(n * size); }
int main(void) { return (char *)malloc(9) < arena; }
END
  compile -w "$work/own.c" -o "$work/own"
  ends 0 "$KOLK" run -- "$work/own"
  is "^kolk: $work/own: kolk serves nothing in it: it has a malloc within itself$" "$work/err"
  printf '#!%s/own\n' "$work" > "$work/script"
  chmod +x "$work/script"
  (cd "$work" && PATH="nowhere:$work:$PATH" ends 0 "$KOLK" run -- script)
  is "^kolk: script: kolk serves nothing in it: it has a malloc within itself$" "$work/err"
  if "$CC" -static -w "$work/own.c" -o "$work/static" 2> /dev/null; then
    ends 0 "$KOLK" run -- "$work/static"
    is "^kolk: $work/static: kolk serves nothing in it: it is linked statically$" "$work/err"
  fi
  ends 0 "$KOLK" run -- true
  [[ ! -s $work/err ]] || fail "true has no malloc within itself: $(cat "$work/err")"

  # A free that was forgotten when the objects were given a pool.
  cat > "$work/adopts.c" << 'END'
#include <kolk/kolk.h>
#include <stdlib.h>
KOLK_POOL_TYPE(numbers, long)
int main(void) {
    static numbers pool;
    if (numbers_init(&pool, &(kolk_pool_desc){.capacity = 8}) != KOLK_OK) return 1;
    long *volatile number = numbers_alloc(&pool);
    free(number);
    return 0;
}
END
  compile -w -Iinclude "$work/adopts.c" "$build/libkolk.a" -o "$work/adopts"
  ends 134 "$KOLK" run -- "$work/adopts"
  is '^kolk: malloc: free of a pointer that does not belong to this heap by main\+' "$work/err"

  # A program with blocks of many sizes, of which most die.
  ends 0 "$KOLK" run --stats -- perl -e 'my %h; $h{$_ * 7919 % 50021} .= "x" x ($_ % 90) for 1 .. 100000;
    $_ % 2 && delete $h{$_} for 1 .. 50021; my $n = 0; $n += length for values %h; print "$n\n"'
  is '^2225018$' "$work/out"
  (($(grep -c '^malloc/' "$work/err") > 20)) || fail "It has few sizes: $(cat "$work/err")"
  awk '$1 == "malloc" { good = $5 > 100000 && $4 < 100000 } END { exit !good }' "$work/err" || fail "It has other blocks: $(cat "$work/err")"

  cmake --install "$build" --prefix "$work/prefix" > /dev/null
  folder=$(dirname "$(find "$work/prefix" -name libkolk-malloc.so)")
  ends 0 "$work/prefix/bin/kolk" run -- bash -c 'realpath "$LD_PRELOAD"'
  is "^$(realpath "$folder")/libkolk-malloc.so$" "$work/out"
  rm "$folder/libkolk-malloc.so"
  if [[ ! -e /usr/local/lib/libkolk-malloc.so ]]; then
    ends 3 "$work/prefix/bin/kolk" run -- true
    is '^kolk: libkolk-malloc.so is neither beside this command nor in ' "$work/err"
  fi
  mkdir "$work/a space" && cp "$KOLK" "$library" "$work/a space"
  ends 1 "$work/a space/kolk" run -- true
  is 'cannot be preloaded, as there is a space' "$work/err"
}

programs() {
  cat > "$work/work.py" << 'END'
import hashlib, json, threading
def work(n, out):
    tree = {str(i): [{"a": j, "b": "x" * (j % 50)} for j in range(i % 20)] for i in range(400)}
    for _ in range(5): tree = json.loads(json.dumps(tree))
    out[n] = hashlib.sha256(json.dumps(tree).encode()).hexdigest()
out = {}
threads = [threading.Thread(target=work, args=(n, out)) for n in range(4)]
for t in threads: t.start()
for t in threads: t.join()
print(sorted(out.items()))
END
  same_if_there python3 "$work/work.py"
  same_if_there perl -e 'my %h; $h{$_ % 5003} .= "$_," for 1..60000; print length(join "", map { $h{$_} } sort keys %h), "\n"'
  same_if_there sqlite3 :memory: "with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
    select count(*), sum(length(s)) from (select i % 97 k, group_concat(hex(i * 7919), '-') s from n group by k order by s)"
  same_if_there git -c safe.directory='*' -C "$here" --no-pager log --stat -n 30
  seq 1 60000 | awk '{ print ($1 * 7919) % 60013 " line" }' > "$work/lines"
  same_if_there sort --parallel=2 -S 1M "$work/lines"
  same_if_there xz -T2 --block-size=200KiB -3 -k -c "$work/lines"
  same_if_there "$CC" -std=c11 -O1 -Iinclude -S -o - src/queue/queue.c
}

# serve PROGRAM...: starts it under the library. It is killed when the script ends.
serve() {
  env LD_PRELOAD="$library" "$@" > "$work/server.log" 2>&1 < /dev/null &
  server=$!
  trap 'kill "$server" 2> /dev/null || true; wait; rm -rf "$work"' EXIT
}

servers() {
  local port=$((20000 + $$ % 10000)) answer many=5
  [[ ${KOLK_TEST_EFFORT:-} != quick ]] || many=2
  same_if_there lua5.4 -e 'local t = {} for i = 1, 200000 do t[i % 1000] = ("x"):rep(i % 300) .. i end
    local n = 0 for k, v in pairs(t) do n = n + #v end print(n)'
  same_if_there node -e 'let m = new Map(); for (let i = 0; i < 200000; i++) m.set(i % 5000, Buffer.alloc(i % 2000, 1));
    let n = 0; for (const b of m.values()) n += b.length; console.log(n)'
  if command -v stress-ng > /dev/null; then
    ends 0 under stress-ng --malloc 2 --malloc-ops ${many}0000 --verify --quiet
  else
    skipped+=(stress-ng)
  fi
  if command -v redis-server > /dev/null && command -v redis-benchmark > /dev/null; then
    serve redis-server --port $port --dir "$work" --save "" --appendonly no --io-threads 2
    until redis-cli -p $port ping > /dev/null 2>&1; do sleep 0.1; done
    ends 0 under redis-benchmark -p $port -n ${many}000 -r 2000 -q -t set,get,lpush,lpop,sadd,hset,zadd,mset
    ends 0 redis-cli -p $port save
    answer=$(redis-cli -p $port info server | grep -c ^redis_version)
    [[ $answer == 1 ]] || fail "redis-server has gone: $(cat "$work/server.log")"
    redis-cli -p $port shutdown nosave > /dev/null
    wait "$server" || fail "redis-server ended with $?: $(tail "$work/server.log")"
  else
    skipped+=(redis-server)
  fi
  if compgen -G '/usr/lib/postgresql/*/bin/initdb' > /dev/null && command -v pgbench > /dev/null; then
    chmod a+rx "$work" && cp "$library" "$work" && chmod a+r "$work/libkolk-malloc.so"
    ends 0 env LD_PRELOAD="$work/libkolk-malloc.so" tools/with_postgres.sh tests/preload/bench.sh
    is '^number of failed transactions: 0 ' "$work/out"
  else
    skipped+=(postgresql)
  fi
}

way=$1
$way
[[ ${#skipped[@]} == 0 || $way != servers ]] || { echo "skipped: these are not installed: ${skipped[*]}"; exit 77; }
[[ ${#skipped[@]} == 0 ]] || echo "left out, as they are not installed: ${skipped[*]}"
echo "$way: done"
