/* runs: slow not:wine not:qemu */
/* Processes that allocate, push, pop, wait, recover and free are killed at random moments, one or many at a time, and
 * others take their places. KOLK_TEST_SEED repeats the choices, and KOLK_TEST_OPS is the number of kills.
 *
 *     pushers ---> queue LINE ---> forwarder ---> queue NEXT ---> popper          one forwarder and one popper
 *     mixers  <--> queue MIXED                                                    and they hold objects
 *     bystander    holds objects, and is never killed
 *
 * Each pusher numbers its messages, so the forwarder and the popper see an order, and see it if a message comes twice
 * or not at all. Only a process that is killed between a pop and its note of it may take one message with it. */
#include "processes.h"

#include <sched.h>

enum { LINE, NEXT, MIXED, QUEUES };
enum { PUSHERS = 2, MIXERS = 3, MOST_MIXED = 1 << 28, MOST_PUSHERS = 1 << 16, HOLDS = 5 };
enum {
    BYSTANDER,
    FORWARDER,
    POPPER,
    FIRST_PUSHER,
    FIRST_MIXER = FIRST_PUSHER + PUSHERS,
    WORKERS = FIRST_MIXER + MIXERS
};

static const char *const roles[] = {"bystander", "forwarder", "popper", "pusher", "pusher", "mixer", "mixer", "mixer"};

typedef struct message {
    uint64_t from, number, check, stamp;
} message;

/* What all processes of the test know. */
typedef struct ledger {
    uint64_t progress[WORKERS]; /* calls that have returned */
    const char *volatile call[WORKERS];
    uint32_t lives; /* of workers; each has a number, from 1 */
    uint32_t deaths[WORKERS];
    uint64_t pushed[MOST_PUSHERS];           /* by pusher: the last message that a push has accepted */
    uint64_t seen[QUEUES - 1][MOST_PUSHERS]; /* by pusher: the last message that was popped */
    uint64_t missed[QUEUES - 1];             /* messages that never came */
    uint64_t mixed, popped;                  /* messages in MIXED: how many were made, and popped */
    uint64_t came[MOST_MIXED / 64];          /* a bit for each that was popped */
} ledger;

static ledger *all;
static kolk_ipc parents, own, *pool = &parents;
static uint64_t randoms;
static uint32_t worker, life; /* of this process */

/* ---- What every process does ------------------------------------------------------------------------------------- */

#define DO(what) (all->call[worker] = #what, all->progress[worker]++, what)

static kolk_deadline some_time(void) {
    return random_below(&randoms, 2) ? KOLK_FOREVER : kolk_deadline_after(random_below(&randoms, 20));
}

static void idle(void) {
    uint32_t choice = random_below(&randoms, 64);
    if (choice == 0) usleep(random_below(&randoms, 2000));
    if (choice == 1) sched_yield();
    if (choice == 2) DO(kolk_ipc_recover(pool));
}

static uint64_t check_word(const message *it) {
    uint64_t mixed = it->from * UINT64_C(0x9e3779b97f4a7c15) ^ it->number;
    return next_random(&mixed);
}

static void write_message(message *it, uint64_t from, uint64_t number) {
    it->from = from;
    it->number = number;
    it->check = check_word(it);
    it->stamp = life;
}

/* An object that this process owns stays its own. */
static void require_mine(message *it) {
    REQUIRE(it->stamp == life);
    REQUIRE(it->check == check_word(it));
    REQUIRE(kolk_ipc_is_owned(pool, it));
    REQUIRE(kolk_ipc_get(pool, kolk_ipc_handle_of(pool, it)) == it);
}

/* The messages of each pusher come in order, and once. */
static void note_order(int queue, const message *it) {
    uint64_t *seen = &all->seen[queue][it->from];
    REQUIRE(it->check == check_word(it));
    REQUIRE(it->from < MOST_PUSHERS);
    REQUIRE(it->number > *seen);
    all->missed[queue] += it->number - *seen - 1;
    *seen = it->number;
}

