/* runs: not:qemu */
/* A young heap: its blocks of mixed sizes, the leaves they lie in, every free checked, the change to classes. */
#include "../help/test.h"

#include "../help/threads.h"
#include "heap_test.h"

enum { MOST = 400 };

static uint64_t random_state;

static uint32_t draw(uint32_t below) {
    return random_below(&random_state, below);
}

static kolk_heap heap;

static void begin_young(const kolk_heap_desc *desc) {
    assert_int_equal(kolk_heap_init(&heap, desc), KOLK_OK);
    assert_true(kolk_heap_is_valid(&heap));
}

/* Has the heap still no classes? */
static bool is_young_still(void) {
    return heap.root && !heap.inside;
}

/* ---- Sizes ------------------------------------------------------------------------------------------------------- */

static void test_own_classes(void **state) {
    for (size_t size = 0; size <= KOLK_HEAP_LARGEST; size++) {
        uint32_t n = kolk_own_class_(size);
        assert_true(kolk_own_size_(n) >= size && (n == 0 || kolk_own_size_(n - 1) < size));
    }
    assert_int_equal(kolk_own_size_(KOLK_NURSERY_CLASSES_ - 1), KOLK_NURSERY_LARGEST_);
    begin_young(&(kolk_heap_desc){.name = "young"});
    for (size_t size = 0; size <= 1024; size++) assert_int_equal(heap.by_size[(size + 15) / 16], kolk_own_class_(size));
    assert_int_equal(kolk_own_size_(heap.n_classes - 1), KOLK_HEAP_LARGEST);
    end_heap(&heap);
}

/* ---- Leaves ------------------------------------------------------------------------------------------------------ */

/* Runs of all lengths never overlap, keep what is written into them, and are in one word each.
 * promise: "Its first blocks ... bytes for it to pay off" */
static void test_runs(void **state) {
    static struct { uint32_t first, n; } runs[MOST];
    unsigned count = 0;
    for (unsigned step = 0; step < (SLOW ? 2000u : 20000u); step++) {
        if (count < MOST && (count == 0 || draw(100) < 55)) {
            uint32_t n = draw(4) ? 1 + draw(3) : 1 + draw(KOLK_LEAF_RUN_), first = kolk_leaves_take_(n);
            assert_true(first != 0 && first / 64 == (first + n - 1) / 64);
            assert_true(kolk_leaf_of_(kolk_leaf_start_(first) + n * KOLK_LEAF_ - 1) == first + n - 1);
            memset(kolk_leaf_start_(first), (int)(first % 251), n * KOLK_LEAF_);
            runs[count].first = first;
            runs[count++].n = n;
        } else {
            unsigned i = draw(count);
            uint32_t first = runs[i].first, n = runs[i].n;
            assert_true(all_bytes_are(kolk_leaf_start_(first), n * KOLK_LEAF_, (unsigned char)(first % 251)));
            kolk_leaves_give_(first, n);
            runs[i] = runs[--count];
        }
    }
    while (count--) kolk_leaves_give_(runs[count].first, runs[count].n);
    kolk_leaves_trim_(false);
    uint32_t first = kolk_leaves_take_(KOLK_LEAF_RUN_);
    assert_true(all_bytes_are(kolk_leaf_start_(first), KOLK_LEAF_RUN_ * KOLK_LEAF_, 0)); /* its memory was released */
    kolk_leaves_give_(first, KOLK_LEAF_RUN_);
    assert_int_equal(kolk_leaf_of_(&first), 0);
    assert_int_equal(kolk_leaf_of_(NULL), 0);
}

/* Free leaves keep some memory, but not all: what is released here was still there.
 * promise: "4 MiB, or as much as all heaps use now", "Releases whole ... backed by memory" */
