/* runs: long not:asan not:clang not:wine with: KOLK_SCHEDULED=1 wraps: help/arena.h */
/* Tests the queue in every order of the steps of two or three threads with up to 2 preemptions and a surprise, then in
 * random orders. schedule.h explains the terms. */
#include "../help/test.h"

#include "../help/arena.h"
#include "../help/schedule.h"

typedef struct state {
    kolk_queue queue;
    uint32_t pushed, popped, dropped, refused; /* numbers of items; of calls that passed nothing */
    kolk_status allowed;                       /* the only other status that a call may return */
    kolk_deadline deadline;
} state;

static state own;
static uint32_t capacity;
static kolk_status allowed;
static int64_t patience; /* milliseconds */

static void drop(void *item, void *context) {
    ((state *)context)->dropped++;
}

static void begin(void *context) {
    state *s = (state *)context;
    *s = (state){.allowed = allowed};
    s->deadline = patience < 0 ? KOLK_FOREVER : kolk_deadline_after(patience);
    kolk_queue_desc desc = {
        .name = "queue", .item_size = sizeof(uint32_t), .capacity = capacity, .destroy = drop, .context = s};
    schedule_assert(kolk_queue_init(&s->queue, &desc) == KOLK_OK);
}

/* The item has the producer's number in its high bits and this number, from 1, in its low 8 bits. */
static void push_numbered(state *s, uint32_t number) {
    uint32_t item = schedule_thread() << 8 | number;
    kolk_status status = kolk_queue_push(&s->queue, &item, s->deadline);
    schedule_assert(status == KOLK_OK || status == s->allowed);
    if (status == KOLK_OK)
        s->pushed++;
    else
        s->refused++;
}

static void pop_one(void *context) {
    state *s = (state *)context;
    uint32_t item = 0;
    kolk_status status = kolk_queue_pop(&s->queue, &item, s->deadline);
    schedule_assert(status == KOLK_OK || status == s->allowed || (!s->deadline.ns && status == KOLK_EMPTY));
    if (status != KOLK_OK) {
        s->refused++;
        return;
    }
    schedule_assert((item & 255) > 0 && item >> 8 < WEAK_THREADS);
    s->popped++;
}

static void push_one(void *context) {
    push_numbered((state *)context, 1);
}

static void push_two(void *context) {
    push_one(context);
    push_numbered((state *)context, 2);
}

static void pop_two(void *context) {
    pop_one(context);
    pop_one(context);
}

/* With one producer and one consumer, the items arrive in order. */
static void pop_both_in_order(void *context) {
    state *s = (state *)context;
    for (uint32_t expected = 1; expected <= 2; expected++) {
        uint32_t item = 0;
        schedule_assert(kolk_queue_pop(&s->queue, &item, KOLK_FOREVER) == KOLK_OK);
        schedule_assert(item == expected);
        s->popped++;
    }
}

static void pop_two_at_once(void *context) {
    state *s = (state *)context;
    while (s->popped < 2) {
        uint32_t items[2];
        size_t n = 2;
        schedule_assert(kolk_queue_pop_n(&s->queue, items, &n, KOLK_FOREVER) == KOLK_OK);
        schedule_assert(n >= 1 && n <= 2 && s->popped + n <= 2);
        for (size_t i = 0; i < n; i++) schedule_assert(items[i] == ++s->popped);
    }
}

static void close_queue(void *context) {
    kolk_queue_close(&((state *)context)->queue);
}

static void shut_down(void *context) {
    kolk_queue_shutdown(&((state *)context)->queue);
}

static void clear(void *context) {
    kolk_queue_clear(&((state *)context)->queue);
}

/* No item is lost or popped twice. */
static void end(void *context) {
    state *s = (state *)context;
    schedule_assert(kolk_queue_is_valid(&s->queue));
    schedule_assert(kolk_queue_count(&s->queue) == s->pushed - s->popped - s->dropped);
    kolk_queue_deinit(&s->queue);
    schedule_assert(s->pushed == s->popped + s->dropped);
}

static int fds[2];

