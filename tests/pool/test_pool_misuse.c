/* Each bug of a caller that pool.h says is caught: made here, with its exact sentence and all fields of the failure;
 * the pool is unchanged to the byte. Beside each stands the silent twin: the nearest correct use. */
#include "../help/test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE  24
#define SLOTS 5

/* A pool on memory of its own, so that the metadata can be compared too, with slots 0 to 3 issued and 2 and 3 free. */
typedef struct fixture {
    kolk_pool pool, before;
    _Alignas(16) unsigned char memory[KOLK_POOL_BYTES(SIZE, 8, SLOTS)];
    unsigned char memory_before[KOLK_POOL_BYTES(SIZE, 8, SLOTS)];
    unsigned char *objects[4];
    kolk_handle handles[4]; /* of their first lives */
    notes taken;
} fixture;

static void count_reset(void *object, void *context) {
    (void)object;
    ++*(unsigned *)context;
}

static unsigned resets;

/* 0 to 2: the orders of reuse; 3: LIFO with a hook, which takes the slow paths. */
#define KINDS 4

static void set_up_named(fixture *f, int kind, const char *name) {
    memset(f, 0, sizeof *f);
    kolk_pool_desc desc = {.name = name, .object_size = SIZE, .capacity = SLOTS, .reuse = (kolk_reuse)(kind % 3)};
    desc.memory = f->memory;
    desc.memory_size = sizeof f->memory;
    if (kind == 3) desc.reset = count_reset;
    desc.context = &resets;
    make_pool(&f->pool, &desc);
    for (int i = 0; i < 4; i++) {
        f->objects[i] = (unsigned char *)kolk_pool_alloc(&f->pool);
        memset(f->objects[i], i, SIZE);
        f->handles[i] = kolk_pool_handle(&f->pool, f->objects[i]);
    }
    kolk_pool_free(&f->pool, f->objects[2]);
    kolk_pool_free(&f->pool, f->objects[3]);
    resets = 0;
    begin_notes(&f->taken);
    f->before = f->pool;
    memcpy(f->memory_before, f->memory, sizeof f->memory);
}

static void set_up(fixture *f, int kind) {
    set_up_named(f, kind, "bullets");
}

static void assert_unchanged(const fixture *f) {
    assert_memory_equal(&f->pool, &f->before, sizeof f->pool);
    assert_memory_equal(f->memory, f->memory_before, sizeof f->memory);
    assert_true(kolk_pool_is_valid(&f->pool));
    assert_int_equal(resets, 0);
}

/* ---- free -------------------------------------------------------------------------------------------------------- */

static bool double_free_is_left_out(int kind) {
    return !KOLK_CHECKS && kind == 0; /* the inline free of a LIFO pool without hooks */
}

static void test_double_free(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        if (double_free_is_left_out(kind)) {
            print_message("left out for LIFO: built with KOLK_CHECKS=0\n");
            continue;
        }
        fixture f;
        set_up(&f, kind);
        kolk_pool_free(&f.pool, f.objects[3]); /* at once */
        assert_noted(&f.taken, KOLK_DOUBLE_FREE, "bullets", f.objects[3], 3, "kolk: bullets: double free of slot 3");
        assert_unchanged(&f);
        kolk_pool_free(&f.pool, f.objects[2]); /* with another between */
        assert_noted(&f.taken, KOLK_DOUBLE_FREE, "bullets", f.objects[2], 2, "kolk: bullets: double free of slot 2");
        assert_unchanged(&f);
        kolk_pool_free(&f.pool, f.objects[0]);
        kolk_pool_free(&f.pool, f.objects[1]);
        assert_silent(&f.taken);
        kolk_pool_clear(&f.pool);
        kolk_pool_free(&f.pool, f.objects[0]); /* clear has freed it */
        assert_noted(&f.taken, KOLK_DOUBLE_FREE, "bullets", f.objects[0], 0, "kolk: bullets: double free of slot 0");
    }
}

/* What no check of O(1) can see without a handle: the slot lives again, and the stale pointer equals the new one. */
static void test_free_after_reuse_is_not_seen_by_pointer_but_by_handle(void **state) {
    (void)state;
    fixture f;
    set_up(&f, KOLK_REUSE_LIFO);
    void *again = kolk_pool_alloc(&f.pool);
    assert_ptr_equal(again, f.objects[3]);
    assert_false(kolk_pool_free_handle(&f.pool, f.handles[3])); /* the stale handle frees nothing */
    assert_true(kolk_pool_is_live(&f.pool, again));
    kolk_pool_free(&f.pool, f.objects[3]); /* the stale pointer frees the new object */
    assert_false(kolk_pool_is_live(&f.pool, again));
    assert_silent(&f.taken);
}

