/* The mistakes with a pool. Most of them are also made with malloc, and with other members of the family. */
#include "misuse.h"

MISTAKE(double_free_at_once, "double free, at once", "pool malloc shared ipc heap") {
    unsigned char *item = take(&items);
    give_back(&items, item);
    WRONG(give_back(&items, item));
}

MISTAKE(double_free_later, "double free, another free in between", "pool malloc heap") {
    unsigned char *item = take(&items);
    unsigned char *other = take(&items);
    give_back(&items, item);
    give_back(&items, other);
    WRONG(give_back(&items, item));
}

MISTAKE(double_free_reused, "double free, another alloc in between", "pool malloc shared ipc heap") {
    unsigned char *item = take(&items);
    give_back(&items, item);
    unsigned char *other = take(&items);
    WRONG(give_back(&items, item));
    give_back(&items, other);
}

MISTAKE(after_free_read, "read after free", "pool malloc shared heap") {
    unsigned char *item = take(&items);
    write_bytes(item, SIZE);
    RIGHT(read_word(item));
    give_back(&items, item);
    WRONG(read_word(item));
}

MISTAKE(after_free_write, "write after free", "pool malloc shared ipc heap") {
    unsigned char *item = take(&items);
    RIGHT(write_bytes(item, 1));
    give_back(&items, item);
    WRONG(write_bytes(item, 1));
    unsigned char *other = take(&items);
    give_back(&items, other);
}

MISTAKE(bounds_overflow_1, "overflow by 1 byte", "pool malloc shared ipc heap") {
    unsigned char *item = take(&items);
    unsigned char *other = take(&items);
    write_bytes(item, SIZE);
    write_bytes(other, SIZE);
    WRONG(write_bytes(item, SIZE + 1));
    give_back(&items, other);
    give_back(&items, item);
}

MISTAKE(bounds_overflow_16, "overflow by 16 bytes", "pool malloc heap") {
    unsigned char *item = take(&items);
    unsigned char *other = take(&items);
    write_bytes(item, SIZE);
    write_bytes(other, SIZE);
    WRONG(write_bytes(item, SIZE + 16));
    give_back(&items, other);
    give_back(&items, item);
}

MISTAKE(bounds_overread, "overread", "pool malloc") {
    unsigned char *item = take(&items);
    unsigned char *other = take(&items);
    write_bytes(item, SIZE);
    write_bytes(other, SIZE);
    RIGHT(read_word(item));
    WRONG(read_word(item + SIZE));
    give_back(&items, other);
    give_back(&items, item);
}

MISTAKE(bounds_underflow, "underflow by 1 byte", "pool malloc") {
    unsigned char *item = take(&items);
    unsigned char *other = take(&items);
    write_bytes(item, SIZE);
    write_bytes(other, SIZE);
    WRONG(write_bytes(other - 1, 1));
    give_back(&items, other);
    give_back(&items, item);
}

static unsigned char global[SIZE];

MISTAKE(pointer_global, "free of a pointer to a global", "pool malloc heap") {
    unsigned char *item = take(&items);
    WRONG(give_back(&items, global));
    give_back(&items, item);
}

MISTAKE(pointer_heap, "free of a pointer that came from malloc", "pool") {
    unsigned char *item = take(&items);
    unsigned char *block = malloc(SIZE);
    WRONG(give_back(&items, block));
    give_back(&items, item);
    free(block);
}

MISTAKE(pointer_interior, "free of a pointer into an object", "pool malloc shared heap") {
    unsigned char *item = take(&items);
    WRONG(give_back(&items, item + SIZE / 2));
    give_back(&items, item);
}

MISTAKE(pointer_misaligned, "free of a misaligned pointer", "pool malloc heap") {
    unsigned char *item = take(&items);
    WRONG(give_back(&items, item + 1));
    give_back(&items, item);
}

MISTAKE(pointer_other_pool, "free of another pool's object", "pool shared ipc heap") {
    open_pool(&others, "others");
    unsigned char *item = take(&items);
    WRONG(give_back(&others, item));
    give_back(&items, item);
    close_pool(&others);
}

MISTAKE(pointer_stack, "free of a pointer to the stack", "pool malloc shared heap") {
    unsigned char *item = take(&items);
    unsigned char local[2 * SIZE] = {0}; /* malloc and AddressSanitizer judge by what lies before a block */
    WRONG(give_back(&items, local + SIZE));
    give_back(&items, item);
}

MISTAKE(pointer_wild, "free of a wild pointer", "pool malloc") {
    unsigned char *item = take(&items);
    WRONG(give_back(&items, (void *)(uintptr_t)0x5a5a5a5a));
    give_back(&items, item);
}

MISTAKE(uninitialised_read, "read of an uninitialised object", "pool malloc packed shared heap") {
    unsigned char *item = take(&items);
    RIGHT(write_bytes(item, SIZE));
    RIGHT(read_word(item));
    WRONG(read_word(item));
    give_back(&items, item);
}

static __attribute__((noinline)) void leak(void) {
    unsigned char *item = take(&items);
    write_bytes(item, SIZE);
    RIGHT(give_back(&items, item));
    WRONG((void)item);
}

MISTAKE(leak_deinit, "leak, up to deinit", "pool packed shared heap") {
    leak();
}

WHOLE_MISTAKE(leak_exit, "leak, up to exit", "pool malloc shared ipc heap") {
    open_pool(&items, "items");
    leak();
    RIGHT(close_pool(&items));
}

WHOLE_MISTAKE(deinit_alloc, "alloc after deinit", "pool ipc heap") {
    open_pool(&items, "items");
    RIGHT(give_back(&items, take(&items)));
    close_pool(&items);
    WRONG(give_back(&items, take(&items)));
}

