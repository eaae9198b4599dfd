/* A table is replaced while others read it, and no reader ever takes a lock or waits. The writer replaces the old table
 * by one atomic exchange, and frees it by free_later: its slot is reused only after every reader has ended the request
 * that may have used the table (quiesce). */
#include "kolk.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { READERS = 2, TABLES = 200, HOPS = 64 };

struct routes {
    int version;
    int next_hop[HOPS]; /* version * HOPS + n, so that a reader notices a mix of two versions */
};
KOLK_SHARED_TYPE(tables, struct routes)

static tables pool;
static struct routes *_Atomic current;
static atomic_bool done;

struct reader {
    pthread_t thread;
    int version, mixed, backwards;
};

static void *read_routes(void *argument) {
    struct reader *me = argument;
    tables_local local;
    if (tables_local_init(&local, &pool) != KOLK_OK) exit(1);
    for (bool last = false; !last;) { /* one request after another */
        last = atomic_load(&done);
        const struct routes *routes = atomic_load(&current);
        int version = routes->version;
        for (int n = 0; n < HOPS; n++) me->mixed += routes->next_hop[n] != version * HOPS + n;
        me->backwards += version < me->version;
        me->version = version;
        tables_quiesce(&local); /* states that no pointer of this request is kept */
    }
    tables_local_deinit(&local);
    return NULL;
}

static struct routes *make(tables_local *local, int version) {
    struct routes *routes = tables_alloc(local);
    if (!routes) { /* the old tables are not free yet; others must not have to wait for this thread while it sleeps */
        tables_offline(local);
        routes = tables_alloc_wait(local, KOLK_FOREVER);
        tables_online(local);
    }
    routes->version = version;
    for (int n = 0; n < HOPS; n++) routes->next_hop[n] = version * HOPS + n;
    return routes;
}

int main(void) {
    struct reader readers[READERS] = {{0}};
    tables_local local;
    if (tables_init(&pool, &(kolk_shared_desc){.name = "routes", .capacity = 4}) != KOLK_OK) return 1;
    if (tables_local_init(&local, &pool) != KOLK_OK) return 1;
    atomic_store(&current, make(&local, 1));
    for (int n = 0; n < READERS; n++)
        if (pthread_create(&readers[n].thread, NULL, read_routes, &readers[n]) != 0) return 1;
    for (int version = 2; version <= TABLES; version++)
        tables_free_later(&local, atomic_exchange(&current, make(&local, version)));
    atomic_store(&done, true);
    for (int n = 0; n < READERS; n++) {
        pthread_join(readers[n].thread, NULL);
        printf("reader %d ends with table %d: %d hops of another table, %d tables older than the last\n", n + 1,
               readers[n].version, readers[n].mixed, readers[n].backwards);
    }
    printf("%d tables, of which %u is alive\n", TABLES, tables_count(&pool));
    tables_free(&local, atomic_load(&current)); /* all readers have ended */
    tables_local_deinit(&local);
    tables_deinit(&pool);
}
