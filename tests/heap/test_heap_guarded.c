/* runs: not:qemu wraps: help/system_calls.h */
/* Guarded blocks of a heap: an access beyond such a block, or to a freed one, ends the program. In all other respects
 * they are ordinary blocks. */
#include "../help/system_calls.h"

#include "heap/heap_inside.h"
#include "os/memory.h"

#include "dies_at.h"
#include "heap_test.h"

static kolk_heap heap;
static size_t page;

/* ---- Helpers ----------------------------------------------------------------------------------------------------- */

static void make_sampled(const char *debug, uint64_t limit) {
    setenv("KOLK_BYPASS", "0", 1);
    page = kolk_memory_page_();
    make_heap(&heap, &(kolk_heap_desc){.name = "level", .debug = debug, .limit = limit});
}

static bool is_guarded(const void *block) {
    return kolk_guarded_has_(&heap.inside->guarded, block);
}

/* A guarded block, from a heap with sample=1. */
static unsigned char *guarded(size_t size) {
    unsigned char *block = (unsigned char *)kolk_heap_alloc(&heap, size);
    assert_non_null(block);
    assert_true(is_guarded(block));
    assert_true(kolk_heap_is_valid(&heap));
    return block;
}

/* ---- One block --------------------------------------------------------------------------------------------------- */

/* promise: "An inaccessible ... allocated and freed it" */
static void test_blocks_end_with_their_page(void **state) {
    (void)state;
    make_sampled("sample=1", 0);
    for (size_t size = 0; size <= KOLK_HEAP_LARGEST; size = size < 100 ? size + 1 : size * 5 / 4) {
        unsigned char *block = (unsigned char *)kolk_heap_alloc_zeroed(&heap, size);
        size_t usable = kolk_heap_usable_size(&heap, block);
        assert_true(is_guarded(block) && kolk_heap_is_live(&heap, block));
        assert_int_equal(usable, size ? (size + 15) / 16 * 16 : 16);
        assert_int_equal(((uintptr_t)block + usable) % page, 0);
        assert_true(all_bytes_are(block, usable, 0));
        memset(block, 0xaa, usable);
        assert_ptr_equal(kolk_heap_next(&heap, NULL), block);
        assert_null(kolk_heap_next(&heap, block));
        assert_int_equal(stats_of(&heap).count, 1);
        kolk_heap_free(&heap, block);
        assert_false(kolk_heap_is_live(&heap, block));
        assert_int_equal(stats_of(&heap).count, 0);
        assert_true(kolk_heap_is_valid(&heap));
    }
    void *large = kolk_heap_alloc(&heap, KOLK_HEAP_LARGEST + 1);
    assert_false(is_guarded(large));
    end_heap(&heap);
}

static void test_alignment(void **state) {
    (void)state;
    make_sampled("sample=1", 0);
    for (size_t align = 1; align <= 4 * page; align *= 2)
        for (size_t size = 1; size <= 3 * page; size = size * 3 + 7) {
            void *block = kolk_heap_alloc_aligned(&heap, align, size);
            assert_non_null(block);
            assert_int_equal((uintptr_t)block % align, 0);
            assert_int_equal(is_guarded(block), align <= page);
            assert_true(kolk_heap_usable_size(&heap, block) >= size);
            assert_true(kolk_heap_is_valid(&heap));
            kolk_heap_free(&heap, block);
        }
    assert_non_null(kolk_heap_alloc_aligned(&heap, page, KOLK_HEAP_LARGEST - 1));
    end_heap(&heap);
}