static void note_mixed(const message *it) {
    REQUIRE(it->check == check_word(it));
    REQUIRE(it->from == MOST_PUSHERS && it->number < MOST_MIXED);
    uint64_t bit = UINT64_C(1) << it->number % 64;
    REQUIRE(!(__atomic_fetch_or(&all->came[it->number / 64], bit, __ATOMIC_SEQ_CST) & bit));
    __atomic_fetch_add(&all->popped, 1, __ATOMIC_RELAXED);
}

/* ---- Roles ------------------------------------------------------------------------------------------------------- */

static void be_pusher(void) {
    for (uint64_t number = 1;; number++, idle()) {
        message *it = DO(kolk_ipc_alloc_wait(pool, KOLK_FOREVER));
        REQUIRE(it);
        write_message(it, life, number);
        require_mine(it);
        REQUIRE(DO(kolk_ipc_push(pool, LINE, it, KOLK_FOREVER)) == KOLK_OK);
        all->pushed[life] = number;
    }
}

static void be_forwarder(void) {
    for (;; idle()) {
        message *it = DO(kolk_ipc_pop(pool, LINE, some_time()));
        if (!it) continue;
        note_order(LINE, it);
        it->stamp = life;
        require_mine(it);
        REQUIRE(DO(kolk_ipc_push(pool, NEXT, it, KOLK_FOREVER)) == KOLK_OK);
    }
}

static void be_popper(void) {
    for (;; idle()) {
        message *it = DO(kolk_ipc_pop(pool, NEXT, some_time()));
        if (!it) continue;
        note_order(NEXT, it);
        it->stamp = life;
        require_mine(it);
        DO(kolk_ipc_free(pool, it));
    }
}

static void push_mixed(message *it) {
    write_message(it, MOST_PUSHERS, __atomic_fetch_add(&all->mixed, 1, __ATOMIC_RELAXED));
    if (DO(kolk_ipc_push(pool, MIXED, it, KOLK_NOW)) != KOLK_OK) DO(kolk_ipc_free(pool, it));
}

static message *take_mixed(void) {
    bool waits = random_below(&randoms, 8) == 0;
    message *it = DO(kolk_ipc_pop(pool, MIXED, waits ? kolk_deadline_after(3) : KOLK_NOW));
    if (!it) return NULL;
    note_mixed(it);
    write_message(it, 0, 0);
    return it;
}

static message *take_new(void) {
    bool waits = random_below(&randoms, 8) == 0;
    message *it = waits ? DO(kolk_ipc_alloc_wait(pool, kolk_deadline_after(3))) : DO(kolk_ipc_alloc(pool));
    if (it) write_message(it, 0, 0);
    return it;
}

/* With orphans that are kept, somebody has to free them. */
static void adopt(void) {
    void *orphan = pool->orphans == KOLK_IPC_KEEP ? DO(kolk_ipc_adopt(pool)) : NULL;
    if (orphan) DO(kolk_ipc_free(pool, orphan));
}

static void be_mixer(void) {
    message *held[HOLDS];
    for (uint32_t n = 0;; idle()) {
        for (uint32_t each = 0; each < n; each++) require_mine(held[each]);
        adopt();
        if (n < HOLDS && random_below(&randoms, 2)) {
            held[n] = random_below(&randoms, 2) ? take_mixed() : take_new();
            n += held[n] != NULL;
        } else if (n) {
            message *it = held[--n];
            if (random_below(&randoms, 2))
                push_mixed(it);
            else
                DO(kolk_ipc_free(pool, it));
        }
    }
}

static void be_bystander(void) {
    message *held[HOLDS];
    for (uint32_t n = 0; n < HOLDS; n++) {
        REQUIRE(held[n] = DO(kolk_ipc_alloc_wait(pool, KOLK_FOREVER)));
        write_message(held[n], 0, n);
    }
    for (;; idle()) {
        for (uint32_t n = 0; n < HOLDS; n++) require_mine(held[n]);
        message *it = DO(kolk_ipc_alloc(pool));
        if (it) DO(kolk_ipc_free(pool, it));
        adopt();
        usleep(100);
    }
}

