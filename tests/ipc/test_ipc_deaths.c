/* runs: not:wine not:qemu */
/* Every way in which a process may end, or seem to: what it owned becomes free, what it had pushed stays in its queue,
 * and nothing is taken from a process that lives. Files are passed over sockets and through exec. */
#include "processes.h"

#include "../help/run_threads.h"

#include <errno.h>
#include <sched.h>
#include <spawn.h>
#include <sys/socket.h>

pid_t _Fork(void) __attribute__((weak)); /* NOLINT(readability-redundant-declaration): only since glibc 2.34 */

enum { CAPACITY = 100, HELD = 5, PUSHED = 3 };

static kolk_ipc pool;
static uint32_t *steps; /* how far the children are */
static uint32_t *grandchild;
static unsigned descriptors;

static void tell(uint32_t step) {
    __atomic_store_n(steps, step, __ATOMIC_SEQ_CST);
}

static void await(uint32_t step) {
    while (__atomic_load_n(steps, __ATOMIC_SEQ_CST) != step) usleep(500);
}

static int begin(void **state) {
    descriptors = count_descriptors();
    steps = share(4096);
    grandchild = steps + 1;
    make_ipc(&pool, &(kolk_ipc_desc){
                        .name = "deaths", .object_size = 16, .capacity = CAPACITY, .queues = 2, .max_processes = 4});
    return 0;
}

/* All children are dead. */
static int end(void **state) {
    kolk_ipc_recover(&pool);
    for (uint32_t *it; (it = kolk_ipc_pop(&pool, 0, KOLK_NOW));) kolk_ipc_free(&pool, it);
    for (uint32_t *it; (it = kolk_ipc_adopt(&pool));) kolk_ipc_free(&pool, it);
    assert_all_free(&pool);
    kolk_ipc_deinit(&pool);
    assert_int_equal(munmap(steps, 4096), 0);
    assert_int_equal(count_descriptors(), descriptors);
    return abort_on_failure(state);
}

/* ---- Ends of a process ------------------------------------------------------------------------------------------- */

/* Owns HELD objects, and pushes PUSHED others. */
static void hold_some(void) {
    for (uint32_t n = 0; n < HELD + PUSHED; n++) {
        uint32_t *it = kolk_ipc_alloc(&pool);
        REQUIRE(it);
        *it = n;
        if (n >= HELD) REQUIRE(kolk_ipc_push(&pool, 0, it, KOLK_NOW) == KOLK_OK);
    }
}

static void hold_and_wait(void) {
    hold_some();
    tell(1);
    for (;;) pause();
}

static void hold_and_exit(void) {
    hold_some();
    exit(0); /* NOLINT(concurrency-mt-unsafe) */
}

static void hold_and_end(void) {
    hold_some();
    _exit(0);
}

static void hold_and_abort(void) {
    hold_some();
    abort();
}

static void hold_and_crash(void) {
    hold_some();
    raise(SIGSEGV);
}

/* The program that it becomes lives on. */
static void hold_and_exec(void) {
    hold_some();
    tell(1);
    execl("/bin/sleep", "sleep", "600", (char *)NULL);
    _exit(1);
}

static void hold_and_deinit(void) {
    hold_some();
    kolk_ipc_deinit(&pool);
    _exit(0);
}

/* Waits until `count` objects are recovered: an exec, or a child of the dead process, takes a moment to close its
 * files. */
static void await_orphans(uint32_t count) {
    uint32_t found = 0;
    while ((found += kolk_ipc_recover(&pool)) < count) usleep(500);
    assert_int_equal(found, count);
}

static void pop_what_was_pushed(void) {
    assert_int_equal(kolk_ipc_queued(&pool, 0), PUSHED);
    for (uint32_t n = HELD; n < HELD + PUSHED; n++) {
        uint32_t *it = kolk_ipc_pop(&pool, 0, KOLK_NOW);
        assert_int_equal(*it, n);
        kolk_ipc_free(&pool, it);
    }
    assert_null(kolk_ipc_pop(&pool, 0, KOLK_NOW));
}

