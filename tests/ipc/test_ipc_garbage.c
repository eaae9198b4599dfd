/* runs: long two-processors not:wine not:qemu */
/* A process writes garbage into a live block while others work: random bytes anywhere, and numbers that could be true.
 * The others neither crash nor hang: each call ends, and KOLK_CORRUPT is the worst of it. Then files that are no pools:
 * each field of a header with other values, cut, empty and huge ones, and descriptors of anything else.
 * KOLK_TEST_SEED repeats the choices. KOLK_TEST_OPS is the number of milliseconds. */
#include "processes.h"

#include <sys/socket.h>
#include <time.h>

enum { WORKERS = 2, MOST_HELD = 20 };

typedef struct report {
    uint64_t calls, corruptions, failures;
    const char *volatile call;
    uint64_t slowest; /* call, in ns */
    bool header_is_bad;
} report;

static kolk_ipc pool;
static report *views;
static uint64_t randoms;

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint32_t below(uint32_t n) {
    return random_below(&randoms, n);
}

/* ---- The writer -------------------------------------------------------------------------------------------------- */

static uint64_t plausible_life(void) {
    uint64_t pushes = below(4) * IPC_ONE_PUSH, queued = below(2) * IPC_QUEUED;
    return (uint64_t)below(6) << 32 | pushes | queued | below(pool.max_processes + 2);
}

static uint64_t plausible_cell(uint64_t ticket) {
    uint64_t lap = ticket / (pool.ring_mask + 1) + below(3) - 1;
    uint32_t contents[] = {0, 1 + below(pool.capacity), pool.capacity + 1, UINT32_MAX};
    return lap << 32 | contents[below(4)];
}

static uint64_t plausible_ticket(const ipc_queue *queue) {
    uint64_t tickets[] = {queue->head + below(3) - 1, queue->tail + below(3) - 1, queue->tail + pool.ring_mask,
                          next_random(&randoms),      UINT64_MAX - below(2),      0};
    return tickets[below(LENGTH_OF(tickets))];
}

static void write_into_queue(ipc_queue *queue) {
    uint64_t ticket = below(2) ? queue->head : queue->tail;
    size_t n = (size_t)(queue - pool.queues_at) * (pool.ring_mask + 1);
    switch (below(6)) {
    case 0:
        queue->tail = plausible_ticket(queue);
        return;
    case 1:
        queue->head = plausible_ticket(queue);
        return;
    case 2:
        queue->items.asleep = below(2);
        queue->room.asleep = below(2);
        return;
    case 3:
        queue->items.word = below(2) ? queue->items.word + 1 : (uint32_t)next_random(&randoms);
        return;
    default:
        ticket += below(4);
        pool.rings[n + (ticket & pool.ring_mask)] = plausible_cell(ticket);
    }
}

static void write_hints(void) {
    kolk_slot_set_ hints = hints_of(&pool);
    uint32_t word = below((pool.capacity + 63) / 64);
    uint64_t values[] = {0, UINT64_MAX, next_random(&randoms)};
    *kolk_slot_set_word_(&hints, word) = values[below(3)];
    *kolk_slot_set_summary_(&hints, word) = values[below(3)];
}

static void write_into_block(void) {
    ipc_block *block = pool.block;
    unsigned char *start = (unsigned char *)block;
    switch (below(12)) {
    case 0:
        start[IPC_HEADER + next_random(&randoms) % (pool.size - IPC_HEADER)] = (unsigned char)below(256);
        return;
    case 1: /* all of the header but what an attach reads would be enough for nobody to notice */
        start[below(IPC_HEADER)] = (unsigned char)below(256);
        return;
    case 2:
        block->search = below(2) ? block->search + below(5) - 2 : next_random(&randoms);
        block->free.asleep = below(2);
        return;
    case 3:
        *(uint32_t *)(void *)(start + IPC_HEADER + below(pool.max_processes + 1) * sizeof(ipc_process)) = below(2);
        return;
    case 4:
    case 5:
    case 6:
        write_hints();
        return;
    case 7:
    case 8:
    case 9:
        pool.lives[below(pool.capacity)] = plausible_life();
        return;
    default:
        if (pool.queues) write_into_queue(&pool.queues_at[below(pool.queues)]);
    }
}

/* In bursts, so that some calls find a block that nobody writes into any more; in some rounds without a pause. */
static void write_garbage(void) {
    bool rests = below(3) > 0;
    for (;;) {
        for (uint32_t n = 1 + below(1000); n > 0; n--) write_into_block();
        if (rests) usleep(below(3000));
    }
}

