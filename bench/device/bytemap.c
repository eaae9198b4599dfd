/* Counts the calls of a byte map for bench/device.sh, as pool.c does; but only with 64 slots, since New may look at all
 * of them. Returns 0 if each call did what it should. */
#include "count.h"

enum { SLOTS = 64, CALLS = 10000 };

struct frame {
    uint32_t id, words[7];
};
KOLK_BYTEMAP_TYPE(frames, struct frame)

static struct frame memory[SLOTS];
static uint8_t bytes[SLOTS];
static frames pool;

/* What the calls are about. */
static kolk_status status;
static struct frame *object, *found;
static int32_t handle;

static struct frame *objects[SLOTS]; /* those that are alive, and NULL */
static int32_t handles[SLOTS];       /* of the last lives */
static figure init = {.deep = true}, new_, delete_, get_at, get_index;

static void call_init(void) {
    kolk_bytemap_view view = {.object_list = memory, .byte_map = bytes, .count = SLOTS};
    status = frames_initialise_with(&pool, &view);
}

static void call_new(void) {
    object = frames_new(&pool);
}

static void call_delete(void) {
    frames_delete(&pool, object);
}

static void call_get_at(void) {
    found = frames_get_at(&pool, handle);
}

static void call_get_index(void) {
    handle = frames_get_index(&pool, object);
}

static bool do_new(uint32_t i, bool usual) {
    measure(&new_, call_new, usual);
    objects[i] = object;
    if (!object) return false;
    measure(&get_index, call_get_index, usual);
    handles[i] = handle;
    return true;
}

static bool do_delete(uint32_t i, bool usual) {
    object = objects[i];
    handle = handles[i];
    measure(&get_at, call_get_at, usual);
    if (found != object) return false;
    measure(&delete_, call_delete, usual);
    measure(&get_at, call_get_at, false);
    objects[i] = NULL;
    return !found;
}

/* The only free slot is the one before the cursor, so that New looks at all slots; then a full pool. */
static bool goes_to_the_limits(void) {
    for (uint32_t i = 0; i < SLOTS; i++)
        if (!do_new(i, false)) return false;
    measure(&new_, call_new, false);
    if (object) return false;
    for (uint32_t i = 0; i < SLOTS; i++) {
        if (!do_delete(i, false)) return false;
        pool.pool.first_free = (int32_t)i; /* a slot that was deleted later and used again moves it there as well */
        if (!do_new(i, false)) return false;
    }
    for (uint32_t i = 0; i < SLOTS; i++)
        if (!do_delete(i, false)) return false;
    return true;
}

int main(void) {
    if (!start_count()) return 1;
    measure(&init, call_init, true);
    if (status != KOLK_OK || !goes_to_the_limits()) return 2;
    for (int n = 0; n < CALLS; n++) {
        uint32_t i = draw(SLOTS);
        if (objects[i] ? !do_delete(i, true) : !do_new(i, true)) return 3;
    }
    if (!kolk_bytemap_is_valid(&pool.pool)) return 4;
    print_line("struct", sizeof pool);
    print_tenths("slot", sizeof bytes, SLOTS);
    print_figure("init", &init);
    print_figure("alloc", &new_);
    print_figure("free", &delete_);
    print_figure("get", &get_at);
    print_figure("handle_of", &get_index);
    return 0;
}
