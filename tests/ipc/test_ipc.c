/* runs: not:wine */
/* kolk_ipc with several views in one process, each of which counts as a process of its own: a random walk beside a
 * model, what only an owner may do, what the dead leave, and what there is to ask. Real processes are in
 * test_ipc_kills.c. */
#include "ipc_test.h"

#include "../help/chaos.h"
#include "../help/run_threads.h"

#include <fcntl.h>
#include <sys/stat.h>

/* ---- A model ----------------------------------------------------------------------------------------------------- */

enum { CAPACITY = 70, QUEUES = 2, VIEWS = 3, FREE_SLOT = -1, NOBODY = -2, IN_QUEUE = 100 };

typedef struct model {
    kolk_ipc views[VIEWS];
    bool orphans_stay;
    int owner[CAPACITY]; /* a view, FREE_SLOT, NOBODY, or IN_QUEUE + a queue */
    kolk_handle handle[CAPACITY];
    uint32_t value[CAPACITY];
    uint32_t queue[QUEUES][CAPACITY]; /* slots, the first one first */
    uint32_t queued[QUEUES], queue_capacity, alive, next;
} model;

static uint32_t slot_in(const kolk_ipc *pool, const void *object) {
    uint32_t slot = slot_of(pool, object);
    assert_true(slot != KOLK_NO_SLOT_);
    return slot;
}

static void model_alloc(model *it, int who) {
    uint32_t *object = (uint32_t *)kolk_ipc_alloc(&it->views[who]);
    assert_int_equal(!object, it->alive == CAPACITY);
    if (!object) return;
    uint32_t slot = slot_in(&it->views[who], object);
    assert_int_equal(it->owner[slot], FREE_SLOT);
    it->owner[slot] = who;
    it->handle[slot] = kolk_ipc_handle_of(&it->views[who], object);
    *object = it->value[slot] = it->next++;
    it->alive++;
}

static void model_free(model *it, int who, uint32_t slot) {
    if (it->owner[slot] != who) return;
    kolk_ipc_free(&it->views[who], object_at(&it->views[who], slot));
    it->owner[slot] = FREE_SLOT;
    it->alive--;
}

static void model_push(model *it, int who, uint32_t slot, uint32_t to) {
    if (it->owner[slot] != who) return;
    kolk_status status = kolk_ipc_push(&it->views[who], to, object_at(&it->views[who], slot), KOLK_NOW);
    assert_int_equal(status, it->queued[to] == it->queue_capacity ? KOLK_FULL : KOLK_OK);
    if (status != KOLK_OK) return;
    it->owner[slot] = IN_QUEUE + (int)to;
    it->queue[to][it->queued[to]++] = slot;
}

static void model_pop(model *it, int who, uint32_t from) {
    const uint32_t *object = (const uint32_t *)kolk_ipc_pop(&it->views[who], from, KOLK_NOW);
    assert_int_equal(!object, it->queued[from] == 0);
    if (!object) return;
    uint32_t slot = it->queue[from][0];
    assert_int_equal(slot_in(&it->views[who], object), slot);
    assert_int_equal(*object, it->value[slot]);
    memmove(it->queue[from], it->queue[from] + 1, --it->queued[from] * sizeof(uint32_t));
    it->owner[slot] = who;
}

static void model_die(model *it, int who) {
    uint32_t held = 0;
    for (uint32_t slot = 0; slot < CAPACITY; slot++) {
        if (it->owner[slot] != who) continue;
        held++;
        it->owner[slot] = it->orphans_stay ? NOBODY : FREE_SLOT;
        it->alive -= !it->orphans_stay;
    }
    kill_ipc(&it->views[who]);
    assert_int_equal(kolk_ipc_recover(&it->views[(who + 1) % VIEWS]), held);
    join_ipc(&it->views[who], &it->views[(who + 1) % VIEWS]);
}

static void model_adopt(model *it, int who) {
    const void *object = kolk_ipc_adopt(&it->views[who]);
    uint32_t first = 0;
    while (first < CAPACITY && it->owner[first] != NOBODY) first++;
    assert_int_equal(!object, first == CAPACITY);
    if (!object) return;
    assert_int_equal(slot_in(&it->views[who], object), first);
    it->owner[first] = who;
}

static void check_model(const model *it) {
    uint32_t seen = 0;
    for (int who = 0; who < VIEWS; who++) {
        const kolk_ipc *pool = &it->views[who];
        assert_true(kolk_ipc_is_valid(pool));
        assert_int_equal(kolk_ipc_count(pool), it->alive);
        for (uint32_t n = 0; n < QUEUES; n++) assert_int_equal(kolk_ipc_queued(pool, n), it->queued[n]);
        for (uint32_t slot = 0; slot < CAPACITY; slot++) {
            void *object = object_at(pool, slot);
            assert_int_equal(kolk_ipc_is_live(pool, object), it->owner[slot] != FREE_SLOT);
            assert_int_equal(kolk_ipc_is_owned(pool, object), it->owner[slot] == who);
            assert_ptr_equal(kolk_ipc_get(pool, it->handle[slot]), it->owner[slot] != FREE_SLOT ? object : NULL);
            assert_int_equal(kolk_ipc_is_live(pool, moved(object, 1)), false);
        }
    }
    kolk_ipc_cursor cursor = kolk_ipc_each(&it->views[0]);
    for (void *object, *before = NULL; (object = kolk_ipc_cursor_next(&cursor)); before = object, seen++)
        assert_true(object > before);
    assert_int_equal(seen, it->alive);
}