static void test_memory_of_free_leaves(void **state) {
    enum { RUNS = 600, MIB = 1 << 20 };
    static uint32_t runs[RUNS];
    kolk_leaves_trim_(false);
    for (unsigned n = 0; n < RUNS; n++) {
        assert_int_not_equal(runs[n] = kolk_leaves_take_(KOLK_LEAF_RUN_), 0);
        memset(kolk_leaf_start_(runs[n]), 1, KOLK_LEAF_RUN_ * KOLK_LEAF_);
    }
    for (unsigned n = 0; n < RUNS; n++) kolk_leaves_give_(runs[n], KOLK_LEAF_RUN_);
    size_t quarter = kolk_leaves_all_.fresh / 4 * (size_t)KOLK_LEAF_;
    assert_in_range(kolk_leaves_trim_(true), 0, quarter > 4 * MIB ? quarter : 4 * MIB);
    uint32_t run = kolk_leaves_take_(KOLK_LEAF_RUN_);
    memset(kolk_leaf_start_(run), 1, KOLK_LEAF_RUN_ * KOLK_LEAF_);
    kolk_leaves_give_(run, KOLK_LEAF_RUN_);
    assert_in_range(kolk_leaves_trim_(true), KOLK_LEAF_RUN_ * KOLK_LEAF_, 4 * MIB); /* it was kept */
}

/* ---- Against a model --------------------------------------------------------------------------------------------- */

typedef struct held {
    unsigned char *at;
    size_t size, align;
} held;

static held blocks[MOST];
static unsigned n_blocks;

static unsigned char mark_of(const held *it) {
    return (unsigned char)((uintptr_t)it->at / 16 + it->size);
}

static void allocate(kolk_nursery_ *nursery) {
    size_t size = draw(3) ? draw(200) : draw(20) ? draw(2000) : draw(KOLK_NURSERY_LARGEST_) + 1;
    size_t align = draw(8) ? 16 : (size_t)1 << draw(11);
    unsigned char *at = (unsigned char *)kolk_nursery_alloc_(nursery, align, size, draw(2));
    if (!at) return;
    held *it = &blocks[n_blocks++];
    *it = (held){at, kolk_own_size_(kolk_own_class_(size)), align};
    assert_true((uintptr_t)at % align == 0 && (uintptr_t)at % 16 == 0);
    assert_int_equal(kolk_nursery_size_of_(nursery, at), it->size);
    memset(at, mark_of(it), it->size);
}

static void release(kolk_nursery_ *nursery, unsigned i) {
    held it = blocks[i];
    assert_true(all_bytes_are(it.at, it.size, mark_of(&it)));
    unsigned char *within = it.at + draw((uint32_t)it.size);
    assert_ptr_equal(kolk_nursery_locate_(nursery, within), it.at);
    if (within != it.at) assert_false(kolk_nursery_free_(nursery, within));
    assert_true(kolk_nursery_free_(nursery, it.at));
    assert_false(kolk_nursery_free_(nursery, it.at));
    assert_true(kolk_nursery_has_(nursery, it.at));
    assert_int_equal(kolk_nursery_size_of_(nursery, it.at), 0);
    assert_null(kolk_nursery_locate_(nursery, it.at));
    blocks[i] = blocks[--n_blocks];
}

/* A walk visits exactly the live blocks, in ascending order. */
static void walk(kolk_nursery_ *nursery) {
    unsigned visited = 0;
    for (unsigned char *at = NULL, *next; (next = (unsigned char *)kolk_nursery_next_(nursery, at)); at = next) {
        assert_true(next > at && kolk_nursery_size_of_(nursery, next));
        visited++;
    }
    assert_int_equal(visited, n_blocks);
    assert_true(kolk_nursery_is_valid_(nursery));
}

/* A trim leaves exactly those leaves that live blocks touch. */
static void trim(kolk_nursery_ *nursery) {
    uint32_t touched = 0, before = 0;
    kolk_nursery_trim_(nursery);
    for (unsigned char *at = NULL; (at = (unsigned char *)kolk_nursery_next_(nursery, at));) {
        uint32_t first = kolk_leaf_of_(at), last = kolk_leaf_of_(at + kolk_nursery_size_of_(nursery, at) - 1);
        touched += last + 1 - (first > before ? first : before + 1);
        before = last;
    }
    assert_int_equal(nursery->leaves, touched);
    walk(nursery);
}

