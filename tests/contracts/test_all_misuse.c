/* wraps: help/no_sites.h */
/* Makes each mistake that the headers promise to catch, for every kind of pool in every mode, and checks the exact
 * sentence and the fields of the failure, and that the pool is unchanged. Next to each mistake is the nearest correct
 * use, which must report nothing. */
#include "kinds.h"

#include "../help/no_sites.h"

#define SIZE  24u
#define SLOTS 6u

/* The pool has six slots: 0 to 3 were handed out, and 2 and 3 were freed again. In plain mode the pool lives in the
 * caller's memory if it can, so that all of that memory can be compared. */
static struct {
    _Alignas(16) unsigned char memory[1000], before[1000];
    subject it_before;
    unsigned char *objects[4];
    kolk_handle handles[4]; /* handles of the objects' first lives */
    reports kept;
} f;

static void set_up_named(const char *name) {
    memset(&f, 0, sizeof f);
    bool lent = row_now->mode == &modes[PLAIN];
    begin_it((options){.name = name,
                       .object_size = SIZE,
                       .capacity = SLOTS,
                       .memory = lent ? f.memory : NULL,
                       .memory_size = lent ? sizeof f.memory : 0});
    for (int i = 0; i < 4; i++) {
        f.objects[i] = (unsigned char *)take_one();
        memset(f.objects[i], i, SIZE);
        if (it->kind->can & HANDLES) f.handles[i] = it->kind->handle(it, f.objects[i]);
    }
    give_one(f.objects[3]);
    give_one(f.objects[2]);
    it->resets = 0;
    begin_reports(&f.kept);
    f.it_before = *it;
    memcpy(f.before, f.memory, sizeof f.memory);
}

static void set_up(void) {
    set_up_named("it");
}

static bool is_bypassed(void) {
    return row_now->mode->flags & KOLK_DEBUG_BYPASS;
}

static void assert_unchanged(void) {
    assert_is_valid();
    if (it->kind->can & LENT) assert_memory_equal(&it->of, &f.it_before.of, it->kind->size);
    assert_memory_equal(f.memory, f.before, sizeof f.memory);
    assert_int_equal(count_of_it(), 2);
    assert_int_equal(it->resets, 0);
    for (int i = 0; i < 2; i++) {
        assert_true(all_bytes_are(f.objects[i], SIZE, (unsigned char)i));
        if (it->kind->can & HANDLES) assert_ptr_equal(it->kind->get(it, f.handles[i]), f.objects[i]);
    }
}

/* Checks that the next report is the only one. */
static void assert_told(kolk_status rule, const void *object, uint32_t slot, const char *text) {
    char sentence[200];
    const report *last = next_report(&f.kept);
    snprintf(sentence, sizeof sentence, "kolk: it: %s", text);
    if (last->failure.sites)
        assert_sentence(last, " by ", sentence);
    else
        assert_string_equal(last->sentence, sentence);
    assert_int_equal(last->failure.rule, rule);
    assert_string_equal(last->pool, "it");
    assert_ptr_equal(last->failure.object, object);
    assert_int_equal(last->failure.slot, slot);
    assert_int_equal(last->failure.no_debug, !(it->kind->can & DEBUGS));
    if (it->kind->is_live) assert_int_equal(it->kind->is_live(it, object), rule == KOLK_NO_HANDLES);
    assert_no_more(&f.kept);
    f.kept.count = f.kept.read = 0;
}

/* Ends the test: checks that nothing has changed, and that every remaining slot can be taken once. */
static void end_fixture(void) {
    assert_unchanged();
    assert_no_more(&f.kept);
    uint32_t last = stats_of_it().max_capacity;
    for (uint32_t n = 2; n < last; n++) take_one();
    assert_null(it->kind->take(it));
    assert_no_more(&f.kept);
    it->kind->end(it); /* some objects leak */
    assert_true(it_is_zero());
}

/* ---- free -------------------------------------------------------------------------------------------------------- */

static void free_again(uint32_t slot) {
    char text[100];
    it->kind->give(it, f.objects[slot]);
    snprintf(text, sizeof text, it->kind->double_free, slot);
    assert_told(KOLK_DOUBLE_FREE, f.objects[slot], slot, text);
}