static void walk(uint64_t seed, uint32_t queue_capacity, bool orphans_stay, unsigned steps) {
    static model it;
    it = (model){.orphans_stay = orphans_stay, .queue_capacity = queue_capacity ? queue_capacity : CAPACITY};
    for (uint32_t slot = 0; slot < CAPACITY; slot++) it.owner[slot] = FREE_SLOT;
    make_ipc(&it.views[0], &(kolk_ipc_desc){.name = "walk",
                                            .object_size = sizeof(uint32_t),
                                            .capacity = CAPACITY,
                                            .queues = QUEUES,
                                            .queue_capacity = queue_capacity,
                                            .max_processes = VIEWS,
                                            .orphans = orphans_stay ? KOLK_IPC_KEEP : KOLK_IPC_FREE});
    for (int who = 1; who < VIEWS; who++) join_ipc(&it.views[who], &it.views[0]);
    for (unsigned step = 0; step < steps; step++) {
        int who = (int)random_below(&seed, VIEWS);
        uint32_t slot = random_below(&seed, CAPACITY), at = random_below(&seed, QUEUES),
                 what = random_below(&seed, 100);
        bool fills = step / 200 % 2; /* in turns, so that the pool is full and empty at times */
        if (what < (fills ? 40 : 15))
            model_alloc(&it, who);
        else if (what < 55)
            model_free(&it, who, slot);
        else if (what < 75)
            model_push(&it, who, slot, at);
        else if (what < 95)
            model_pop(&it, who, at);
        else if (what < 98)
            model_adopt(&it, who);
        else if (what < 99)
            model_die(&it, who);
        if (step % 50 == 0) check_model(&it);
    }
    check_model(&it);
    for (int who = 0; who < VIEWS; who++) end_ipc(&it.views[who]);
}

/* promise: "A live object has one owner ... pushed into", "Returns an object, which this process owns, or NULL if no
 * slot is free", "kolk_ipc_free", "Puts an object that this process owns", "the queue has queue_capacity objects; only
 * with the deadline KOLK_NOW", "Takes the first object out of a queue", "Each object is popped once, by one process, in
 * the order of the pushes", "The number of objects in a queue: exact while nobody pushes or pops", "kolk_ipc_count", "A
 * walk over the live objects of all processes", "kolk_ipc_each", "kolk_ipc_cursor_next", "kolk_ipc_handle_of", "Is this
 * the start of a live object", "Returns the object of a handle, or NULL if it was freed", "With KOLK_IPC_KEEP ... there
 * is none", "how many objects they owned", "A process may attach several times, and counts as several then",
 * "kolk_ipc_is_valid", "An object that it had pushed is in the queue", "A handle of an orphan that was freed is stale",
 * "they are freed", "Frees an object that this process owns ... stale from now on", "If the status is not KOLK_OK, the
 * process still owns it", "NULL from alloc proves", "does this process own it", "exact while no process allocates or
 * frees" */
static void test_random_walks(void **state) {
    uint64_t seed = number_from_environment("KOLK_TEST_SEED", (uint64_t)time(NULL));
    print_message("KOLK_TEST_SEED=%llu\n", (unsigned long long)seed);
    unsigned steps = does_a_part() ? 3000 : 100000;
    walk(seed, 0, false, steps);
    walk(seed + 1, 0, true, steps);
    walk(seed + 2, 5, false, steps);
    walk(seed + 3, CAPACITY, true, steps);
}

/* ---- Mistakes ---------------------------------------------------------------------------------------------------- */

/* promise: "An object that the process does not own (a double free ... overwritten the block", "A pointer that is not
 * from this pool is a bug of the caller", "NULL does nothing", "An object that the process does not own is reported
 * ... returned then", "Any other pointer is a bug of the caller; the result is then the null handle", "Only its owner
 * may free, push or change it", "whoever owns it: valid in every process" */
static void test_only_the_owner(void **state) {
    kolk_ipc mine, theirs;
    notes taken;
    make_ipc(&mine, &(kolk_ipc_desc){.name = "own", .object_size = 16, .capacity = 4, .queues = 1});
    join_ipc(&theirs, &mine);
    begin_notes(&taken);
    void *a = kolk_ipc_alloc(&mine), *b = kolk_ipc_alloc(&theirs),
         *b_here = moved(b, (char *)mine.slots - (char *)theirs.slots);
    char sentence[200];
    kolk_ipc_free(&mine, NULL);
    assert_silent(&taken);
    kolk_ipc_free(&mine, b_here);
    snprintf(sentence, sizeof sentence, "kolk: own: free of slot %u, which belongs to process %d (%s)",
             slot_of(&mine, b_here), (int)getpid(), own_name());
    assert_noted(&taken, KOLK_NOT_OWNER, "own", b_here, slot_of(&mine, b_here), sentence);
    assert_int_equal(kolk_ipc_push(&mine, 0, b_here, KOLK_NOW), KOLK_NOT_OWNER);
    assert_int_equal(taken.count, 1);
    taken.count = 0;
    assert_true(kolk_ipc_is_owned(&theirs, b));
    kolk_handle handle = kolk_ipc_handle_of(&mine, b_here);
    assert_int_equal(handle.bits, kolk_ipc_handle_of(&theirs, b).bits);
    assert_ptr_equal(kolk_ipc_get(&mine, handle), b_here);
    assert_ptr_equal(kolk_ipc_get(&theirs, handle), b);
    assert_int_equal(kolk_ipc_push(&mine, 0, a, KOLK_NOW), KOLK_OK);
    kolk_ipc_free(&mine, a);
    snprintf(sentence, sizeof sentence, "kolk: own: free of slot %u, which is in a queue", slot_of(&mine, a));
    assert_noted(&taken, KOLK_NOT_OWNER, "own", a, slot_of(&mine, a), sentence);
    assert_ptr_equal(kolk_ipc_pop(&mine, 0, KOLK_NOW), a);
    kolk_ipc_free(&mine, a);
    kolk_ipc_free(&mine, a);
    snprintf(sentence, sizeof sentence, "kolk: own: free of slot %u, which is free", slot_of(&mine, a));
    assert_noted(&taken, KOLK_NOT_OWNER, "own", a, slot_of(&mine, a), sentence);
    assert_true(kolk_handle_is_null(kolk_ipc_handle_of(&mine, a)));
    assert_int_equal(taken.count, 1);
    taken.count = 0;
    kolk_ipc_free(&mine, moved(b_here, 1));
    assert_noted(&taken, KOLK_INTERIOR_POINTER, "own", moved(b_here, 1), slot_of(&mine, b_here), taken.sentence);
    kolk_ipc_free(&mine, &taken);
    assert_noted(&taken, KOLK_FOREIGN_POINTER, "own", &taken, UINT32_MAX, taken.sentence);
    assert_int_equal(kolk_ipc_push(&theirs, 1, b, KOLK_NOW), KOLK_NO_QUEUE);
    assert_noted(&taken, KOLK_NO_QUEUE, "own", NULL, UINT32_MAX, "kolk: own: push: there is no queue 1 among 1");
    assert_null(kolk_ipc_pop(&theirs, 7, KOLK_NOW));
    assert_noted(&taken, KOLK_NO_QUEUE, "own", NULL, UINT32_MAX, "kolk: own: pop: there is no queue 7 among 1");
    kolk_ipc_free(&theirs, b);
    assert_silent(&taken);
    end_ipc(&theirs);
    end_ipc(&mine);
}

