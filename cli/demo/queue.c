/* queue.c: shows a queue of four items, call by call, in the terms of BlockingQueue. Then measures the cost of passing
 * an item between threads, using a lock and two condition variables as BlockingQueue does, and using kolk. */
#include "../measure.h"
#include "../print.h"
#include "stops.h"

#include <pthread.h>

KOLK_QUEUE_TYPE(numbers, uint32_t)

/* ---- Four items -------------------------------------------------------------------------------------------------- */

enum { CAPACITY = 4, FOREVER = -1 };

/* PASS removes an item while another thread waits to add; FREE shuts down while another thread waits to remove. */
enum call { START, ADD, PASS, REMOVE, CLEAR, FREE, REOPEN };

static const struct step {
    enum call call;
    uint32_t number, last; /* the first and last number to ADD or PASS */
    int milliseconds;      /* the longest time that a call waits */
} steps[] = {{START, 0, 0, 0},      {ADD, 1, 4, FOREVER}, {ADD, 5, 5, 0},       {ADD, 5, 5, 10},
             {PASS, 5, 5, FOREVER}, {CLEAR, 0, 0, 0},     {REMOVE, 0, 0, 10},   {FREE, 0, 0, 0},
             {ADD, 6, 6, FOREVER},  {REOPEN, 0, 0, 0},    {ADD, 6, 6, FOREVER}, {REMOVE, 0, 0, FOREVER}};

enum { STEPS = sizeof steps / sizeof *steps };

struct outcome {
    kolk_status status;
    uint32_t number; /* removed or dropped */
    uint32_t inside[CAPACITY];
    size_t count;
};

struct caller {
    pthread_t thread;
    numbers *queue;
    uint32_t number;
    kolk_status status;
};

static void *add_it(void *argument) {
    struct caller *me = (struct caller *)argument;
    me->status = numbers_push(me->queue, &me->number, KOLK_FOREVER);
    return NULL;
}

static void *remove_one(void *argument) {
    struct caller *me = (struct caller *)argument;
    me->status = numbers_pop(me->queue, &me->number, KOLK_FOREVER);
    return NULL;
}

static kolk_deadline deadline_of(struct step step) {
    if (step.milliseconds == FOREVER) return KOLK_FOREVER;
    return step.milliseconds ? kolk_deadline_after(step.milliseconds) : KOLK_NOW;
}

/* Performs a step that needs two threads, one of which waits for the other. */
static bool take_step_of_two(numbers *queue, struct step step, struct outcome *outcome) {
    struct caller caller = {.queue = queue, .number = step.number};
    if (pthread_create(&caller.thread, NULL, step.call == PASS ? add_it : remove_one, &caller) != 0) return false;
    if (step.call == PASS)
        outcome->status = numbers_pop(queue, &outcome->number, KOLK_FOREVER);
    else
        numbers_shutdown(queue);
    pthread_join(caller.thread, NULL);
    if (caller.status != KOLK_OK) outcome->status = caller.status;
    return true;
}

/* A queue cannot be inspected, so this pops all items and pushes them again. */
static void look_inside(numbers *queue, struct outcome *outcome) {
    outcome->count = CAPACITY;
    kolk_status status = numbers_pop_n(queue, outcome->inside, &outcome->count, KOLK_NOW);
    size_t n = outcome->count;
    if (status == KOLK_OK) numbers_push_n(queue, outcome->inside, &n, KOLK_NOW);
}

static bool take_step(numbers *queue, struct step step, struct outcome *outcome) {
    *outcome = (struct outcome){.status = KOLK_OK};
    bool done = true;
    switch (step.call) {
    case START:
        break;
    case ADD:
        for (uint32_t number = step.number; number <= step.last; number++)
            outcome->status = numbers_push(queue, &number, deadline_of(step));
        break;
    case REMOVE:
        outcome->status = numbers_pop(queue, &outcome->number, deadline_of(step));
        break;
    case CLEAR:
        outcome->number = (uint32_t)numbers_clear(queue);
        break;
    case REOPEN:
        numbers_reopen(queue);
        break;
    default:
        done = take_step_of_two(queue, step, outcome);
        break;
    }
    look_inside(queue, outcome);
    return done;
}