static void test_free_of_an_interior_or_misaligned_pointer(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        fixture f;
        set_up(&f, kind);
        for (ptrdiff_t inside = 1; inside < SIZE; inside++) {
            for (unsigned slot = 0; slot < SLOTS; slot++) { /* live, free and never issued alike */
                char sentence[100];
                void *object = moved(f.memory, (ptrdiff_t)(slot * SIZE) + inside);
                snprintf(sentence, sizeof sentence, "kolk: bullets: free of a pointer into slot %u, at byte %d of it",
                         slot, (int)inside);
                kolk_pool_free(&f.pool, object);
                assert_noted(&f.taken, KOLK_INTERIOR_POINTER, "bullets", object, slot, sentence);
            }
        }
        assert_unchanged(&f);
        resets = 0;
        kolk_pool_free(&f.pool, f.objects[1]);
        assert_silent(&f.taken);
        assert_int_equal(resets, kind == 3);
    }
}

static int a_global;

static void test_free_of_a_foreign_pointer(void **state) {
    (void)state;
    kolk_pool other;
    make_pool(&other, &(kolk_pool_desc){.name = "other", .object_size = SIZE, .capacity = 3});
    void *of_another_pool = kolk_pool_alloc(&other);
    void *of_the_heap = malloc(SIZE);
    int on_the_stack = 0;
    for (int kind = 0; kind < KINDS; kind++) {
        fixture f;
        set_up(&f, kind);
        void *foreign[] = {of_another_pool,
                           of_the_heap,
                           &on_the_stack,
                           &a_global,
                           moved(f.memory, -SIZE),
                           moved(f.memory, -1),
                           moved(f.memory, SLOTS * SIZE),
                           &f.pool,
                           (void *)(uintptr_t)1,
                           (void *)UINTPTR_MAX};
        for (size_t i = 0; i < LENGTH_OF(foreign); i++) {
            kolk_pool_free(&f.pool, foreign[i]);
            assert_noted(&f.taken, KOLK_FOREIGN_POINTER, "bullets", foreign[i], NO_SLOT,
                         "kolk: bullets: free of a pointer that is not of this pool");
            assert_false(kolk_pool_is_live(&f.pool, foreign[i]));
        }
        assert_unchanged(&f);
    }
    kolk_pool_free(&other, of_another_pool);
    free(of_the_heap);
    kolk_pool_deinit(&other);
}

static void test_free_of_a_slot_never_handed_out(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        fixture f;
        set_up(&f, kind);
        void *last = moved(f.memory, 4 * SIZE);
        kolk_pool_free(&f.pool, last);
        assert_noted(&f.taken, KOLK_NEVER_ISSUED, "bullets", last, 4,
                     "kolk: bullets: free of slot 4, which was never handed out");
        assert_unchanged(&f);
        void *objects[3];
        assert_int_equal(kolk_pool_alloc_n(&f.pool, objects, 3), 3);
        kolk_pool_free(&f.pool, last);
        assert_silent(&f.taken);
    }
}

static void test_free_of_null_does_nothing(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        fixture f;
        set_up(&f, kind);
        kolk_pool_free(&f.pool, NULL);
        assert_silent(&f.taken);
        assert_unchanged(&f);
    }
}

/* ---- index, handle, next ----------------------------------------------------------------------------------------- */

typedef struct misuse {
    void *object;
    kolk_status rule;
    uint32_t slot;
    const char *sentence; /* %s: the verb */
} misuse;

static void test_index_handle_and_next_of_what_is_no_object(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        fixture f;
        set_up(&f, kind);
        const misuse misuses[] = {
            {f.objects[3], KOLK_DEAD_OBJECT, 3, "kolk: bullets: %s of slot 3, which is free"},
            {moved(f.memory, 4 * SIZE), KOLK_NEVER_ISSUED, 4,
             "kolk: bullets: %s of slot 4, which was never handed out"},
            {moved(f.objects[1], 8), KOLK_INTERIOR_POINTER, 1,
             "kolk: bullets: %s of a pointer into slot 1, at byte 8 of it"},
            {&a_global, KOLK_FOREIGN_POINTER, NO_SLOT, "kolk: bullets: %s of a pointer that is not of this pool"},
            {NULL, KOLK_FOREIGN_POINTER, NO_SLOT, "kolk: bullets: %s of NULL"},
        };
        for (size_t i = 0; i < LENGTH_OF(misuses); i++) {
            const misuse *m = &misuses[i];
            char sentence[100];
            assert_int_equal(kolk_pool_index(&f.pool, m->object), UINT32_MAX);
            snprintf(sentence, sizeof sentence, m->sentence, "index");
            assert_noted(&f.taken, m->rule, "bullets", m->object, m->slot, sentence);
            assert_true(kolk_handle_is_null(kolk_pool_handle(&f.pool, m->object)));
            snprintf(sentence, sizeof sentence, m->sentence, "handle");
            assert_noted(&f.taken, m->rule, "bullets", m->object, m->slot, sentence);
            if (m->object == NULL || m->rule == KOLK_DEAD_OBJECT) continue; /* next starts, and goes on, from these */
            assert_null(kolk_pool_next(&f.pool, m->object));
            snprintf(sentence, sizeof sentence, m->sentence, "next");
            assert_noted(&f.taken, m->rule, "bullets", m->object, m->slot, sentence);
        }
        assert_unchanged(&f);
        assert_int_equal(kolk_pool_index(&f.pool, f.objects[1]), 1);
        assert_false(kolk_handle_is_null(kolk_pool_handle(&f.pool, f.objects[1])));
        assert_ptr_equal(kolk_pool_next(&f.pool, NULL), f.objects[0]);
        assert_null(kolk_pool_next(&f.pool, f.objects[3]));
        assert_silent(&f.taken);
        assert_unchanged(&f);
    }
}

