/* cli/soak/store.h: a pool, of whatever kind, under load. The load knows by itself what is alive, in its book, writes a
 * mark into each object, and looks whether the pool says the same. */
#ifndef SOAK_STORE_H
#define SOAK_STORE_H

#include "problem.h"
#include "random.h"
#include "watch.h"

#include <kolk/kolk.h>

struct soak_store;

/* What the load needs of a kind. Objects have 16 bytes or more. */
struct soak_kind {
    const char *name; /* of the pool */
    size_t size;      /* of an object; 0: of shifting sizes */
    uint32_t most;    /* objects at a time */
    bool fixed;       /* gives `most` objects at any moment */
    bool exact;       /* and not one more */
    bool saved;       /* by snapshots: it is a kolk_pool */
    kolk_status (*begin)(struct soak_store *store);
    void (*end)(struct soak_store *store);
    void *(*alloc)(struct soak_store *store, size_t size, uint64_t *name); /* NULL: it is full */
    void *(*find)(const struct soak_store *store, uint64_t name);          /* NULL: it is gone */
    void (*release)(struct soak_store *store, void *object);
    void (*rest)(struct soak_store *store); /* once in a while, as a program does once a frame; NULL: nothing */
    bool (*is_valid)(const struct soak_store *store);
    void (*stats)(const struct soak_store *store, kolk_stats *stats);
};

enum { SOAK_KINDS = 7 };
extern const struct soak_kind *const soak_kinds[SOAK_KINDS];
extern const struct soak_kind soak_pool_fixed, soak_pool_lowest, soak_pool_growing, soak_slotmap, soak_bytemap,
    soak_shared, soak_heap;

struct soak_thing {
    uint64_t name, mark;
    uint32_t size, unused;
};

/* Over the whole soak, all processes that worked on it. */
struct soak_counts {
    uint64_t allocs, frees, refused, misuses, probes, restores;
};

/* A snapshot and the book of the same moment; its memory is kept for the next one. */
struct soak_saved {
    unsigned char *block;
    struct soak_thing *book;
    size_t size, room;
    uint32_t count;
};

struct soak_store {
    const struct soak_kind *kind;
    union {
        kolk_pool pool;
        kolk_slotmap slotmap;
        kolk_bytemap bytemap;
        kolk_shared shared;
        kolk_heap heap;
    } in;
    kolk_local local;        /* shared: of the thread of the load */
    struct soak_thing *book; /* of what is alive */
    void **scratch;
    uint32_t count;
    uint64_t refused; /* in this process: the pool's own statistics count from its init */
    struct soak_counts counts;
    struct soak_saved saved;
    struct soak_problem problem;
};

/* What the load wishes of one operation. */
struct soak_wish {
    struct soak_random *random;
    double level;              /* how full the store is to be, up to 1 */
    uint64_t cycle;            /* of sizes */
    struct watch_times *times; /* where the operation is counted */
};

bool soak_store_begin(struct soak_store *store, const struct soak_kind *kind); /* false: see its problem */
void soak_store_end(struct soak_store *store);
void soak_store_turn(struct soak_store *store, const struct soak_wish *wish); /* one operation */

/* A mistake of a program's: an even number of them, in turn. The failure handler must be told of each one. */
void soak_store_misuse(struct soak_store *store, struct soak_random *random);

void soak_store_probe(struct soak_store *store); /* are all objects to be had that are not alive? Of fixed ones */
bool soak_store_check(struct soak_store *store); /* is all as the book says? */
bool soak_store_save(struct soak_store *store);  /* into `saved` */
bool soak_store_restore(struct soak_store *store);

#endif