/* promise: "An alloc that finds no slot reports KOLK_FULL, with the processes that hold the most objects", "The rest is
 * this process's own, and need not be the same in the others" */
static void test_full_names_holders(void **state) {
    kolk_ipc mine, theirs;
    notes taken;
    make_ipc(&mine,
             &(kolk_ipc_desc){.name = "full", .object_size = 16, .capacity = 10, .queues = 1, .trap_full = true});
    join_ipc(&theirs, &mine);
    for (int n = 0; n < 7; n++) assert_non_null(kolk_ipc_alloc(&theirs));
    for (int n = 0; n < 2; n++) assert_non_null(kolk_ipc_alloc(&mine));
    void *last = kolk_ipc_alloc(&theirs);
    assert_int_equal(kolk_ipc_push(&theirs, 0, last, KOLK_NOW), KOLK_OK);
    begin_notes(&taken);
    assert_null(kolk_ipc_alloc(&mine));
    char sentence[200];
    snprintf(sentence, sizeof sentence,
             "kolk: full: alloc, but all 10 objects are alive: process %d (%s) holds 7, "
             "and 1 more wait in queues",
             (int)getpid(), own_name());
    assert_noted(&taken, KOLK_FULL, "full", NULL, UINT32_MAX, sentence);
    assert_null(kolk_ipc_alloc(&theirs)); /* it has not asked for reports */
    assert_silent(&taken);
    end_ipc(&theirs);
    end_ipc(&mine);
}

/* ---- The dead ---------------------------------------------------------------------------------------------------- */

typedef struct heir {
    kolk_ipc *pool;
    unsigned count;
    void *last;
} heir;

static void inherit_one(void *object, void *context) {
    heir *it = (heir *)context;
    it->count++;
    it->last = object;
    assert_true(kolk_ipc_is_owned(it->pool, object));
    assert_int_equal(kolk_ipc_recover(it->pool), 0); /* it is at it */
    if (it->count % 2)
        kolk_ipc_free(it->pool, object);
    else
        assert_int_equal(kolk_ipc_push(it->pool, 0, object, KOLK_NOW), KOLK_OK);
}

/* promise: "Called for each object of a dead process that this process finds ... except deinit", "kolk_ipc_recover",
 * "Objects that this process owns become orphans, without the hook" */
static void test_orphans_go_to_a_hook(void **state) {
    kolk_ipc mine, theirs;
    heir it = {.pool = &mine};
    make_ipc(&mine,
             &(kolk_ipc_desc){.object_size = 8, .capacity = 8, .queues = 1, .on_orphan = inherit_one, .context = &it});
    join_ipc(&theirs, &mine);
    for (int n = 0; n < 6; n++) assert_non_null(kolk_ipc_alloc(&theirs));
    kill_ipc(&theirs);
    assert_int_equal(kolk_ipc_recover(&mine), 6);
    assert_int_equal(it.count, 6);
    assert_int_equal(kolk_ipc_count(&mine), 3);
    assert_int_equal(kolk_ipc_queued(&mine, 0), 3);
    assert_non_null(kolk_ipc_alloc(&mine));
    join_ipc(&theirs, &mine);
    end_ipc(&mine);
    assert_int_equal(it.count, 6);
    assert_int_equal(kolk_ipc_count(&theirs), 3); /* what is in the queue */
    end_ipc(&theirs);
}

static void replace_one(void *object, void *context) {
    heir *it = (heir *)context;
    it->count++;
    assert_true(kolk_ipc_is_owned(it->pool, object));
    assert_non_null(kolk_ipc_alloc(it->pool));
    kolk_ipc_free(it->pool, object);
}

/* All numbers are taken, so who attaches takes that of a dead process. What the hook allocates is no orphan, although
 * it has the same owner. promise: "is called in an attach too, before that returns" */
static void test_a_number_is_inherited(void **state) {
    kolk_ipc mine, theirs, heirs;
    heir it = {.pool = &heirs};
    make_ipc(&mine, &(kolk_ipc_desc){.object_size = 8, .capacity = 200, .queues = 1, .max_processes = 2});
    join_ipc(&theirs, &mine);
    for (int n = 0; n < 70; n++) assert_non_null(kolk_ipc_alloc(&theirs));
    assert_int_equal(kolk_ipc_push(&theirs, 0, kolk_ipc_alloc(&theirs), KOLK_NOW), KOLK_OK);
    kill_ipc(&theirs);
    assert_int_equal(
        kolk_ipc_attach(&heirs, kolk_ipc_fd(&mine), &(kolk_ipc_desc){.on_orphan = replace_one, .context = &it}),
        KOLK_OK);
    assert_int_equal(heirs.me, theirs.me);
    assert_int_equal(it.count, 70);
    assert_int_equal(kolk_ipc_count(&mine), 71);
    assert_int_equal(kolk_ipc_queued(&mine, 0), 1);
    end_ipc(&heirs);
    assert_int_equal(kolk_ipc_count(&mine), 1);
    end_ipc(&mine);
}

