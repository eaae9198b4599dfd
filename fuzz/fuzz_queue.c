/* runs: not:wine */
/* fuzz_queue.c: interprets any bytes as a program of one thread that uses a queue, and compares it with a model, which
 * is an array. The first three bytes are the item's size, the capacity, and whether items are destroyed. The operations
 * follow, one byte each, with their arguments. Missing bytes at the end are 0. */
#define _POSIX_C_SOURCE 200809L /* poll */
#include "../tests/help/plain.h"

#include <poll.h>

#define MOST_SIZE 24u
#define MOST      9u /* items in a queue */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct model {
    const uint8_t *at, *end; /* the input */
    kolk_queue queue;
    size_t size;
    uint32_t capacity;
    bool destroys;
    uint8_t items[MOST][MOST_SIZE], next; /* the queue's items; the number of the next item to push */
    size_t count, destructions;
    kolk_status ending;
    bool was_full, watched[2], shown[2];
    uint64_t failed;
} model;

#define demand(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "line %d: not true: %s\n", __LINE__, #condition);                                          \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

static uint32_t draw(model *m) {
    return m->at < m->end ? *m->at++ : 0;
}

/* ---- Items ------------------------------------------------------------------------------------------------------- */

static void stamp(const model *m, uint8_t *item, uint8_t number) {
    for (size_t i = 0; i < m->size; i++) item[i] = (uint8_t)(number * 7 + i * 31);
}

/* Returns a block of exactly the size needed, so that sanitizers report any access outside it. */
static uint8_t *new_items(const model *m, size_t n) {
    uint8_t *items = (uint8_t *)malloc(n * m->size + (n == 0));
    demand(items);
    memset(items, 0xca, n * m->size);
    return items;
}

static void destroy(void *item, void *context) {
    model *m = (model *)context;
    demand(m->destructions < m->count);
    demand(memcmp(item, m->items[m->destructions], m->size) == 0);
    m->destructions++;
}

/* ---- Operations -------------------------------------------------------------------------------------------------- */

/* Returns KOLK_NOW or a deadline that has passed, because nothing may wait here. */
static kolk_deadline some_deadline(model *m) {
    static const kolk_deadline deadlines[] = {{0}, {1}, {-1}, {INT64_MIN}};
    return deadlines[draw(m) % LENGTH_OF(deadlines)];
}

/* Returns the expected status of a push or pop. */
static kolk_status expected(const model *m, int end, kolk_deadline deadline) {
    bool blocked = m->count == (end == KOLK_QUEUE_WRITABLE ? m->capacity : 0);
    if (m->ending == KOLK_SHUTDOWN) return KOLK_SHUTDOWN;
    if (m->ending == KOLK_CLOSED && (end == KOLK_QUEUE_WRITABLE || blocked)) return KOLK_CLOSED;
    if (!blocked) return KOLK_OK;
    return deadline.ns ? KOLK_TIMEOUT : end == KOLK_QUEUE_WRITABLE ? KOLK_FULL : KOLK_EMPTY;
}

/* Records what changes besides the items: the state of the file descriptors, and counters. */
static void note(model *m, int end, kolk_status status) {
    if (status == KOLK_OK) m->shown[!end] = true;
    if (status != KOLK_TIMEOUT && status != KOLK_FULL && status != KOLK_EMPTY) return;
    m->shown[end] = false;
    if (end == KOLK_QUEUE_WRITABLE) m->was_full = true, m->failed++;
}

static void push(model *m, bool as_array, size_t n) {
    kolk_deadline deadline = some_deadline(m);
    kolk_status status = n ? expected(m, KOLK_QUEUE_WRITABLE, deadline) : KOLK_OK;
    size_t room = m->capacity - m->count, done = status ? 0 : n < room ? n : room, given = n;
    uint8_t *items = new_items(m, n);
    for (size_t i = 0; i < n; i++) stamp(m, items + i * m->size, (uint8_t)(m->next + i));
    demand((as_array ? kolk_queue_push_n(&m->queue, items, &given, deadline)
                     : kolk_queue_push(&m->queue, items, deadline)) == status);
    demand(!as_array || given == done);
    for (size_t i = 0; i < done; i++) stamp(m, m->items[m->count++], m->next++);
    if (n) note(m, KOLK_QUEUE_WRITABLE, status);
    free(items);
}

