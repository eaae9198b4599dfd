/* cli/soak/store.h: a pool of any kind under load. The load keeps a book of live objects, writes a mark into each
 * object, and compares the pool with the book. */
#ifndef SOAK_STORE_H
#define SOAK_STORE_H

#include "problem.h"
#include "random.h"
#include "watch.h"

#include <kolk/kolk.h>

struct soak_store;

/* The load's interface to a kind of pool. Objects have 16 bytes or more. */
struct soak_kind {
    const char *name; /* of the pool */
    size_t size;      /* of an object; 0: of shifting sizes */
    uint32_t most;    /* objects at a time */
    bool fixed;       /* can always have `most` objects */
    bool exact;       /* and not one more */
    bool saved;       /* by snapshots: it is a kolk_pool */
    kolk_status (*begin)(struct soak_store *store);
    void (*end)(struct soak_store *store);
    void *(*alloc)(struct soak_store *store, size_t size, uint64_t *name); /* NULL: it is full */
    void *(*find)(const struct soak_store *store, uint64_t name);          /* NULL: it is gone */
    void (*release)(struct soak_store *store, void *object);
    void (*rest)(struct soak_store *store); /* called now and then, as a program would once a frame; NULL: nothing */
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

/* Counts over the whole soak test, by all processes. */
struct soak_counts {
    uint64_t allocs, frees, refused, misuses, probes, restores;
};

/* A snapshot and the book at that moment; the memory is reused for the next one. */
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
    kolk_shared_local local; /* for a shared pool: the load thread's */
    struct soak_thing *book; /* of what is alive */
    void **scratch;
    uint32_t count;
    uint64_t refused; /* in this process, as the pool's statistics count from its init */
    struct soak_counts counts;
    struct soak_saved saved;
    struct soak_problem problem;
};

/* The load's parameters for one operation. */
struct soak_wish {
    struct soak_random *random;
    double level;              /* the wished fraction of live objects, up to 1 */
    uint64_t cycle;            /* of sizes */
    struct watch_times *times; /* for the operation's time */
};

bool soak_store_begin(struct soak_store *store, const struct soak_kind *kind); /* false: see its problem */
void soak_store_end(struct soak_store *store);
void soak_store_turn(struct soak_store *store, const struct soak_wish *wish); /* one operation */

/* Makes one of the typical mistakes, in turn. The failure handler must be called for each one. */
void soak_store_misuse(struct soak_store *store, struct soak_random *random);

void soak_store_probe(struct soak_store *store); /* can a fixed pool give all objects that are not alive? */
bool soak_store_check(struct soak_store *store); /* does the store agree with its book? */
bool soak_store_save(struct soak_store *store);  /* into `saved` */
bool soak_store_restore(struct soak_store *store);

#endif
