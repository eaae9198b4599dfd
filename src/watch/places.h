/* places.h: sites with their callers, as the debug mode keeps them for each object; and where the live objects of a
 * pool were allocated, as far as the debug setting `sites` knows. */
#ifndef KOLK_SRC_PLACES_H
#define KOLK_SRC_PLACES_H

#include "../core/watch.h"
#include "../core/writer.h"

/* Keeps the calling thread's stack, so that `depth` calls can be named later. Any thread may call it at any time. */
kolk_kept_site_ kolk_stack_keep_(const void *site, uint32_t depth);

/* Returns the addresses from the innermost on, then NULL; they live as long as the process. Returns NULL if only the
 * site's address was kept. */
const void *const *kolk_stack_kept_(kolk_kept_site_ kept);

/* ---- Places. Only one thread at a time may use a struct ---------------------------------------------------------- */

#define KOLK_PLACES_  16u /* the most places of a pool that are listed */
#define KOLK_HOLDERS_ 8u  /* processes: each is a place for what it owns, and one for what it has pushed */

typedef struct kolk_alive_at_ {
    kolk_kept_site_ site;
    uint32_t alive; /* live objects that were allocated there */
} kolk_alive_at_;

/* The places of one pool. */
typedef struct kolk_places_ {
    kolk_alive_at_ most[KOLK_PLACES_]; /* those with the most live objects, in this order */
    uint32_t count;                    /* of places in `most` */
    uint32_t elsewhere;                /* live objects of other places */
    uint32_t depth;                    /* how many calls to name for each place */
    char who[KOLK_PLACES_][52];        /* a holder, in place of a site; "": there is a site */
} kolk_places_;

/* The places of one pool while its live objects are counted. Initialise with zeros. */
typedef struct kolk_place_counts_ {
    kolk_alive_at_ *table; /* a hash table; NULL until the first object is counted */
    uint32_t used;         /* places in the table */
    uint32_t elsewhere;    /* live objects of places that are not in the table */
    uint32_t depth;
} kolk_place_counts_;

/* Counts one live object, which `depth` calls shall name. O(1). `to` is a kolk_place_counts_. */
void kolk_places_count_(void *to, kolk_kept_site_ site, uint32_t depth);

/* Ends the counting. Returns false if no object was counted. */
bool kolk_places_end_(kolk_place_counts_ *counts, kolk_places_ *out);

/* Makes places of the processes that hold most of a pool's `alive` objects. Returns false if none holds any. */
struct kolk_ipc_holder;
bool kolk_places_of_holders_(const struct kolk_ipc_holder *most, uint32_t n, uint32_t alive, kolk_places_ *out);

/* Writes the three places with the most objects: "97 from fire (gun.c:31), 20 from ...". Returns the text, or NULL if
 * no place has a name. No lock may be held. */
const char *kolk_places_text_(const kolk_places_ *places, char *text, size_t size);

/* These write the places in words. They look up symbols and source lines, so no lock may be held. */
void kolk_places_write_text_(kolk_writer_ *out, const kolk_places_ *places);
void kolk_places_write_json_(kolk_writer_ *out, const kolk_places_ *places);

#endif
