/* Counts the calls of a pool for bench/device.sh. -DMORE='.reuse = KOLK_REUSE_FIFO' adds to its descriptor. The
 * averages are those of 10,000 random calls in a pool of 64 slots. The maxima also cover a pool of 1,024 slots, pools
 * that become full and empty, slots that wear out, stale handles and dead objects. Returns 0 if each call did what it
 * should. */
#include "count.h"

#include "../../tests/pool/last_life.h"

#ifndef MORE
#define MORE .name = "frames"
#endif

enum { FEW = 64, MANY = 1024, CALLS = 10000 };

struct frame {
    uint32_t id, words[7];
};
KOLK_POOL_TYPE(frames, struct frame)
KOLK_POOL_STATIC(frames, static_pool, FEW);

static KOLK_POOL_STORAGE(struct frame, MANY) memory;
static frames pool;

/* What the calls are about. */
static uint32_t capacity;
static size_t memory_size;
static kolk_status status;
static struct frame *object, *found;
static frames_handle handle;
static bool live;

static struct frame *objects[MANY]; /* those that are alive, and NULL */
static frames_handle handles[MANY]; /* of the last lives */
static figure init = {.deep = true}, mistake = {.deep = true}, alloc, free_, get, handle_of, is_live;
static uint32_t mistakes;

static void call_init(void) {
    kolk_pool_desc desc = {.capacity = capacity, .memory = &memory, .memory_size = memory_size, MORE};
    status = frames_init(&pool, &desc);
}

static void call_alloc(void) {
    object = frames_alloc(&pool);
}

static void call_static_alloc(void) {
    object = static_pool_alloc();
}

static void call_free(void) {
    frames_free(&pool, object);
}

static void call_get(void) {
    found = frames_get(&pool, handle);
}

static void call_handle_of(void) {
    handle = frames_handle_of(&pool, object);
}

static void call_is_live(void) {
    live = frames_is_live(&pool, object);
}

/* Allocates for entry i, and asks for the new object. Returns false if the pool is full. */
static bool do_alloc(uint32_t i, bool usual) {
    measure(&alloc, call_alloc, usual);
    objects[i] = object;
    if (!object) return false;
    measure(&handle_of, call_handle_of, usual);
    handles[i] = handle;
    return true;
}

static bool do_free(uint32_t i, bool usual) {
    object = objects[i];
    handle = handles[i];
    measure(&get, call_get, usual);
    measure(&is_live, call_is_live, usual);
    if (found != object || !live) return false;
    measure(&free_, call_free, usual);
    measure(&get, call_get, false);
    measure(&is_live, call_is_live, false);
    if (found || live) return false;
    objects[i] = NULL;
    return true;
}

static void note_mistake(const kolk_failure *failure, void *context) {
    (void)context;
    if (failure->rule == KOLK_DOUBLE_FREE) mistakes++;
}

/* A double free, which is reported to a handler that returns. */
static bool frees_twice(void) {
    kolk_set_failure_handler(note_mistake, NULL);
    if (!do_alloc(0, false) || !do_free(0, false)) return false;
    measure(&mistake, call_free, true);
    return mistakes == 1;
}

/* Fills the pool, one alloc more than fit. Returns the number of objects. */
static uint32_t fill(void) {
    uint32_t n = 0;
    while (n < capacity && do_alloc(n, false)) n++;
    measure(&alloc, call_alloc, false);
    return object ? 0 : n;
}

/* Takes n / step objects out of the full pool, then fills it again; begins at both ends, and in the middle. */
static bool refill(uint32_t n, uint32_t step) {
    for (uint32_t i = 0; i < n; i += step)
        if (!do_free(i, false)) return false;
    for (uint32_t i = 0; i < n; i += step)
        if (!do_alloc(i, false)) return false;
    for (uint32_t i = n; i-- > 0;)
        if (i % step == 0 && !do_free(i, false)) return false;
    for (uint32_t i = 0; i < n; i += step)
        if (!do_alloc(i, false)) return false;
    return true;
}

/* Two slots wear out, and are used again once the pool is full. */
static bool wear_out(void) {
    for (uint32_t i = 0; i < 2; i++) {
        be_in_last_life(&pool.pool, frames_index(&pool, objects[i]));
        object = objects[i];
        call_handle_of();
        handles[i] = handle;
        if (!do_free(i, false)) return false;
    }
    return do_alloc(0, false) && do_alloc(1, false);
}

static bool goes_to_the_limits(uint32_t slots) {
    capacity = slots;
    memory_size = sizeof memory;
    measure(&init, call_init, true);
    if (status != KOLK_OK) return false;
    uint32_t n = fill();
    if (n < slots - 1 || !refill(n, 1) || !refill(n, 64) || !wear_out()) return false;
    return refill(n, 3) && kolk_pool_is_valid(&pool.pool);
}

/* A capacity of 0: init finds out how many slots fit. */
static bool finds_its_capacity(size_t size) {
    capacity = 0;
    memory_size = size;
    measure(&init, call_init, true);
    return status == KOLK_OK && pool.pool.capacity > 0;
}

static bool works_at_random(void) {
    capacity = FEW;
    memory_size = sizeof memory;
    measure(&init, call_init, true);
    for (int i = 0; i < FEW; i++) objects[i] = NULL;
    for (int n = 0; n < CALLS; n++) {
        uint32_t i = draw(FEW);
        if (objects[i] ? !do_free(i, true) : !do_alloc(i, true) && frames_available(&pool) > 1) return false;
    }
    return kolk_pool_is_valid(&pool.pool);
}

int main(void) {
    figure first = {.deep = true};
    if (!start_count()) return 1;
    measure(&first, call_static_alloc, true);
    if (!object || !goes_to_the_limits(FEW) || !goes_to_the_limits(MANY)) return 2;
    if (!finds_its_capacity(sizeof memory) || !finds_its_capacity(sizeof memory / FEW)) return 3;
    if (!works_at_random()) return 4;
    if (!frees_twice()) return 5;
    kolk_pool_desc desc = {.object_size = sizeof(struct frame), .capacity = MANY, MORE};
    size_t many = kolk_pool_memory_size(&desc);
    desc.capacity = 2 * MANY;
    print_line("struct", sizeof pool);
    print_tenths("slot", kolk_pool_memory_size(&desc) - many - MANY * sizeof(struct frame), MANY);
    print_figure("first_alloc", &first);
    print_figure("init", &init);
    print_figure("mistake", &mistake);
    print_figure("alloc", &alloc);
    print_figure("free", &free_);
    print_figure("get", &get);
    print_figure("handle_of", &handle_of);
    print_figure("is_live", &is_live);
    return 0;
}