/* ---- The workers ------------------------------------------------------------------------------------------------- */

static report *mine;
static kolk_ipc worker;

static void count_failure(const kolk_failure *failure, void *context) {
    mine->failures++;
    REQUIRE(failure->rule == KOLK_NOT_OWNER || failure->rule == KOLK_FULL);
}

static void take_orphan(void *object, void *context) {
    kolk_ipc_free(context, object);
}

static bool attach_worker(void) {
    kolk_ipc_desc desc = {.trap_full = below(2), .on_orphan = below(2) ? take_orphan : NULL, .context = &worker};
    kolk_status status = kolk_ipc_attach(&worker, kolk_ipc_fd(&pool), &desc);
    if (status == KOLK_OK && kolk_ipc_status(&worker) == KOLK_OK) return true;
    mine->header_is_bad = true;
    return false;
}

static void read_all(void) {
    kolk_ipc_holder holders[3];
    kolk_stats stats;
    kolk_ipc_holders(&worker, holders, 3);
    kolk_ipc_stats(&worker, &stats);
    kolk_ipc_is_valid(&worker);
    kolk_ipc_cursor each = kolk_ipc_each(&worker);
    for (void *it; (it = kolk_ipc_cursor_next(&each));)
        if (kolk_ipc_is_live(&worker, it) && below(16) == 0)
            kolk_ipc_get(&worker, (kolk_handle){next_random(&randoms) % pool.capacity | UINT64_C(1) << 32});
}

static void call_something(void **held, uint32_t *n) {
    uint32_t queue = pool.queues ? below(pool.queues) : 0;
    kolk_deadline deadline = below(4) ? KOLK_NOW : kolk_deadline_after(below(5));
    void *it = NULL;
    uint32_t choice = below(100);
    mine->call = choice < 30 ? "alloc" : choice < 50 ? "free" : choice < 70 ? "push" : choice < 90 ? "pop" : "ask";
    if (choice < 30)
        it = choice < 25 ? kolk_ipc_alloc(&worker) : kolk_ipc_alloc_wait(&worker, deadline);
    else if (choice < 50 && *n)
        kolk_ipc_free(&worker, held[--*n]);
    else if (choice < 70 && *n && pool.queues)
        kolk_ipc_push(&worker, queue, held[--*n], deadline);
    else if (choice >= 70 && choice < 90 && pool.queues)
        it = kolk_ipc_pop(&worker, queue, deadline);
    else if (choice < 92)
        kolk_ipc_recover(&worker);
    else if (choice < 94)
        it = kolk_ipc_adopt(&worker);
    else if (choice == 94 && pool.queues && below(100) == 0)
        kolk_ipc_close(&worker, queue);
    else if (choice < 97)
        read_all();
    if (!it) return;
    memset(it, 0x55, worker.object_size);
    if (*n == MOST_HELD) *n = 0; /* leaves them to chance */
    held[(*n)++] = it;
}

/* A view that reports corruption can do no more; the process may attach anew. */
static void work(void) {
    void *held[MOST_HELD];
    uint32_t n = 0;
    kolk_set_failure_handler(count_failure, NULL);
    while (attach_worker()) {
        while (kolk_ipc_status(&worker) == KOLK_OK) {
            uint64_t began = now_ns();
            call_something(held, &n);
            uint64_t took = now_ns() - began;
            if (took > mine->slowest) mine->slowest = took;
            __atomic_fetch_add(&mine->calls, 1, __ATOMIC_RELAXED);
        }
        mine->corruptions++;
        REQUIRE(kolk_ipc_status(&worker) == KOLK_CORRUPT);
        mine->call = "deinit";
        kolk_ipc_deinit(&worker);
        n = 0;
    }
    mine->call = "end";
}

/* ---- Rounds ------------------------------------------------------------------------------------------------------ */

static void make_random(void) {
    uint32_t capacity = below(3) ? 1 + below(200) : 1 + below(20000);
    make_ipc(&pool, &(kolk_ipc_desc){.name = "garbage",
                                     .object_size = 1 + below(100),
                                     .capacity = capacity,
                                     .queues = below(4),
                                     .queue_capacity = below(2) ? 0 : 1 + below(capacity),
                                     .max_processes = 4 + below(60),
                                     .orphans = below(2) ? KOLK_IPC_KEEP : KOLK_IPC_FREE});
}