/* promise: "If a process ends without a deinit", "Objects that it has pushed stay in their
 * queue", "The system tells that a process has ended ... also at exec", "An object that it had pushed is in the queue",
 * "Looks for dead processes now" */
static void test_ends(void **state) {
    static void (*const ends[])(void) = {hold_and_exit, hold_and_end, hold_and_abort, hold_and_crash};
    for (size_t n = 0; n < LENGTH_OF(ends); n++) {
        int status;
        pid_t child = start(ends[n]);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(kolk_ipc_count(&pool), HELD + PUSHED);
        assert_int_equal(kolk_ipc_recover(&pool), HELD);
        assert_int_equal(kolk_ipc_recover(&pool), 0);
        pop_what_was_pushed();
        assert_all_free(&pool);
    }
}

static void test_exec(void **state) {
    pid_t child = start(hold_and_exec);
    await(1);
    await_orphans(HELD);
    pop_what_was_pushed();
    end_child(child);
}

static void test_kill(void **state) {
    pid_t child = start(hold_and_wait);
    await(1);
    assert_int_equal(kolk_ipc_recover(&pool), 0); /* it lives */
    end_child(child);
    assert_int_equal(kolk_ipc_recover(&pool), HELD);
    pop_what_was_pushed();
}

/* promise: "Objects that this process owns become orphans, without the hook" */
static void test_deinit(void **state) {
    await_child(start(hold_and_deinit));
    assert_int_equal(kolk_ipc_recover(&pool), 0); /* it has freed them itself */
    pop_what_was_pushed();
}

/* promise: "Processes notice it when they need a slot and find none, when they have waited ... and at an attach" */
static void test_who_notices(void **state) {
    void *all[CAPACITY];
    pid_t child = start(hold_and_wait);
    await(1);
    uint32_t n = 0;
    while ((all[n] = kolk_ipc_alloc(&pool))) n++;
    assert_int_equal(n, CAPACITY - HELD - PUSHED);
    end_child(child);
    usleep(2000); /* it looks at most once in a millisecond */
    all[n] = kolk_ipc_alloc(&pool);
    assert_non_null(all[n++]);
    for (; n < CAPACITY - PUSHED; n++) assert_non_null(all[n] = kolk_ipc_alloc_wait(&pool, KOLK_FOREVER));
    while (n > 0) kolk_ipc_free(&pool, all[--n]);
    pop_what_was_pushed();

    tell(0);
    child = start(hold_and_wait);
    await(1);
    end_child(child);
    kolk_ipc other = {0};
    assert_int_equal(kolk_ipc_attach(&other, kolk_ipc_fd(&pool), &(kolk_ipc_desc){0}), KOLK_OK);
    assert_int_equal(kolk_ipc_count(&pool), PUSHED);
    kolk_ipc_deinit(&other);
}

static void pop_in_vain(void) {
    tell(2);
    assert_null(kolk_ipc_pop(&pool, 1, kolk_deadline_after(100)));
}

/* A waiter notices a death that makes nothing poppable, too: it looks while it waits. */
static void test_waiter_notices(void **state) {
    pid_t child = start(hold_and_wait);
    await(1);
    end_child(child);
    pop_in_vain();
    assert_int_equal(kolk_ipc_count(&pool), PUSHED);
}

/* The tail of the queue lags behind, as after a death in the middle of a push, and then its last object is popped. */
static void test_tail_lags(void **state) {
    ipc_queue *queue = &pool.queues_at[0];
    for (uint32_t n = 0; n < 3 * CAPACITY; n++) {
        assert_int_equal(kolk_ipc_push(&pool, 0, kolk_ipc_alloc(&pool), KOLK_NOW), KOLK_OK);
        queue->tail--;
        assert_int_equal(kolk_ipc_queued(&pool, 0), 1);
        assert_true(kolk_ipc_is_valid(&pool));
        void *it = kolk_ipc_pop(&pool, 0, KOLK_NOW);
        assert_int_equal(kolk_ipc_queued(&pool, 0), 0);
        assert_true(kolk_ipc_is_valid(&pool));
        kolk_ipc_free(&pool, it);
    }
}

/* A program that closes descriptors which it does not know, and opens others: it can recover nobody any more, but the
 * living are not dead for it. */
