/* runs: long once with: KOLK_CHAOS=1 */
/* The process forks before every atomic operation of another thread's work on a heap. In each child the forking thread
 * continues: live blocks keep their contents; each free block can be allocated once, even if it was in the other
 * thread's magazines, unless that thread was just moving it; other threads come and go; and the heap is deinitialised.
 * The parent is not affected. */
#include "../help/test.h"

#include "heap_forks.h"

enum { TRAYS = 3, MINE = 20, MOST = 400 };

static const kolk_heap_class trays[TRAYS] = {
    {.size = 64, .capacity = 40, .max_capacity = 300, .when_full = KOLK_HEAP_NULL},
    {.size = 1024, .max_capacity = 100, .when_full = KOLK_HEAP_NULL},
    {.size = 16384, .max_capacity = 30, .when_full = KOLK_HEAP_NULL},
};

enum { FAR = 18 }; /* more heaps than there are rows at first, and more than a thread's near heaps */

static kolk_heap heap, other, others[FAR];
static void *mine[MINE], *theirs[MOST];
static unsigned held, most_lost, on_their_way; /* on_their_way: the most blocks that may be lost */

/* ---- What is true in the child ----------------------------------------------------------------------------------- */

static void *got[TRAYS][MOST];

static unsigned count_alive(unsigned tray) {
    unsigned n = 0;
    for (void *at = NULL; (at = kolk_heap_next(&heap, at));) n += kolk_heap_usable_size(&heap, at) == trays[tray].size;
    return n;
}

static unsigned take_all(unsigned tray) {
    unsigned n = 0;
    while (n < MOST && (got[tray][n] = kolk_heap_alloc(&heap, trays[tray].size))) {
        memset(got[tray][n], 0xee, trays[tray].size);
        n++;
    }
    return n;
}

static void give_all(unsigned tray, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        REQUIRE(all_bytes_are(got[tray][i], trays[tray].size, 0xee));
        kolk_heap_free(&heap, got[tray][i]);
    }
}

static void check_mine(void) {
    for (unsigned i = 0; i < MINE; i++) {
        REQUIRE(kolk_heap_is_live(&heap, mine[i]));
        REQUIRE(all_bytes_are(mine[i], 64, (unsigned char)i));
    }
}

/* Runs in the child's other threads, which cannot take blocks from the main thread's magazines. */
static void *take_and_give(void *unused) {
    for (unsigned tray = 0; tray < TRAYS; tray++) give_all(tray, take_all(tray));
    kolk_heap_free(&heap, kolk_heap_alloc(&heap, 100000));
    return NULL;
}

/* After deinit, statistics do not read classes that are gone. */
static void end_at_once(void *unused) {
    kolk_heap_deinit(&heap);
    REQUIRE(all_bytes_are(&heap, sizeof heap, 0));
    kolk_stats_write(KOLK_STATS_JSON, count_bytes, &(size_t){0});
}

static void *use_others(void *unused) {
    for (unsigned n = 0; n < FAR; n++) {
        if (!others[n].inside) continue;
        void *block = kolk_heap_alloc(&others[n], 64);
        REQUIRE(block);
        kolk_heap_free(&others[n], block);
    }
    return NULL;
}

/* Begins and ends heaps that keep their pages for the next ones. */
static void use_ended(kolk_heap *young) {
    for (unsigned turn = 0; turn < 2; turn++) {
        unsigned char *zeroed[4];
        REQUIRE(kolk_heap_init(young, &(kolk_heap_desc){.name = "young"}) == KOLK_OK);
        for (unsigned i = 0; i < 4; i++) {
            REQUIRE(zeroed[i] = (unsigned char *)kolk_heap_alloc_zeroed(young, 40000));
            REQUIRE(kolk_heap_class_at_(young, zeroed[i]) < young->n_classes && all_bytes_are(zeroed[i], 40000, 0));
            memset(zeroed[i], (int)i + 1, 40000);
        }
        kolk_heap_free(young, zeroed[0]);
        for (unsigned i = 1; i < 4; i++) REQUIRE(all_bytes_are(zeroed[i], 40000, (unsigned char)(i + 1)));
        kolk_heap_deinit(young);
    }
}

static void live_on(void *unused) {
    unsigned found[TRAYS], lost = 0;
    END_IF_IT_HANGS();
    check_mine();
    use_others(NULL);
    for (unsigned tray = 0; tray < TRAYS; tray++) {
        unsigned alive = count_alive(tray);
        found[tray] = take_all(tray);
        REQUIRE(alive + found[tray] <= trays[tray].max_capacity);
        unsigned missing = trays[tray].max_capacity - alive - found[tray];
        REQUIRE(missing <= on_their_way);
        lost += missing;
        give_all(tray, found[tray]);
    }
    check_mine();
    REQUIRE(lost || kolk_heap_is_valid(&heap));
    for (unsigned i = 0; i < 3; i++) {
        run_thread(take_and_give, NULL);
        run_thread(use_others, NULL);
    }
    for (unsigned tray = 0; tray < TRAYS; tray++) REQUIRE(take_all(tray) >= found[tray]);
    check_mine();
    for (unsigned i = 0; i < MINE; i++) kolk_heap_free(&heap, mine[i]);
    end_at_once(NULL);
    use_ended(&heap);
    REQUIRE(kolk_heap_init(&heap, &(kolk_heap_desc){.name = "again"}) == KOLK_OK);
    leave_nursery(&heap);
    REQUIRE(kolk_heap_alloc(&heap, 100));
    _exit(lost < 100 ? (int)lost : 100);
}