static void free_orphan(void *object, void *context) {
    kolk_ipc_free(context, object);
}

/* Half of the workers use their parent's pool as its children; the others attach. */
static void work(void) {
    static void (*const bodies[])(void) = {be_bystander, be_forwarder, be_popper, be_pusher,
                                           be_pusher,    be_mixer,     be_mixer,  be_mixer};
    if (life % 2) {
        kolk_ipc_desc desc = {.on_orphan = life % 4 == 1 ? free_orphan : NULL, .context = &own};
        kolk_status status = kolk_ipc_attach(&own, kolk_ipc_fd(pool), &desc);
        if (status != KOLK_OK) fprintf(stderr, "attach: %s\n", kolk_status_text(status));
        REQUIRE(status == KOLK_OK);
        pool = &own;
    }
    REQUIRE(kolk_ipc_status(pool) == KOLK_OK);
    bodies[worker]();
}

/* ---- The parent -------------------------------------------------------------------------------------------------- */

static pid_t children[WORKERS];

static void begin_worker(uint32_t which) {
    worker = which;
    life = ++all->lives;
    assert_true(life < MOST_PUSHERS);
    randoms = next_random(&seed);
    all->call[which] = "start";
    children[which] = start(work);
}

static void kill_worker(uint32_t which) {
    end_child(children[which]);
    all->deaths[which]++;
    children[which] = 0;
}

/* Kills one, or several of them, or all but the bystander: nobody is left then who would have begun to recover. */
static unsigned kill_some(uint64_t *choices) {
    uint32_t kind = random_below(choices, 16), killed = 0;
    for (uint32_t n = 1; n < WORKERS; n++) {
        bool dies = kind == 0 || (kind < 4 ? random_below(choices, 2) : n == 1 + kind % (WORKERS - 1));
        if (!dies) continue;
        kill_worker(n);
        killed++;
    }
    return killed;
}

/* The worker that has not returned from its call says which one it is. */
static void await_progress(uint32_t which) {
    uint64_t before = all->progress[which];
    for (unsigned tenths = 0; __atomic_load_n(&all->progress[which], __ATOMIC_RELAXED) < before + 3; tenths++) {
        int status;
        if (tenths == 1200 || waitpid(children[which], &status, WNOHANG)) {
            kolk_ipc_holder holders[8] = {{0}};
            uint32_t n = kolk_ipc_holders(pool, holders, 8);
            for (uint32_t each = 0; each < n && each < 8; each++)
                print_message("process %u holds %u and has pushed %u\n", holders[each].pid, holders[each].count,
                              holders[each].queued);
            for (uint32_t each = 0; each < WORKERS; each++)
                print_message("%s %d: %" PRIu64 " calls, in %s\n", roles[each], (int)children[each],
                              all->progress[each], all->call[each]);
            print_message("queued: %u %u %u of %u\n", kolk_ipc_queued(pool, 0), kolk_ipc_queued(pool, 1),
                          kolk_ipc_queued(pool, 2), pool->capacity);
            fail_msg("the %s %s in %s", roles[which], tenths == 1200 ? "hangs" : "has died", all->call[which]);
        }
        usleep(tenths ? 100000 : 1000);
    }
}

static void await_all(void) {
    for (uint32_t n = 0; n < WORKERS; n++) await_progress(n);
}

/* Everybody is dead. What the queues have is popped here; the bits and numbers go on. */
static void drain(void) {
    message *it;
    for (; (it = kolk_ipc_pop(pool, NEXT, KOLK_NOW)); kolk_ipc_free(pool, it)) note_order(NEXT, it);
    for (; (it = kolk_ipc_pop(pool, LINE, KOLK_NOW)); kolk_ipc_free(pool, it)) {
        note_order(LINE, it);
        note_order(NEXT, it);
    }
    for (; (it = kolk_ipc_pop(pool, MIXED, KOLK_NOW)); kolk_ipc_free(pool, it)) note_mixed(it);
    for (; (it = kolk_ipc_adopt(pool)); kolk_ipc_free(pool, it)) assert_int_equal(pool->orphans, KOLK_IPC_KEEP);
}