static void keep_one(void *object, void *context) {
    assert_non_null(object);
}

/* A free of the dead has changed the life, and left no hint. Then an alloc must search, also if the one who got the
 * number has ended no orphan. */
static void test_a_return_is_inherited(void **state) {
    kolk_ipc mine, theirs, heirs;
    make_ipc(&mine, &(kolk_ipc_desc){.object_size = 8, .capacity = 2, .max_processes = 2});
    join_ipc(&theirs, &mine);
    for (int n = 0; n < 2; n++) assert_non_null(kolk_ipc_alloc(&theirs));
    assert_null(kolk_ipc_alloc(&mine));
    theirs.lives[0] = next_life(theirs.lives[0], 0);
    kill_ipc(&theirs);
    assert_int_equal(kolk_ipc_attach(&heirs, kolk_ipc_fd(&mine), &(kolk_ipc_desc){.on_orphan = keep_one}), KOLK_OK);
    assert_non_null(kolk_ipc_alloc(&mine));
    end_ipc(&heirs);
    end_ipc(&mine);
}

/* More than one walk recovers at once. */
static void test_thousands_are_dead(void **state) {
    enum { COUNT = 3000 };
    kolk_ipc pool;
    make_ipc(&pool, &(kolk_ipc_desc){.object_size = 8, .capacity = COUNT, .max_processes = COUNT});
    ipc_process *processes = (ipc_process *)(void *)((unsigned char *)pool.block + IPC_HEADER);
    for (uint32_t n = 1; n <= COUNT; n++) {
        void *object = kolk_ipc_alloc(&pool);
        pool.lives[slot_of(&pool, object)] += n - 1; /* number n's */
        processes[n].used = IPC_LIVES;
    }
    assert_true(kolk_ipc_is_valid(&pool));
    assert_int_equal(kolk_ipc_recover(&pool), COUNT - 1);
    for (uint32_t n = 1; n <= COUNT; n++) assert_int_equal(processes[n].used, n == 1 ? IPC_LIVES : 0);
    assert_int_equal(kolk_ipc_count(&pool), 1);
    assert_int_equal(kolk_ipc_recover(&pool), 0);
    end_ipc(&pool);
}

/* Questions and recovery do not touch slots that were never used. promise: "Memory that was never used costs nothing",
 * "if any are dead, also O(slots that were ever used), for all of them together", "The other processes go on ...
 * O(slots that were ever used).", "With KOLK_IPC_KEEP ... O(slots that were ever used).",
 * "The number of live objects ... O(slots that were ever used)." */
static void test_unused_slots_are_not_touched(void **state) {
    kolk_ipc pool, other;
    kolk_stats stats;
    kolk_ipc_holder holder;
    assert_int_equal(kolk_ipc_init(&pool, &(kolk_ipc_desc){.object_size = 64, .capacity = 1 << 20}), KOLK_OK);
    join_ipc(&other, &pool);
    for (int n = 0; n < 100; n++) assert_non_null(kolk_ipc_alloc(&other));
    kill_ipc(&other);
    assert_int_equal(kolk_ipc_recover(&pool), 100);
    kolk_ipc_stats(&pool, &stats);
    assert_int_equal(stats.peak, 100);
    assert_int_equal(kolk_ipc_count(&pool), 0);
    assert_int_equal(kolk_ipc_holders(&pool, &holder, 1), 1);
    assert_null(kolk_ipc_adopt(&pool));
    kolk_ipc_cursor each = kolk_ipc_each(&pool);
    assert_null(kolk_ipc_cursor_next(&each));
    join_ipc(&other, &pool);
    kolk_ipc_deinit(&pool);
    struct stat about;
    assert_int_equal(fstat(kolk_ipc_fd(&other), &about), 0);
    assert_true(about.st_blocks * 512 < (1 << 20) / 8 + 64 * 1024); /* the hints, and some pages */
    end_ipc(&other);
}

/* A process that needs a slot finds the dead by itself. promise: "Before it returns NULL it looks for dead processes,
 * but at most once in a millisecond", "Processes notice it when they need a slot and find none, when they have waited
 * for 10 milliseconds, and at an attach" */
static void test_the_dead_are_noticed(void **state) {
    kolk_ipc mine, theirs, third;
    make_ipc(&mine, &(kolk_ipc_desc){.object_size = 8, .capacity = 3, .queues = 1});
    join_ipc(&theirs, &mine);
    while (kolk_ipc_alloc(&theirs)) {}
    kill_ipc(&theirs);
    void *object;
    while (!(object = kolk_ipc_alloc(&mine))) {} /* some looks may come too early */
    assert_int_equal(kolk_ipc_count(&mine), 1);
    join_ipc(&theirs, &mine);
    while (kolk_ipc_alloc(&theirs)) {}
    kill_ipc(&theirs);
    assert_non_null(kolk_ipc_alloc_wait(&mine, KOLK_FOREVER));
    assert_int_equal(kolk_ipc_count(&mine), 2);
    join_ipc(&theirs, &mine);
    while (kolk_ipc_alloc(&theirs)) {}
    kill_ipc(&theirs);
    assert_null(kolk_ipc_pop(&mine, 0, kolk_deadline_after(50)));
    assert_int_equal(kolk_ipc_count(&mine), 2);
    join_ipc(&theirs, &mine);
    assert_non_null(kolk_ipc_alloc(&theirs));
    kill_ipc(&theirs);
    join_ipc(&third, &mine);
    assert_int_equal(kolk_ipc_count(&mine), 2);
    end_ipc(&third);
    end_ipc(&mine);
}

/* ---- Slots ------------------------------------------------------------------------------------------------------- */