static void ask_for_fd(void *context) {
    state *s = (state *)context;
    kolk_queue_count(&s->queue); /* a thread's first step follows its start directly */
    fds[schedule_thread()] = kolk_queue_fd(&s->queue, KOLK_QUEUE_READABLE);
}

/* Both threads got the same descriptor; deinit closes it. */
static void end_with_fd(void *context) {
    schedule_assert(fds[0] == fds[1]);
    end(context);
}

/* ---- Endings that a waiter sleeps through ------------------------------------------------------------------------ */

/* The calls of one thread while another waits at an end of the queue: s shutdown, c close, r reopen, + push, - pop. */
typedef struct script {
    const char *letters;
    kolk_queue_event end; /* where the other thread waits */
    kolk_status due;      /* the status that it must get */
} script;

static const script *played;

static void begin_script(void *context) {
    state *s = (state *)context;
    begin(context);
    for (uint32_t i = 0; i < capacity && played->end == KOLK_QUEUE_WRITABLE; i++, s->pushed++)
        schedule_assert(kolk_queue_push(&s->queue, &i, KOLK_NOW) == KOLK_OK);
}

static kolk_status pass_counted(state *s, kolk_queue_event end, kolk_deadline deadline) {
    uint32_t item = 0;
    kolk_status status = end == KOLK_QUEUE_WRITABLE ? kolk_queue_push(&s->queue, &item, deadline)
                                                    : kolk_queue_pop(&s->queue, &item, deadline);
    if (status == KOLK_OK) end == KOLK_QUEUE_WRITABLE ? s->pushed++ : s->popped++;
    return status;
}

/* If the waiter looks between two endings and finds an item or a cell, it may take it. */
static void wait_through_it(void *context) {
    kolk_status status = pass_counted((state *)context, played->end, KOLK_FOREVER);
    bool may_pass = strchr(played->letters, played->end == KOLK_QUEUE_WRITABLE ? '-' : '+');
    schedule_assert(status == played->due || (may_pass && status == KOLK_OK));
}

/* Begins as soon as the other thread has found nothing: it may be in line then, or about to line up. */
static void play_script(void *context) {
    state *s = (state *)context;
    while (!kolk_load_(&s->queue.ends[played->end].was_blocked, KOLK_RELAXED_)) kolk_pause_();
    for (const char *letter = played->letters; *letter; letter++) {
        if (*letter == 's') kolk_queue_shutdown(&s->queue);
        if (*letter == 'c') kolk_queue_close(&s->queue);
        if (*letter == 'r') kolk_queue_reopen(&s->queue);
        if (*letter == '+') pass_counted(s, KOLK_QUEUE_WRITABLE, KOLK_NOW);
        if (*letter == '-') pass_counted(s, KOLK_QUEUE_READABLE, KOLK_NOW);
    }
}

/* Two threads run with up to 2 preemptions and a surprise. Three run with up to 2 preemptions, then with up to 1 and a
 * surprise, because both limits at once would take a minute. */
static void run(const char *name, void (*first)(void *), void (*second)(void *), void (*third)(void *)) {
    schedule what = {.name = name,
                     .context = &own,
                     .begin = begin,
                     .threads = {{"first", first}, {"second", second}, {"third", third}},
                     .end = end,
                     .preemptions = does_a_part() ? 1 : 2,
                     .surprises = third ? 0 : 1};
    schedule_must_pass(&what);
    what.preemptions = what.surprises = 1;
    what.random = does_a_part() ? 200 : 2000;
    schedule_must_pass(&what);
}

static int set_up(void **unused) {
    capacity = 1;
    allowed = KOLK_OK;
    patience = -1;
    return 0;
}

static void test_two(void **unused) {
    for (capacity = 1; capacity <= 2; capacity++) {
        run(capacity == 1 ? "two items, one cell" : "two items, two cells", push_two, pop_both_in_order, NULL);
        run(capacity == 1 ? "two at once, one cell" : "two at once, two cells", push_two, pop_two_at_once, NULL);
    }
}

static void test_two_producers(void **unused) {
    run("two producers", push_one, pop_two, push_one);
}