static void test_realloc_keeps_contents(void **state) {
    (void)state;
    const size_t sizes[] = {100, 101, 60, 5000, 70000, 20, KOLK_HEAP_LARGEST, KOLK_HEAP_LARGEST + 1, 3 << 20, 300, 1};
    for (unsigned often = 1; often <= 2; often++) { /* with 2, some blocks are ordinary */
        make_sampled(often == 1 ? "sample=1" : "fill,sample=2", 0);
        unsigned char *block = (unsigned char *)kolk_heap_alloc(&heap, 1);
        memset(block, 0, 1);
        size_t had = 1;
        for (unsigned i = 0; i < LENGTH_OF(sizes) * 10; i++) {
            size_t size = sizes[i % LENGTH_OF(sizes)];
            block = (unsigned char *)kolk_heap_realloc(&heap, block, size);
            assert_non_null(block);
            assert_true(all_bytes_are(block, had < size ? had : size, (unsigned char)i));
            memset(block, (int)i + 1, size);
            had = size;
            assert_true(kolk_heap_usable_size(&heap, block) >= size);
            assert_int_equal(stats_of(&heap).count, 1);
            assert_true(kolk_heap_is_valid(&heap));
        }
        end_heap(&heap);
    }
}

/* A walk visits each block once: first the blocks of classes, then guarded blocks in the order of their slots, then
 * large blocks. promise: "Each thread ... pages count towards the limit", "The sums over ... `object_size` are 0" */
static void test_walk_and_statistics(void **state) {
    (void)state;
    enum { MOST = 400 };
    kolk_heap_class_stats others;
    make_sampled("sample=1", 0);
    unsigned seen = 0, guarded_seen = 0, last = 0;
    for (unsigned i = 0; i < MOST; i++) assert_non_null(kolk_heap_alloc(&heap, i % 10 ? 100 : 300000));
    for (void *at = NULL; (at = kolk_heap_next(&heap, at)); seen++) {
        unsigned sort = is_guarded(at) ? 1 : kolk_heap_store_of_(&heap, at) ? 0 : 2;
        assert_true(sort >= last && kolk_heap_is_live(&heap, at));
        last = sort;
        guarded_seen += sort == 1;
    }
    assert_int_equal(seen, MOST);
    assert_int_equal(guarded_seen, KOLK_GUARDED_ALIVE_);
    kolk_stats stats = stats_of(&heap);
    assert_true(stats.count == MOST && stats.peak >= MOST && stats.debug == KOLK_DEBUG_SAMPLE && stats.failed == 0);
    assert_true(stats.bytes_reserved > heap.inside->space_size + heap.inside->guarded.memory_size);
    assert_true(kolk_heap_stats_of_class(&heap, heap.n_classes, &others));
    assert_int_equal(others.stats.count, MOST / 10 + KOLK_GUARDED_ALIVE_);
    assert_int_equal(others.stats.bytes_committed, heap.inside->large.bytes + KOLK_GUARDED_ALIVE_ * page);
    for (void *at = NULL; (at = kolk_heap_next(&heap, at));) kolk_heap_free(&heap, at);
    assert_int_equal(stats_of(&heap).count, 0);
    end_heap(&heap);
}

/* ---- Accesses that end the program ------------------------------------------------------------------------------- */

static void test_overflow_dies(void **state) {
    (void)state;
    make_sampled("sample=1", 0);
    const size_t sizes[] = {16, 48, 4096, 8000, KOLK_HEAP_LARGEST};
    for (unsigned i = 0; i < LENGTH_OF(sizes); i++) {
        unsigned char *block = guarded(sizes[i]), *first = block - (uintptr_t)block % page;
        assert_false(dies_at(block));
        assert_false(dies_at(block + sizes[i] - 1));
        assert_true(dies_at(block + sizes[i]));
        assert_true(dies_at(block + sizes[i] + page - 1));
        assert_true(dies_at(first - 1));
    }
    end_heap(&heap);
}