/* A pool of which half is free is not searched, and a full one is. promise: "A free slot may have to be searched for
 * among all slots; this happens if the pool is nearly full" */
static void test_searches(void **state) {
    enum { SLOTS = 1000 };
    kolk_ipc views[2];
    void *held[2][SLOTS / 4];
    uint32_t count[2] = {0};
    uint64_t seed = 1;
    make_ipc(&views[0], &(kolk_ipc_desc){.object_size = 8, .capacity = SLOTS});
    join_ipc(&views[1], &views[0]);
    for (uint32_t step = 0; step < 20000; step++) {
        uint32_t who = random_below(&seed, 2), fills = step / 1000 % 2;
        if (count[who] && random_below(&seed, 3) > fills) {
            uint32_t which = random_below(&seed, count[who]--);
            kolk_ipc_free(&views[who], held[who][which]);
            held[who][which] = held[who][count[who]];
        } else if (count[who] < SLOTS / 4) {
            held[who][count[who]++] = kolk_ipc_alloc(&views[who]);
            assert_non_null(held[who][count[who] - 1]);
        }
    }
    assert_int_equal(views[0].block->search, 0);
    while (kolk_ipc_alloc(&views[0])) {}
    assert_true(views[0].block->search & 1);
    for (int who = 0; who < 2; who++) end_ipc(&views[who]);
}

/* promise: "After 2^31 lives of its slot a handle becomes valid again" */
static void test_generations_wrap(void **state) {
    kolk_ipc pool;
    make_ipc(&pool, &(kolk_ipc_desc){.object_size = 8, .capacity = 1});
    void *object = kolk_ipc_alloc(&pool);
    kolk_handle first = kolk_ipc_handle_of(&pool, object);
    kolk_ipc_free(&pool, object);
    for (int n = 1; n <= 31; n++) {
        pool.lives[0] = ((UINT64_C(1) << n) - 1) << 33; /* has had 2^n - 1 lives; each counts two */
        assert_true(kolk_ipc_alloc(&pool) && !kolk_ipc_get(&pool, first));
        kolk_ipc_free(&pool, object);
        assert_true(!kolk_ipc_get(&pool, first) && kolk_ipc_is_valid(&pool));
        assert_ptr_equal(kolk_ipc_alloc(&pool), object);
        assert_ptr_equal(kolk_ipc_get(&pool, first), n == 31 ? object : NULL);
        assert_ptr_equal(kolk_ipc_get(&pool, kolk_ipc_handle_of(&pool, object)), object);
        kolk_ipc_free(&pool, object);
    }
    end_ipc(&pool);
}

/* ---- Questions --------------------------------------------------------------------------------------------------- */

/* promise: "Any pointer is allowed" */
static void test_any_pointer(void **state) {
    kolk_ipc pool, none = {.number = 0};
    make_ipc(&pool, &(kolk_ipc_desc){.object_size = 24, .capacity = 3});
    char *object = (char *)kolk_ipc_alloc(&pool);
    assert_true(slot_in(&pool, object) == 0 && kolk_ipc_is_live(&pool, object) && kolk_ipc_is_owned(&pool, object));
    const void *others[] = {NULL,        &pool,       object - 24, object - 1, object + 1, object + 8,
                            object + 24, object + 48, object + 72, (void *)1,  (void *)-1, (void *)-24};
    for (size_t n = 0; n < LENGTH_OF(others); n++) {
        assert_false(kolk_ipc_is_live(&pool, others[n]) || kolk_ipc_is_owned(&pool, others[n]));
        assert_false(kolk_ipc_is_live(&none, others[n]) || kolk_ipc_is_owned(&none, others[n]));
    }
    end_ipc(&pool);
}

/* promise: "Writes the holders into an array of n ... A process without objects counts too", "A process, and how many
 * objects it holds ... orphans that are kept", "in the block, from 1", "objects that it owns, which are in no queue",
 * "objects that it has pushed, and that nobody has popped yet" */
static void test_holders(void **state) {
    kolk_ipc views[3];
    kolk_ipc_holder holders[4];
    make_ipc(&views[0], &(kolk_ipc_desc){.object_size = 8, .capacity = 20, .queues = 1, .orphans = KOLK_IPC_KEEP});
    for (int n = 1; n < 3; n++) join_ipc(&views[n], &views[0]);
    for (int n = 0; n < 5; n++) assert_non_null(kolk_ipc_alloc(&views[1]));
    for (int n = 0; n < 6; n++)
        assert_int_equal(kolk_ipc_push(&views[2], 0, kolk_ipc_alloc(&views[2]), KOLK_NOW), KOLK_OK);
    assert_int_equal(kolk_ipc_holders(&views[0], NULL, 0), 3);
    assert_int_equal(kolk_ipc_holders(&views[0], holders, 4), 3);
    assert_true(holders[0].number == 2 && holders[0].count == 5 && holders[0].queued == 0);
    assert_true(holders[1].number == 3 && holders[1].count == 0 && holders[1].queued == 6);
    assert_true(holders[2].number == 1 && holders[2].count == 0 && holders[2].queued == 0);
    assert_int_equal(holders[0].pid, getpid());
    assert_string_equal(holders[0].name, own_name());
    for (int n = 0; n < 2; n++) kolk_ipc_free(&views[0], kolk_ipc_pop(&views[0], 0, KOLK_NOW));
    assert_int_equal(kolk_ipc_holders(&views[0], holders, 2), 3);
    assert_true(holders[0].number == 2 && holders[0].count == 5);
    assert_true(holders[1].number == 3 && holders[1].queued == 4);
    kill_ipc(&views[1]);
    kill_ipc(&views[2]);
    assert_int_equal(kolk_ipc_recover(&views[0]), 5);
    assert_int_equal(kolk_ipc_holders(&views[0], holders, 1), 2);
    assert_true(holders[0].number == 0 && holders[0].count == 5 && holders[0].queued == 4);
    end_ipc(&views[0]);
}

