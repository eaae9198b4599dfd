/* Counts the calls of a slot map for bench/device.sh, as pool.c does. Each remove moves the last object into the place
 * that becomes free. Returns 0 if each call did what it should. */
#include "count.h"

enum { FEW = 64, MANY = 1024, CALLS = 10000 };

struct frame {
    uint32_t id, words[7];
};
KOLK_SLOTMAP_TYPE(frames, struct frame)

static KOLK_SLOTMAP_STORAGE(struct frame, MANY) memory;
static frames map;

/* What the calls are about. */
static uint32_t capacity;
static kolk_status status;
static struct frame *object;
static frames_handle handle;
static bool removed;

static frames_handle handles[MANY]; /* of the last lives */
static bool alive[MANY];
static figure init = {.deep = true}, add, remove_, get, handle_of;

static void call_init(void) {
    kolk_slotmap_desc desc = {.name = "frames", .capacity = capacity, .memory = &memory, .memory_size = sizeof memory};
    status = frames_init(&map, &desc);
}

static void call_add(void) {
    object = frames_add(&map, &handle);
}

static void call_remove(void) {
    removed = frames_remove(&map, handle);
}

static void call_get(void) {
    object = frames_get(&map, handle);
}

static void call_handle_of(void) {
    handle = frames_handle_of(&map, object);
}

static bool do_add(uint32_t i, bool usual) {
    measure(&add, call_add, usual);
    if (!object) return false;
    handles[i] = handle;
    alive[i] = true;
    measure(&handle_of, call_handle_of, usual);
    return handle.untyped.bits == handles[i].untyped.bits;
}

static bool do_remove(uint32_t i, bool usual) {
    handle = handles[i];
    measure(&get, call_get, usual);
    if (!object) return false;
    measure(&remove_, call_remove, usual);
    alive[i] = false;
    if (!removed) return false;
    measure(&get, call_get, false);
    measure(&remove_, call_remove, false);
    return !object && !removed;
}

static bool begin(uint32_t slots) {
    capacity = slots;
    measure(&init, call_init, true);
    for (uint32_t i = 0; i < slots; i++) alive[i] = false;
    return status == KOLK_OK;
}

static bool goes_to_the_limits(uint32_t slots) {
    if (!begin(slots)) return false;
    for (uint32_t i = 0; i < slots; i++)
        if (!do_add(i, false)) return false;
    measure(&add, call_add, false);
    if (object) return false;
    for (uint32_t i = 0; i < 2; i++) { /* two slots wear out */
        uint32_t slot = frames_slot(&map, handles[i]);
        map.map.cells[slot].generation = UINT32_MAX;
        object = frames_get(&map, (handle = handles[i]));
        if (object) return false; /* the handle is stale now */
        object = frames_at(&map, map.map.cells[slot].place);
        call_handle_of();
        handles[i] = handle;
        if (!do_remove(i, false)) return false;
    }
    for (uint32_t i = 0; i < 2; i++)
        if (!do_add(i, false)) return false;
    for (uint32_t i = 0; i < slots; i++)
        if (!do_remove(i, false)) return false;
    return kolk_slotmap_is_valid(&map.map);
}

static bool works_at_random(void) {
    if (!begin(FEW)) return false;
    for (int n = 0; n < CALLS; n++) {
        uint32_t i = draw(FEW);
        if (alive[i] ? !do_remove(i, true) : !do_add(i, true)) return false;
    }
    return kolk_slotmap_is_valid(&map.map);
}

int main(void) {
    if (!start_count()) return 1;
    if (!goes_to_the_limits(FEW) || !goes_to_the_limits(MANY)) return 2;
    if (!works_at_random()) return 3;
    kolk_slotmap_desc desc = {.object_size = sizeof(struct frame), .capacity = MANY};
    size_t many = kolk_slotmap_memory_size(&desc);
    desc.capacity = 2 * MANY;
    print_line("struct", sizeof map);
    print_tenths("slot", kolk_slotmap_memory_size(&desc) - many - MANY * sizeof(struct frame), MANY);
    print_figure("init", &init);
    print_figure("alloc", &add);
    print_figure("free", &remove_);
    print_figure("get", &get);
    print_figure("handle_of", &handle_of);
    return 0;
}