static void live(uint64_t limit) {
    kolk_nursery_ nursery = {.lock = 0};
    kolk_budget budget = {.limit = limit};
    kolk_nursery_begin_(&nursery, limit ? &budget : NULL);
    n_blocks = 0;
    uint32_t tendency = 30 + draw(60), steps = draw(600);
    for (uint32_t step = 0; step < steps; step++) {
        if (n_blocks < MOST && (n_blocks == 0 || draw(100) < tendency))
            allocate(&nursery);
        else if (n_blocks)
            release(&nursery, draw(4) ? n_blocks - 1 : draw(n_blocks));
        if (draw(50) == 0) walk(&nursery);
        if (draw(50) == 0) trim(&nursery);
        if (limit) assert_int_equal(kolk_budget_used(&budget), nursery.leaves * (uint64_t)KOLK_LEAF_);
        if (draw(400) == 0) {
            kolk_nursery_reset_(&nursery);
            for (unsigned i = 0; i < n_blocks; i++) assert_false(kolk_nursery_free_(&nursery, blocks[i].at));
            n_blocks = 0;
        }
    }
    walk(&nursery);
    if (draw(2))
        while (n_blocks) release(&nursery, n_blocks - 1);
    kolk_nursery_end_(&nursery);
    if (limit) assert_int_equal(kolk_budget_used(&budget), 0);
}

static void test_model(void **state) {
    for (unsigned n = 0; n < (SLOW ? 100u : 1000u); n++) {
        random_state = n;
        live(n % 3 ? 0 : 1000 + draw(200000));
    }
}

/* A nursery does not look for freed blocks in a run that another one has now. */
static void test_run_that_changes_hands(void **state) {
    kolk_nursery_ one = {.lock = 0}, other = {.lock = 0};
    void *mine[4], *theirs[4];
    kolk_nursery_begin_(&one, NULL);
    kolk_nursery_begin_(&other, NULL);
    for (unsigned n = 0; n < 4; n++) mine[n] = kolk_nursery_alloc_(&one, 16, 512, false);
    assert_non_null(kolk_nursery_alloc_(&one, 16, 2048, false));
    assert_true(kolk_nursery_free_(&one, mine[2])); /* there is a free place of 512 bytes */
    assert_true(kolk_nursery_free_(&one, mine[1]));
    assert_true(kolk_nursery_free_(&one, mine[0])); /* their run is returned */
    for (unsigned n = 0; n < 4; n++) theirs[n] = kolk_nursery_alloc_(&other, 16, 512, false);
    assert_ptr_equal(theirs[0], mine[0]);
    for (unsigned n = 0; n < 4; n += 2) assert_true(kolk_nursery_free_(&other, theirs[n]));
    void *block = kolk_nursery_alloc_(&one, 16, 512, false);
    assert_true(kolk_nursery_has_(&one, block) && !kolk_nursery_has_(&other, block));
    assert_true(kolk_nursery_is_valid_(&one) && kolk_nursery_is_valid_(&other));
    kolk_nursery_end_(&one);
    kolk_nursery_end_(&other);
}

/* A nursery that is reset again and again soon keeps one run, in which all of its blocks fit. */
static void test_runs_after_resets(void **state) {
    kolk_nursery_ nursery = {.lock = 0};
    kolk_nursery_begin_(&nursery, NULL);
    uint32_t run = 0;
    for (unsigned round = 0; round < 5; round++) {
        for (unsigned n = 0; n < 100; n++) assert_non_null(kolk_nursery_alloc_(&nursery, 16, 16 + n * 7 % 500, false));
        assert_true(kolk_nursery_is_valid_(&nursery));
        if (round > 1) assert_int_equal(nursery.newest, run);
        run = nursery.newest;
        kolk_nursery_reset_(&nursery);
        assert_true(kolk_nursery_is_valid_(&nursery));
    }
    kolk_nursery_end_(&nursery);
}