/* promise: pool.h "was never handed out, or is free already"; shared.h "Anything else is a bug of the caller"; base.h
 * "the whole message, for people", "the call that failed ... where it was freed last", "A handler may ... repairs it
 * and continues"; README.md "Every free is checked ... A mistake is reported", "kolk: bullets: double free" */
static void test_double_free(void **state) {
    set_up();
    for (int i = 0; i < 3; i++) {
        free_again(2); /* directly after its first free */
        free_again(3); /* after another slot was freed */
        assert_unchanged();
    }
    if (it->kind->clear) {
        it->kind->clear(it);
        assert_no_more(&f.kept);
        free_again(0); /* after clear has freed it */
        assert_is_valid();
        it->kind->end(it);
        return;
    }
    end_fixture();
}

/* Pointers into live objects, dead objects, and slots that were never handed out.
 * promise: README.md "free of a pointer into slot 17" */
static void test_free_of_an_interior_pointer(void **state) {
    set_up();
    size_t stride = (size_t)stats_of_it().stride;
    for (uint32_t slot = 0; slot < (is_bypassed() ? 2 : SLOTS); slot++) {
        unsigned char *start = is_bypassed() ? f.objects[slot] : f.objects[0] + slot * stride;
        for (size_t inside = 1; inside < SIZE; inside++) {
            char text[100];
            snprintf(text, sizeof text, "%s of a pointer into slot %u, at byte %zu of it", it->kind->free_verb, slot,
                     inside);
            it->kind->give(it, start + inside);
            assert_told(KOLK_INTERIOR_POINTER, start + inside, slot, text);
        }
    }
    end_fixture();
}

static int a_global;

/* Pointers outside the pool's memory, to objects of other pools, and to bytes that never were an object.
 * promise: README.md "free of a pointer that does not belong to this pool" */
static void test_free_of_a_foreign_pointer(void **state) {
    char text[100];
    kolk_pool other;
    make_pool(&other, &(kolk_pool_desc){.name = "other", .object_size = SIZE, .capacity = 3});
    void *of_another_pool = kolk_pool_alloc(&other), *of_the_heap = malloc(SIZE);
    set_up();
    ptrdiff_t end = (ptrdiff_t)(stats_of_it().max_capacity * stats_of_it().stride);
    unsigned char *first = (unsigned char *)it->kind->slots(it);
    void *foreign[] = {of_another_pool,
                       of_the_heap,
                       text,
                       &a_global,
                       moved(first, -(ptrdiff_t)SIZE),
                       moved(first, -1),
                       moved(first, end),
                       moved(first, end + 1),
                       it,
                       is_bypassed() ? (void *)first : &f.kept,
                       is_bypassed() ? f.objects[1] - 1 : NULL, /* the bytes around a malloc block */
                       is_bypassed() ? f.objects[1] + SIZE : NULL,
                       (void *)(uintptr_t)1,
                       (void *)UINTPTR_MAX};
    snprintf(text, sizeof text, "%s of a pointer that does not belong to this pool", it->kind->free_verb);
    for (size_t i = 0; i < LENGTH_OF(foreign); i++) {
        if (!foreign[i]) continue;
        it->kind->give(it, foreign[i]);
        const report *last = &f.kept.all[f.kept.read];
        if (row_now->mode->flags & KOLK_DEBUG_GUARD && last->failure.rule == KOLK_INTERIOR_POINTER) {
            next_report(&f.kept); /* a red zone counts as part of its slot */
            continue;
        }
        assert_told(KOLK_FOREIGN_POINTER, foreign[i], NO_SLOT, text);
    }
    end_fixture();
    kolk_set_failure_handler(NULL, NULL);
    kolk_pool_free(&other, of_another_pool);
    kolk_pool_deinit(&other);
    free(of_the_heap);
}

static void test_free_of_a_slot_never_handed_out(void **state) {
    set_up();
    uint32_t last = stats_of_it().max_capacity - 1;
    for (uint32_t slot = last; slot >= SLOTS - 1; slot--) {
        char text[100];
        void *object = f.objects[0] + slot * (size_t)stats_of_it().stride;
        snprintf(text, sizeof text, "free of slot %u, which was never handed out", slot);
        it->kind->give(it, object);
        assert_told(KOLK_NEVER_ISSUED, object, slot, text);
    }
    end_fixture();
}

static void test_free_of_null_does_nothing(void **state) {
    set_up();
    it->kind->give(it, NULL);
    end_fixture();
}