static void lose_the_file(void) {
    char name[] = "/tmp/kolk_XXXXXX";
    REQUIRE(kolk_ipc_status(&pool) == KOLK_OK);
    int other = mkstemp(name);
    REQUIRE(other >= 0 && dup2(other, kolk_ipc_fd(&pool)) >= 0);
    unlink(name);
    close(other);
    void *own = kolk_ipc_alloc(&pool);
    REQUIRE(own && kolk_ipc_recover(&pool) == 0);
    while (kolk_ipc_alloc(&pool)) {}
    tell(1);
    for (;;) pause();
}

static void test_file_is_lost(void **state) {
    void *own = kolk_ipc_alloc(&pool);
    pid_t child = start(lose_the_file);
    await(1);
    assert_true(kolk_ipc_is_owned(&pool, own));
    assert_int_equal(kolk_ipc_recover(&pool), 0);
    end_child(child);
    assert_int_equal(kolk_ipc_recover(&pool), CAPACITY - 1);
    kolk_ipc_free(&pool, own);
}

/* ---- Orphans ----------------------------------------------------------------------------------------------------- */

static void keep_orphan(void *object, void *context) {
    uint32_t *numbers = context;
    assert_true(kolk_ipc_is_owned(&pool, object));
    numbers[*(uint32_t *)object]++;
    if (*(uint32_t *)object % 2)
        kolk_ipc_free(&pool, object);
    else
        assert_int_equal(kolk_ipc_push(&pool, 1, object, KOLK_NOW), KOLK_OK);
}

/* promise: "Called for each object of a dead process that this process finds ... free it, push it or keep it" */
static void test_hook(void **state) {
    uint32_t numbers[HELD + PUSHED] = {0};
    pool.on_orphan = keep_orphan;
    pool.context = numbers;
    pid_t child = start(hold_and_wait);
    await(1);
    end_child(child);
    assert_int_equal(kolk_ipc_recover(&pool), HELD);
    for (uint32_t n = 0; n < HELD + PUSHED; n++) assert_int_equal(numbers[n], n < HELD);
    for (uint32_t n = 0; n < HELD; n += 2) {
        uint32_t *it = kolk_ipc_pop(&pool, 1, KOLK_NOW);
        assert_int_equal(*it, n);
        kolk_ipc_free(&pool, it);
    }
    pop_what_was_pushed();
    pool.on_orphan = NULL;
}

static void find_garbage(void *object, void *context) {
    note_corruption(&pool);
    kolk_ipc_free(&pool, object); /* must not wait for the call that runs this */
    REQUIRE(!kolk_ipc_alloc(&pool));
    tell(2);
}

static void call_first(void) {
    pool.on_orphan = find_garbage;
    REQUIRE(kolk_ipc_status(&pool) == KOLK_CORRUPT);
}

static void deinit_first(void) {
    pool.on_orphan = find_garbage;
    kolk_ipc_deinit(&pool);
}

/* The first call of a child may find the dead, and call the hook, which may find garbage. If it is deinit, then the
 * child has nothing to do with any of that. */
static void test_first_calls(void **state) {
    await_child(start(hold_and_end));
    await_child(start(deinit_first));
    await(0);
    await_child(start(call_first));
    await(2);
    await_orphans(HELD);
    pop_what_was_pushed();
}

static void be_nobody(void) {}

static void *wait_for_slot(void *unused) {
    void *object = kolk_ipc_alloc_wait(&pool, KOLK_FOREVER);
    kolk_ipc_free(&pool, object);
    return object;
}

/* A thread that looks for the dead opens and closes files. If it is cancelled meanwhile, it goes on, and the process
 * can fork. promise: base.h "is a cancellation point, even if it waits" */