static void fork_now(void) {
    unsigned lost = fork_to(live_on);
    if (lost > most_lost) most_lost = lost;
    fork_to(end_at_once);
}

/* ---- What the other thread does ---------------------------------------------------------------------------------- */

static void hold(unsigned n, size_t size) {
    while (n--) REQUIRE(theirs[held++] = kolk_heap_alloc(&heap, size));
}

static void drop(unsigned n) {
    while (n--) kolk_heap_free(&heap, theirs[--held]);
}

static void first_use(void) {
    can_be_stopped = true;
    hold(1, 64);
}

static void first_of_class(void) {
    hold(1, 64);
    can_be_stopped = true;
    hold(1, 1024);
}

/* The main thread holds all 40 blocks that the committed memory has room for. */
static void grow(void) {
    hold(1, 1024);
    can_be_stopped = true;
    hold(1, 64);
}

static void free_to_full(void) {
    hold(25, 16384);
    can_be_stopped = true;
    drop(9);
}

static void overfill(void) {
    hold(30, 16384);
    can_be_stopped = true;
    REQUIRE(!kolk_heap_alloc(&heap, 16384));
    drop(1);
}

static void trim(void) {
    hold(200, 64);
    drop(held);
    can_be_stopped = true;
    kolk_heap_trim(&heap);
}

static void *use_and_end(void *unused) {
    hold(100, 64);
    hold(10, 1024);
    drop(held);
    can_be_stopped = true; /* stopped in the destructors that run at the thread's end */
    return NULL;
}

static void end_a_thread(void) {
    run_thread(use_and_end, NULL);
}

static void large_blocks(void) {
    hold(1, 100000);
    can_be_stopped = true;
    REQUIRE(theirs[0] = kolk_heap_realloc(&heap, theirs[0], 300000));
    drop(1);
}

static void other_heap(void) {
    can_be_stopped = true;
    REQUIRE(kolk_heap_init(&other, &(kolk_heap_desc){.name = "other"}) == KOLK_OK);
    leave_nursery(&other);
    kolk_heap_free(&other, kolk_heap_alloc(&other, 10));
    kolk_heap_deinit(&other);
}

static void ended_heaps(void) {
    can_be_stopped = true;
    use_ended(&other);
    kolk_ended_expire_(INT64_MAX);
}

static void far_heaps(void) {
    can_be_stopped = true;
    use_others(NULL);
}

/* ---- Forks ------------------------------------------------------------------------------------------------------- */

static void fork_everywhere(const char *name, unsigned on_way, void (*act)(void)) {
    bool more = true;
    unsigned apart = steps_apart(), forks = 0;
    deed_name = name;
    on_their_way = on_way;
    most_lost = 0;
    for (step = first_step(); more; step += apart, forks++) {
        make_heap(&heap, &(kolk_heap_desc){.name = "heap", .classes = trays, .n_classes = TRAYS});
        for (unsigned i = 0; i < MINE; i++) memset(mine[i] = kolk_heap_alloc(&heap, 64), (int)i, 64);
        held = 0;
        more = stop_at_step(step, act, fork_now);
        assert_true(kolk_heap_is_valid(&heap));
        check_mine();
        while (held) kolk_heap_free(&heap, theirs[--held]);
        for (unsigned tray = 0; tray < TRAYS; tray++)
            assert_int_equal(take_all(tray), trays[tray].max_capacity - (tray ? 0 : MINE));
        end_heap(&heap);
    }
    print_message("%s: %u forks, at most %u lost\n", name, forks - 1, most_lost);
    assert_true(step - apart > 9);
}

/* promise: "A fork's child ... threads and depots"; base.h "shared.h and heap.h have the rules for shared" */
static void test_each_step(void **state) {
    fork_everywhere("first use", 64, first_use);
    fork_everywhere("first of a class", 64, first_of_class);
    fork_everywhere("growth", 64, grow);
    fork_everywhere("free to a full magazine", 4, free_to_full);
    fork_everywhere("a class that is full", 4, overfill);
    fork_everywhere("trim", 4096, trim); /* blocks that a sweep has taken out */
    fork_everywhere("end of a thread", 152, end_a_thread);
    fork_everywhere("large blocks", 0, large_blocks);
    fork_everywhere("another heap", 0, other_heap);
    fork_everywhere("ended heaps", 0, ended_heaps);
    for (unsigned n = 0; n < FAR; n++)
        make_heap(&others[n], &(kolk_heap_desc){.name = "other", .limit = 1 << 22, .classes = trays, .n_classes = 1});
    use_others(NULL);
    fork_everywhere("far heaps", 0, far_heaps);
    for (unsigned n = 0; n < FAR; n++) end_heap(&others[n]);
}

int main(void) {
    END_IF_IT_HANGS();
    setenv("KOLK_BYPASS", "0", 1);
    const struct CMUnitTest tests[] = {TEST(test_each_step)};
    return cmocka_run_group_tests(tests, make_semaphores, NULL);
}
