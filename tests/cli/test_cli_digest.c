/* The digest of a recording, against sums that are made in the plainest way, for random recordings; and some whose
 * numbers are known. */
#include "../help/test.h"

#include "../help/plain.h"

#include "report/digest.h"

#include <stdlib.h>

enum { BLOCKS = 40, CALLERS = 6, OPS = 3000 };

static const char *const callers[CALLERS] = {"inner < middle < outer", "inner < outer", "alone", "", "a < b < a",
                                             "other < outer"};

static struct trace trace;
static trace_op ops[OPS];

static void make_trace(uint64_t *random, size_t count) {
    bool alive[BLOCKS] = {false};
    static char *names[CALLERS];
    for (int n = 0; n < CALLERS; n++) names[n] = (char *)(uintptr_t)callers[n];
    trace = (struct trace){.ops = ops, .count = count, .blocks = BLOCKS, .callers = CALLERS, .names = names};
    for (size_t at = 0; at < count; at++) {
        uint32_t block = random_below(random, BLOCKS);
        uint8_t kind = !alive[block] ? TRACE_ALLOC : random_below(random, 3) ? TRACE_FREE : TRACE_REALLOC;
        ops[at] = (trace_op){.block = block, .kind = kind};
        if (kind != TRACE_FREE) ops[at].size = random_below(random, 10) ? random_below(random, 3000) : 0;
        if (kind != TRACE_FREE) ops[at].caller = random_below(random, CALLERS);
        alive[block] = kind != TRACE_FREE;
    }
}

/* The numbers after the first `count` operations, in O(operations). */
static void sums_at(size_t count, uint64_t *bytes, uint64_t *blocks, uint64_t by_caller[CALLERS]) {
    uint64_t sizes[BLOCKS];
    int alive_by[BLOCKS];
    memset(alive_by, -1, sizeof alive_by);
    for (size_t at = 0; at < count; at++) {
        alive_by[ops[at].block] = ops[at].kind == TRACE_FREE ? -1 : (int)ops[at].caller;
        sizes[ops[at].block] = ops[at].size;
    }
    *bytes = *blocks = 0;
    memset(by_caller, 0, CALLERS * sizeof *by_caller);
    for (int n = 0; n < BLOCKS; n++) {
        if (alive_by[n] < 0) continue;
        ++*blocks;
        *bytes += sizes[n];
        by_caller[alive_by[n]] += sizes[n];
    }
}

/* The path of these frames, from the outermost one on; NULL if there is none. */
static const struct digest_path *path_of(const struct digest *digest, const char *const *frames) {
    uint32_t path = 0;
    for (; *frames; frames++) {
        uint32_t child = digest->paths[path].first;
        while (child && (digest->paths[child].length != strlen(*frames) ||
                         memcmp(digest->paths[child].frame, *frames, strlen(*frames)) != 0))
            child = digest->paths[child].next;
        if (!child) return NULL;
        path = child;
    }
    return &digest->paths[path];
}

#define PATH(...) path_of(digest, (const char *const[]){__VA_ARGS__, NULL})

static void check_paths(const struct digest *digest, const uint64_t at_peak[CALLERS]) {
    uint64_t bytes[CALLERS] = {0}, blocks[CALLERS] = {0};
    for (size_t at = 0; at < trace.count; at++) {
        if (ops[at].kind == TRACE_FREE) continue;
        bytes[ops[at].caller] += ops[at].size;
        blocks[ops[at].caller]++;
    }
    const struct {
        const struct digest_path *path;
        uint32_t callers; /* a bit for each that the path contains */
    } paths[] = {
        {&digest->paths[0], 63},
        {PATH("outer"), 1 | 2 | 32},
        {PATH("outer", "middle"), 1},
        {PATH("outer", "middle", "inner"), 1},
        {PATH("outer", "inner"), 2},
        {PATH("alone"), 4},
        {PATH(""), 8},
        {PATH("a"), 16},
        {PATH("a", "b", "a"), 16},
        {PATH("outer", "other"), 32},
    };
    for (size_t n = 0; n < LENGTH_OF(paths); n++) {
        uint64_t sums[3] = {0};
        for (int c = 0; c < CALLERS; c++) {
            if (!(paths[n].callers & 1u << c)) continue;
            sums[0] += at_peak[c];
            sums[1] += bytes[c];
            sums[2] += blocks[c];
        }
        if (!sums[2]) continue; /* the random recording has no such call */
        assert_non_null(paths[n].path);
        assert_int_equal(paths[n].path->peak_bytes, sums[0]);
        assert_int_equal(paths[n].path->bytes, sums[1]);
        assert_int_equal(paths[n].path->blocks, sums[2]);
    }
}