static cli_text words_of(struct step step) {
    static const char *const names[] = {[START] = "a new queue",
                                        [REMOVE] = "Remove",
                                        [CLEAR] = "Clear",
                                        [FREE] = "Remove waits; Shutdown",
                                        [REOPEN] = "reopen"};
    cli_text words;
    size_t size = sizeof words.text;
    if (step.call == ADD && step.last > step.number)
        snprintf(words.text, size, "Add %u to %u", step.number, step.last);
    else if (step.call == ADD)
        snprintf(words.text, size, "Add %u", step.number);
    else if (step.call == PASS)
        snprintf(words.text, size, "Add %u waits; Remove", step.number);
    else
        snprintf(words.text, size, "%s", names[step.call]);
    size_t length = strlen(words.text);
    if (step.milliseconds > 0) snprintf(words.text + length, size - length, ", %d ms", step.milliseconds);
    if (step.milliseconds == 0 && step.call == ADD) snprintf(words.text + length, size - length, ", at once");
    return words;
}

static void print_step(const cli_context *cli, struct step step, const struct outcome *outcome) {
    char answer[32] = "";
    if (outcome->status != KOLK_OK)
        snprintf(answer, sizeof answer, "%s", kolk_status_text(outcome->status));
    else if (step.call == CLEAR)
        snprintf(answer, sizeof answer, "%u dropped", outcome->number);
    else if (step.call == REMOVE || step.call == PASS)
        snprintf(answer, sizeof answer, "%u", outcome->number);
    fprintf(cli->out, "  %-24s  %-23s", words_of(step).text, answer);
    for (size_t n = 0; n < CAPACITY; n++) {
        if (n < outcome->count)
            fprintf(cli->out, " %u", outcome->inside[n]);
        else
            fputs(" .", cli->out);
    }
    fputc('\n', cli->out);
}

static void add_step(cli_json *json, struct step step, const struct outcome *outcome) {
    cli_json_open(json, NULL, '{');
    cli_json_text(json, "call", words_of(step).text);
    cli_json_text(json, "status", kolk_status_text(outcome->status));
    if (outcome->number) cli_json_count(json, "number", outcome->number);
    cli_json_open(json, "inside", '[');
    for (size_t n = 0; n < outcome->count; n++) cli_json_count(json, NULL, outcome->inside[n]);
    cli_json_close(json, ']');
    cli_json_close(json, '}');
}

static int show_steps(cli_context *cli, cli_json *json) {
    numbers queue;
    struct outcome outcome;
    int code = CLI_OK;
    kolk_status status = numbers_init(&queue, &(kolk_queue_desc){.name = "queue", .capacity = CAPACITY});
    if (status != KOLK_OK) return cli_fail(CLI_FAILED, "queue: %s", kolk_status_text(status));
    if (json)
        cli_json_open(json, "steps", '[');
    else
        fprintf(cli->out, "%s  call                      answer                  inside%s\n", cli_dim(cli),
                cli_plain(cli));
    for (int n = 0; n < STEPS && code == CLI_OK; n++) {
        if (!take_step(&queue, steps[n], &outcome))
            code = cli_fail(CLI_FAILED, "there is no thread");
        else if (json)
            add_step(json, steps[n], &outcome);
        else
            print_step(cli, steps[n], &outcome);
    }
    if (json) cli_json_close(json, ']');
    numbers_deinit(&queue);
    return code;
}

/* ---- A lock and two condition variables -------------------------------------------------------------------------- */

enum { SIZE = 1024, WRITERS = 2, READERS = 2, MOST = 100000 /* items per writer */, LAPS = 5 };

struct container {
    pthread_mutex_t lock;
    pthread_cond_t cv_add, cv_remove;
    uint32_t items[SIZE], head, count;
    bool closed;
};

static void container_add(struct container *it, uint32_t item) {
    pthread_mutex_lock(&it->lock);
    while (it->count == SIZE) pthread_cond_wait(&it->cv_add, &it->lock);
    it->items[(it->head + it->count++) % SIZE] = item;
    pthread_cond_signal(&it->cv_remove);
    pthread_mutex_unlock(&it->lock);
}

static bool container_remove(struct container *it, uint32_t *item) {
    pthread_mutex_lock(&it->lock);
    while (it->count == 0 && !it->closed) pthread_cond_wait(&it->cv_remove, &it->lock);
    bool found = it->count > 0;
    if (found) {
        *item = it->items[it->head];
        it->head = (it->head + 1) % SIZE;
        it->count--;
        pthread_cond_signal(&it->cv_add);
    }
    pthread_mutex_unlock(&it->lock);
    return found;
}

