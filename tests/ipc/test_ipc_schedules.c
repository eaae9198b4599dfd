/* runs: long not:asan not:clang not:wine with: KOLK_SCHEDULED=1 wraps: kolk_between_close_ kolk_between_keep_ */
/* wraps: kolk_between_lock_ kolk_between_map_ kolk_between_open_ kolk_between_release_ kolk_between_unmap_ */
/* Tests kolk_ipc in every order of the steps of two or three processes with a preemption or two, where one of them dies
 * at any of its steps; then in random orders, with up to two deaths. schedule.h explains the terms. Each thread has a
 * view of its own and so stands for a process. Afterwards a survivor recovers what the dead have left, and every slot
 * and every item is accounted for. */
#include "../help/test.h"

#include "../help/schedule.h"

#include "ipc/ipc_inside.h"
#include "os/between.h"

enum { VIEWS = 4, MOST = 3, ITEMS = 16, KEEPER = 0 }; /* the keeper's view is that of begin and end */

/* ---- Locks and memory of the processes --------------------------------------------------------------------------- */

static _Alignas(4096) unsigned char memory[4 * 4096];
static struct {
    uint32_t turn;              /* each call of the system is a step */
    unsigned holder[VIEWS + 1]; /* by number: 1 + the thread that has the lock; 0: nobody */
    unsigned *last[VIEWS];      /* the lock that the thread took last */
} locks;

int __real_kolk_between_open_(int fd);
int __wrap_kolk_between_open_(int fd);
bool __wrap_kolk_between_lock_(int opened, uint32_t n);
void *__wrap_kolk_between_keep_(int opened, size_t page);
void __wrap_kolk_between_close_(int opened);
void __wrap_kolk_between_release_(void *kept, size_t page);
void *__wrap_kolk_between_map_(int fd, size_t size, bool read_only);
void __wrap_kolk_between_unmap_(void *start, size_t size);

static void call_the_system(void) {
    kolk_fetch_add_(&locks.turn, 1, KOLK_ACQ_REL_);
}

int __wrap_kolk_between_open_(int fd) {
    return fd < 0 ? __real_kolk_between_open_(fd) : fd;
}

bool __wrap_kolk_between_lock_(int opened, uint32_t n) {
    call_the_system();
    if (locks.holder[n]) return false;
    locks.holder[n] = sched.current + 1;
    locks.last[sched.current] = &locks.holder[n];
    return true;
}

void *__wrap_kolk_between_keep_(int opened, size_t page) {
    return locks.last[sched.current];
}

void __wrap_kolk_between_close_(int opened) {
    (void)opened; /* no lock was taken */
}

void __wrap_kolk_between_release_(void *kept, size_t page) {
    call_the_system();
    *(unsigned *)kept = 0;
}

/* The system releases all locks of a process that dies, at one moment. */
static void release_all(void *context) {
    call_the_system();
    for (unsigned n = 0; n <= VIEWS; n++)
        if (locks.holder[n] == sched.current + 1) locks.holder[n] = 0;
}

void *__wrap_kolk_between_map_(int fd, size_t size, bool read_only) {
    schedule_assert(size <= sizeof memory);
    return memory;
}

void __wrap_kolk_between_unmap_(void *start, size_t size) {
    (void)start, (void)size;
}
/* ---- Processes --------------------------------------------------------------------------------------------------- */

/* Item `producer * 4 + n` is the nth that a thread pushes. Records are written at the moment when a call returns. */
typedef struct state {
    kolk_ipc views[VIEWS]; /* that of thread n is number n + 1 */
    void *has[VIEWS][MOST];
    uint32_t count[VIEWS];
    uint32_t next[VIEWS];
    bool tried[ITEMS], pushed[ITEMS], popped[ITEMS]; /* a push began, returned KOLK_OK, was popped */
    bool pops[VIEWS];                                /* is inside a pop */
    bool found_nothing, found_no_room;               /* until a deadline */
    bool freed;
} state;

typedef void body(void *context);

static state own;
static uint32_t capacity, queue_capacity;
static body *situation;
static kolk_ipc_orphans orphans;

static unsigned view_here(void) {
    return sched.current;
}

static void hold(state *s, unsigned view, void *object) {
    schedule_assert(object && s->count[view] < MOST);
    s->has[view][s->count[view]++] = object;
}

static bool is_anybody_dead(void) {
    return schedule_is_dead(0) || schedule_is_dead(1) || schedule_is_dead(2);
}

static kolk_deadline soon(void) {
    return (kolk_deadline){kolk_now_ns_() + 20000000};
}