WHOLE_MISTAKE(deinit_free, "free after deinit", "pool heap") {
    open_pool(&items, "items");
    unsigned char *item = take(&items);
    RIGHT(give_back(&items, item));
    close_pool(&items);
    WRONG(give_back(&items, item));
}

WHOLE_MISTAKE(deinit_write, "write after deinit", "pool packed") {
    open_pool(&items, "items");
    unsigned char *item = take(&items);
    write_bytes(item, SIZE);
    RIGHT(give_back(&items, item));
    close_pool(&items);
    WRONG(write_bytes(item, 1));
}

WHOLE_MISTAKE(home_copy_deinit, "deinit of a copy, after the pool's own", "pool packed heap") {
    open_pool(&items, "items");
    memcpy(&others, &items, sizeof others);
    close_pool(&items);
    WRONG(close_pool(&others));
}

WHOLE_MISTAKE(home_lost, "free of the storage of a pool that is not deinit'd", "pool shared heap") {
    pool *lost = malloc(1 << 20); /* large, so that free unmaps it */
    open_pool(lost, "items");
    void *item = take(lost);
    RIGHT(give_back(lost, item));
    RIGHT(close_pool(lost));
    WRONG((void)item);
    free(lost);
}

static pool *moved(void) {
    memcpy(&others, &items, sizeof others);
    memset(&items, 0xe5, sizeof items);
    return &others;
}

WHOLE_MISTAKE(home_moved, "alloc from a pool that was moved", "pool packed heap") {
    pool *now = &items;
    open_pool(now, "items");
    WRONG(now = moved());
    give_back(now, take(now));
    close_pool(now);
}

WHOLE_MISTAKE(home_twice, "init of a pool that is initialised", "pool packed shared heap") {
    open_pool(&items, "items");
    void *item = take(&items);
    RIGHT(give_back(&items, item));
    RIGHT(close_pool(&items));
    WRONG((void)item);
    WRONG(open_pool(&items, "items"));
    RIGHT(open_pool(&items, "items"));
    close_pool(&items);
}

#ifdef HANDLES /* neither malloc nor heaps have them */

WHOLE_MISTAKE(deinit_get, "get after deinit", "pool packed") {
    open_pool(&items, "items");
    unsigned char *item = take(&items);
    kolk_handle handle = handle_of(&items, item);
    RIGHT(look_up(&items, handle));
    RIGHT(give_back(&items, item));
    close_pool(&items);
    WRONG(look_up(&items, handle));
}

MISTAKE(handle_forged, "get by a forged handle", "pool") {
    unsigned char *item = take(&items);
    kolk_handle handle = handle_of(&items, item);
    RIGHT(look_up(&items, handle));
    WRONG(look_up(&items, kolk_handle_unpack(handle.bits ^ UINT64_C(1) << 40)));
    give_back(&items, item);
}

MISTAKE(handle_stale, "get by a stale handle", "pool packed shared ipc") {
    unsigned char *item = take(&items);
    kolk_handle handle = handle_of(&items, item);
    RIGHT(look_up(&items, handle));
    give_back(&items, item);
    WRONG(look_up(&items, handle));
}

MISTAKE(handle_stale_reused, "get by a stale handle, after reuse", "pool packed") {
    unsigned char *item = take(&items);
    kolk_handle handle = handle_of(&items, item);
    RIGHT(look_up(&items, handle));
    give_back(&items, item);
    unsigned char *other = take(&items);
    WRONG(look_up(&items, handle));
    give_back(&items, other);
}

MISTAKE(handle_wrong_pool, "get by another pool's handle", "pool packed shared") {
    open_pool(&others, "others");
    unsigned char *item = take(&items);
    kolk_handle handle = handle_of(&items, item);
    RIGHT(look_up(&items, handle));
    WRONG(look_up(&others, handle));
    give_back(&items, item);
    close_pool(&others);
}

#if !defined(SHARED) && !defined(IPC)

MISTAKE(double_free_reused_handle, "double free by handle, another alloc in between", "pool packed") {
    unsigned char *item = take(&items);
    kolk_handle handle = handle_of(&items, item);
    give_back_handle(&items, handle);
    unsigned char *other = take(&items);
    WRONG(give_back_handle(&items, handle));
    give_back(&items, other);
}

#endif
#endif

#ifdef POOL /* its hooks */

static void clear_in_reset(void *object, void *context) {
    (void)object, (void)context;
    stage("clear");
    WRONG(kolk_pool_clear(&items));
}

WHOLE_MISTAKE(hook_clear, "clear in reset, of the same pool", "pool") {
    kolk_pool_desc desc = {.name = "items", .object_size = SIZE, .capacity = 100, .life.reset = clear_in_reset};
    if (kolk_pool_init(&items, &desc) != KOLK_OK) exit(1);
    give_back(&items, take(&items));
    close_pool(&items);
}

static void *other;

static double free_in_cost(const void *object, void *context) {
    (void)object, (void)context;
    WRONG(give_back(&items, other));
    return 1;
}

WHOLE_MISTAKE(hook_free_in_cost, "free in cost, of the same pool", "pool") {
    kolk_pool_desc desc = {.name = "items", .object_size = SIZE, .capacity = 100, .full.cost = free_in_cost};
    if (kolk_pool_init(&items, &desc) != KOLK_OK) exit(1);
    take(&items);
    other = take(&items);
    stage("evict");
    kolk_pool_evict_cheapest(&items, 0, NULL);
    give_back(&items, other);
    close_pool(&items);
}

#endif
