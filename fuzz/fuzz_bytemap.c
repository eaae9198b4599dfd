/* fuzz_bytemap.c: interprets any bytes as a program that uses a pool, correctly or not, and compares it with the model;
 * or as the memory of a game, from which a pool is read.
 *
 *     'o' | count | ground and seeds | operation, argument | operation, argument ...
 *     'd' | layout | object_size | address of the pool | regions: n | (address, size) * n | their bytes
 *
 * These numbers have 4 bytes, little-endian. Missing bytes at the end are 0. */
#include "../tests/bytemap/steps.h"

#define REGIONS 3u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct input {
    const uint8_t *at, *end;
} input;

static uint32_t draw(input *in) {
    return in->at < in->end ? *in->at++ : 0;
}

static uint32_t draw_number(input *in) {
    uint32_t number = draw(in);
    for (unsigned i = 1; i < 4; i++) number |= draw(in) << 8 * i;
    return number;
}

static void demand(bool holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "%s\n", what);
    abort();
}

/* ---- Operations -------------------------------------------------------------------------------------------------- */

static kolk_bytemap_view view_of(input *in, gta_pool *model, unsigned char *objects, uint8_t *bytes) {
    gta_initialise(model, (int)(draw(in) % (GTA_SLOTS + 1)));
    model->seed_of_handle = draw(in) % 2;
    memset(bytes, 0x80, GTA_SLOTS);
    kolk_bytemap_view view = {.object_size = 5, .count = model->count, .first_free = -1, .writable = true};
    view.seeds = model->seed_of_handle ? KOLK_BYTEMAP_SEED_OF_HANDLE : KOLK_BYTEMAP_SEED_ADVANCE;
    view.object_list = objects;
    view.byte_map = bytes;
    return view;
}

static void operate(input *in) {
    static gta_pool model;
    static unsigned char objects[GTA_SLOTS * 5];
    static uint8_t bytes[GTA_SLOTS];
    notes taken;
    begin_notes(&taken);
    kolk_bytemap pool = {0};
    kolk_bytemap_view view = view_of(in, &model, objects, bytes);
    kolk_status status = draw(in) % 2 ? kolk_bytemap_attach(&pool, &view) : kolk_bytemap_initialise_with(&pool, &view);
    demand(status == KOLK_OK, kolk_status_text(status));
    while (in->at < in->end) {
        uint32_t kind = draw(in);
        step s = {(step_kind)(kind % STEP_KINDS), (int32_t)draw(in) - 1};
        if (s.kind == STEP_NEW_AT || s.kind == STEP_GET_AT) s.argument = s.argument * 256 + (int32_t)draw(in);
        if (kind > 0xf0) s.argument = (int32_t)((uint32_t)s.argument * UINT32_C(0x01030507)); /* far away */
        answer expected = step_model(&model, s), got = step_kolk(&pool, s, &taken.count);
        demand(expected.handle == got.handle, "another handle");
        demand(expected.cursor == got.cursor, "another cursor");
        demand(same_bytes(&model, &pool), "other bytes");
        demand(kolk_bytemap_used_count(&pool) == gta_used(&model), "another count");
        demand(kolk_bytemap_is_valid(&pool), "not valid");
    }
    kolk_bytemap_flush(&pool);
}

/* ---- Dumps ------------------------------------------------------------------------------------------------------- */

/* Touches all memory that a view of a dump promises. Sanitizers report any part that does not exist. */
static void use(const kolk_bytemap_view *view) {
    kolk_bytemap pool = {0};
    kolk_status status = kolk_bytemap_attach(&pool, view);
    demand(status == KOLK_OK, kolk_status_text(status));
    const unsigned char *objects = (const unsigned char *)view->object_list;
    unsigned sum = 0;
    for (size_t i = 0; i < (size_t)view->count * view->object_size; i++) sum += objects[i];
    int32_t used = 0, last = -1;
    for (int32_t handle = -1; (handle = kolk_bytemap_next_handle(&pool, handle)) != -1; used++) {
        demand(handle > last, "handles don't ascend");
        demand(kolk_bytemap_get_at(&pool, handle) != NULL, "a handle without an object");
        last = handle;
    }
    demand(used == kolk_bytemap_used_count(&pool), "another count");
    kolk_bytemap_difference difference = {0};
    demand(!kolk_bytemap_compare(pool.byte_map, pool.byte_map, pool.count, &difference), "it differs from itself");
    bool cursor_is_wrong = pool.first_free < -1 || pool.first_free > (pool.count ? pool.count - 1 : 0);
    demand(kolk_bytemap_is_valid(&pool) != cursor_is_wrong, "validity");
    kolk_bytemap_flush(&pool);
    static volatile unsigned sink;
    sink = sum;
    (void)sink;
}

static void read_dump(input *in) {
    kolk_bytemap_region regions[REGIONS];
    kolk_bytemap_layout layout = (kolk_bytemap_layout)draw(in);
    uint32_t object_size = draw_number(in), address = draw_number(in), n = draw(in) % (REGIONS + 1);
    for (uint32_t r = 0; r < n; r++) {
        regions[r].address = draw_number(in);
        regions[r].size = draw(in);
    }
    for (uint32_t r = 0; r < n; r++) { /* each region is a separate block, so that sanitizers watch its ends */
        uint8_t *bytes = (uint8_t *)malloc(regions[r].size + !regions[r].size);
        demand(bytes, "no memory");
        for (size_t i = 0; i < regions[r].size; i++) bytes[i] = (uint8_t)draw(in);
        regions[r].bytes = bytes;
    }
    uint64_t pointer;
    kolk_bytemap_view view;
    if (kolk_bytemap_follow(regions, n, address, layout, &pointer) == KOLK_OK) {
        if (kolk_bytemap_read(regions, n, pointer, layout, object_size, &view) == KOLK_OK) use(&view);
    }
    if (kolk_bytemap_read(regions, n, address, layout, object_size, &view) == KOLK_OK) use(&view);
    for (uint32_t r = 0; r < n; r++) free((void *)(uintptr_t)regions[r].bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    input in = {data, data + size};
    switch (draw(&in)) {
    case 'o':
        operate(&in);
        break;
    case 'd':
        read_dump(&in);
        break;
    default:
        break;
    }
    return 0;
}
