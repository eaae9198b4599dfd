/* cli/soak/store.h: a pool of any kind under load. The load keeps a book of live objects, writes a mark into each
 * object, and compares the pool with the book. */
#ifndef SOAK_STORE_H
#define SOAK_STORE_H

#include "problem.h"
#include "random.h"
#include "watch.h"

#include <kolk/kolk.h>

struct soak_store;

/* The load's interface to one kind of pool. Objects have at least 16 bytes. */
struct soak_kind {
    const char *name; /* of the pool */
    size_t size;      /* bytes per object; 0: the sizes shift */
    uint32_t most;    /* the most objects alive at a time */
    bool fixed;       /* it can always hold `most` objects */
    bool exact;       /* it cannot hold more than `most` */
    bool saved;       /* it is saved as a snapshot, because it is a kolk_pool */
    kolk_status (*begin)(struct soak_store *store);
    void (*end)(struct soak_store *store);
    void *(*alloc)(struct soak_store *store, size_t size, uint64_t *name); /* returns NULL if it is full */
    void *(*find)(const struct soak_store *store, uint64_t name);          /* returns NULL if the object is gone */
    void (*release)(struct soak_store *store, void *object);
    void (*rest)(struct soak_store *store); /* called now and then, as a program would once a frame; may be NULL */
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

/* Counts over the whole soak test. */
struct soak_counts {
    uint64_t allocs, frees, refused, misuses, probes, restores;
};

/* A snapshot, and the book at the same moment. The memory is reused for the next snapshot. */
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
    kolk_shared_local local; /* that of the load's thread, for a shared pool */
    struct soak_thing *book; /* has an entry for each live object */
    void **scratch;
    uint32_t count;
    struct soak_counts counts;
    struct soak_saved saved;
    struct soak_problem problem;
};

/* The load's parameters for one operation. */
struct soak_wish {
    struct soak_random *random;
    double level;              /* the requested number of live objects as a fraction of `most`, up to 1 */
    uint64_t cycle;            /* decides the sizes */
    struct watch_times *times; /* where the operation's time goes */
};

bool soak_store_begin(struct soak_store *store, const struct soak_kind *kind); /* false: see its problem */
void soak_store_end(struct soak_store *store);
void soak_store_turn(struct soak_store *store, const struct soak_wish *wish); /* performs one operation */

/* Makes one of the typical mistakes, chosen at random. The failure handler must be called for each one. */
void soak_store_misuse(struct soak_store *store, struct soak_random *random);

void soak_store_probe(struct soak_store *store); /* checks that a fixed pool can give all objects not alive */
bool soak_store_check(struct soak_store *store); /* checks that the store agrees with its book */
bool soak_store_save(struct soak_store *store);  /* into `saved` */
bool soak_store_restore(struct soak_store *store);

#endif