/* ---- Queries ----------------------------------------------------------------------------------------------------- */

static void ask_in_vain(const question *q, void *object, kolk_status rule, uint32_t slot, const char *what) {
    char text[120];
    snprintf(text, sizeof text, "%s of %s", q->verb, what);
    assert_false(q->ask(it, object));
    assert_told(rule, object, slot, text);
}

static void test_questions_about_what_is_no_object(void **state) {
    set_up();
    size_t stride = (size_t)stats_of_it().stride;
    for (const question *q = it->kind->questions; q < it->kind->questions + 3 && q->verb; q++) {
        char what[100];
        snprintf(what, sizeof what, "%s 2, which %s", it->kind->slot, it->kind->dead);
        if (!q->of_the_dead) ask_in_vain(q, f.objects[2], KOLK_DEAD_OBJECT, 2, what);
        snprintf(what, sizeof what, "slot %u, which was never handed out", SLOTS - 1);
        void *never = f.objects[0] + (SLOTS - 1) * stride;
        if (it->kind->can & ISSUES && !is_bypassed()) ask_in_vain(q, never, KOLK_NEVER_ISSUED, SLOTS - 1, what);
        for (size_t inside = 1; inside < SIZE; inside++) {
            snprintf(what, sizeof what, "a pointer into %s 1, at byte %zu of it", it->kind->slot, inside);
            ask_in_vain(q, f.objects[1] + inside, KOLK_INTERIOR_POINTER, 1, what);
        }
        void *behind = moved(it->kind->slots(it), (ptrdiff_t)(stats_of_it().max_capacity * stride));
        void *const foreign[] = {&a_global, behind, moved(it->kind->slots(it), -(ptrdiff_t)SIZE), moved(NULL, 8)};
        for (size_t i = 0; i < LENGTH_OF(foreign); i++) {
            if (row_now->mode->flags & KOLK_DEBUG_GUARD && (i == 1 || i == 2)) continue; /* these are in red zones */
            ask_in_vain(q, foreign[i], KOLK_FOREIGN_POINTER, NO_SLOT, "a pointer that does not belong to this pool");
        }
        if (!q->of_null) ask_in_vain(q, NULL, KOLK_FOREIGN_POINTER, NO_SLOT, "NULL");
        assert_true(q->ask(it, f.objects[0]));
        q->ask(it, q->of_the_dead ? f.objects[2] : f.objects[1]);
        if (q->of_null) assert_true(q->ask(it, NULL));
        assert_no_more(&f.kept);
    }
    end_fixture();
}

/* ---- Handles that refer to nothing here: this is normal, so get returns NULL and nothing is reported ------------- */

/* promise: base.h "The upper 32 ... every platform"; README.md "its handle gives NULL" */
static void test_handles_that_find_nothing(void **state) {
    set_up();
    uint64_t live = f.handles[0].bits;
    const kolk_handle bad[] = {
        f.handles[2],                              /* stale */
        f.handles[3],                              /* also stale */
        {0},                                       /* null */
        {live & UINT32_MAX},                       /* generation 0 */
        {live + (UINT64_C(1) << 32)},              /* a future life */
        {live ^ 4},                                /* slot 4, never handed out */
        {live ^ 7},                                /* slot 7, beyond the capacity */
        {f.handles[2].bits + (UINT64_C(1) << 32)}, /* the next life of a free slot */
    };
    for (size_t i = 0; i < LENGTH_OF(bad); i++) {
        assert_null(it->kind->get(it, bad[i]));
        if (it->kind->give_handle) assert_false(it->kind->give_handle(it, bad[i]));
    }
    assert_int_equal(stats_of_it().wrong_pool, 0);
    assert_unchanged();
    give_one(f.objects[1]);
    assert_null(it->kind->get(it, f.handles[1]));
    assert_no_more(&f.kept);
    it->kind->end(it);
}

/* Such handles are counted, and the debug mode reports them.
 * promise: base.h "for KOLK_WRONG_POOL ... alloc_site have leaked", "Any of the first ... slots are used" */