static void test_cancelled(void **state) {
    pthread_t thread;
    void *mine = NULL, *theirs;
    for (void *object; (object = kolk_ipc_alloc(&pool));) mine = object;
    assert_int_equal(pthread_create(&thread, NULL, wait_for_slot, NULL), 0);
    for (int n = 0; n < 20; n++) usleep(1000);
    assert_int_equal(pthread_cancel(thread), 0);
    for (int n = 0; n < 20; n++) usleep(1000);
    await_child(start(be_nobody));
    kolk_ipc_free(&pool, mine);
    assert_int_equal(pthread_join(thread, &theirs), 0);
    assert_ptr_equal(theirs, mine);
    kolk_ipc_cursor each = kolk_ipc_each(&pool);
    for (void *object; (object = kolk_ipc_cursor_next(&each));) kolk_ipc_free(&pool, object);
}

/* promise: "they stay alive without an owner, until kolk_ipc_adopt", "With KOLK_IPC_KEEP ... if there is none" */
static void test_keep(void **state) {
    bool came[HELD] = {false};
    pool.orphans = KOLK_IPC_KEEP;
    pid_t child = start(hold_and_wait);
    await(1);
    assert_null(kolk_ipc_adopt(&pool));
    end_child(child);
    assert_int_equal(kolk_ipc_recover(&pool), HELD);
    assert_int_equal(kolk_ipc_count(&pool), HELD + PUSHED);
    for (uint32_t n = 0; n < HELD; n++) {
        uint32_t *it = kolk_ipc_adopt(&pool);
        assert_true(kolk_ipc_is_owned(&pool, it) && !came[*it]);
        came[*it] = true;
        kolk_ipc_free(&pool, it);
    }
    assert_null(kolk_ipc_adopt(&pool));
    pop_what_was_pushed();
}

/* ---- Not dead ---------------------------------------------------------------------------------------------------- */

static void *end_thread(void *unused) {
    hold_some();
    for (uint32_t n = 0; n < CAPACITY / 2; n++) kolk_ipc_free(&pool, kolk_ipc_alloc(&pool));
    return NULL;
}

/* A thread takes hints with it, but neither its objects nor any slot. */
static void test_thread_ends(void **state) {
    void *all[CAPACITY];
    uint32_t n = 0;
    run_thread(end_thread, NULL);
    assert_int_equal(kolk_ipc_recover(&pool), 0);
    assert_int_equal(kolk_ipc_count(&pool), HELD + PUSHED);
    while ((all[n] = kolk_ipc_alloc(&pool))) n++;
    assert_int_equal(n, CAPACITY - HELD - PUSHED);
    pop_what_was_pushed();
    kolk_ipc_cursor each = kolk_ipc_each(&pool);
    for (void *it; (it = kolk_ipc_cursor_next(&each));) kolk_ipc_free(&pool, it);
}

/* Works on the queue until it is told to stop; what it owns stays its own. */
static void work_on(void) {
    uint32_t *own = kolk_ipc_alloc(&pool);
    *own = 77;
    for (uint32_t n = 0; __atomic_load_n(steps, __ATOMIC_SEQ_CST) != 9; n++) {
        uint32_t *it = kolk_ipc_alloc(&pool);
        if (it && (n % 3 || kolk_ipc_push(&pool, 0, it, KOLK_NOW) != KOLK_OK)) kolk_ipc_free(&pool, it);
        if ((it = kolk_ipc_pop(&pool, 0, KOLK_NOW))) kolk_ipc_free(&pool, it);
        REQUIRE(*own == 77 && kolk_ipc_is_owned(&pool, own));
        if (n == 10) tell(1);
    }
    kolk_ipc_free(&pool, own);
    REQUIRE(kolk_ipc_status(&pool) == KOLK_OK);
}

/* promise: "A process that is stopped (SIGSTOP, a debugger) is not dead", "a thread that is stopped or killed in the
 * middle of one stops no other" */
static void test_stopped(void **state) {
    int status;
    pid_t child = start(work_on);
    await(1);
    for (unsigned stops = 0; stops < (does_a_part() ? 40 : 400); stops++) {
        usleep(stops * 7 % 500);
        assert_int_equal(kill(child, SIGSTOP), 0);
        assert_int_equal(waitpid(child, &status, WUNTRACED), child);
        assert_true(WIFSTOPPED(status));
        assert_int_equal(kolk_ipc_recover(&pool), 0);
        for (unsigned n = 0; n < 300; n++) {
            void *it = kolk_ipc_alloc(&pool);
            assert_non_null(it);
            assert_int_equal(kolk_ipc_push(&pool, 0, it, KOLK_NOW), KOLK_OK);
            assert_non_null(it = kolk_ipc_pop(&pool, 0, KOLK_NOW));
            kolk_ipc_free(&pool, it);
        }
        assert_int_equal(kill(child, SIGCONT), 0);
    }
    tell(9);
    await_child(child);
    assert_int_equal(kolk_ipc_recover(&pool), 0); /* it had freed its own */
}

