// expect: error: .it[a-z.]*. (may be|is) used uninitialized
// compiler: gcc
// variant: POOL
// variant: SLOTMAP
// variant: BYTEMAP
// variant: SHARED
// variant: LOCAL
// variant: QUEUE
// variant: RESOURCE
// variant: IPC
// variant: MAIN_POOL
// variant: MAIN_SLOTMAP
// variant: MAIN_REMOVE
// variant: MAIN_BYTEMAP
// variant: MAIN_DELETE
// variant: MAIN_LOCAL
/* Each variant forgets the init of a typed pool. gcc sees that through the inline functions; in main, where it inlines
 * few of them because main runs once, it sees that by their marks. */
#include <kolk/kolk.h>

KOLK_POOL_TYPE(numbers, int)
KOLK_SLOTMAP_TYPE(packed, int)
KOLK_BYTEMAP_TYPE(slots, int)
KOLK_SHARED_TYPE(messages, int)
KOLK_QUEUE_TYPE(jobs, int)
KOLK_RESOURCE_TYPE(connections, int)
KOLK_IPC_TYPE(frames, int)

void pool(void) {
    numbers it;
#ifndef POOL
    numbers_init(&it, &(kolk_pool_desc){.capacity = 8});
#endif
    numbers_free(&it, numbers_alloc(&it));
    numbers_deinit(&it);
}

void slotmap(packed_handle *handle) {
    packed it;
#ifndef SLOTMAP
    packed_init(&it, &(kolk_slotmap_desc){.capacity = 8});
#endif
    packed_add(&it, handle);
    packed_deinit(&it);
}

void bytemap(void) {
    slots it;
#ifndef BYTEMAP
    slots_initialise(&it, 8);
#endif
    slots_delete(&it, slots_new(&it));
    slots_flush(&it);
}

void shared(void) {
    messages it;
#ifndef SHARED
    messages_init(&it, &(kolk_shared_desc){.capacity = 8});
#endif
    messages_local_of_thread(&it);
    messages_deinit(&it);
}

void local(messages *pool) {
    messages_local it;
    (void)pool;
#ifndef LOCAL
    messages_local_init(&it, pool);
#endif
    messages_free(&it, messages_alloc(&it));
    messages_local_deinit(&it);
}

void queue(int number) {
    jobs it;
#ifndef QUEUE
    jobs_init(&it, &(kolk_queue_desc){.capacity = 8});
#endif
    jobs_push(&it, &number, KOLK_NOW);
    jobs_deinit(&it);
}

void resource(const kolk_resource_pool_desc *desc, connections_borrowed *borrow) {
    connections it;
    (void)desc;
#ifndef RESOURCE
    connections_init(&it, desc);
#endif
    if (connections_borrow(&it, NULL, borrow) == KOLK_OK) connections_give_back(&it, borrow);
    connections_deinit(&it);
}

void ipc(void) {
    frames it;
#ifndef IPC
    frames_init(&it, &(kolk_ipc_desc){.capacity = 8});
#endif
    frames_free(&it, frames_alloc(&it));
    frames_deinit(&it);
}

int main(void) {
#ifdef MAIN_POOL
    numbers it;
    numbers_free(&it, numbers_alloc(&it));
#elif defined(MAIN_SLOTMAP)
    packed it;
    packed_add(&it, NULL);
#elif defined(MAIN_REMOVE)
    packed it;
    packed_remove(&it, (packed_handle){{1}});
#elif defined(MAIN_BYTEMAP)
    slots it;
    slots_new(&it);
#elif defined(MAIN_DELETE)
    slots it;
    slots_delete(&it, NULL);
#elif defined(MAIN_LOCAL)
    messages_local it;
    messages_free(&it, messages_alloc(&it));
#else
    numbers it;
    numbers_init(&it, &(kolk_pool_desc){.capacity = 8});
    numbers_free(&it, numbers_alloc(&it));
#endif
}