static void test_a_pool_without_generations_has_no_handles(void **state) {
    (void)state;
    kolk_pool pool;
    notes taken;
    begin_notes(&taken);
    make_pool(&pool, &(kolk_pool_desc){
                         .name = "sparks", .object_size = SIZE, .capacity = 3, .generations = KOLK_GENERATIONS_NONE});
    void *object = kolk_pool_alloc(&pool);
    assert_true(kolk_handle_is_null(kolk_pool_handle(&pool, object)));
    assert_noted(&taken, KOLK_NO_HANDLES, "sparks", object, 0,
                 "kolk: sparks: handle of slot 0, but KOLK_GENERATIONS_NONE has no handles");
    assert_null(kolk_pool_get(&pool, kolk_handle_unpack(UINT64_C(1) << 32)));
    assert_null(kolk_pool_alloc_at(&pool, kolk_handle_unpack(UINT64_C(1) << 32)));
    assert_false(kolk_pool_free_handle(&pool, kolk_handle_unpack(UINT64_C(1) << 32)));
    assert_int_equal(kolk_pool_index(&pool, object), 0);
    assert_silent(&taken);
    kolk_pool_free(&pool, object);
    assert_true(kolk_handle_is_null(kolk_pool_handle(&pool, object)));
    assert_noted(&taken, KOLK_DEAD_OBJECT, "sparks", object, 0, "kolk: sparks: handle of slot 0, which is free");
    kolk_pool_deinit(&pool);
}

/* ---- Handles that name nothing here: normal, so NULL and silence ------------------------------------------------- */

static uint64_t wrong_pool(const kolk_pool *pool) {
    kolk_stats stats;
    kolk_pool_stats(pool, &stats);
    return stats.wrong_pool;
}

static void test_bad_handles_give_null(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        fixture f;
        set_up(&f, kind);
        kolk_pool other;
        make_pool(&other, &(kolk_pool_desc){.name = "other", .object_size = SIZE, .capacity = SLOTS});
        kolk_handle of_another_pool = kolk_pool_handle(&other, kolk_pool_alloc(&other));
        uint64_t live = f.handles[0].bits;
        const kolk_handle bad[] = {
            f.handles[2],                              /* stale */
            {0},                                       /* null */
            {live & UINT32_MAX},                       /* generation 0 */
            {live + (UINT64_C(1) << 32)},              /* a life to come */
            {live ^ 4},                                /* slot 4, never handed out */
            {live ^ 7},                                /* slot 7, beyond the capacity */
            {f.handles[2].bits + (UINT64_C(1) << 32)}, /* the life that comes next in a free slot */
        };
        for (size_t i = 0; i < LENGTH_OF(bad); i++) {
            assert_null(kolk_pool_get(&f.pool, bad[i]));
            assert_false(kolk_pool_free_handle(&f.pool, bad[i]));
        }
        assert_unchanged(&f);
        assert_null(kolk_pool_get(&f.pool, of_another_pool));
        assert_int_equal(wrong_pool(&f.pool), 1);
        assert_false(kolk_pool_free_handle(&f.pool, of_another_pool));
        assert_int_equal(wrong_pool(&f.pool), 2);
        assert_null(kolk_pool_alloc_at(&f.pool, of_another_pool));
        assert_null(kolk_pool_get(&other, f.handles[0]));
        assert_int_equal(wrong_pool(&other), 1);

        assert_ptr_equal(kolk_pool_get(&f.pool, f.handles[0]), f.objects[0]);
        assert_true(kolk_pool_free_handle(&f.pool, f.handles[0]));
        assert_null(kolk_pool_get(&f.pool, f.handles[0]));
        assert_int_equal(wrong_pool(&f.pool), 2);
        assert_silent(&f.taken);
        kolk_pool_deinit(&other);
    }
}

/* ---- The failure and its handler --------------------------------------------------------------------------------- */