static void check_digest(void) {
    struct digest all, *digest = &all;
    assert_true(digest_make(digest, &trace));
    uint64_t bytes, blocks, peak = 0, by_caller[CALLERS], sized = 0, lived = 0;
    struct digest_step steps[DIGEST_STEPS] = {{0}};
    for (size_t at = 0; at < trace.count; at++) {
        sums_at(at + 1, &bytes, &blocks, by_caller);
        struct digest_step *step = &steps[at / digest->per_step];
        if (step->bytes < bytes) step->bytes = bytes;
        if (step->blocks < blocks) step->blocks = blocks;
        if (peak < bytes) peak = bytes;
    }
    assert_int_equal(digest->left_bytes, bytes);
    assert_int_equal(digest->left_blocks, blocks);
    assert_int_equal(digest->peak_bytes, peak);
    assert_memory_equal(digest->steps, steps, sizeof steps);
    assert_int_equal(digest->step_count, (trace.count + digest->per_step - 1) / digest->per_step);
    for (int n = 0; n < DIGEST_DOUBLINGS; n++) {
        sized += digest->sizes[n].blocks;
        lived += digest->lives[n].blocks;
    }
    assert_int_equal(sized, digest->blocks);
    assert_int_equal(lived, digest->frees);
    assert_int_equal(digest->blocks + digest->frees, trace.count);
    sums_at(digest->peak_at + 1, &bytes, &blocks, by_caller);
    assert_int_equal(bytes, peak);
    assert_int_equal(blocks, digest->peak_blocks);
    check_paths(digest, by_caller);
    digest_free(digest);
}

static void test_random_recordings(void **state) {
    uint64_t random = 1;
    static const size_t counts[] = {1, 2, 399, 400, 401, 799, 1000, OPS};
    for (size_t n = 0; n < 3 * LENGTH_OF(counts); n++) {
        make_trace(&random, counts[n % LENGTH_OF(counts)]);
        check_digest();
    }
}

/* Sizes 0, 1, 2, 3, 4 and 2^40; lives of 1 and 6 operations. */
static void test_classes(void **state) {
    static const uint64_t sizes[] = {0, 1, 2, 3, 4, UINT64_C(1) << 40};
    uint64_t random = 1;
    struct digest digest;
    make_trace(&random, 8);
    for (uint32_t n = 0; n < 6; n++) ops[n] = (trace_op){.size = sizes[n], .block = n, .kind = TRACE_ALLOC};
    ops[6] = (trace_op){.block = 5, .kind = TRACE_FREE};
    ops[7] = (trace_op){.block = 1, .kind = TRACE_FREE};
    assert_true(digest_make(&digest, &trace));
    assert_int_equal(digest.sizes[0].blocks, 1);
    assert_int_equal(digest.sizes[1].blocks, 1);
    assert_int_equal(digest.sizes[2].blocks, 2);
    assert_int_equal(digest.sizes[2].bytes, 5);
    assert_int_equal(digest.sizes[3].blocks, 1);
    assert_int_equal(digest.sizes[41].bytes, UINT64_C(1) << 40);
    assert_int_equal(digest.lives[1].blocks, 1);
    assert_int_equal(digest.lives[3].blocks, 1);
    assert_int_equal(digest.lives[3].bytes, 1);
    assert_int_equal(digest.peak_at, 5);
    digest_free(&digest);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_recordings), cmocka_unit_test(test_classes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