/* A heap that can have no classes keeps its nursery, however many blocks it has. */
static void test_without_classes(void **state) {
    enum { MANY = 70000 }; /* more than 16 bits can count */
    static void *many[MANY];
    kolk_nursery_ nursery = {.lock = 0};
    kolk_nursery_counts_ of;
    kolk_nursery_begin_(&nursery, NULL);
    for (unsigned n = 0; n < MANY; n++) assert_non_null(many[n] = kolk_nursery_alloc_(&nursery, 16, 16, true));
    assert_null(kolk_nursery_alloc_(&nursery, 16, 16, false));
    for (unsigned n = 0; n < MANY; n++)
        if (n % 64) assert_true(kolk_nursery_free_(&nursery, many[n]));
    kolk_nursery_count_(&nursery, &of);
    assert_int_equal(of.of[0].peak, UINT16_MAX);
    assert_int_equal(of.of[0].alive, (MANY + 63) / 64);
    assert_int_equal(of.of[0].freed, MANY / 64 * 63); /* the top went down to the last live block */
    assert_true(kolk_nursery_is_valid_(&nursery));
    kolk_nursery_end_(&nursery);
}

/* ---- Every free is checked --------------------------------------------------------------------------------------- */

static void expect(const void *pointer, kolk_status rule, const char *sentence) {
    notes taken;
    begin_notes(&taken);
    kolk_heap_free(&heap, (void *)(uintptr_t)pointer);
    assert_noted(&taken, rule, "young", (void *)(uintptr_t)pointer, UINT32_MAX, sentence);
    assert_null(kolk_heap_realloc(&heap, (void *)(uintptr_t)pointer, 10));
    assert_int_equal(kolk_heap_usable_size(&heap, pointer), 0);
    assert_int_equal(taken.count, 2);
    assert_false(kolk_heap_is_live(&heap, pointer));
    assert_true(kolk_heap_is_valid(&heap));
}

static void test_misuse(void **state) {
    kolk_heap other;
    int local;
    begin_young(&(kolk_heap_desc){.name = "young"});
    char *block = (char *)kolk_heap_alloc(&heap, 100), *second = (char *)kolk_heap_alloc(&heap, 100);
    assert_true(is_young_still());
    expect(block + 16, KOLK_INTERIOR_POINTER, "kolk: young: free of a pointer into a block, at byte 16 of it");
    expect(block + 1, KOLK_INTERIOR_POINTER, "kolk: young: free of a pointer into a block, at byte 1 of it");
    kolk_heap_free(&heap, block);
    expect(block, KOLK_DOUBLE_FREE, "kolk: young: double free of a block");
    expect(&local, KOLK_FOREIGN_POINTER, "kolk: young: free of a pointer that does not belong to this heap");
    expect(heap.root, KOLK_FOREIGN_POINTER, "kolk: young: free of a pointer that does not belong to this heap");
    assert_int_equal(kolk_heap_init(&other, &(kolk_heap_desc){.name = NULL}), KOLK_OK);
    expect(kolk_heap_alloc(&other, 100), KOLK_FOREIGN_POINTER,
           "kolk: young: free of a pointer that belongs to another heap");
    kolk_heap_deinit(&other);
    kolk_heap_free(&heap, second);
    expect(second, KOLK_DOUBLE_FREE, "kolk: young: double free of a block");
    end_heap(&heap);
}