static void test_the_sentence_of_a_pool_without_a_name(void **state) {
    (void)state;
    const char *names[] = {NULL, ""};
    for (size_t i = 0; i < LENGTH_OF(names); i++) {
        fixture f;
        set_up_named(&f, 0, names[i]);
        kolk_pool_free(&f.pool, &a_global);
        assert_noted(&f.taken, KOLK_FOREIGN_POINTER, "", &a_global, NO_SLOT,
                     "kolk: a pool without a name: free of a pointer that is not of this pool");
    }
}

static void test_a_long_name_is_cut_off(void **state) {
    (void)state;
    static char name[1200];
    fixture f;
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    set_up_named(&f, 0, name);
    kolk_pool_free(&f.pool, &a_global);
    assert_int_equal(f.taken.count, 1);
    assert_int_equal(strlen(f.taken.sentence), 1023);
    assert_memory_equal(f.taken.sentence, "kolk: nnn", 9);
    assert_unchanged(&f);
}

static void jump_out(const kolk_failure *failure, void *context) {
    assert_string_equal(failure->sentence, "kolk: bullets: free of slot 4, which was never handed out");
    longjmp(*(jmp_buf *)context, 1);
}

static bool free_jumps_out(kolk_pool *pool, void *object) {
    jmp_buf back;
    kolk_set_failure_handler(jump_out, &back);
    if (setjmp(back) != 0) return true;
    kolk_pool_free(pool, object);
    return false;
}

static void test_the_handler_may_longjmp(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        fixture f;
        set_up(&f, kind);
        assert_true(free_jumps_out(&f.pool, moved(f.memory, 4 * SIZE)));
        assert_unchanged(&f);
        void *objects[3];
        assert_int_equal(kolk_pool_alloc_n(&f.pool, objects, 3), 3);
        assert_true(kolk_pool_is_valid(&f.pool));
    }
}

static void test_the_default_handler_prints_and_aborts(void **state) {
    (void)state;
    skip_if_emulated();
    fixture f;
    int ends[2];
    set_up(&f, KOLK_REUSE_FIFO);
    kolk_set_failure_handler(NULL, &f); /* back to the default */
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        kolk_pool_free(&f.pool, f.objects[3]);
        _exit(0); /* not reached */
    }
    close(ends[1]);
    char text[400] = "";
    size_t length = 0;
    for (ssize_t n; (n = read(ends[0], text + length, sizeof text - 1 - length)) > 0;) length += (size_t)n;
    close(ends[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    text[length] = 0;
    static const char begin[] = "kolk: bullets: double free of slot 3", end[] = "; KOLK_DEBUG=sites tells more\n";
    assert_memory_equal(text, begin, strlen(begin)); /* and the site, where it can be put into words */
    assert_true(length >= strlen(end));
    assert_string_equal(text + length - strlen(end), end);
}

static sigjmp_buf out_of_abort;

static void leave_abort(int signal_number) {
    (void)signal_number;
    siglongjmp(out_of_abort, 1);
}

/* A program that catches SIGABRT and goes on finds the pool as it was. */
static void test_the_default_handler_changes_nothing(void **state) {
    (void)state;
    static fixture f;
    set_up(&f, KOLK_REUSE_LOWEST);
    kolk_set_failure_handler(NULL, NULL);
    int stderr_before = dup(STDERR_FILENO);
    FILE *nowhere = tmpfile();
    assert_non_null(nowhere);
    dup2(fileno(nowhere), STDERR_FILENO);
    struct sigaction leave = {.sa_handler = leave_abort}, before;
    sigaction(SIGABRT, &leave, &before);
    if (sigsetjmp(out_of_abort, 1) == 0) kolk_pool_free(&f.pool, f.objects[3]);
    sigaction(SIGABRT, &before, NULL);
    dup2(stderr_before, STDERR_FILENO);
    close(stderr_before);
    fclose(nowhere);
    assert_unchanged(&f);
}

#define TEST(name) cmocka_unit_test_teardown(name, abort_on_failure)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_double_free),
        TEST(test_free_after_reuse_is_not_seen_by_pointer_but_by_handle),
        TEST(test_free_of_an_interior_or_misaligned_pointer),
        TEST(test_free_of_a_foreign_pointer),
        TEST(test_free_of_a_slot_never_handed_out),
        TEST(test_free_of_null_does_nothing),
        TEST(test_index_handle_and_next_of_what_is_no_object),
        TEST(test_a_pool_without_generations_has_no_handles),
        TEST(test_bad_handles_give_null),
        TEST(test_the_sentence_of_a_pool_without_a_name),
        TEST(test_a_long_name_is_cut_off),
        TEST(test_the_handler_may_longjmp),
        TEST(test_the_default_handler_prints_and_aborts),
        TEST(test_the_default_handler_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