/* A worker that hangs is ended with a core that shows where, and the test fails. */
static void await_worker(pid_t child, const report *of) {
    uint64_t before = of->calls;
    int status = 0;
    for (unsigned tenths = 0;; tenths++) {
        pid_t ended = waitpid(child, &status, WNOHANG);
        if (ended == child && status != 0) fail_msg("a worker died in %s (%#x)", of->call, (unsigned)status);
        if (ended == child) return;
        if (__atomic_load_n(&of->calls, __ATOMIC_RELAXED) > before) break;
        if (tenths == 1200) fail_msg("a worker hangs in %s", of->call);
        usleep(tenths ? 100000 : 1000);
    }
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL) fail_msg("a worker died in %s", of->call);
}

static void begin_worker(void) {
    randoms = next_random(&seed);
}

static void run_round(unsigned milliseconds) {
    pid_t children[WORKERS];
    make_random();
    for (uint32_t n = 0; n < WORKERS; n++) {
        mine = &views[n];
        begin_worker();
        children[n] = start(work);
    }
    begin_worker();
    pid_t writer = start(write_garbage);
    usleep(milliseconds * 1000);
    for (uint32_t n = 0; n < WORKERS; n++) await_worker(children[n], &views[n]);
    end_child(writer);
    kolk_ipc_deinit(&pool);
}

/* promise: "a process that writes garbage into the block costs the others the pool (KOLK_CORRUPT), but neither crashes
 * nor hangs them" */
static void test_garbage_in_a_live_block(void **state) {
    uint64_t time = number_from_environment("KOLK_TEST_OPS", does_a_part() ? 2000 : 60000), rounds = 0;
    report sum = {.calls = 0};
    begin_random();
    randoms = seed;
    views = share(WORKERS * sizeof *views);
    notes taken;
    begin_notes(&taken); /* this process's own view may find at deinit that its objects are somebody else's */
    for (uint64_t end = now_ns() + time * 1000000; now_ns() < end; rounds++) run_round(20 + below(100));
    for (uint32_t n = 0; n < WORKERS; n++) {
        sum.calls += views[n].calls;
        sum.corruptions += views[n].corruptions;
        sum.failures += views[n].failures;
        if (views[n].slowest > sum.slowest) sum.slowest = views[n].slowest;
    }
    print_message("%" PRIu64 " rounds, %" PRIu64 " calls, %" PRIu64 " times corrupt, %" PRIu64
                  " failures; the slowest call took %" PRIu64 " ms\n",
                  rounds, sum.calls, sum.corruptions, sum.failures, sum.slowest / 1000000);
    assert_true(sum.calls > rounds && sum.failures);
    abort_on_failure(state);
}

/* All slots are alive, and somebody says again and again that all are free. */
static void insist_on_hints(void) {
    kolk_slot_set_ hints = hints_of(&pool);
    for (;;) {
        kolk_store_(kolk_slot_set_word_(&hints, 0), UINT64_MAX, KOLK_RELAXED_);
        kolk_store_(kolk_slot_set_summary_(&hints, 0), UINT64_MAX, KOLK_RELAXED_);
        __atomic_fetch_add(&views->calls, 1, __ATOMIC_SEQ_CST);
    }
}

static void test_hints_without_end(void **state) {
    views = share(sizeof *views);
    make_ipc(&pool, &(kolk_ipc_desc){.name = "hints", .object_size = 8, .capacity = 64});
    while (kolk_ipc_alloc(&pool)) {}
    pid_t writer = start(insist_on_hints);
    while (!__atomic_load_n(&views->calls, __ATOMIC_SEQ_CST)) usleep(100);
    for (unsigned n = 0; n < 10; n++) assert_null(kolk_ipc_alloc(&pool));
    end_child(writer);
    kolk_ipc_deinit(&pool);
}

/* ---- Files that are no pools ------------------------------------------------------------------------------------- */

static const uint64_t odd_values[] = {0,          1,          2,          3,          15,       63,         255,
                                      4095,       4096,       4097,       65535,      65536,    0x7ffffffe, 0x7fffffff,
                                      0x80000000, 0xfffffffe, 0xffffffff, UINT64_MAX, INT64_MAX};