/* ---- Children of the dead ---------------------------------------------------------------------------------------- */

static void note_grandchild(pid_t it) {
    REQUIRE(it > 0);
    *grandchild = (uint32_t)it;
}

static void fork_idle_child(void) {
    hold_some();
    pid_t child = fork();
    if (child == 0)
        for (;;) pause();
    note_grandchild(child);
    tell(1);
    for (;;) pause();
}

/* The child works beside its parent, and goes on after it. */
static void fork_working_child(void) {
    hold_some();
    if (fork())
        for (;;) pause();
    note_grandchild(getpid());
    kolk_ipc_cursor each = kolk_ipc_each(&pool);
    for (void *parents; (parents = kolk_ipc_cursor_next(&each));) REQUIRE(!kolk_ipc_is_owned(&pool, parents));
    uint32_t *it = kolk_ipc_alloc(&pool);
    REQUIRE(it && kolk_ipc_count(&pool) == HELD + PUSHED + 1);
    *it = 42;
    tell(1);
    await(2);
    REQUIRE(*it == 42 && kolk_ipc_is_owned(&pool, it));
    REQUIRE(kolk_ipc_status(&pool) == KOLK_OK);
    kolk_ipc_free(&pool, it);
    tell(3);
    for (;;) pause();
}

/* A child that no handler has seen. It gives up its parent's lock when it notices. */
static void fork_silently(void) {
    hold_some();
    if (_Fork ? _Fork() : fork())
        for (;;) pause();
    note_grandchild(getpid());
    REQUIRE(kolk_ipc_status(&pool) == KOLK_OK);
    tell(1);
    for (;;) pause();
}

static void spawn_program(void) {
    char name[] = "sleep", seconds[] = "600", *arguments[] = {name, seconds, NULL};
    pid_t child;
    hold_some();
    REQUIRE(posix_spawn(&child, "/bin/sleep", NULL, NULL, arguments, environ) == 0);
    note_grandchild(child);
    tell(1);
    for (;;) pause();
}

static void vfork_program(void) {
    hold_some();
    pid_t child = vfork();
    if (child == 0) {
        execl("/bin/sleep", "sleep", "600", (char *)NULL);
        _exit(1);
    }
    note_grandchild(child);
    tell(1);
    for (;;) pause();
}

static void end_grandchild(void) {
    assert_true(*grandchild > 1);
    assert_int_equal(kill((pid_t)*grandchild, SIGKILL), 0);
}

/* promise: "It is a process of its own, which owns nothing at first; what the parent owns stays the parent's" */
static void test_children_of_the_dead(void **state) {
    static void (*const parents[])(void) = {fork_idle_child, fork_silently, spawn_program, vfork_program};
    for (size_t n = 0; n < LENGTH_OF(parents); n++) {
        tell(0);
        pid_t child = start(parents[n]);
        await(1);
        assert_int_equal(kolk_ipc_recover(&pool), 0);
        end_child(child);
        await_orphans(HELD);
        pop_what_was_pushed();
        assert_all_free(&pool);
        end_grandchild();
    }
}

/* promise: "a child may use the pool" */
static void test_child_goes_on(void **state) {
    pid_t child = start(fork_working_child);
    await(1);
    assert_int_equal(kolk_ipc_recover(&pool), 0);
    end_child(child);
    await_orphans(HELD);
    assert_int_equal(kolk_ipc_count(&pool), PUSHED + 1);
    tell(2);
    await(3);
    assert_int_equal(kolk_ipc_recover(&pool), 0);
    pop_what_was_pushed();
    end_grandchild();
}

/* ---- Containers -------------------------------------------------------------------------------------------------- */