static void test_two_consumers(void **unused) {
    run("two consumers", push_two, pop_one, pop_one);
}

static void test_tries(void **unused) {
    patience = 0;
    allowed = KOLK_FULL;
    run("tries", push_one, pop_one, push_one);
}

static void test_deadlines(void **unused) {
    patience = 3;
    allowed = KOLK_TIMEOUT;
    run("deadlines of consumers", push_one, pop_one, pop_one);
    run("deadlines of producers", push_one, pop_one, push_one);
}

static void test_close(void **unused) {
    allowed = KOLK_CLOSED;
    run("close", push_one, pop_two, close_queue);
    run("close, producer", push_two, push_one, close_queue);
}

static void test_shutdown(void **unused) {
    allowed = KOLK_SHUTDOWN;
    run("shutdown, consumer", pop_one, push_one, shut_down);
    run("shutdown, producers", push_one, push_one, shut_down);
}

static void test_clear(void **unused) {
    capacity = 2;
    run("clear", push_two, clear, NULL);
}

/* Two threads ask for the descriptor at the same time. promise: "The descriptor ... not Linux" */
static void test_fd(void **unused) {
    schedule_must_pass(&(schedule){.name = "fd",
                                   .context = &own,
                                   .begin = begin,
                                   .threads = {{"first", ask_for_fd}, {"second", ask_for_fd}},
                                   .end = end_with_fd,
                                   .preemptions = 2,
                                   .random = does_a_part() ? 20 : 200});
}

/* Each script begins with the ending that releases the waiter, and no later step may make the waiter go on waiting. */
static void test_no_ending_hides_another(void **unused) {
    static const script scripts[] = {
        {"sr+c-r", KOLK_QUEUE_READABLE, KOLK_SHUTDOWN}, {"cr+c-r", KOLK_QUEUE_READABLE, KOLK_CLOSED},
        {"srcr", KOLK_QUEUE_READABLE, KOLK_SHUTDOWN},   {"srsr", KOLK_QUEUE_READABLE, KOLK_SHUTDOWN},
        {"crcr", KOLK_QUEUE_READABLE, KOLK_CLOSED},     {"scr+", KOLK_QUEUE_READABLE, KOLK_SHUTDOWN},
        {"c+cr", KOLK_QUEUE_READABLE, KOLK_CLOSED},     {"srcr", KOLK_QUEUE_WRITABLE, KOLK_SHUTDOWN},
        {"crcr", KOLK_QUEUE_WRITABLE, KOLK_CLOSED},     {"sr-+cr", KOLK_QUEUE_WRITABLE, KOLK_SHUTDOWN},
        {"cr-+", KOLK_QUEUE_WRITABLE, KOLK_CLOSED},     {"scr-", KOLK_QUEUE_WRITABLE, KOLK_SHUTDOWN},
    };
    for (size_t i = 0; i < LENGTH_OF(scripts); i++) {
        char name[32];
        played = &scripts[i];
        snprintf(name, sizeof name, "%s waits: %s", played->end == KOLK_QUEUE_WRITABLE ? "push" : "pop",
                 played->letters);
        schedule_must_pass(&(schedule){.name = name,
                                       .context = &own,
                                       .begin = begin_script,
                                       .threads = {{"waiter", wait_through_it}, {"ender", play_script}},
                                       .end = end,
                                       .preemptions = 1,
                                       .surprises = 1,
                                       .random = does_a_part() ? 200 : 2000});
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_two, set_up),
        cmocka_unit_test_setup(test_two_producers, set_up),
        cmocka_unit_test_setup(test_two_consumers, set_up),
        cmocka_unit_test_setup(test_tries, set_up),
        cmocka_unit_test_setup(test_deadlines, set_up),
        cmocka_unit_test_setup(test_close, set_up),
        cmocka_unit_test_setup(test_shutdown, set_up),
        cmocka_unit_test_setup(test_clear, set_up),
        cmocka_unit_test_setup(test_fd, set_up),
        cmocka_unit_test_setup(test_no_ending_hides_another, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