/* The report names the heap that a block of any kind belongs to. A heap that has ended has no name. */
static void test_blocks_of_others(void **state) {
    static const char named[] = "kolk: young: free of a pointer that belongs to the heap other";
    static const char ended[] = "kolk: young: free of a pointer that belongs to a heap that has ended";
    kolk_heap others[3];
    void *theirs[3], *large, *of_class;
    begin_young(&(kolk_heap_desc){.name = "young"});
    for (unsigned n = 0; n < 3; n++) {
        const char *name = n == 1 ? "other" : "a third";
        assert_int_equal(kolk_heap_init(&others[n], &(kolk_heap_desc){.name = name, .parent = n ? &heap : NULL}),
                         KOLK_OK);
        assert_non_null(theirs[n] = kolk_heap_alloc(&others[n], 100));
    }
    expect(theirs[1], KOLK_FOREIGN_POINTER, named);
    expect((char *)theirs[1] + 16, KOLK_FOREIGN_POINTER, named);
    assert_non_null(large = kolk_heap_alloc(&others[1], 1 << 20));
    kolk_nursery_close_(&others[1].root->nursery);
    assert_non_null(of_class = kolk_heap_alloc(&others[1], 100));
    expect(large, KOLK_FOREIGN_POINTER, named);
    expect(of_class, KOLK_FOREIGN_POINTER, named);
    expect(theirs[1], KOLK_FOREIGN_POINTER, named);
    assert_true(kolk_heap_is_live(&others[1], theirs[1]));
    kolk_heap_deinit(&others[1]);
    expect(theirs[1], KOLK_FOREIGN_POINTER, ended);
    expect(of_class, KOLK_FOREIGN_POINTER, "kolk: young: free of a pointer that does not belong to this heap");
    expect(theirs[2], KOLK_FOREIGN_POINTER, "kolk: young: free of a pointer that belongs to the heap a third");
    kolk_heap_deinit(&others[0]);
    end_heap(&heap);
}

/* A block is freed twice although its run was returned to the process in between. */
static void test_double_free_in_a_returned_run(void **state) {
    void *many[20];
    begin_young(&(kolk_heap_desc){.name = "young"});
    for (unsigned n = 0; n < LENGTH_OF(many); n++) many[n] = kolk_heap_alloc(&heap, 1024);
    for (unsigned n = 0; n < LENGTH_OF(many); n++) kolk_heap_free(&heap, many[n]);
    assert_in_range(heap.root->nursery.leaves, 1, 16); /* only the newest run is left */
    assert_true(is_young_still());
    for (unsigned n = 0; n < LENGTH_OF(many); n++)
        expect(many[n], KOLK_DOUBLE_FREE, "kolk: young: double free of a block");
    end_heap(&heap);
}

/* ---- Growing up -------------------------------------------------------------------------------------------------- */

static unsigned walk_heap(void) {
    unsigned n = 0;
    for (void *at = NULL; (at = kolk_heap_next(&heap, at));) n++;
    return n;
}

/* Blocks of the nursery and of classes live side by side, and nobody can tell the difference. */
static void test_growing_up(void **state) {
    enum { MANY = 3000 };
    static unsigned char *many[MANY];
    static const size_t sizes[] = {16, 100, 1000, 5000};
    for (unsigned s = 0; s < LENGTH_OF(sizes); s++) {
        size_t size = sizes[s], usable = kolk_own_size_(kolk_own_class_(size));
        begin_young(&(kolk_heap_desc){.name = "young"});
        for (unsigned n = 0; n < MANY; n++) {
            assert_non_null(many[n] = (unsigned char *)kolk_heap_alloc(&heap, size));
            assert_int_equal(kolk_heap_usable_size(&heap, many[n]), usable);
            memset(many[n], (int)n, usable);
            if (n == 20) assert_true(is_young_still());
        }
        assert_false(is_young_still());
        assert_true(kolk_heap_is_valid(&heap));
        assert_int_equal(stats_of(&heap).count, MANY);
        assert_int_equal(walk_heap(), MANY);
        kolk_heap_class_stats of;
        assert_true(kolk_heap_stats_of_class(&heap, kolk_own_class_(size), &of));
        assert_int_equal(of.stats.count, MANY);
        assert_in_range(of.stats.peak, MANY, of.stats.capacity);
        assert_int_equal(of.stats.object_size, usable);
        for (unsigned n = 0; n < MANY; n++) {
            assert_true(all_bytes_are(many[n], usable, (unsigned char)n));
            many[n] = (unsigned char *)kolk_heap_realloc(&heap, many[n], usable * 3);
            assert_true(many[n] && all_bytes_are(many[n], usable, (unsigned char)n));
        }
        for (unsigned n = 0; n < MANY; n++) kolk_heap_free(&heap, many[n]);
        assert_int_equal(stats_of(&heap).count, 0);
        assert_int_equal(walk_heap(), 0);
        end_heap(&heap);
    }
}