static void test_handles_of_other_pools(void **state) {
    kolk_slotmap map;
    kolk_pool pool;
    assert_int_equal(kolk_pool_init(&pool, &(kolk_pool_desc){.name = "other", .object_size = 1, .capacity = 9}),
                     KOLK_OK);
    assert_int_equal(kolk_slotmap_init(&map, &(kolk_slotmap_desc){.name = "that", .object_size = 1, .capacity = 900}),
                     KOLK_OK);
    kolk_handle foreign[2] = {kolk_pool_handle_of(&pool, kolk_pool_alloc(&pool))};
    assert_non_null(kolk_slotmap_add(&map, &foreign[1]));
    set_up();
    uint32_t looks = KOLK_DEBUG_FILL | KOLK_DEBUG_GUARD | KOLK_DEBUG_QUARANTINE | KOLK_DEBUG_SITES;
    for (unsigned n = 0; n < 4; n++) {
        char text[100];
        if (n % 2 && it->kind->give_handle)
            assert_false(it->kind->give_handle(it, foreign[n / 2]));
        else
            assert_null(it->kind->get(it, foreign[n / 2]));
        assert_int_equal(stats_of_it().wrong_pool, n + 1);
        snprintf(text, sizeof text, "handle %" PRIu64 " belongs to another pool", foreign[n / 2].bits);
        if (!(row_now->mode->flags & looks)) continue;
        assert_int_equal(f.kept.all[0].failure.handle.bits, foreign[n / 2].bits);
        assert_told(KOLK_WRONG_POOL, NULL, NO_SLOT, text);
    }
    assert_null(kolk_pool_get(&pool, f.handles[0]));
    assert_null(kolk_slotmap_get(&map, f.handles[0]));
    assert_no_more(&f.kept);
    assert_ptr_equal(it->kind->get(it, f.handles[0]), f.objects[0]);
    it->kind->end(it);
    kolk_pool_deinit(&pool);
    kolk_slotmap_deinit(&map);
}

/* A twin pool of the same name, but with generations, makes the handle that would be right here. */
static void test_there_are_no_handles(void **state) {
    kolk_pool twin;
    assert_int_equal(kolk_pool_init(&twin, &(kolk_pool_desc){.name = "it", .object_size = 1, .capacity = 1}), KOLK_OK);
    kolk_handle handle = kolk_pool_handle_of(&twin, kolk_pool_alloc(&twin));
    kolk_pool_deinit(&twin);
    set_up();
    assert_true(kolk_handle_is_null(it->kind->handle(it, f.objects[0])));
    assert_told(KOLK_NO_HANDLES, f.objects[0], 0, "handle of slot 0, but KOLK_GENERATIONS_NONE has no handles");
    assert_true(kolk_handle_is_null(it->kind->handle(it, f.objects[2])));
    assert_told(KOLK_DEAD_OBJECT, f.objects[2], 2, "handle of slot 2, which is free");
    assert_null(it->kind->get(it, handle));
    end_fixture();
}

/* ---- The failure and its handler --------------------------------------------------------------------------------- */

/* Makes a mistake that every kind reports. */
static void ask_a_stranger(void) {
    it->kind->questions[0].ask(it, &a_global);
}

static void test_the_sentence_of_one_without_a_name(void **state) {
    char sentence[100];
    set_up_named("");
    ask_a_stranger();
    const report *last = next_report(&f.kept);
    snprintf(sentence, sizeof sentence,
             "kolk: a pool without a name: %s of a pointer that does not belong to this pool",
             it->kind->questions[0].verb);
    assert_memory_equal(last->sentence, sentence, strlen(sentence)); /* a site may follow the sentence */
    assert_string_equal(last->pool, "");
    end_fixture();
}

static void test_a_long_name_is_cut_off(void **state) {
    static char name[2200];
    memset(name, 'n', sizeof name - 1);
    set_up_named(name);
    ask_a_stranger();
    const report *last = next_report(&f.kept);
    assert_int_equal(strlen(last->sentence), 2047);
    assert_memory_equal(last->sentence, "kolk: nnn", 9);
    end_fixture();
}

static jmp_buf out;

static void jump_out(const kolk_failure *failure, void *context) {
    assert_int_equal(failure->rule, KOLK_FOREIGN_POINTER);
    keep_report(failure, context);
    longjmp(out, 1);
}

