// expect: error: (may be|is) used uninitialized
// flags: -Iadapters/pq -Iadapters/sqlite -Iadapters/tcp
// compiler: gcc
/* Each WRONG line forgets an init, and gcc warns of it, because the headers mark the functions with KOLK_USES_. Without
 * them, everything is initialised, in every way that programs have for it, and gcc is silent. */
#include <kolk/kolk.h>
#include <kolk/pq.h>
#include <kolk/sqlite.h>
#include <kolk/tcp.h>
#include <stdlib.h>
#include <string.h>

typedef struct program {
    int number;
    kolk_queue queue;
    kolk_resource_pool pool;
    kolk_heap heap;
} program;

void init_elsewhere(program *p);
void keep(void *p);

/* ---- No mistake -------------------------------------------------------------------------------------------------- */

void init_branch(int which) {
    kolk_queue queue;
    kolk_status status;
    if (which)
        status = kolk_queue_init(&queue, &(kolk_queue_desc){.item_size = sizeof(int), .capacity = 8});
    else
        status = kolk_queue_init(&queue, &(kolk_queue_desc){.item_size = sizeof(int), .capacity = 9});
    if (status == KOLK_OK) kolk_queue_push(&queue, &which, KOLK_NOW);
    kolk_queue_deinit(&queue);
}

void init_fails(void) {
    kolk_shared pool;
    kolk_shared_local local;
    if (kolk_shared_init(&pool, &(kolk_shared_desc){.object_size = 8, .capacity = 8}) == KOLK_OK)
        if (kolk_shared_local_init(&local, &pool) == KOLK_OK) {
            kolk_shared_free_later(&local, kolk_shared_alloc_wait(&local, KOLK_NOW));
            kolk_shared_local_deinit(&local);
        }
    kolk_shared_deinit(&pool);
}

void all_zero(int number) {
    kolk_queue queue = {0};
    static kolk_heap heap;
    kolk_pool pool;
    memset(&pool, 0, sizeof pool);
    kolk_queue_push(&queue, &number, KOLK_NOW);
    kolk_heap_free(&heap, kolk_heap_alloc(&heap, 8));
    kolk_pool_clear(&pool);
    program p = {.number = number};
    kolk_queue_close(&p.queue);
    kolk_resource_deinit(&p.pool);
}

void in_another_function(int number) {
    program p;
    init_elsewhere(&p);
    kolk_queue_push(&p.queue, &number, KOLK_NOW);
    kolk_resource_deinit(&p.pool);
    kolk_heap_deinit(&p.heap);
}

void copied(const program *from) {
    program p = *from, q;
    memcpy(&q, from, sizeof q);
    kolk_queue_close(&p.queue);
    kolk_heap_deinit(&q.heap);
}

void allocated(int number) {
    program *p = malloc(sizeof *p);
    if (!p) return;
    kolk_queue_init(&p->queue, &(kolk_queue_desc){.item_size = sizeof number, .capacity = 8});
    kolk_queue_push(&p->queue, &number, KOLK_NOW);
    keep(p);
}

int allocated_and_zeroed(int number) {
    program *p = calloc(1, sizeof *p);
    if (!p) return 0;
    kolk_queue_push(&p->queue, &number, KOLK_NOW);
    kolk_heap_deinit(&p->heap);
    free(p);
    return 1;
}

void filled_by_pointer(void **to) {
    kolk_slotmap map;
    *to = &map;
    keep(to);
    kolk_slotmap_clear(&map);
}

void adapters(const kolk_pq_desc *pq_desc, const kolk_sqlite_desc *sqlite_desc, const kolk_tcp_desc *tcp_desc) {
    kolk_pq db;
    kolk_sqlite store;
    kolk_tcp tcp;
    kolk_pq_init(&db, pq_desc);
    kolk_sqlite_init(&store, sqlite_desc);
    kolk_tcp_init(&tcp, tcp_desc);
    kolk_pq_check(&db, KOLK_NOW, NULL);
    kolk_sqlite_deinit(&store);
    kolk_tcp_deinit(&tcp);
    kolk_pq_deinit(&db);
}

/* ---- The init is forgotten --------------------------------------------------------------------------------------- */

#define FORGETS(name, kind, use)                                                                                       \
    void name(void *one) {                                                                                             \
        kind it;                                                                                                       \
        (void)one;                                                                                                     \
        use;                                                                                                           \
    }

WRONG(FORGETS(pool, kolk_pool, kolk_pool_alloc_zeroed(&it)))
WRONG(FORGETS(pool_deinit, kolk_pool, kolk_pool_deinit(&it)))
WRONG(FORGETS(slotmap, kolk_slotmap, kolk_slotmap_reserve(&it, 8)))
WRONG(FORGETS(slotmap_deinit, kolk_slotmap, kolk_slotmap_deinit(&it)))
WRONG(FORGETS(bytemap, kolk_bytemap, kolk_bytemap_new_at(&it, 0)))
WRONG(FORGETS(bytemap_flush, kolk_bytemap, kolk_bytemap_flush(&it)))
WRONG(FORGETS(shared, kolk_shared, kolk_shared_local_of_thread(&it)))
WRONG(FORGETS(shared_deinit, kolk_shared, kolk_shared_deinit(&it)))
WRONG(FORGETS(shared_of_local, kolk_shared, kolk_shared_local_init(one, &it)))
WRONG(FORGETS(local, kolk_shared_local, kolk_shared_alloc_wait(&it, KOLK_NOW)))
WRONG(FORGETS(local_deinit, kolk_shared_local, kolk_shared_local_deinit(&it)))
WRONG(FORGETS(queue_push, kolk_queue, kolk_queue_push(&it, "item", KOLK_NOW)))
WRONG(FORGETS(queue_pop, kolk_queue, kolk_queue_pop(&it, one, KOLK_NOW)))
WRONG(FORGETS(queue_deinit, kolk_queue, kolk_queue_deinit(&it)))
WRONG(FORGETS(heap, kolk_heap, kolk_heap_alloc(&it, 8)))
WRONG(FORGETS(heap_deinit, kolk_heap, kolk_heap_deinit(&it)))
WRONG(FORGETS(resource, kolk_resource_pool, kolk_resource_borrow(&it, NULL, one)))
WRONG(FORGETS(resource_deinit, kolk_resource_pool, kolk_resource_deinit(&it)))
WRONG(FORGETS(ipc, kolk_ipc, kolk_ipc_pop(&it, 0, KOLK_NOW)))
WRONG(FORGETS(ipc_deinit, kolk_ipc, kolk_ipc_deinit(&it)))
WRONG(FORGETS(pq, kolk_pq, kolk_pq_check(&it, KOLK_NOW, NULL)))
WRONG(FORGETS(sqlite_deinit, kolk_sqlite, kolk_sqlite_deinit(&it)))
WRONG(FORGETS(tcp_deinit, kolk_tcp, kolk_tcp_deinit(&it)))
WRONG(FORGETS(in_a_struct, program, it.number = 1; kolk_queue_push(&it.queue, "item", KOLK_NOW)))
WRONG(FORGETS(on_the_heap, program *, it = malloc(sizeof *it); kolk_queue_push(&it->queue, "item", KOLK_NOW)))