/* Freed blocks of a nursery make room for larger ones, although each of its runs has a live block. Refused allocs do
 * not walk through the nursery again and again. promise: "Without this call ... a limit needs them" */
static void test_room_for_other_sizes(void **state) {
    static void *many[4000];
    unsigned n = 0, larger = 0;
    begin_young(&(kolk_heap_desc){.name = "level", .limit = 256 << 10});
    while (n < LENGTH_OF(many) && (many[n] = kolk_heap_alloc(&heap, 100))) n++;
    assert_in_range(n, 2000, LENGTH_OF(many) - 1);
    for (unsigned i = 0; i < n; i++)
        if (i % 40) kolk_heap_free(&heap, many[i]);
    while (kolk_heap_alloc(&heap, 500)) larger++;
    assert_in_range(larger, 200, 400);
    uint32_t trimmed = heap.root->nursery.trimmed;
    for (unsigned i = 0; i < n; i += 40) assert_true(kolk_heap_is_live(&heap, many[i]));
    for (unsigned i = 0; i < 10; i++) assert_null(kolk_heap_alloc(&heap, 500));
    assert_int_equal(heap.root->nursery.trimmed, trimmed);
    end_heap(&heap);
}

/* The peaks stay when blocks are freed, and when the heap is trimmed or reset. Allocs are not sampled. */
static void test_peaks(void **state) {
    void *many[900];
    kolk_heap_class_stats of;
    begin_young(&(kolk_heap_desc){.name = "young"});
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned n = 0; n < LENGTH_OF(many); n++) many[n] = kolk_heap_alloc(&heap, round ? 20 : 60);
        assert_true(kolk_heap_stats_of_class(&heap, 3, &of));
        assert_int_equal(of.stats.count, round ? 0 : LENGTH_OF(many));
        assert_int_equal(of.stats.peak, LENGTH_OF(many));
        assert_true(of.asked == 0 && of.given == 0);
        for (unsigned n = LENGTH_OF(many); n-- > round * 100;) kolk_heap_free(&heap, many[n]);
        if (round == 1) kolk_heap_trim(&heap);
        kolk_heap_reset(&heap);
        kolk_stats stats = stats_of(&heap);
        assert_int_equal(stats.count, 0);
        assert_int_equal(stats.peak, round ? 2 * LENGTH_OF(many) : LENGTH_OF(many));
        assert_true(kolk_heap_is_valid(&heap));
        assert_true(is_young_still());
    }
    end_heap(&heap);
}

/* However many blocks of all sizes there are, the nursery has at most 2 MiB of them: the others are of classes.
 * promise: "which has at most ... needs no class" */
static void test_the_most_of_a_nursery(void **state) {
    begin_young(&(kolk_heap_desc){.name = "young"});
    for (unsigned n = 0; n < 1100; n++)
        for (size_t size = 16; size <= (n < 200 ? KOLK_NURSERY_LARGEST_ : 1024u); size += size < 128 ? 16 : size / 4)
            assert_non_null(kolk_heap_alloc(&heap, size));
    assert_false(is_young_still());
    assert_in_range(heap.root->nursery.leaves * (size_t)KOLK_LEAF_, 1 << 20, 2 << 20);
    end_heap(&heap);
}

/* A walk goes on behind a block that was freed, even if another heap has its leaf by now. */
static void test_walk_while_others_take(void **state) {
    kolk_heap other;
    for (int with_classes = 0; with_classes < 2; with_classes++) {
        unsigned made = 0, visited = 0;
        begin_young(&(kolk_heap_desc){.name = "young"});
        assert_int_equal(kolk_heap_init(&other, &(kolk_heap_desc){.name = "other"}), KOLK_OK);
        for (; made < 40; made++) assert_non_null(kolk_heap_alloc(&heap, 1024));
        if (with_classes) assert_non_null(kolk_heap_alloc(&heap, 100000));
        for (void *block = NULL; (block = kolk_heap_next(&heap, block)); visited++) {
            kolk_heap_free(&heap, block);
            assert_non_null(kolk_heap_alloc(&other, 1024));
        }
        assert_int_equal(visited, made + (unsigned)with_classes);
        assert_int_equal(stats_of(&heap).count, 0);
        kolk_heap_deinit(&other);
        end_heap(&heap);
    }
}