/* promise: base.h "The handler may ... left by longjmp or throw" */
static void test_the_handler_may_longjmp(void **state) {
    set_up();
    kolk_set_failure_handler(jump_out, &f.kept);
    for (const question *q = it->kind->questions; q < it->kind->questions + 3 && q->verb; q++) {
        static const question *volatile asked;
        asked = q;
        if (setjmp(out) == 0) {
            q->ask(it, &a_global);
            fail_msg("%s", "nothing was reported");
        }
        q = asked;
        next_report(&f.kept);
        assert_unchanged();
    }
    if (it->kind->can & FREES) {
        if (setjmp(out) == 0) {
            it->kind->give(it, &a_global);
            fail_msg("%s", "nothing was reported");
        }
        next_report(&f.kept);
    }
    begin_reports(&f.kept);
    end_fixture();
}

static void ask_by_default(void) {
    set_up();
    kolk_set_failure_handler(NULL, &f); /* restores the default handler */
    it->kind->questions[0].ask(it, f.objects[1] + 1);
}

/* The sentence recommends the debug mode if the kind has one that could report more.
 * promise: base.h "The handler is called ... not abort"; README.md "Then the program aborts" */
static void test_the_default_handler_prints_and_aborts(void **state) {
    char text[1000], begin[100];
    skip_if_emulated();
    int status = run_apart(ask_by_default, text, sizeof text);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    snprintf(begin, sizeof begin, "kolk: it: %s of a pointer into %s 1, at byte 1 of it",
             row_now->kind->questions[0].verb, row_now->kind->slot);
    assert_memory_equal(text, begin, strlen(begin));
    assert_int_equal(text[strlen(text) - 1], '\n');
    bool sites = row_now->mode->flags & KOLK_DEBUG_SITES;
    assert_int_equal(strstr(text, "; KOLK_DEBUG=sites tells more\n") != NULL, row_now->kind->can & DEBUGS && !sites);
}

static sigjmp_buf out_of_abort;

static void leave_abort(int signal_number) {
    siglongjmp(out_of_abort, 1);
}

/* A program that catches SIGABRT and continues finds the pool unchanged. */
static void test_the_default_handler_changes_nothing(void **state) {
    set_up();
    kolk_set_failure_handler(NULL, NULL);
    int stderr_before = dup(STDERR_FILENO);
    FILE *nowhere = tmpfile();
    assert_non_null(nowhere);
    dup2(fileno(nowhere), STDERR_FILENO);
    struct sigaction leave = {.sa_handler = leave_abort}, before;
    sigaction(SIGABRT, &leave, &before);
    if (sigsetjmp(out_of_abort, 1) == 0) ask_a_stranger();
    sigaction(SIGABRT, &before, NULL);
    dup2(stderr_before, STDERR_FILENO);
    close(stderr_before);
    fclose(nowhere);
    begin_reports(&f.kept);
    end_fixture();
}

int main(void) {
    static const contract contracts[] = {
        CONTRACT(test_double_free, FREES, IN_EVERY_MODE),
        CONTRACT(test_free_of_an_interior_pointer, FREES, IN_EVERY_MODE),
        CONTRACT(test_free_of_a_foreign_pointer, FREES, IN_EVERY_MODE),
        CONTRACT(test_free_of_a_slot_never_handed_out, FREES | ISSUES,
                 IN_EVERY_MODE & ~(IN(BYPASS) | IN(BYPASS_AND_SITES))),
        CONTRACT(test_free_of_null_does_nothing, FREES, IN_EVERY_MODE),
        CONTRACT(test_questions_about_what_is_no_object, ASKS, IN_EVERY_MODE),
        CONTRACT(test_handles_that_find_nothing, HANDLES, IN_EVERY_MODE),
        CONTRACT(test_handles_of_other_pools, HANDLES, IN_EVERY_MODE),
        CONTRACT(test_there_are_no_handles, NO_HANDLES, IN_EVERY_MODE),
        CONTRACT(test_the_sentence_of_one_without_a_name, ASKS, IN_EVERY_MODE),
        CONTRACT(test_a_long_name_is_cut_off, ASKS, IN(PLAIN)),
        CONTRACT(test_the_handler_may_longjmp, ASKS, IN_EVERY_MODE),
        CONTRACT(test_the_default_handler_prints_and_aborts, ASKS, IN(PLAIN) | IN(FILL) | IN(SITES)),
        CONTRACT(test_the_default_handler_changes_nothing, ASKS, IN(PLAIN)),
    };
    return run_contracts(contracts, LENGTH_OF(contracts), NULL, plain_environment);
}