static void pop(model *m, bool as_array, size_t n) {
    kolk_deadline deadline = some_deadline(m);
    kolk_status status = n ? expected(m, KOLK_QUEUE_READABLE, deadline) : KOLK_OK;
    size_t done = status ? 0 : n < m->count ? n : m->count, given = n;
    uint8_t *items = new_items(m, n);
    demand((as_array ? kolk_queue_pop_n(&m->queue, items, &given, deadline)
                     : kolk_queue_pop(&m->queue, items, deadline)) == status);
    demand(!as_array || given == done);
    for (size_t i = 0; i < done; i++) demand(memcmp(items + i * m->size, m->items[i], m->size) == 0);
    for (size_t i = done * m->size; i < n * m->size; i++) demand(items[i] == 0xca);
    m->count -= done;
    memmove(m->items, m->items[done], m->count * MOST_SIZE);
    if (n) note(m, KOLK_QUEUE_READABLE, status);
    free(items);
}

static void clear(model *m) {
    m->destructions = 0;
    demand(kolk_queue_clear(&m->queue) == m->count);
    demand(m->destructions == (m->destroys ? m->count : 0));
    if (m->count) m->shown[KOLK_QUEUE_WRITABLE] = true;
    m->count = 0;
}

static void end_it(model *m, kolk_status ending) {
    ending == KOLK_CLOSED ? kolk_queue_close(&m->queue) : kolk_queue_shutdown(&m->queue);
    if (m->ending != KOLK_SHUTDOWN) m->ending = ending;
    m->shown[KOLK_QUEUE_WRITABLE] = m->shown[KOLK_QUEUE_READABLE] = true;
}

static void watch(model *m, int event) {
    int fd = kolk_queue_fd(&m->queue, (kolk_queue_event)event);
    if (fd < 0) return; /* the system has none left */
    bool blocked = m->count == (event == KOLK_QUEUE_WRITABLE ? m->capacity : 0);
    if (!m->watched[event]) m->shown[event] = m->ending || !blocked;
    m->watched[event] = true;
    struct pollfd it = {.fd = fd, .events = POLLIN};
    demand(poll(&it, 1, 0) == m->shown[event]);
}

static void look(const model *m) {
    kolk_stats stats;
    kolk_queue_stats(&m->queue, &stats);
    demand(stats.count == m->count && stats.capacity == m->capacity && stats.object_size == m->size);
    demand(stats.peak == (m->was_full ? m->capacity : m->count) && stats.failed == m->failed);
}

static void operate(model *m) {
    uint32_t choice = draw(m);
    switch (choice % 16) {
    case 0:
    case 1:
    case 2:
        push(m, false, 1);
        break;
    case 3:
    case 4:
    case 5:
        pop(m, false, 1);
        break;
    case 6:
    case 7:
        push(m, true, choice / 16 % (MOST + 3));
        break;
    case 8:
    case 9:
        pop(m, true, choice / 16 % (MOST + 3));
        break;
    case 10:
        end_it(m, KOLK_CLOSED);
        break;
    case 11:
        end_it(m, KOLK_SHUTDOWN);
        break;
    case 12:
        kolk_queue_reopen(&m->queue);
        m->ending = KOLK_OK;
        break;
    case 13:
        clear(m);
        break;
    case 14:
        look(m);
        break;
    default:
        watch(m, (int)(choice / 16 % 2));
    }
}

/* ---- A program --------------------------------------------------------------------------------------------------- */

static void begin(model *m) {
    m->size = 1 + draw(m) % MOST_SIZE;
    m->capacity = 1 + draw(m) % MOST;
    m->destroys = draw(m) % 2;
    kolk_queue_desc desc = {.name = "fuzzed", .item_size = m->size, .capacity = m->capacity};
    if (m->destroys) desc.destroy = destroy, desc.context = m;
    demand(kolk_queue_init(&m->queue, &desc) == KOLK_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static model m;
    memset(&m, 0, sizeof m);
    m.at = data;
    m.end = data + size;
    begin(&m);
    while (m.at < m.end) {
        operate(&m);
        demand(kolk_queue_is_valid(&m.queue));
        demand(kolk_queue_count(&m.queue) == m.count);
    }
    m.destructions = 0;
    kolk_queue_deinit(&m.queue); /* destroys the items that are left */
    demand(m.destructions == (m.destroys ? m.count : 0));
    demand(kolk_queue_is_valid(&m.queue));
    return 0;
}
