#!/bin/sh
# runs: long
# kolk advise --patch: the program tests/cli/shop is recorded, changed by the diff, linked with kolk and run: it prints
# the same, and no block of the two pools comes from malloc any more. Then variants of it, each with one thing that
# forbids a change: the pool is left to be done by hand, with the reason, and what the diff changes compiles. Most variants
# differ in the text only, and no line moves, so the program's recording is theirs too. The others are recorded, and
# their changed programs run. KOLK is the path of the command.
# Usage: CC=... KOLK=... advise_patch.sh LIBRARY [OPTION...]    what programs are linked with
set -u
ldd "$KOLK" | grep -q libdw || { echo "skipped: kolk has no libdw, so recordings have no lines"; exit 77; }
for tool in patch git zstd; do command -v $tool > /dev/null || { echo "skipped: there is no $tool"; exit 77; }; done
library=$(realpath "$1")
shift
options="$*"
case "$options" in *sanitize*) sanitized=yes ;; *) sanitized= ;; esac
. tests/cli/checks.sh
unset KOLK_DEBUG KOLK_STATS KOLK_STATS_AT KOLK_BYPASS KOLK_SIZES KOLK_FAIL

build() { # FOLDER: the program as it is
  run 0 $CC -g -O0 -fno-builtin -w "$1"/*.c -o "$1/shop" -pthread
}

not() { ! "$@"; }

record() { # FOLDER: records the program, and writes its advice to FOLDER/diff
  run 0 "$kolk" record -o "$1.zst" -- "$1/shop"
  run 0 "$kolk" advise --patch --source "$1" -o "$1.diff" "$1.zst"
}

apply() { # FOLDER DIFF: changes the sources there, if the diff has changes
  ! grep -q '^--- ' "$2" || run 0 patch -s -p0 -d "$1" -i "$folder/$2"
}

# The diff, applied to a copy of the sources: the program must print what it printed before.
still_works() { # FOLDER
  rm -rf "$1.new"
  mkdir "$1.new"
  cp "$1"/*.[ch] "$1.new"
  apply "$1.new" "$1.diff"
  "$1/shop" > "$1.before"
  run 0 $CC -std=gnu11 -g -O0 -fno-builtin "-I$top/include" "$1.new"/*.c "$library" -o "$1.new/shop" -pthread $options
  run 0 "$1.new/shop"
  check "$1: the same output" cmp -s "$1.before" out
}

blocks() { # TRACE: the blocks of 48 bytes, and those of 24 from calloc
  zstd -dcq "$1" | awk '
    $1 == "@" && (($3 == "+" && $5 == "30") || ($3 == "*" && $5 == "1" && $6 == "18")) { n++ }
    END { print n + 0 }'
}

# ---- the program as it is ----

cp -r "$top/tests/cli/shop" shop
build shop
record shop
cp shop.diff out
check 'both pools are in the diff' grep -q ': 2 in the diff below, 1 to be done by hand.$' shop.diff
prints '^# add_pool: arena of struct leaf, 48 bytes, capacity 232; in the diff$' \
  '^#     if (!(tree = malloc(sizeof(leaf)))) exit(1);$' '^#     if (!(tree = add_pool_alloc(&add_objects))) exit(1);$' \
  '^# order_new_pool: pool of struct order, 24 bytes, capacity [0-9]*; in the diff$' \
  '^+    struct order \*order = order_new_pool_alloc_zeroed(&order_new_objects);$' \
  '^-    free(order);$' '^+    order_new_pool_free(&order_new_objects, order);$' \
  '^#   order.c:[0-9]*, which the recording does not assign to this pool$' \
  '^# order_new_16_pool: .* by hand: ' '^#   order.c:[0-9]*: by hand: blocks of other sources are freed there too'
check 'no note is changed' [ "$(grep -c '^[-+].*note' shop.diff)" -eq 0 ]
check 'each call is changed, and no other' [ "$(grep -c '^-[^-]' shop.diff)" -eq 5 ]
still_works shop
rm -rf applied
mkdir applied
cp shop/*.[ch] applied
(cd applied && GIT_CEILING_DIRECTORIES="$folder" git apply -p0 ../shop.diff) > out 2> err
check 'git apply takes it too' diff -r -x shop applied shop.new
check 'the sources are as they were' diff -r -x shop "$top/tests/cli/shop" shop
run 0 $CC -std=gnu11 -Wall -Wextra -Werror -fsyntax-only "-I$top/include" shop.new/shop.c shop.new/order.c

# Another run has 100 times as many leaves: the program has no limit with malloc, and none with pools. Nor does it need
# so many addresses as a pool would like to have.
for folder_of in shop shop.new; do
  rm -rf "$folder_of.more"
  mkdir "$folder_of.more"
  cp "$folder_of"/*.[ch] "$folder_of.more"
  sed -i 's/i < 200;/i < 20000;/' "$folder_of.more/shop.c"
  run 0 $CC -std=gnu11 -g -O0 -fno-builtin "-I$top/include" "$folder_of.more"/*.c "$library" -o "$folder_of.more/shop" -pthread $options
done
run 0 shop.more/shop
cp out more
run 0 shop.new.more/shop
check 'the same output for 100 times as many objects' cmp -s more out
if [ -z "$sanitized" ]; then # these reserve terabytes themselves
  (ulimit -v 2000000 && exec shop.new.more/shop) > out 2> err
  check 'the same with few addresses' cmp -s more out
fi

check "$(blocks shop.zst) blocks come from malloc before" [ "$(blocks shop.zst)" -gt 5000 ]
if [ -n "$sanitized" ]; then
  skip 'a program with a sanitizer cannot be recorded'
else
  run 0 "$kolk" record -o new.zst -- shop.new/shop
  check "$(blocks new.zst) blocks come from malloc after it, not 0" [ "$(blocks new.zst)" -eq 0 ]
fi

# ---- what forbids a change ----

# variant POOL REASON FILE SCRIPT [FILE SCRIPT]: sed changes the files; then this pool must be done by hand, by this
# reason. With `recorded` set, the variant has a recording of its own.
recorded=
variant() {
  pool=$1 reason=$2 folder_of=variant$((passed + failed))
  shift 2
  cp -r "$top/tests/cli/$program" "$folder_of"
  while [ $# -gt 0 ]; do
    sed -i "$2" "$folder_of/$1"
    check "the script changes $1" not cmp -s "$folder_of/$1" "$top/tests/cli/$program/$1"
    shift 2
  done
  if [ -n "$recorded" ]; then
    build "$folder_of"
    record "$folder_of"
  else
    run 0 "$kolk" advise --patch --source "$folder_of" -o "$folder_of.diff" "$program.zst"
  fi
  sed -n "/^# $pool: /,/^#\$/p" "$folder_of.diff" > out
  check "$pool is done by hand" grep -q "^# $pool: .*; .*by hand" out
  prints "$reason"
  check "$pool is not in the diff" not grep -q "^+.*$pool" "$folder_of.diff"
  if [ -n "$recorded" ]; then still_works "$folder_of"; else apply "$folder_of" "$folder_of.diff"; fi
}

program=shop
new='struct order \*order = calloc(1, sizeof \*order);'
variant order_new_pool 'no call of malloc or calloc is in this line: it is in a macro, a library or a wrapper' \
  order.c "s/$new/struct order *order = NEW(struct order);/" shop.h 's/^struct order {/#define NEW(type) calloc(1, sizeof(type))\n&/'
variant order_new_pool 'a macro names it' order.c 's/free(order);$/FREE(order);/' shop.h 's/^struct order {/#define FREE(p) free(p)\n&/'
variant order_new_pool 'its size is not just the sizeof of one type' order.c 's/calloc(1, sizeof \*order)/calloc(1, sizeof(*order) + 8)/'
variant order_new_pool 'the result does not go to a pointer of just this type' \
  order.c 's/calloc(1, sizeof \*order)/calloc(1, sizeof *order + 8)/'
variant order_new_pool 'calloc of several objects is an array' order.c \
  '$s/$/\nstruct order *many(int n) {\n    struct order *all = calloc(n, sizeof *all);\n    return all;\n}/'
variant order_new_pool 'a pool cannot do this' order.c \
  '$s/$/\nvoid twice(struct order **all) {\n    *all = realloc(*all, 2 * sizeof **all);\n}/'
variant order_new_pool 'a pool cannot do this' order.c \
  '$s/$/\nsize_t malloc_usable_size(void *);\nsize_t room(struct order *order) {\n    return malloc_usable_size(order);\n}/'
variant order_new_pool 'the type of what it frees is not plain from the text' order.c \
  '$s/$/\nvoid any_end(void **any) {\n    free(*any);\n}/'
variant order_new_pool 'it is not a plain call' order.c '$s/$/\nvoid (*end_any)(void *) = free;/'
variant order_new_pool 'the result does not go to a pointer of just this type' order.c \
  's/calloc(1, sizeof \*order);/NULL; char *bytes = calloc(1, sizeof(struct order)); order = (void *)bytes;/'
variant order_new_pool 'its arguments have several lines' order.c 's/calloc(1, sizeof \*order)/calloc(1,\n        sizeof *order)/; /char text/{N; s/\n//}'
variant order_new_pool 'the program has the name order_new_pool_free already' order.c '$s/$/\nint order_new_pool_free;/'
variant order_new_pool 'no file defines struct order alone and once' shop.h 's/^};/}; struct coupon;/'
variant order_new_pool 'shop.h is for C++ too' shop.h 's/^struct order {/#ifdef __cplusplus\nextern "C" {\n}\n#endif\n&/'
variant order_new_pool 'main in shop.c is not understood' shop.c 's/^int main(void) {/int main(void) { int none = 0; (void)none;/'
recorded=yes
variant add_pool 'its type is .*, that of others is ' shop.c \
  's/free(tree);/any_end(tree);/; s/^static leaf \*add(/struct bud {\n    char rest[48];\n};\n\nstatic void any_end(void *any) {\n    free(any);\n}\n\n&/; s/^        leaf \*tree = NULL;/&\n        for (int i = 0; i < 100; i++) {\n            struct bud *bud = malloc(sizeof *bud);\n            any_end(bud);\n        }/'
variant order_new_pool 'blocks of other sources are freed there too, and the pool.s free takes only its own' order.c \
  's/^void order_end/static void any_end(void **any) {\n    free(*any);\n}\n\n&/; s/free(order->note);$/any_end((void **)\&order->note);/; s/free(order);$/any_end((void **)\&order);/'
variant add_pool 'several threads use it, and each needs its own add_pool_local' shop.c \
  's/^static unsigned end(/static void *add_one(void *tree) {\n    return add(tree, 7);\n}\n\n&/; s/^#include <stdio.h>/#include <pthread.h>\n&/; s/^        sum += end(tree);/        pthread_t thread;\n        pthread_create(\&thread, NULL, add_one, tree);\n        pthread_join(thread, NULL);\n&/'

recorded=

# ---- wrappers: Z_Malloc with a header, and ck_calloc ----

program=zone
cp -r "$top/tests/cli/zone" zone
build zone
record zone
cp zone.diff out
prints ': 2 in the diff below, 0 to be done by hand.$' \
  '^# spawn_pool: pool of struct mobj, 72 bytes with the header of Z_Malloc, capacity [0-9]*; in the diff$' \
  '^# ck_calloc_pool: arena of struct node, 24 bytes, capacity 120; in the diff$' \
  '^-    mobj = Z_Malloc(sizeof(\*mobj), PU_LEVEL, NULL);$' '^+    mobj = spawn_pool_alloc(&spawn_objects);$' \
  '^-    Z_Free(mobj);$' '^+    spawn_pool_free(&spawn_objects, mobj);$' \
  '^+    struct node \*node = (struct node \*)ck_calloc_pool_alloc_zeroed(&ck_calloc_objects);$' \
  '^+        ck_calloc_pool_free(&ck_calloc_objects, node);$' '^#   What Z_Malloc does besides, '
check 'each call is changed, and no other' [ "$(grep -c '^-[^-]' zone.diff)" -eq 4 ]
still_works zone

# A block of malloc itself, of an unknown type, may be one of ck_calloc, but has no header of Z_Malloc.
cp -r "$top/tests/cli/zone" variant_plain
sed -i 's/#include <string.h>/#include <stdlib.h>/; s/^    printf/    void *any = malloc(8); free(any); printf/' variant_plain/game.c
run 0 "$kolk" advise --patch --source variant_plain -o plain.diff zone.zst
cp plain.diff out
prints '^# spawn_pool: .*; in the diff$' '^# ck_calloc_pool: .*; by hand, as one of its lines is:$' \
  ': by hand: the type of what it frees is not plain from the text$'
apply variant_plain plain.diff

by_hand() { # REASON FILE SCRIPT: as variant, for the pool of Z_Malloc; no type is told that is only one of the wrapper
  reason=$1
  shift
  variant spawn_pool "$reason" "$@"
  check 'no type of the wrapper' not grep -q 'POOL_TYPE(.*\(void\|header\))' "$folder_of.diff"
}
through() { # as by_hand: the line says that it is the wrapper
  by_hand "$@"
  check 'that is through Z_Malloc' grep -q '^# spawn_pool: .*; allocates through Z_Malloc: by hand$' "$folder_of.diff"
  check 'without the calls of others' not grep -q 'Z_Free(name)' out
}
by_hand 'the type of what it frees is not plain from the text' game.c 's/Z_Free(mobj);/void *any = mobj; Z_Free(any);/'
by_hand 'it is not a plain call' game.c \
  's/^int main/static int is_there(void) { void (*other)(void *) = Z_Free; return other != NULL; } &/'
through 'it is given more than a size' game.c 's/PU_LEVEL, NULL/PU_LEVEL, \&mobj/'
through 'its size is not just the sizeof of one type' game.c 's/sizeof(\*mobj), PU/sizeof(*mobj) + 8, PU/'
# What sometimes does not allocate or free is no wrapper: it may have a list of free blocks, or count references.
inside='^#   spawn (game.c:22), through Z_Malloc$' also='blocks of other sources are freed there too'
through "$inside" zone.c 's/header \*block = NULL;/static header *last; header *block = last;/'
through "$inside" zone.c 's/if (tag < 0) exit(1);/static long room[10]; if (tag < 0) return room;/'
through "$inside" zone.c 's/while (!block) block/if (!block) block/'
through "$inside" zone.c 's/header \*block = NULL;/static header *block; block = NULL;/'
by_hand "$also" zone.c 's/    head->id = 0;/    if (head->tag-- < 0) return;/'
by_hand "$also" zone.c 's/    free(head);/    if (head->tag > 0) free(head);/'
by_hand "$also" zone.c 's/    free(head);/    hooks.free(head);/; s/^void Z_Free/static struct { void (*free)(void *); } hooks = {.free = free}; &/'
by_hand "$also" zone.c '$s/$/\n#if 0\nvoid Z_Free(void *block) {\n    put_back(block);\n}\n#endif/'
by_hand "$also" zone.c 's/    free(head);/    for (; head; head = NULL) free(head);/'
program=shop

# What the diffs have changed compiles. A file that several variants have is compiled once.
check 'no leftovers of patch' [ -z "$(find . -name '*.orig' -o -name '*.rej')" ]
md5sum variant*/*.c | awk '!seen[$1]++ { print $2 }' > changed
run 0 xargs $CC -std=gnu11 -fsyntax-only -fno-builtin -w "-I$top/include" < changed

# ---- one realloc for the whole program: objects that are never resized are no arrays ----

cp -r "$top/tests/cli/hook" hook
build hook
record hook
run 0 "$kolk" advise hook.zst
prints '^arena  *node_new_pool  *48 .* 4,600 ' 'They come from realloc of NULL, but none is resized. ' \
  '^leave it: main (hook.c:[0-9]*), through hook$'
cp hook.diff out
prints '^# node_new_pool: .*; allocates through hook: by hand$' '^#   node_new (hook.c:[0-9]*), through hook$'

# ---- no lines, no sources, and words that are not understood ----

strip --strip-debug shop/shop
run 0 "$kolk" record -o stripped.zst -- shop/shop
run 0 "$kolk" advise --patch --source shop stripped.zst
prints ': 0 in the diff below, ' 'by hand: the recording has no line of source for it: compile the program with -g$'
check 'no diff' [ "$(grep -c '^--- ' out)" -eq 0 ]
cp -r "$top/tests/cli/shop" two_files # a program that has kolk as two files
echo '/* the header of the two files */' > two_files/kolk.h
build two_files
record two_files
cp two_files.diff out
prints '^+#include "kolk.h"$'
check 'no header of an installation' [ "$(grep -c 'kolk/kolk.h' out)" -eq 0 ]
mkdir empty
run 0 "$kolk" advise --patch --source empty shop.zst
prints ': 0 in the diff below, ' 'by hand: order.c is not in this folder$'
cp -r shop twice
cp -r shop twice/again
run 0 "$kolk" advise --patch --source twice shop.zst
prints ': 0 in the diff below, ' 'by hand: there are several files order.c$'
refused 2 '--patch asks for a diff, and --json for something else' advise --patch --json shop.zst
refused 2 '--patch asks for a diff, and pools.h for something else' advise --patch -o pools.h shop.zst

finish