/* promise: "Counters, as for the other members ... those of this process" */
static void test_stats(void **state) {
    kolk_ipc pool;
    kolk_stats stats;
    make_ipc(&pool, &(kolk_ipc_desc){.name = "counted", .object_size = 24, .capacity = 3});
    void *objects[3];
    for (int n = 0; n < 3; n++) objects[n] = kolk_ipc_alloc(&pool);
    assert_null(kolk_ipc_alloc(&pool));
    assert_null(kolk_ipc_alloc_wait(&pool, kolk_deadline_after(1)));
    kolk_ipc_free(&pool, objects[0]);
    kolk_ipc_stats(&pool, &stats);
    assert_string_equal(stats.name, "counted");
    assert_string_equal(stats.kind, "ipc");
    assert_true(stats.object_size == 24 && stats.stride == 24 && stats.count == 2 && stats.peak == 3);
    assert_true(stats.capacity == 3 && stats.max_capacity == 3 && stats.unused_bytes == 0 && stats.failed == 2);
    assert_true(stats.bytes_reserved == pool.size && stats.waiting == 0);
    end_ipc(&pool);
    kolk_ipc_stats(&pool, &stats); /* all zero */
    assert_true(stats.count == 0 && stats.capacity == 0);
}

/* promise: "In one that is zero-initialised, alloc and pop return NULL", "-1: the pool is all zero",
 * "Returns KOLK_OK, or why this process can change nothing more" */
static void test_zero_is_a_pool(void **state) {
    kolk_ipc none = {.number = 0};
    int object = 0;
    assert_null(kolk_ipc_alloc(&none));
    assert_null(kolk_ipc_alloc_wait(&none, KOLK_FOREVER));
    assert_null(kolk_ipc_pop(&none, 0, KOLK_FOREVER));
    assert_null(kolk_ipc_adopt(&none));
    assert_null(kolk_ipc_get(&none, (kolk_handle){77}));
    assert_int_equal(kolk_ipc_push(&none, 0, &object, KOLK_FOREVER), KOLK_NO_DESCRIPTOR);
    assert_int_equal(kolk_ipc_status(&none), KOLK_NO_DESCRIPTOR);
    assert_true(kolk_ipc_fd(&none) == -1 && kolk_ipc_count(&none) == 0 && kolk_ipc_recover(&none) == 0);
    assert_true(kolk_ipc_holders(&none, NULL, 0) == 0 && kolk_ipc_queued(&none, 0) == 0 &&
                !kolk_ipc_is_closed(&none, 0));
    kolk_ipc_free(&none, NULL);
    kolk_ipc_close(&none, 0);
    kolk_ipc_deinit(&none);
    assert_true(kolk_ipc_is_valid(&none));
}

/* ---- Queues ------------------------------------------------------------------------------------------------------ */

typedef struct waiter {
    kolk_ipc *pool;
    void *result, *pushes;
    kolk_status status;
    enum { ALLOCS, POPS, PUSHES } what;
} waiter;

static void *wait_in_thread(void *argument) {
    waiter *me = (waiter *)argument;
    if (me->what == ALLOCS) me->result = kolk_ipc_alloc_wait(me->pool, KOLK_FOREVER);
    if (me->what == POPS) me->result = kolk_ipc_pop(me->pool, 0, KOLK_FOREVER);
    if (me->what == PUSHES) me->status = kolk_ipc_push(me->pool, 0, me->pushes, KOLK_FOREVER);
    return NULL;
}

static pthread_t begin_wait(waiter *me) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, wait_in_thread, me), 0);
    kolk_stats stats;
    do kolk_ipc_stats(me->pool, &stats);
    while (!stats.waiting);
    return thread;
}

/* promise: "The same, but waits for a slot until the deadline", "Waits for one until the deadline", "it still had at
 * the deadline", "kolk_ipc_close", "Ends the pushes into a queue, for ever ... also those that wait", "Is the queue
 * closed and empty", "KOLK_CLOSED the queue is closed", "If the status is not KOLK_OK, the process still owns it",
 * "there was none at the deadline, or the queue is closed and empty" */
static void test_waits_end(void **state) {
    kolk_ipc mine, theirs;
    make_ipc(&mine, &(kolk_ipc_desc){.object_size = 8, .capacity = 2, .queues = 1, .queue_capacity = 1});
    join_ipc(&theirs, &mine);
    void *a = kolk_ipc_alloc(&mine), *b = kolk_ipc_alloc(&mine);
    waiter one = {.pool = &theirs, .what = ALLOCS};
    pthread_t thread = begin_wait(&one);
    kolk_ipc_free(&mine, a);
    pthread_join(thread, NULL);
    assert_non_null(one.result);
    one.what = POPS;
    a = one.result;
    thread = begin_wait(&one);
    assert_int_equal(kolk_ipc_push(&mine, 0, b, KOLK_NOW), KOLK_OK);
    pthread_join(thread, NULL);
    assert_int_equal(slot_of(&theirs, one.result), slot_of(&mine, b));
    assert_int_equal(kolk_ipc_push(&theirs, 0, a, KOLK_NOW), KOLK_OK);
    assert_int_equal(kolk_ipc_push(&theirs, 0, one.result, KOLK_NOW), KOLK_FULL);
    assert_int_equal(kolk_ipc_push(&theirs, 0, one.result, kolk_deadline_after(2)), KOLK_TIMEOUT);
    assert_int_equal(kolk_ipc_push(&theirs, 0, one.result, PAST), KOLK_TIMEOUT);
    one.what = PUSHES;
    one.pushes = one.result;
    thread = begin_wait(&one);
    void *c = kolk_ipc_pop(&mine, 0, KOLK_NOW);
    assert_non_null(c);
    pthread_join(thread, NULL);
    assert_int_equal(one.status, KOLK_OK);
    kolk_ipc_close(&theirs, 0);
    kolk_ipc_close(&mine, 0); /* once is enough */
    assert_int_equal(kolk_ipc_push(&mine, 0, c, KOLK_FOREVER), KOLK_CLOSED);
    assert_true(kolk_ipc_is_owned(&mine, c));
    assert_false(kolk_ipc_is_closed(&mine, 0));
    assert_int_equal(kolk_ipc_queued(&mine, 0), 1);
    assert_non_null(kolk_ipc_pop(&mine, 0, KOLK_FOREVER));
    assert_null(kolk_ipc_pop(&mine, 0, KOLK_FOREVER));
    assert_true(kolk_ipc_is_closed(&theirs, 0));
    assert_int_equal(kolk_ipc_push(&mine, 0, c, KOLK_NOW), KOLK_CLOSED);
    assert_true(kolk_ipc_is_owned(&mine, c));
    assert_null(kolk_ipc_alloc_wait(&theirs, kolk_deadline_after(2)));
    end_ipc(&theirs);
    end_ipc(&mine);
}