/* Has the deadline passed because nobody could go on? */
static bool is_too_late(kolk_deadline deadline) {
    return deadline.ns != 0 && kolk_now_ns_() >= deadline.ns && !sched.spent[SCHED_SURPRISE];
}

/* While all are alive, somebody wakes a thread that waits, before its deadline. */
static void check_wait(kolk_deadline deadline) {
    schedule_assert(is_anybody_dead() || !is_too_late(deadline));
}

static void alloc_one(void *context) {
    state *s = (state *)context;
    void *object = kolk_ipc_alloc(&s->views[view_here()]);
    if (object) hold(s, view_here(), object);
}

static void alloc_waiting(void *context) {
    state *s = (state *)context;
    kolk_deadline deadline = soon();
    void *object = kolk_ipc_alloc_wait(&s->views[view_here()], deadline);
    check_wait(deadline);
    schedule_assert(object || sched.spent[SCHED_SURPRISE]);
    if (object) hold(s, view_here(), object);
}

static void free_one(void *context) {
    state *s = (state *)context;
    unsigned me = view_here();
    if (!s->count[me]) return;
    kolk_ipc_free(&s->views[me], s->has[me][--s->count[me]]);
    KOLK_UNSEEN_();
    s->freed = true;
}

/* Pushes the object that the process has had longest. */
static void push_until(state *s, kolk_deadline deadline) {
    unsigned me = view_here(), item = me * 4 + s->next[me]++;
    if (!s->count[me]) alloc_one(s);
    if (!s->count[me]) return;
    void *object = s->has[me][0];
    *(uint32_t *)object = item;
    s->tried[item] = true;
    kolk_status status = kolk_ipc_push(&s->views[me], 0, object, deadline);
    s->pushed[item] = status == KOLK_OK;
    s->tried[item] = s->pushed[item];
    s->found_no_room |= status == KOLK_TIMEOUT && is_too_late(deadline);
    schedule_assert(status == KOLK_OK || status == KOLK_CLOSED || status == (deadline.ns ? KOLK_TIMEOUT : KOLK_FULL));
    if (status != KOLK_OK) return;
    memmove(&s->has[me][0], &s->has[me][1], sizeof s->has[me][0] * --s->count[me]);
    check_wait(deadline);
}

static void push_one(void *context) {
    push_until((state *)context, KOLK_NOW);
}

static void push_waiting(void *context) {
    push_until((state *)context, soon());
}

static void note_popped(state *s, unsigned view, void *object) {
    uint32_t item = *(uint32_t *)object;
    schedule_assert(item < ITEMS && s->tried[item] && !s->popped[item]);
    s->popped[item] = true;
    for (uint32_t later = item + 1; later % 4; later++) schedule_assert(!s->popped[later] || view != KEEPER);
    hold(s, view, object);
}

static void pop_until(state *s, kolk_deadline deadline) {
    unsigned me = view_here();
    s->pops[me] = true;
    void *object = kolk_ipc_pop(&s->views[me], 0, deadline);
    s->pops[me] = false;
    if (object) {
        note_popped(s, me, object);
        check_wait(deadline);
        return;
    }
    s->found_nothing |= is_too_late(deadline);
}

static void pop_one(void *context) {
    pop_until((state *)context, KOLK_NOW);
}

static void pop_waiting(void *context) {
    pop_until((state *)context, soon());
}

static void close_queue(void *context) {
    kolk_ipc_close(&((state *)context)->views[view_here()], 0);
}

static void recover(void *context) {
    kolk_ipc_recover(&((state *)context)->views[view_here()]);
}

/* ---- Before and after -------------------------------------------------------------------------------------------- */

static void begin(void *context) {
    state *s = (state *)context;
    memset(s, 0, sizeof *s);
    memset(memory, 0, sizeof memory);
    memset(locks.holder, 0, sizeof locks.holder);
    kolk_ipc_desc desc = {.name = "ipc",
                          .object_size = 8,
                          .capacity = capacity,
                          .queues = 1,
                          .queue_capacity = queue_capacity,
                          .max_processes = VIEWS,
                          .orphans = orphans};
    schedule_assert(kolk_ipc_init(&s->views[KEEPER], &desc) == KOLK_OK);
    desc.orphans = KOLK_IPC_FREE;
    for (unsigned n = 1; n < sched.count; n++) {
        kolk_status status = kolk_ipc_attach(&s->views[n], kolk_ipc_fd(&s->views[KEEPER]), &desc);
        schedule_assert(status == KOLK_OK);
        locks.holder[s->views[n].me] = n + 1;
    }
    if (situation) situation(s);
}

static bool is_living(unsigned view) {
    return view == KEEPER || (view < sched.count && !schedule_is_dead(view - 1));
}