static void test_use_after_free_dies(void **state) {
    (void)state;
    make_sampled("sample=1", 0);
    unsigned char *block = guarded(2 * page + 100);
    kolk_heap_free(&heap, block);
    assert_true(dies_at(block));
    assert_true(dies_at(block + 2 * page));
    unsigned char *moved_from = guarded(100), *moved_to = (unsigned char *)kolk_heap_realloc(&heap, moved_from, 1000);
    assert_true(dies_at(moved_from));
    assert_false(dies_at(moved_to));
    /* counts the allocs until the slot is used again */
    unsigned others = 0;
    for (; !kolk_heap_is_live(&heap, block) && others < 2 * KOLK_GUARDED_SLOTS_; others++) {
        void *other = kolk_heap_alloc(&heap, 2 * page + 100);
        if (other != block) kolk_heap_free(&heap, other);
    }
    assert_int_equal(others, KOLK_GUARDED_SLOTS_ - 2); /* one slot is alive, one was freed later */
    end_heap(&heap);
}

/* Even when as many guarded blocks are alive as possible, dozens of freed slots are not reused yet. */
static void test_freed_ones_wait(void **state) {
    (void)state;
    void *blocks[KOLK_GUARDED_ALIVE_];
    make_sampled("sample=1", 0);
    for (unsigned i = 0; i < KOLK_GUARDED_ALIVE_; i++) blocks[i] = guarded(64);
    assert_false(is_guarded(kolk_heap_alloc(&heap, 64)));
    kolk_heap_trim(&heap); /* the next alloc takes the slow path, which may sample */
    void *freed = blocks[7];
    kolk_heap_free(&heap, freed);
    for (unsigned i = 0; i < KOLK_GUARDED_SLOTS_ - KOLK_GUARDED_ALIVE_; i++) {
        void *other = guarded(64);
        assert_ptr_not_equal(other, freed);
        kolk_heap_free(&heap, other);
        kolk_heap_trim(&heap);
    }
    assert_ptr_equal(guarded(64), freed);
    end_heap(&heap);
}

/* ---- Misuse ------------------------------------------------------------------------------------------------------ */

static void assert_begins(notes *taken, kolk_status rule, const char *sentence) {
    assert_int_equal(taken->count, 1);
    assert_int_equal(taken->last.rule, rule);
    if (strncmp(taken->sentence, sentence, strlen(sentence)) != 0) fail_msg("%s", taken->sentence);
    taken->count = 0;
}

static void test_reports(void **state) {
    (void)state;
    notes taken;
    begin_notes(&taken);
    make_sampled("sample=1", 0);
    unsigned char *first = guarded(16), *block = guarded(100);
    kolk_heap_free(&heap, block + 3);
    assert_begins(&taken, KOLK_INTERIOR_POINTER,
                  "kolk: level: free of a pointer into guarded block 1, at byte 3 of it");
    kolk_heap_free(&heap, block + 112);
    assert_begins(&taken, KOLK_FOREIGN_POINTER, "kolk: level: free of a pointer that does not belong to this heap");
    kolk_heap_free(&heap, first - page);
    assert_begins(&taken, KOLK_FOREIGN_POINTER, "kolk: level: free of a pointer that does not belong to this heap");
    kolk_heap_free(&heap, block);
    assert_silent(&taken);
    kolk_heap_free(&heap, block);
    assert_begins(&taken, KOLK_DOUBLE_FREE, "kolk: level: double free of guarded block 1");
    assert_non_null(strstr(taken.sentence, "; allocated by "));
    assert_non_null(strstr(taken.sentence, ", freed by "));
    assert_true(taken.last.slot == 1 && taken.last.object == block && taken.last.sites);
    assert_true(taken.last.site && taken.last.alloc_site && taken.last.free_site);
    assert_null(kolk_heap_realloc(&heap, block, 10));
    assert_begins(&taken, KOLK_DEAD_OBJECT, "kolk: level: realloc of guarded block 1, which is free");
    assert_int_equal(kolk_heap_usable_size(&heap, block), 0);
    assert_begins(&taken, KOLK_DEAD_OBJECT, "kolk: level: usable_size of guarded block 1, which is free");
    assert_int_equal(stats_of(&heap).count, 1);
    end_heap(&heap);
}

