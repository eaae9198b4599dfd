/* The mistakes that only exist with slot maps. */
#define PACKED 1
#include "misuse.h"

#include <kolk/pool.h>

static unsigned char *add(kolk_handle *out) {
    stage("add");
    unsigned char *object = kolk_slotmap_add(&items, out);
    __asm__ volatile("" : "+r"(object));
    if (!object) fputs("answer: NULL\n", stderr);
    return object;
}

/* Adds an object and initialises it. */
static unsigned char *add_written(kolk_handle *out) {
    unsigned char *object = add(out);
    write_bytes(object, SIZE);
    return object;
}

static unsigned char *find(kolk_handle handle) {
    unsigned char *object = kolk_slotmap_get(&items, handle);
    if (!object) fputs("answer: NULL\n", stderr);
    return object;
}

static void on_remove(void *object, void *context) {
    (void)object, (void)context;
    stage("clear");
    WRONG(kolk_slotmap_clear(&items));
}

WHOLE_MISTAKE(packed_clear_in_hook, "clear in on_remove, of the same map", "packed") {
    kolk_handle handle;
    kolk_slotmap_desc desc = {.name = "items", .object_size = SIZE, .capacity = 100, .on_remove = on_remove};
    if (kolk_slotmap_init(&items, &desc) != KOLK_OK) exit(1);
    add_written(&handle);
    give_back_handle(&items, handle);
    close_pool(&items);
}

MISTAKE(packed_handle_of_pool, "get by a pool's handle", "packed") {
    kolk_pool other;
    kolk_handle handle;
    if (kolk_pool_init(&other, &(kolk_pool_desc){.name = "other", .object_size = SIZE, .capacity = 1})) exit(1);
    void *item = kolk_pool_alloc(&other);
    add_written(&handle);
    RIGHT(find(handle));
    WRONG(find(kolk_pool_handle_of(&other, item)));
    give_back_handle(&items, handle);
    kolk_pool_free(&other, item);
    kolk_pool_deinit(&other);
}

MISTAKE(packed_kept_count, "write to all objects, up to a count that was kept", "packed") {
    kolk_handle first, last;
    add_written(&first);
    add_written(&last);
    give_back_handle(&items, first);
    uint32_t count = kolk_slotmap_count(&items);
    WRONG(count++);
    for (uint32_t i = 0; i < count; i++) write_bytes((unsigned char *)kolk_slotmap_objects(&items) + i * SIZE, SIZE);
    give_back_handle(&items, last);
}

MISTAKE(packed_kept_moved_read, "read through a pointer that was kept while its object moved", "packed") {
    kolk_handle first, last;
    add_written(&first);
    unsigned char *kept = add_written(&last);
    give_back_handle(&items, first);
    RIGHT(read_word(find(last)));
    WRONG(read_word(kept));
    give_back_handle(&items, last);
}

MISTAKE(packed_kept_moved_write, "write through a pointer that was kept while its object moved", "packed") {
    kolk_handle first, last;
    add_written(&first);
    unsigned char *kept = add_written(&last);
    give_back_handle(&items, first);
    RIGHT(write_bytes(find(last), SIZE));
    WRONG(write_bytes(kept, SIZE));
    give_back_handle(&items, last);
}

MISTAKE(packed_kept_removed_read, "read through a pointer whose place has another object now", "packed") {
    kolk_handle first, last;
    unsigned char *kept = add_written(&first);
    add_written(&last);
    give_back_handle(&items, first);
    RIGHT(read_word(find(last)));
    WRONG(read_word(kept));
    give_back_handle(&items, last);
}

MISTAKE(packed_kept_removed_write, "write through a pointer whose place has another object now", "packed") {
    kolk_handle first, last;
    unsigned char *kept = add_written(&first);
    add_written(&last);
    give_back_handle(&items, first);
    RIGHT(write_bytes(find(last), SIZE));
    WRONG(write_bytes(kept, SIZE));
    give_back_handle(&items, last);
}

MISTAKE(packed_pointer_foreign, "handle of a pointer that does not belong to the map", "packed") {
    kolk_handle handle;
    add_written(&handle);
    int other = 0;
    RIGHT(kolk_slotmap_handle_of(&items, find(handle)));
    WRONG(kolk_slotmap_handle_of(&items, &other));
    give_back_handle(&items, handle);
}

MISTAKE(packed_pointer_interior, "handle of a pointer into an object", "packed") {
    kolk_handle handle;
    unsigned char *object = add_written(&handle);
    RIGHT(kolk_slotmap_handle_of(&items, find(handle)));
    WRONG(kolk_slotmap_handle_of(&items, object + SIZE / 2));
    give_back_handle(&items, handle);
}

MISTAKE(packed_pointer_removed, "handle of a pointer to a removed object", "packed") {
    kolk_handle handle;
    unsigned char *object = add_written(&handle);
    RIGHT(kolk_slotmap_handle_of(&items, object));
    give_back_handle(&items, handle);
    WRONG(kolk_slotmap_handle_of(&items, object));
}

MISTAKE(packed_remove_twice, "double removal, at once", "packed") {
    kolk_handle handle;
    add_written(&handle);
    give_back_handle(&items, handle);
    WRONG(give_back_handle(&items, handle));
}

MISTAKE(packed_remove_wrong_map, "removal by another map's handle", "packed") {
    kolk_handle handle;
    open_pool(&others, "others");
    add_written(&handle);
    WRONG(give_back_handle(&others, handle));
    give_back_handle(&items, handle);
    close_pool(&others);
}