/* A limit includes whole leaves, down to the last one. promise: "The most bytes ... for that to be worth it" */
static void test_limit(void **state) {
    for (uint64_t limit = 0; limit < 40000; limit += 1 + limit / 2) {
        unsigned n = 0, leaves = (unsigned)(limit / KOLK_LEAF_);
        begin_young(&(kolk_heap_desc){.name = "young", .limit = limit});
        while (n < 1000 && kolk_heap_alloc(&heap, 64)) n++;
        if (limit) assert_in_range(n, leaves * 16, (unsigned)(limit / 64));
        assert_true(kolk_heap_is_valid(&heap));
        kolk_heap_reset(&heap);
        assert_int_equal(stats_of(&heap).count, 0);
        assert_true(limit < 64 || kolk_heap_alloc(&heap, 64));
        end_heap(&heap);
    }
}

/* ---- Small ------------------------------------------------------------------------------------------------------- */

/* What the header promises about many small heaps. promise: "1 KiB, and 1 KiB more for its first block" */
static void test_many_small_heaps(void **state) {
    enum { HEAPS = 10000 };
    static kolk_heap heaps[HEAPS];
    uint32_t before = kolk_leaves_all_.fresh;
    for (unsigned n = 0; n < HEAPS; n++) {
        assert_int_equal(kolk_heap_init(&heaps[n], &(kolk_heap_desc){.name = "request"}), KOLK_OK);
        for (unsigned i = 0; i < 3; i++) memset(kolk_heap_alloc(&heaps[n], 40), (int)n, 40);
    }
    assert_in_range((kolk_leaves_all_.fresh - before) * KOLK_LEAF_ / HEAPS, 0, 2 * KOLK_LEAF_ + KOLK_LEAF_ / 50);
    for (unsigned n = 0; n < HEAPS; n++) {
        unsigned blocks_there = 0;
        for (void *at = NULL; (at = kolk_heap_next(&heaps[n], at)); blocks_there++)
            assert_true(all_bytes_are(at, 40, (unsigned char)n));
        assert_int_equal(blocks_there, 3);
        end_heap(&heaps[n]);
    }
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

enum { THREADS = 4, SHARED = 64 };

static uintptr_t shared[SHARED]; /* blocks on their way from one thread to another */
static uint32_t threads_begun;

/* Allocates, puts the block into a random place, and frees what was there, which another thread may have allocated. */
static void *exchange_blocks(void *unused) {
    uint64_t mine = kolk_fetch_add_(&threads_begun, 1, KOLK_RELAXED_) + 1;
    for (unsigned n = 0; n < (SLOW_CALLS ? 500u : 5000u); n++) {
        size_t size = 16 + random_below(&mine, n % 8 ? 200 : 4000);
        unsigned char *block = (unsigned char *)kolk_heap_alloc(&heap, size);
        if (!block) abort();
        memset(block, (int)size, size);
        if (n % 512 == 0) kolk_heap_trim(&heap);
        if (n % 2048 == 0) kolk_trim_all();
        if (kolk_heap_usable_size(&heap, block) < size) abort();
        unsigned char *other =
            (unsigned char *)kolk_exchange_(&shared[random_below(&mine, SHARED)], (uintptr_t)block, KOLK_ACQ_REL_);
        if (!other) continue;
        if (!all_bytes_are(other, 16, other[0])) abort();
        kolk_heap_free(&heap, other);
    }
    return NULL;
}

static void test_threads(void **state) {
    for (unsigned round = 0; round < (does_a_part() ? 4u : 20u); round++) {
        begin_young(&(kolk_heap_desc){.name = "young"});
        run_threads(THREADS, exchange_blocks, NULL, 0);
        unsigned left = 0;
        for (unsigned n = 0; n < SHARED; n++) left += shared[n] != 0;
        assert_int_equal(stats_of(&heap).count, left);
        for (unsigned n = 0; n < SHARED; n++) kolk_heap_free(&heap, (void *)shared[n]);
        memset(shared, 0, sizeof shared);
        assert_int_equal(stats_of(&heap).count, 0);
        end_heap(&heap);
    }
}

static uint32_t trims_go_on;

static void *trim_all(void *unused) {
    while (kolk_load_(&trims_go_on, KOLK_ACQUIRE_)) kolk_trim_all();
    return NULL;
}

/* While another thread trims, the statistics of a class may count free slots that the other thread has in hand. */
static unsigned count_exactly(bool has_class) {
    return has_class ? walk_heap() : stats_of(&heap).count;
}

/* Another thread may trim all heaps while this one makes, resets and ends some. */
static void test_trims_of_other_threads(void **state) {
    pthread_t thread;
    kolk_store_(&trims_go_on, 1, KOLK_RELEASE_);
    assert_int_equal(pthread_create(&thread, NULL, trim_all, NULL), 0);
    for (unsigned n = 0; n < (SLOW_CALLS ? 100u : 1000u); n++) {
        begin_young(&(kolk_heap_desc){.name = "young"});
        for (unsigned times = 0; times < 3; times++) {
            unsigned many = n % 50 ? 50 : 3000, made = 0;
            for (size_t size = 64; made < many; made++) memset(kolk_heap_alloc(&heap, size), 1, size);
            for (unsigned i = 0; i < 20; i++, made++) memset(kolk_heap_alloc(&heap, 300 * i), 2, 300 * i);
            assert_int_equal(count_exactly(many > 50), made);
            kolk_heap_reset(&heap);
            assert_int_equal(count_exactly(many > 50), 0);
        }
        kolk_heap_deinit(&heap);
    }
    kolk_store_(&trims_go_on, 0, KOLK_RELEASE_);
    pthread_join(thread, NULL);
}

/* Two threads free the same block: one of the frees is reported. */
static uint32_t frees, reports;

static void note_report(const kolk_failure *failure, void *context) {
    if (failure->rule == KOLK_DOUBLE_FREE) kolk_fetch_add_(&reports, 1, KOLK_RELAXED_);
}

static void *free_shared(void *unused) {
    for (unsigned n = 0; n < SHARED; n++) {
        kolk_heap_free(&heap, (void *)shared[n]);
        kolk_fetch_add_(&frees, 1, KOLK_RELAXED_);
    }
    return NULL;
}

static void test_two_frees_at_once(void **state) {
    begin_young(&(kolk_heap_desc){.name = "young"});
    kolk_set_failure_handler(note_report, NULL);
    for (unsigned round = 0; round < 20; round++) {
        pthread_t thread;
        for (unsigned n = 0; n < SHARED; n++) shared[n] = (uintptr_t)kolk_heap_alloc(&heap, 64);
        frees = reports = 0;
        assert_int_equal(pthread_create(&thread, NULL, free_shared, NULL), 0);
        free_shared(NULL);
        pthread_join(thread, NULL);
        if (is_young_still()) assert_int_equal(reports, SHARED);
        kolk_heap_reset(&heap);
    }
    kolk_set_failure_handler(NULL, NULL);
    memset(shared, 0, sizeof shared);
    end_heap(&heap);
}

int main(void) {
    END_IF_IT_HANGS();
    if (sizeof(void *) < 8) return 0; /* there are no heaps on 32-bit machines */
    setenv("KOLK_BYPASS", "0", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_classes),
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_memory_of_free_leaves),
        cmocka_unit_test(test_model),
        cmocka_unit_test(test_run_that_changes_hands),
        cmocka_unit_test(test_runs_after_resets),
        cmocka_unit_test(test_without_classes),
        TEST(test_misuse),
        TEST(test_blocks_of_others),
        TEST(test_double_free_in_a_returned_run),
        cmocka_unit_test(test_growing_up),
        cmocka_unit_test(test_peaks),
        cmocka_unit_test(test_room_for_other_sizes),
        cmocka_unit_test(test_the_most_of_a_nursery),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_walk_while_others_take),
        cmocka_unit_test(test_many_small_heaps),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_trims_of_other_threads),
        TEST(test_two_frees_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