static void test_validity(void **state) {
    (void)state;
    make_sampled("sample=1", 0);
    unsigned char *block = guarded(100);
    kolk_heap_free(&heap, guarded(100));
    kolk_heap_free(&heap, guarded(100));
    kolk_guarded_ *all = &heap.inside->guarded;
    kolk_guarded_slot_ *slot = &all->slots[kolk_guarded_slot_of_(all, block)];
    assert_breaks(kolk_heap_is_valid, &heap, slot->size, before_ - 16);
    assert_breaks(kolk_heap_is_valid, &heap, slot->start, before_ - 16);
    assert_breaks(kolk_heap_is_valid, &heap, slot->size, 0);
    assert_breaks(kolk_heap_is_valid, &heap, slot[1].state, slot[2].state);
    assert_breaks(kolk_heap_is_valid, &heap, all->frees, 1);
    assert_breaks(kolk_heap_is_valid, &heap, all->peak, 0);
    assert_breaks(kolk_heap_is_valid, &heap, all->peak, KOLK_GUARDED_SLOTS_ + 1);
    end_heap(&heap);
    assert_true(kolk_guarded_is_valid_(&(kolk_guarded_){0}));
}

/* ---- How many ---------------------------------------------------------------------------------------------------- */

/* Returns how many blocks of several sizes were guarded. Each block is freed a thousand allocs later; with `keeps`,
 * only guarded blocks are freed, and immediately. */
static unsigned share_of(const char *debug, unsigned allocs, bool keeps) {
    static void *held[1000];
    unsigned found = 0;
    make_sampled(debug, 0);
    memset(held, 0, sizeof held);
    for (unsigned i = 0; i < allocs; i++) {
        void *block = kolk_heap_alloc(&heap, 16 + i % 7 * 16), **place = &held[i % LENGTH_OF(held)];
        found += is_guarded(block);
        if (!keeps) kolk_heap_free(&heap, *place);
        if (keeps && is_guarded(block)) kolk_heap_free(&heap, block);
        *place = block;
    }
    end_heap(&heap);
    return found;
}

/* promise: "about one block ... most a page"; base.h "heaps only: about one block in 1,000 lies" */
static void test_share(void **state) {
    (void)state;
    static const struct {
        const char *debug;
        unsigned n, allocs;
    } rows[] = {{"sample=10", 10, 50000}, {"sample=100", 100, 200000}, {"sample=1000", 1000, 400000}};
    for (unsigned i = 0; i < LENGTH_OF(rows); i++) {
        unsigned found = share_of(rows[i].debug, rows[i].allocs, true), wish = rows[i].allocs / rows[i].n;
        unsigned to_and_fro = share_of(rows[i].debug, rows[i].allocs, false);
        print_message("%s: %u of %u; first in, first out: %u\n", rows[i].debug, found, rows[i].allocs, to_and_fro);
        assert_in_range(found, wish / 2, wish * 2);
        assert_in_range(to_and_fro, wish / 2, wish * 2);
    }
    /* If no alloc takes the fast path, the share is exact. */
    assert_in_range(share_of("fill,sample=50", 50000, false), 800, 1200);
    assert_int_equal(share_of("fill", 1000, true), 0);
}

/* ---- Where there are none ---------------------------------------------------------------------------------------- */

static void test_none_with_blocks_of_malloc(void **state) {
    (void)state;
    setenv("KOLK_BYPASS", "1", 1);
    make_heap(&heap, &(kolk_heap_desc){.debug = "sample=1"});
    kolk_heap_free(&heap, kolk_heap_alloc(&heap, 100));
    assert_null(heap.inside->guarded.slots);
    end_heap(&heap);
}

/* A guarded block is counted at the size of its pages. promise: "Each thread ... pages count towards the limit" */
static void test_limit(void **state) {
    (void)state;
    void *blocks[40];
    unsigned n = 0, found = 0;
    make_sampled("sample=1", 0);
    size_t pages = page / 1024;
    end_heap(&heap);
    make_sampled("sample=1", pages * 10 * 1024);
    uint64_t before = kolk_budget_used(&heap.root->own);
    for (; n < LENGTH_OF(blocks) && (blocks[n] = kolk_heap_alloc(&heap, 100)); n++) found += is_guarded(blocks[n]);
    assert_true(kolk_heap_is_valid(&heap));
    assert_int_equal(found, 10);
    assert_int_equal(kolk_budget_used(&heap.root->own), before + 10 * page);
    kolk_heap_free(&heap, blocks[3]);
    assert_non_null(blocks[3] = kolk_heap_alloc(&heap, 100));
    while (n) kolk_heap_free(&heap, blocks[--n]);
    end_heap(&heap);
}