static void container_close(struct container *it) {
    pthread_mutex_lock(&it->lock);
    it->closed = true;
    pthread_cond_broadcast(&it->cv_remove);
    pthread_mutex_unlock(&it->lock);
}

/* ---- The race ---------------------------------------------------------------------------------------------------- */

struct runner {
    pthread_t thread;
    numbers *queue; /* either this or `container` is used */
    struct container *container;
    uint64_t sum;
};

static void *write_numbers(void *argument) {
    struct runner *me = (struct runner *)argument;
    for (uint32_t n = 1; n <= MOST; n++) {
        if (me->queue)
            numbers_push(me->queue, &n, KOLK_FOREVER);
        else
            container_add(me->container, n);
    }
    return NULL;
}

static void *read_numbers(void *argument) {
    struct runner *me = (struct runner *)argument;
    for (uint32_t n;;) {
        bool found =
            me->queue ? numbers_pop(me->queue, &n, KOLK_FOREVER) == KOLK_OK : container_remove(me->container, &n);
        if (!found) return NULL;
        me->sum += n;
    }
}

static uint32_t start(struct runner *runners, uint32_t count, struct runner like, void *(*work)(void *)) {
    uint32_t n = 0;
    for (; n < count; n++) {
        runners[n] = like;
        if (pthread_create(&runners[n].thread, NULL, work, &runners[n]) != 0) break;
    }
    return n;
}

/* Returns nanoseconds per item, or 0 if an item was lost. */
static double race(struct runner like) {
    struct runner writers[WRITERS], readers[READERS];
    uint64_t begin = cli_now(), sum = 0;
    uint32_t reading = start(readers, READERS, like, read_numbers);
    uint32_t writing = reading ? start(writers, WRITERS, like, write_numbers) : 0;
    for (uint32_t n = 0; n < writing; n++) pthread_join(writers[n].thread, NULL);
    if (like.queue)
        numbers_close(like.queue);
    else
        container_close(like.container);
    for (uint32_t n = 0; n < reading; n++) {
        pthread_join(readers[n].thread, NULL);
        sum += readers[n].sum;
    }
    uint64_t time = cli_now() - begin;
    return sum == UINT64_C(1) * WRITERS * MOST * (MOST + 1) / 2 ? (double)time / (WRITERS * MOST) : 0;
}

static double race_of_containers(void) {
    static struct container container = {
        .lock = PTHREAD_MUTEX_INITIALIZER, .cv_add = PTHREAD_COND_INITIALIZER, .cv_remove = PTHREAD_COND_INITIALIZER};
    container.closed = false;
    return race((struct runner){.container = &container});
}

static double race_of_queues(void) {
    numbers queue;
    if (numbers_init(&queue, &(kolk_queue_desc){.name = "race", .capacity = SIZE}) != KOLK_OK) return 0;
    double ns = race((struct runner){.queue = &queue});
    numbers_deinit(&queue);
    return ns;
}

static int show_race(cli_context *cli, cli_json *json) {
    double lock_ns[LAPS], kolk_ns[LAPS];
    for (int lap = 0; lap < LAPS; lap++) {
        lock_ns[lap] = race_of_containers();
        kolk_ns[lap] = race_of_queues();
        if (lock_ns[lap] == 0 || kolk_ns[lap] == 0) return cli_fail(CLI_FAILED, "queue: not all items have arrived");
    }
    double lock = cli_quantile(lock_ns, LAPS, 0.5), kolk = cli_quantile(kolk_ns, LAPS, 0.5);
    if (json) {
        cli_json_count(json, "items", WRITERS * MOST);
        cli_json_number(json, "lock_ns", lock);
        cli_json_number(json, "kolk_ns", kolk);
        return CLI_OK;
    }
    fprintf(cli->out,
            "\nShutdown is an answer, not an exception, and what is inside stays. %d writers and\n"
            "%d readers pass %s numbers through a queue of %s:\n"
            "  a lock and two condition variables   %9.0f ns a number\n"
            "  kolk                                 %9.0f ns\n",
            WRITERS, READERS, cli_count(WRITERS * MOST).text, cli_count(SIZE).text, lock, kolk);
    return CLI_OK;
}

int demo_queue(cli_context *cli, const struct demo *demo, cli_json *json) {
    (void)demo;
    int code = show_steps(cli, json);
    return code == CLI_OK ? show_race(cli, json) : code;
}
