/* cli/soak/load.h: the load of the soak test: a pool of every kind, a heap, queues, a resource pool and threads. */
#ifndef SOAK_LOAD_H
#define SOAK_LOAD_H

#include <kolk/kolk.h>
#include <stdatomic.h>

/* ---- What is claimed, and the first evidence against it ---------------------------------------------------------- */

enum soak_claim {
    SOAK_ROOM,    /* fixed pools never fragment */
    SOAK_WHOLE,   /* objects are found, intact and in order, until they are freed */
    SOAK_COUNTS,  /* counters agree */
    SOAK_VALID,   /* is_valid of each member returns true */
    SOAK_REPORTS, /* mistakes are reported */
    SOAK_CLAIMS,
    SOAK_SYSTEM = SOAK_CLAIMS /* not a claim: there is no memory, thread or file */
};

extern struct soak_problem {
    atomic_bool found;
    enum soak_claim claim;
    char text[200];
} soak_problem;

/* Records the problem if it is the first. */
void soak_wrong(enum soak_claim claim, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- A pool of any kind, and a book of its live objects, with which it is compared ------------------------------- */

enum soak_member { SOAK_POOL, SOAK_SLOTMAP, SOAK_BYTEMAP, SOAK_SHARED, SOAK_HEAP };
enum { SOAK_MOST = 16000, SOAK_OBJECT = 48, SOAK_KINDS = 7 };

extern const struct soak_kind {
    const char *name; /* of the pool */
    enum soak_member member;
    uint32_t most; /* the most objects alive at a time */
    bool fixed;    /* it can always hold `most` objects */
    bool exact;    /* it cannot hold more than `most` */
    kolk_reuse reuse;
} soak_kinds[SOAK_KINDS];

/* An object begins with its mark in eight bytes, and ends with the mark inverted. */
struct soak_thing {
    uint64_t name, mark;
    uint32_t size;
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
    struct soak_thing book[SOAK_MOST];
    uint32_t count;   /* of the book */
    uint64_t refused; /* allocs that gave NULL */

    /* A snapshot of a kolk_pool, and the book at the same moment. The memory is used again for the next one. */
    unsigned char *block;
    size_t block_size, block_room;
    struct soak_thing saved[SOAK_MOST];
    uint32_t saved_count;
};

/* kinds.c: a name is a handle, an index or an address. */
kolk_status soak_begin(struct soak_store *store);
void soak_end(struct soak_store *store);
void *soak_alloc(struct soak_store *store, size_t size, uint64_t *name); /* returns NULL if it is full */
void *soak_find(const struct soak_store *store, uint64_t name);          /* returns NULL if the object is gone */
void soak_release(struct soak_store *store, void *object);
bool soak_is_valid(const struct soak_store *store);
void soak_stats(const struct soak_store *store, kolk_stats *stats);

/* ---- All of it --------------------------------------------------------------------------------------------------- */

enum { SOAK_CYCLE = 1000000 }; /* operations per cycle */
enum { SOAK_SHIFTS = 6 };      /* sizes of blocks double in so many cycles, and halve in as many */
enum { SOAK_BORROWS = 6 };
enum { SOAK_PROBES = 10000 }; /* over the run, also if its last cycle takes longer than the time that was given */

struct soak_queue {
    kolk_queue queue;
    uint64_t pushed, popped;
    atomic_uint_fast64_t refused;
};

/* Its resources are nothing: only how many there are is counted. */
struct soak_resource {
    kolk_resource_pool pool;
    kolk_borrowed borrows[SOAK_BORROWS + 1];
    uint32_t held;
    uint64_t lent, full, failed, created, destroyed, discarded, invalid;
};

struct soak_load {
    struct soak_store stores[SOAK_KINDS];
    struct soak_queue queue, handover; /* the second is among threads */
    struct soak_resource resource;
    uint64_t random, cycles;                            /* cycles: completed; the sizes of blocks depend on it */
    uint64_t allocs, frees, misuses, restores, threads; /* misuses: mistakes that were made */
    uint64_t probes, probe_every, next_probe;           /* nanoseconds, 0: no probes; when the next one is due */
    atomic_uint_fast64_t reports;                       /* calls of the failure handler */
};

/* On failure sets the problem and returns false. The caller must call soak_load_end in either case. Until then the load
 * owns the process's failure handler. */
bool soak_load_begin(struct soak_load *load, uint64_t seed);
void soak_load_end(struct soak_load *load);

/* Runs a cycle of SOAK_CYCLE operations, then all checks, and calls `tell` now and then. Returns false if something was
 * wrong. */
bool soak_load_cycle(struct soak_load *load, void (*tell)(void *context), void *context);

bool soak_load_check(struct soak_load *load);
void soak_load_probe(struct soak_load *load); /* asks the next fixed pool for all objects that are not alive */

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

/* Memory is judged by its mean over periods, in each of which all sizes of blocks occur, and once all have occurred
 * twice: by the means of the periods of the second tenth of the time and of the last. */
enum { SOAK_TENTHS = 10, SOAK_PERIOD = 2 * SOAK_SHIFTS };

struct soak_memory {
    double sum; /* of resident bytes in this period */
    struct soak_tenth {
        uint64_t periods;
        double cycles, resident; /* sums */
    } tenths[SOAK_TENTHS];
};

/* Called at the end of each cycle. */
void soak_watch(struct soak_memory *memory, uint64_t cycles, uint64_t tenth, uint64_t resident);

/* Finds by how many bytes resident memory has grown, in all and in each cycle. Returns false if it cannot be told. */
bool soak_growth(const struct soak_memory *memory, double *all, double *each);

#endif