/* A process that lives owns what its calls have returned, and no more. */
static void check_owned(const state *s, unsigned view) {
    const kolk_ipc *pool = &s->views[view];
    uint32_t owned = 0;
    for (uint32_t slot = 0; slot < capacity; slot++) owned += kolk_ipc_is_owned(pool, object_at(pool, slot));
    schedule_assert(owned == s->count[view]);
    for (uint32_t n = 0; n < owned; n++) schedule_assert(kolk_ipc_is_owned(pool, s->has[view][n]));
    schedule_assert(!pool->corrupt);
}

static void free_all(state *s, unsigned view) {
    while (s->count[view]) kolk_ipc_free(&s->views[view], s->has[view][--s->count[view]]);
}

/* All slots can be allocated, and no more. */
static void check_capacity(state *s, unsigned view) {
    for (uint32_t n = 0; n < capacity; n++) hold(s, view, kolk_ipc_alloc(&s->views[view]));
    schedule_assert(!kolk_ipc_alloc(&s->views[view]));
    check_owned(s, view);
    free_all(s, view);
}

/* An item is lost only if a process died that was popping it. */
static void check_items(const state *s) {
    int lost = 0;
    for (unsigned item = 0; item < ITEMS; item++) lost += s->pushed[item] && !s->popped[item];
    for (unsigned view = 1; view < sched.count; view++) lost -= !is_living(view) && s->pops[view];
    schedule_assert(lost <= 0);
}

static void end(void *context) {
    state *s = (state *)context;
    kolk_ipc *keeper = &s->views[KEEPER];
    uint32_t others = 0;
    kolk_ipc_recover(keeper);
    schedule_assert(kolk_ipc_is_valid(keeper));
    for (void *object; (object = kolk_ipc_adopt(keeper));) hold(s, KEEPER, object);
    for (unsigned view = 0; view < sched.count; view++) {
        if (!is_living(view)) continue;
        check_owned(s, view);
        others += s->count[view];
    }
    uint32_t queued = kolk_ipc_queued(keeper, 0);
    schedule_assert(kolk_ipc_count(keeper) == others + queued);
    schedule_assert(!queued || !s->found_nothing);
    schedule_assert(queued == queue_capacity || !s->found_no_room);
    for (uint32_t n = 0; n < queued; n++) {
        void *object = kolk_ipc_pop(keeper, 0, KOLK_NOW);
        schedule_assert(object);
        note_popped(s, KEEPER, object);
    }
    schedule_assert(!kolk_ipc_pop(keeper, 0, KOLK_NOW));
    check_items(s);
    for (unsigned view = 0; view < sched.count; view++)
        if (is_living(view)) free_all(s, view);
    for (unsigned view = 0; view < sched.count; view++)
        if (is_living(view)) check_capacity(s, view);
    schedule_assert(kolk_ipc_count(keeper) == 0 && kolk_ipc_is_valid(keeper));
    for (unsigned view = 0; view < sched.count; view++) kolk_ipc_deinit(&s->views[view]);
}

/* ---- Bodies and situations --------------------------------------------------------------------------------------- */

static void alloc_and_free(void *context) {
    alloc_one(context);
    free_one(context);
}

static void pop_and_free(void *context) {
    pop_one(context);
    free_one(context);
}

static void pop_waiting_and_free(void *context) {
    pop_waiting(context);
    free_one(context);
}

/* The second alloc searches only if something became free. If a free has returned by then, it finds the slot. */
static void alloc_twice(void *context) {
    state *s = (state *)context;
    alloc_one(context);
    if (s->count[view_here()]) return;
    KOLK_UNSEEN_();
    bool freed = s->freed;
    alloc_one(context);
    schedule_assert(!freed || s->count[view_here()]);
}

/* If a free has returned, at least one slot is free from then on. */
static void alloc_after_free(void *context) {
    state *s = (state *)context;
    KOLK_UNSEEN_();
    bool freed = s->freed;
    alloc_one(context);
    schedule_assert(!freed || s->count[view_here()]);
}

/* The slot that it allocates is the one that it has freed first. */
static void free_twice_and_alloc(void *context) {
    free_one(context);
    free_one(context);
    alloc_one(context);
}

/* What it pushes lies in the slot that it has popped. */
static void push_pop_push(void *context) {
    push_one(context);
    pop_one(context);
    push_one(context);
}

/* What it pushes last is what it has pushed first. */
static void push_pop_push_twice(void *context) {
    push_pop_push(context);
    push_one(context);
}

/* With one slot: if an alloc gets it, the queue has room. */
static void recover_and_push(void *context) {
    recover(context);
    push_one(context);
    schedule_assert(((state *)context)->count[view_here()] == 0);
}