static void make_container(void) {
    REQUIRE(unshare(CLONE_NEWUSER | CLONE_NEWPID) == 0);
}

/* The first process of a container, whose number there is 1. */
static void hold_in_container(void) {
    make_container();
    pid_t inside = fork();
    if (inside) {
        note_grandchild(inside);
        for (;;) pause();
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* so that it ends with the test */
    while (!__atomic_load_n(grandchild, __ATOMIC_SEQ_CST)) usleep(500);
    hold_and_wait();
}

/* promise: "it works across containers", "as the process itself sees it: another one in another container" */
static void test_container(void **state) {
    char text[256];
    kolk_ipc_holder holders[2];
    if (run_apart(make_container, text, sizeof text) != 0) {
        print_message("left out: this user may not make containers\n");
        skip();
    }
    pid_t child = start(hold_in_container);
    await(1);
    assert_int_equal(kolk_ipc_recover(&pool), 0);
    assert_int_equal(kolk_ipc_holders(&pool, holders, 2), 2);
    assert_true(holders[0].pid == 1 && holders[0].count == HELD && holders[0].queued == PUSHED);
    assert_int_equal(holders[1].pid, getpid());
    end_grandchild();
    await_orphans(HELD);
    pop_what_was_pushed();
    end_child(child);
}

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */

static void find_no_number(void) {
    REQUIRE(kolk_ipc_status(&pool) == KOLK_TOO_MANY_PROCESSES);
    REQUIRE(!kolk_ipc_alloc(&pool));
    REQUIRE(!kolk_ipc_pop(&pool, 0, KOLK_FOREVER));
    REQUIRE(kolk_ipc_recover(&pool) == 0);
    REQUIRE(kolk_ipc_count(&pool) == 0);
    kolk_ipc_deinit(&pool);
}

static void be_there(void) {
    REQUIRE(kolk_ipc_status(&pool) == KOLK_OK);
    __atomic_fetch_add(steps, 1, __ATOMIC_SEQ_CST);
    for (;;) pause();
}

/* promise: "KOLK_TOO_MANY_PROCESSES: there are max_processes", "A process may attach several times, and counts as
 * several then", "or kolk_ipc_status is not KOLK_OK" */
static void test_numbers(void **state) {
    const kolk_ipc_desc same = {.max_processes = 4};
    kolk_ipc second = {0}, none = {0};
    assert_int_equal(kolk_ipc_attach(&second, kolk_ipc_fd(&pool), &same), KOLK_OK);
    for (unsigned rounds = 0; rounds < 4; rounds++) {
        tell(0);
        pid_t children[] = {start(be_there), start(be_there)};
        await(2);
        assert_int_equal(kolk_ipc_attach(&none, kolk_ipc_fd(&pool), &same), KOLK_TOO_MANY_PROCESSES);
        assert_true(all_bytes_are(&none, sizeof none, 0));
        await_child(start(find_no_number));
        end_child(children[0]);
        assert_int_equal(kolk_ipc_attach(&none, kolk_ipc_fd(&pool), &same), KOLK_OK);
        kolk_ipc_deinit(&none);
        end_child(children[1]);
    }
    kolk_ipc_deinit(&second);
}

/* ---- Files over sockets and through exec ------------------------------------------------------------------------- */

static void send_file(int socket, int fd) {
    char byte = 'f';
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {.room = {0}};
    struct iovec data = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
    REQUIRE(sendmsg(socket, &message, 0) == 1);
}

static int receive_file(int socket) {
    char byte;
    int fd;
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {.room = {0}};
    struct iovec data = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
    REQUIRE(recvmsg(socket, &message, MSG_CMSG_CLOEXEC) == 1);
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
    return fd;
}

/* A program that this one has executed: gets the file over a socket, or has it, and answers each object. */
static int be_another_program(const char *how, int fd) {
    kolk_ipc mine = {0};
    int file = strcmp(how, "socket") == 0 ? receive_file(fd) : fd;
    REQUIRE(kolk_ipc_attach(&mine, file, &(kolk_ipc_desc){.object_size = 16}) == KOLK_OK);
    close(file); /* "which it may then close" */
    for (uint32_t *it; (it = kolk_ipc_pop(&mine, 0, KOLK_FOREVER)) && *it;) {
        *it += 1000;
        REQUIRE(kolk_ipc_push(&mine, 1, it, KOLK_FOREVER) == KOLK_OK);
    }
    raise(SIGKILL); /* it owns the last one */
    return 1;
}

static pid_t execute(const char *how, int fd) {
    char number[16];
    snprintf(number, sizeof number, "%d", fd);
    fflush(NULL);
    pid_t child = fork_dependent();
    assert_true(child >= 0);
    if (child) return child;
    fcntl(fd, F_SETFD, 0);
    execl("/proc/self/exe", "program", how, number, (char *)NULL);
    _exit(1);
}

static void talk_to(pid_t program) {
    int status;
    for (uint32_t n = 1; n <= 50; n++) {
        uint32_t *it = kolk_ipc_alloc(&pool);
        *it = n;
        assert_int_equal(kolk_ipc_push(&pool, 0, it, KOLK_FOREVER), KOLK_OK);
        assert_non_null(it = kolk_ipc_pop(&pool, 1, KOLK_FOREVER));
        assert_int_equal(*it, n + 1000);
        kolk_ipc_free(&pool, it);
    }
    uint32_t *last = kolk_ipc_alloc(&pool);
    *last = 0;
    assert_int_equal(kolk_ipc_push(&pool, 0, last, KOLK_FOREVER), KOLK_OK);
    assert_int_equal(waitpid(program, &status, 0), program);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(kolk_ipc_recover(&pool), 1);
}

/* promise: "send it over a socket (SCM_RIGHTS), or let a program inherit it", "in this file, which it may then
 * close", "gets the pool's file over a socket or by exec" */
static void test_socket(void **state) {
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    pid_t program = execute("socket", ends[1]);
    send_file(ends[0], kolk_ipc_fd(&pool));
    talk_to(program);
    close(ends[0]);
    close(ends[1]);
}

/* promise: "or let a program inherit it", "gets the pool's file over a socket or by exec" */
static void test_inherited(void **state) {
    talk_to(execute("inherited", kolk_ipc_fd(&pool)));
}

static int to_parent;

static void make_and_die(void) {
    kolk_ipc made = {0};
    REQUIRE(kolk_ipc_init(&made, &(kolk_ipc_desc){.name = "made", .object_size = 8, .capacity = 10, .queues = 1}) ==
            KOLK_OK);
    for (int n = 0; n < 3; n++) REQUIRE(kolk_ipc_alloc(&made));
    uint64_t *it = kolk_ipc_alloc(&made);
    *it = 5;
    REQUIRE(kolk_ipc_push(&made, 0, it, KOLK_NOW) == KOLK_OK);
    send_file(to_parent, kolk_ipc_fd(&made));
    raise(SIGKILL);
}

/* Nobody is left; the file has everything. */
static void test_all_others_dead(void **state) {
    int ends[2], status;
    kolk_ipc made = {0};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    to_parent = ends[1];
    pid_t child = start(make_and_die);
    int fd = receive_file(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(kolk_ipc_attach(&made, fd, &(kolk_ipc_desc){.name = "made"}), KOLK_OK);
    assert_int_equal(kolk_ipc_count(&made), 1);
    uint64_t *it = kolk_ipc_pop(&made, 0, KOLK_NOW);
    assert_int_equal(*it, 5);
    kolk_ipc_free(&made, it);
    assert_all_free(&made);
    kolk_ipc_deinit(&made);
    close(fd);
    close(ends[0]);
    close(ends[1]);
}

/* ---- Readers ----------------------------------------------------------------------------------------------------- */

static int open_to_read(void) {
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", kolk_ipc_fd(&pool));
    return open(path, O_RDONLY | O_CLOEXEC);
}

static void write_to_reader(void *of) {
    kolk_ipc *reader = of;
    *(volatile uint64_t *)&reader->lives[0] = 1;
}

/* promise: "A file that is open for reading only ... the others report KOLK_READ_ONLY", "A process that may only read
 * can get and walk", "For a process that may only read, send open" */
static void test_reader(void **state) {
    char text[256];
    notes taken;
    kolk_ipc reader = {0};
    int fd = open_to_read();
    pid_t child = start(hold_and_wait);
    await(1);
    uint32_t *own = kolk_ipc_alloc(&pool);
    *own = 99;
    kolk_handle handle = kolk_ipc_handle_of(&pool, own);
    assert_int_equal(kolk_ipc_attach(&reader, fd, &(kolk_ipc_desc){0}), KOLK_OK);
    close(fd);
    assert_int_equal(kolk_ipc_status(&reader), KOLK_READ_ONLY);
    uint32_t *seen = kolk_ipc_get(&reader, handle);
    assert_int_equal(*seen, 99);
    assert_true(kolk_ipc_is_live(&reader, seen));
    assert_false(kolk_ipc_is_owned(&reader, seen));
    assert_int_equal(kolk_ipc_handle_of(&reader, seen).bits, handle.bits);
    uint32_t n = 0;
    kolk_ipc_cursor each = kolk_ipc_each(&reader);
    while (kolk_ipc_cursor_next(&each)) n++;
    assert_int_equal(n, HELD + PUSHED + 1);
    assert_int_equal(kolk_ipc_count(&reader), n);
    assert_int_equal(kolk_ipc_queued(&reader, 0), PUSHED);
    assert_false(kolk_ipc_is_closed(&reader, 0));
    kolk_ipc_holder holders[2];
    assert_int_equal(kolk_ipc_holders(&reader, holders, 2), 2);
    assert_int_equal(holders[0].pid, child);
    assert_int_equal(holders[0].count, HELD);
    assert_int_equal(holders[0].queued, PUSHED);
    kolk_stats stats;
    kolk_ipc_stats(&reader, &stats);
    assert_int_equal(stats.count, n);
    assert_true(kolk_ipc_is_valid(&reader));

    begin_notes(&taken);
    assert_null(kolk_ipc_alloc(&reader));
    assert_noted(&taken, KOLK_READ_ONLY, "deaths", NULL, NO_SLOT,
                 "kolk: deaths: alloc in a pool that may only be read");
    assert_null(kolk_ipc_alloc_wait(&reader, KOLK_FOREVER));
    assert_int_equal(kolk_ipc_push(&reader, 0, seen, KOLK_FOREVER), KOLK_READ_ONLY);
    assert_null(kolk_ipc_pop(&reader, 0, KOLK_FOREVER));
    kolk_ipc_close(&reader, 0);
    kolk_ipc_free(&reader, seen);
    assert_int_equal(taken.count, 5);
    assert_int_equal(taken.last.rule, KOLK_READ_ONLY);
    assert_int_equal(kolk_ipc_recover(&reader), 0);
    assert_null(kolk_ipc_adopt(&reader));
    abort_on_failure(state);

    int status = run_child(write_to_reader, &reader, text, sizeof text);
    assert_true(UNDER_ASAN || (WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV));
    assert_true(status != 0);
    end_child(child);
    assert_int_equal(kolk_ipc_recover(&reader), 0); /* a reader frees nothing */
    kolk_ipc_deinit(&reader);
    kolk_ipc_free(&pool, own);
    assert_int_equal(kolk_ipc_recover(&pool), HELD);
}

#define DEATH(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(int argc, char **argv) {
    END_IF_IT_HANGS();
    if (argc == 3) return be_another_program(argv[1], atoi(argv[2]));
    const struct CMUnitTest tests[] = {
        DEATH(test_ends),          DEATH(test_exec),         DEATH(test_kill),
        DEATH(test_deinit),        DEATH(test_who_notices),  DEATH(test_waiter_notices),
        DEATH(test_tail_lags),     DEATH(test_file_is_lost), DEATH(test_hook),
        DEATH(test_first_calls),   DEATH(test_cancelled),    DEATH(test_keep),
        DEATH(test_thread_ends),   DEATH(test_stopped),      DEATH(test_children_of_the_dead),
        DEATH(test_child_goes_on), DEATH(test_container),    DEATH(test_numbers),
        DEATH(test_socket),        DEATH(test_inherited),    DEATH(test_all_others_dead),
        DEATH(test_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