static void test_close_wakes(void **state) {
    kolk_ipc pool;
    make_ipc(&pool, &(kolk_ipc_desc){.object_size = 8, .capacity = 2, .queues = 1, .queue_capacity = 1});
    waiter one = {.pool = &pool, .what = POPS};
    pthread_t thread = begin_wait(&one);
    kolk_ipc_close(&pool, 0);
    pthread_join(thread, NULL);
    assert_null(one.result);
    end_ipc(&pool);
}

/* promise: "A call that waits first polls for some 50 microseconds, and then sleeps" */
static void test_waits_poll_first(void **state) {
    kolk_ipc pool;
    kolk_stats stats;
    make_ipc(&pool, &(kolk_ipc_desc){.object_size = 8, .capacity = 1, .queues = 1});
    for (int n = 0; n < 20; n++) {
        kolk_deadline soon = {kolk_deadline_after(1).ns - 960000}; /* 40 microseconds */
        assert_null(kolk_ipc_pop(&pool, 0, soon));
    }
    kolk_ipc_stats(&pool, &stats);
    assert_int_equal(stats.waits, 0);
    waiter one = {.pool = &pool, .what = POPS};
    pthread_t thread = begin_wait(&one);
    kolk_ipc_close(&pool, 0);
    pthread_join(thread, NULL);
    kolk_ipc_stats(&pool, &stats);
    assert_int_equal(stats.waits, 1);
    end_ipc(&pool);
}

/* A ring is used for many laps, and its lap number wraps. */
static void test_laps_wrap(void **state) {
    kolk_ipc pool;
    make_ipc(&pool, &(kolk_ipc_desc){.object_size = 8, .capacity = 3, .queues = 1, .queue_capacity = 2});
    ipc_queue *queue = pool.queues_at;
    uint64_t ring = pool.ring_mask + 1, first = (UINT32_MAX - UINT64_C(2)) * ring;
    queue->head = queue->tail = first;
    for (uint64_t n = 0; n < ring; n++) pool.rings[n] = (first / ring) << 32;
    assert_true(kolk_ipc_is_valid(&pool));
    for (int n = 0; n < 100; n++) {
        void *a = kolk_ipc_alloc(&pool), *b = kolk_ipc_alloc(&pool);
        assert_int_equal(kolk_ipc_push(&pool, 0, a, KOLK_NOW), KOLK_OK);
        if (n % 3) assert_int_equal(kolk_ipc_push(&pool, 0, b, KOLK_NOW), KOLK_OK);
        assert_ptr_equal(kolk_ipc_pop(&pool, 0, KOLK_NOW), a);
        if (n % 3) assert_ptr_equal(kolk_ipc_pop(&pool, 0, KOLK_NOW), b);
        assert_null(kolk_ipc_pop(&pool, 0, KOLK_NOW));
        kolk_ipc_free(&pool, a);
        kolk_ipc_free(&pool, b);
        assert_true(kolk_ipc_is_valid(&pool));
    }
    end_ipc(&pool);
}

/* ---- Threads of one process -------------------------------------------------------------------------------------- */

enum { THREADS = 4, TURNS = 2000, HELD = 3, SHARED_SLOTS = 10 };

static kolk_ipc shared;
static pthread_barrier_t all_here;

static void ask_everything(const void *own) {
    kolk_ipc_holder holder;
    kolk_stats stats;
    kolk_ipc_cursor each = kolk_ipc_each(&shared);
    uint32_t n = 0;
    while (kolk_ipc_cursor_next(&each)) n++;
    kolk_ipc_stats(&shared, &stats);
    REQUIRE(n <= SHARED_SLOTS && stats.count <= SHARED_SLOTS && kolk_ipc_count(&shared) <= SHARED_SLOTS);
    REQUIRE(kolk_ipc_holders(&shared, &holder, 1) == 1 && kolk_ipc_queued(&shared, 0) <= SHARED_SLOTS);
    REQUIRE(kolk_ipc_status(&shared) == KOLK_OK && kolk_ipc_fd(&shared) >= 0 && !kolk_ipc_is_closed(&shared, 0));
    REQUIRE(kolk_ipc_recover(&shared) == 0 && !kolk_ipc_adopt(&shared));
    REQUIRE(!own || kolk_ipc_get(&shared, kolk_ipc_handle_of(&shared, own)) == own);
    kolk_ipc_close(&shared, 1);
    REQUIRE(kolk_ipc_is_closed(&shared, 1));
}

/* Gives away an object, which has this thread's mark still. */
static void give_away(uint64_t *object, uint64_t mark, bool pushes, kolk_deadline deadline) {
    REQUIRE(*object == mark && kolk_ipc_is_owned(&shared, object) && kolk_ipc_is_live(&shared, object));
    if (!pushes || kolk_ipc_push(&shared, 0, object, deadline) != KOLK_OK) kolk_ipc_free(&shared, object);
}