static void test_end_leaves_nothing(void **state) {
    (void)state;
    long before = address_space();
    for (unsigned round = 0; round < 3; round++) {
        make_sampled("sample=1", 0);
        for (unsigned i = 0; i < 500; i++) {
            void *block = kolk_heap_alloc(&heap, i * 100);
            if (i % 3) kolk_heap_free(&heap, block);
        }
        end_heap(&heap);
        if (round == 0) before = address_space();
        assert_int_equal(address_space(), before);
    }
}

/* Init gets no memory for guarded blocks; an alloc gets no pages; a free cannot release its pages. */
static void test_refused(void **state) {
    (void)state;
    notes taken;
    unsigned nth = 1, without = 0;
    if (sizeof(void *) < 8) skip();
    setenv("KOLK_BYPASS", "0", 1);
    for (bool more = true; more; nth++) {
        refuse(nth, false);
        kolk_status status = kolk_heap_init(&heap, &(kolk_heap_desc){.name = "level", .debug = "sample=1"});
        more = os.calls >= nth;
        refuse(0, false);
        if (status != KOLK_OK) continue;
        without += !heap.inside->sample;
        assert_non_null(kolk_heap_alloc(&heap, 100));
        end_heap(&heap);
    }
    assert_true(without > 0);
    make_sampled("sample=1", 1 << 20);
    void *kept = guarded(100);
    uint64_t budget = kolk_budget_used(&heap.root->own);
    for (unsigned i = 0; i < 3; i++) {
        refuse(1, true);
        assert_null(kolk_heap_alloc(&heap, 100));
        refuse(0, false);
        assert_int_equal(kolk_budget_used(&heap.root->own), budget);
        assert_true(kolk_heap_is_valid(&heap));
    }
    refuse(1, false); /* only the guarded pages are refused, so the block is an ordinary one */
    assert_false(is_guarded(kolk_heap_alloc(&heap, 5000)));
    refuse(1, true);
    memset(kept, 0xaa, 100);
    kolk_heap_free(&heap, kept);
    refuse(0, false);
    assert_int_equal(stats_of(&heap).count, 1);
    begin_notes(&taken);
    kolk_heap_free(&heap, kept);
    assert_begins(&taken, KOLK_DOUBLE_FREE, "kolk: level: double free of guarded block 0");
    for (void *again = NULL; again != kept; kolk_heap_free(&heap, again)) {
        again = kolk_heap_alloc_zeroed(&heap, 100);
        assert_true(all_bytes_are(again, 100, 0));
    }
    end_heap(&heap);
}

int main(void) {
    END_IF_IT_HANGS();
    const struct CMUnitTest tests[] = {
        REFUSAL_TEST(test_blocks_end_with_their_page),
        REFUSAL_TEST(test_alignment),
        REFUSAL_TEST(test_realloc_keeps_contents),
        REFUSAL_TEST(test_walk_and_statistics),
        REFUSAL_TEST(test_overflow_dies),
        REFUSAL_TEST(test_use_after_free_dies),
        REFUSAL_TEST(test_freed_ones_wait),
        REFUSAL_TEST(test_reports),
        REFUSAL_TEST(test_validity),
        REFUSAL_TEST(test_share),
        REFUSAL_TEST(test_none_with_blocks_of_malloc),
        REFUSAL_TEST(test_limit),
        REFUSAL_TEST(test_end_leaves_nothing),
        REFUSAL_TEST(test_refused),
    };
    return cmocka_run_group_tests(tests, list_a_pool, NULL);
}