/* A message that a push had accepted was seen, unless somebody who had popped it was killed before it said so. */
static void account(void) {
    uint64_t missed = all->missed[NEXT], lost = all->missed[LINE];
    for (uint32_t from = 1; from <= all->lives; from++) {
        if (all->pushed[from] > all->seen[LINE][from]) lost += all->pushed[from] - all->seen[LINE][from];
        if (all->pushed[from] > all->seen[NEXT][from]) missed += all->pushed[from] - all->seen[NEXT][from];
    }
    assert_in_range(lost, 0, all->deaths[FORWARDER]);
    assert_in_range(missed, 0, (uint64_t)all->deaths[FORWARDER] + all->deaths[POPPER]);
    assert_in_range(all->popped, 1, all->mixed);
}

/* An orphan of the last dead that is in the middle of a push has an owner still; then nothing has. */
static void end_round(void) {
    for (uint32_t n = 0; n < WORKERS; n++)
        if (children[n]) kill_worker(n);
    kolk_ipc_recover(pool);
    assert_true(kolk_ipc_is_valid(pool));
    kolk_ipc_holder holder = {0};
    uint32_t holders = kolk_ipc_holders(pool, &holder, 1);
    assert_in_range(holders, 1, 2); /* this process, and the queues */
    drain();
    account();
    assert_all_free(pool);
}

static unsigned run_round(unsigned kills, uint64_t choices) {
    static const uint32_t capacities[] = {WORKERS * HOLDS, 64, 300, 3000};
    uint32_t capacity = capacities[random_below(&choices, LENGTH_OF(capacities))];
    kolk_ipc_desc desc = {.name = "kills",
                          .object_size = sizeof(message),
                          .capacity = capacity,
                          .queues = QUEUES,
                          .queue_capacity = random_below(&choices, 2) ? 0 : 1 + random_below(&choices, capacity),
                          .max_processes = 3 * WORKERS,
                          .orphans = random_below(&choices, 2) ? KOLK_IPC_KEEP : KOLK_IPC_FREE};
    unsigned killed = 0;
    make_ipc(pool, &desc);
    begin_worker(BYSTANDER);
    await_progress(BYSTANDER);
    while (killed < kills) {
        for (uint32_t n = 0; n < WORKERS; n++)
            if (!children[n]) begin_worker(n);
        if (random_below(&choices, 64) == 0) await_all();
        usleep(random_below(&choices, 4000));
        killed += kill_some(&choices);
    }
    for (uint32_t n = 0; n < WORKERS; n++)
        if (!children[n]) begin_worker(n);
    await_all(); /* no survivor hangs */
    end_round();
    kolk_ipc_deinit(pool);
    return killed;
}

/* promise: "Any process may be killed at any instruction: no slot is lost, nobody waits for it, and nothing stays
 * behind" */
static void test_kills(void **state) {
    unsigned kills = (unsigned)number_from_environment("KOLK_TEST_OPS", does_a_part() ? 160 : 10000), done = 0;
    unsigned rounds = does_a_part() ? 4 : 40, descriptors = count_descriptors();
    uint64_t mixed = 0, passed = 0;
    begin_random();
    while (done < kills) {
        uint64_t first = seed;
        all = share(sizeof *all);
        done += run_round(kills / rounds + 1, next_random(&seed));
        mixed += all->popped;
        for (uint32_t from = 1; from <= all->lives; from++) passed += all->seen[NEXT][from];
        munmap(all, sizeof *all);
        seed = first + 1;
    }
    print_message("%u kills; %" PRIu64 " objects passed both queues, %" PRIu64 " the mixed one\n", done, passed, mixed);
    assert_int_equal(count_descriptors(), descriptors);
    assert_int_equal(count_entries("/dev/shm", "kolk"), 0);
}

int main(void) {
    END_IF_IT_HANGS();
    const struct CMUnitTest tests[] = {TEST(test_kills)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