static void *use_from_thread(void *argument) {
    uint64_t mark = *(uint64_t *)argument, seed = mark, *held[HELD];
    pthread_barrier_wait(&all_here);
    for (uint32_t turn = 0, n = 0; turn < TURNS || n > 0; turn++) {
        uint32_t what = turn < TURNS ? random_below(&seed, 100) : 50;
        kolk_deadline deadline = what % 16 ? KOLK_NOW : kolk_deadline_after(1);
        uint64_t *got = NULL;
        if (what < 10 && n < HELD) got = (uint64_t *)kolk_ipc_alloc(&shared);
        if (what >= 10 && what < 25 && n < HELD) got = (uint64_t *)kolk_ipc_alloc_wait(&shared, deadline);
        if (what >= 25 && what < 50 && n < HELD) got = (uint64_t *)kolk_ipc_pop(&shared, 0, deadline);
        if (what >= 50 && what < 99 && n > 0) give_away(held[--n], mark, what >= 65, deadline);
        if (what == 99) ask_everything(n ? held[0] : NULL);
        if (got) *(held[n++] = got) = mark;
    }
    return NULL;
}

/* ThreadSanitizer (tests/tools/tools.sh races) finds what a view has of its own and does not protect. promise: "any
 * thread of any process may call any function at the same time" */
static void test_threads(void **state) {
    uint64_t marks[THREADS] = {1, 2, 3, 4};
    make_ipc(&shared, &(kolk_ipc_desc){.object_size = 8, .capacity = SHARED_SLOTS, .queues = 2, .queue_capacity = 5});
    pthread_barrier_init(&all_here, NULL, THREADS);
    run_threads(THREADS, use_from_thread, marks, sizeof *marks);
    pthread_barrier_destroy(&all_here);
    assert_int_equal(kolk_ipc_count(&shared), kolk_ipc_queued(&shared, 0));
    for (void *object; (object = kolk_ipc_pop(&shared, 0, KOLK_NOW));) kolk_ipc_free(&shared, object);
    assert_int_equal(kolk_ipc_count(&shared), 0);
    for (int n = 0; n < SHARED_SLOTS; n++) assert_non_null(kolk_ipc_alloc(&shared));
    assert_null(kolk_ipc_alloc(&shared));
    end_ipc(&shared);
}

/* ---- Invariants -------------------------------------------------------------------------------------------------- */

/* promise: "Checks the invariants of src/ipc/ipc.c, for tests; no process may be inside a call" */
static void test_is_valid_sees_damage(void **state) {
    kolk_ipc pool;
    make_ipc(&pool, &(kolk_ipc_desc){.object_size = 8, .capacity = 70, .queues = 1, .queue_capacity = 3});
    void *a = kolk_ipc_alloc(&pool), *b = kolk_ipc_alloc(&pool);
    assert_int_equal(kolk_ipc_push(&pool, 0, b, KOLK_NOW), KOLK_OK);
    ipc_queue *queue = pool.queues_at;
    assert_breaks(kolk_ipc_is_valid, &pool, pool.lives[slot_of(&pool, a)], before_ | IPC_OWNER);
    assert_breaks(kolk_ipc_is_valid, &pool, pool.lives[slot_of(&pool, a)], before_ | IPC_QUEUED);
    assert_breaks(kolk_ipc_is_valid, &pool, pool.lives[69], before_ + 1);
    assert_breaks(kolk_ipc_is_valid, &pool, pool.block->used_words, 0);
    assert_breaks(kolk_ipc_is_valid, &pool, queue->head, before_ + 2);
    assert_breaks(kolk_ipc_is_valid, &pool, queue->tail, before_ + 5);
    assert_breaks(kolk_ipc_is_valid, &pool, pool.rings[0], before_ + 100);
    assert_breaks(kolk_ipc_is_valid, &pool, pool.rings[1], before_ + 1);
    assert_breaks(kolk_ipc_is_valid, &pool, pool.rings[2], before_ + (UINT64_C(1) << 32));
    void *c = kolk_ipc_alloc(&pool);
    assert_int_equal(kolk_ipc_push(&pool, 0, c, KOLK_NOW), KOLK_OK);
    assert_breaks(kolk_ipc_is_valid, &pool, pool.rings[1], before_ - 1); /* b, twice */
    assert_breaks(kolk_ipc_is_valid, &pool, pool.rings[1], before_ - 2); /* a, which is not queued */
    kolk_slot_set_ hints = hints_of(&pool);
    assert_breaks(kolk_ipc_is_valid, &pool, *kolk_slot_set_word_(&hints, 1), before_ | UINT64_C(1) << 63);
    assert_breaks(kolk_ipc_is_valid, &pool, *kolk_slot_set_summary_(&hints, 0), 0);
    end_ipc(&pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_walks),
        cmocka_unit_test_teardown(test_only_the_owner, abort_on_failure),
        cmocka_unit_test_teardown(test_full_names_holders, abort_on_failure),
        cmocka_unit_test(test_orphans_go_to_a_hook),
        cmocka_unit_test(test_a_number_is_inherited),
        cmocka_unit_test(test_a_return_is_inherited),
        cmocka_unit_test(test_thousands_are_dead),
        cmocka_unit_test(test_unused_slots_are_not_touched),
        cmocka_unit_test(test_the_dead_are_noticed),
        cmocka_unit_test(test_searches),
        cmocka_unit_test(test_generations_wrap),
        cmocka_unit_test(test_any_pointer),
        cmocka_unit_test(test_holders),
        cmocka_unit_test(test_stats),
        cmocka_unit_test(test_zero_is_a_pool),
        cmocka_unit_test(test_waits_end),
        cmocka_unit_test(test_close_wakes),
        cmocka_unit_test(test_waits_poll_first),
        cmocka_unit_test(test_laps_wrap),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_is_valid_sees_damage),
    };
    END_IF_IT_HANGS();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