static void give(state *s, unsigned view, uint32_t n) {
    while (n--) hold(s, view, kolk_ipc_alloc(&s->views[view]));
}

/* The keeper has pushed an item, or two. */
static void one_item(void *context) {
    push_one(context);
}

static void two_items(void *context) {
    push_one(context);
    push_one(context);
}

/* The first thread, or the second, or both have an object already. */
static void first_has(void *context) {
    give((state *)context, 1, 1);
}

static void second_has(void *context) {
    give((state *)context, 2, 1);
}

static void second_has_two(void *context) {
    give((state *)context, 2, 2);
}

static void first_has_all(void *context) {
    give((state *)context, 1, capacity);
}

static void both_have(void *context) {
    first_has(context);
    second_has(context);
}

static void an_item_and_first_has(void *context) {
    first_has(context);
    one_item(context);
}

static void an_item_and_second_has(void *context) {
    second_has(context);
    one_item(context);
}

/* ---- Scenarios --------------------------------------------------------------------------------------------------- */

static void run(const char *name, body *before, body *first, body *second, body *third) {
    situation = before;
    schedule what = {.name = name,
                     .context = &own,
                     .begin = begin,
                     .threads = {{"first", first}, {"second", second}, {"third", third}},
                     .end = end,
                     .preemptions = third ? 1 : 2,
                     .deaths = 1,
                     .on_death = release_all,
                     .random = does_a_part() ? 1000 : 20000};
    schedule_must_pass(&what);
}

static void sized(uint32_t slots, uint32_t entries) {
    capacity = slots;
    queue_capacity = entries;
}

static int set_up(void **unused) {
    orphans = KOLK_IPC_FREE;
    return 0;
}

/* promise: "NULL from alloc proves that at one moment during the call no slot was free" */
static void test_alloc_and_free(void **unused) {
    sized(2, 1);
    run("alloc and free, recover", NULL, alloc_and_free, recover, NULL);
    sized(1, 1);
    run("free, allocs that search", first_has, free_one, alloc_twice, NULL);
    sized(2, 1);
    run("frees and an alloc during a search", second_has_two, alloc_after_free, free_twice_and_alloc, NULL);
}

/* promise: "An object that it had pushed is in the queue." */
static void test_push_and_pop(void **unused) {
    sized(2, 1);
    run("push, pop and free", NULL, push_one, pop_and_free, NULL);
    run("two pops, one item", one_item, pop_one, pop_one, NULL);
    run("push into a full queue, pop", an_item_and_first_has, push_one, pop_and_free, NULL);
    sized(2, 2);
    run("two pushes", both_have, push_one, push_one, NULL);
    run("an object returns to the queue", second_has_two, pop_one, push_pop_push_twice, NULL);
    run("a slot returns to the queue", an_item_and_second_has, pop_one, push_pop_push, NULL);
}

/* promise: "What a dead process was in the middle of is completed or undone" */
static void test_recovery(void **unused) {
    sized(1, 1);
    run("pop, recover and push", one_item, pop_one, recover_and_push, NULL);
    sized(2, 2);
    run("push, pop, recover", first_has, push_one, pop_one, recover);
    run("pop, recover twice", one_item, pop_and_free, recover, recover);
    run("pops, recover", two_items, pop_one, pop_and_free, recover);
}

/* promise: "One that it had popped, allocated, or was about to push is an orphan" */
static void test_kept_orphans(void **unused) {
    orphans = KOLK_IPC_KEEP;
    sized(2, 2);
    run("kept: push, recover", first_has, push_one, recover, NULL);
    run("kept: pop, recover", one_item, pop_one, recover, NULL);
}

static void test_waiting(void **unused) {
    sized(1, 1);
    run("alloc waits", first_has_all, free_one, alloc_waiting, NULL);
    run("pop waits", first_has, push_one, pop_waiting, NULL);
    sized(2, 1);
    run("push waits", an_item_and_first_has, push_waiting, pop_one, NULL);
    run("two pops wait", first_has, push_one, pop_waiting_and_free, pop_waiting_and_free);
}

static void test_close(void **unused) {
    sized(2, 1);
    run("close, push", first_has, push_one, close_queue, NULL);
    run("close, pop waits", NULL, close_queue, pop_waiting, NULL);
    run("close, push waits", an_item_and_first_has, push_waiting, close_queue, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_alloc_and_free, set_up), cmocka_unit_test_setup(test_push_and_pop, set_up),
        cmocka_unit_test_setup(test_recovery, set_up),       cmocka_unit_test_setup(test_kept_orphans, set_up),
        cmocka_unit_test_setup(test_waiting, set_up),        cmocka_unit_test_setup(test_close, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