/* Attaches, and uses what it gets. */
static kolk_status try_file(int fd, bool unsealed) {
    kolk_ipc view = {0};
    kolk_status status = kolk_ipc_attach(&view, fd, &(kolk_ipc_desc){.unsealed = unsealed});
    if (status != KOLK_OK) {
        assert_true(all_bytes_are(&view, sizeof view, 0));
        return status;
    }
    void *it = kolk_ipc_alloc(&view);
    if (view.queues && it && kolk_ipc_push(&view, view.queues - 1, it, KOLK_NOW) == KOLK_OK)
        it = kolk_ipc_pop(&view, view.queues - 1, KOLK_NOW);
    kolk_ipc_free(&view, it);
    kolk_ipc_is_valid(&view);
    kolk_ipc_count(&view);
    kolk_ipc_deinit(&view);
    return status;
}

static int copy_of(size_t size, size_t file_size) {
    int fd = memfd_create("copy", MFD_CLOEXEC);
    assert_int_equal(ftruncate(fd, (off_t)file_size), 0);
    if (size) assert_int_equal(pwrite(fd, pool.block, size, 0), size);
    return fd;
}

/* promise: "KOLK_NOT_A_BLOCK: the file is no pool" */
static void test_forged_headers(void **state) {
    unsigned accepted = 0, refused = 0;
    notes taken;
    make_ipc(&pool, &(kolk_ipc_desc){.name = "true", .object_size = 24, .capacity = 100, .queues = 2});
    begin_notes(&taken);
    for (size_t at = 0; at < 256; at += 4)
        for (size_t n = 0; n < LENGTH_OF(odd_values); n++)
            for (size_t width = 4; width <= 8; width += 4) {
                int fd = copy_of(pool.size, pool.size);
                assert_int_equal(pwrite(fd, &odd_values[n], width, (off_t)at), width);
                if (try_file(fd, true) == KOLK_OK)
                    accepted++;
                else
                    refused++;
                close(fd);
            }
    abort_on_failure(state);
    print_message("%u forged headers accepted, %u refused\n", accepted, refused);
    assert_true(accepted > 100 && refused > 300);
    kolk_ipc_deinit(&pool);
}

/* promise: "KOLK_NOT_SEALED: see" */
static void test_odd_files(void **state) {
    int ends[2];
    unsigned descriptors = count_descriptors();
    make_ipc(&pool, &(kolk_ipc_desc){.name = "true", .object_size = 24, .capacity = 100, .queues = 2});
    for (size_t size = 0; size < pool.size; size += size < 2048 ? 256 : 4096) { /* cut */
        int fd = copy_of(size, size);
        assert_int_equal(try_file(fd, true), KOLK_NOT_A_BLOCK);
        close(fd);
    }
    static const uint64_t sizes[] = {1,
                                     1023,
                                     1024,
                                     1025,
                                     UINT64_C(1) << 31,
                                     UINT64_C(1) << 40,
                                     UINT64_C(1) << 46,
                                     (UINT64_C(1) << 46) + 1,
                                     INT64_MAX - 4095};
    for (size_t n = 0; n < LENGTH_OF(sizes); n++) { /* empty, but long */
        int fd = memfd_create("long", MFD_CLOEXEC);
        if (ftruncate(fd, (off_t)sizes[n]) == 0) assert_int_not_equal(try_file(fd, true), KOLK_OK);
        close(fd);
    }
    int whole = copy_of(pool.size, pool.size), longer = copy_of(pool.size, pool.size + 5000);
    assert_int_equal(try_file(whole, true), KOLK_OK);
    assert_int_equal(try_file(whole, false), KOLK_NOT_SEALED);
    assert_int_equal(try_file(longer, true), KOLK_OK);
    assert_int_equal(try_file(-1, true), KOLK_NO_LOCKS);
    assert_int_equal(try_file(1 << 20, true), KOLK_NO_LOCKS);
    assert_int_equal(pipe(ends), 0);
    int odd[] = {whole,
                 longer,
                 ends[0],
                 ends[1],
                 open("/dev/null", O_RDWR),
                 open("/dev/zero", O_RDWR),
                 open("/", O_RDONLY),
                 open("/proc/self/exe", O_RDONLY),
                 open("/", O_PATH),
                 socket(AF_UNIX, SOCK_STREAM, 0)};
    for (size_t n = 0; n < LENGTH_OF(odd); n++) {
        assert_true(odd[n] >= 0);
        if (n >= 2) assert_int_not_equal(try_file(odd[n], true), KOLK_OK);
        close(odd[n]);
    }
    kolk_ipc_deinit(&pool);
    assert_int_equal(count_descriptors(), descriptors);
}

int main(void) {
    END_IF_IT_HANGS();
    const struct CMUnitTest tests[] = {TEST(test_garbage_in_a_live_block), TEST(test_hints_without_end),
                                       TEST(test_forged_headers), TEST(test_odd_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
