/* ipc_inside.h: declarations that the files of the pool between processes share: the block, lives, and who may call
 * what. Each file calls only files that are listed below it:
 *
 *     ipc.c            the essay; alloc and free
 *     ipc_memory.c     the layout of the block; init, attach, deinit
 *     ipc_queue.c      push, pop and close
 *     ipc_recover.c    which process this is, and what the dead have left
 *     ipc_ring.c       the queues' rings
 *     ipc_hints.c      free slots
 *     ipc_wait.c       threads that wait in any process
 *     ipc_ask.c        questions, statistics, the invariants */
#ifndef KOLK_SRC_IPC_INSIDE_H
#define KOLK_SRC_IPC_INSIDE_H

#undef KOLK_EXTERN /* base.c emits the functions of base.inl, even if the program defines KOLK_EXTERN */
#include "kolk/base.inl"
#include "kolk/ipc.h"

#include "../base/assert.h"
#include "../base/atomics.h"
#include "../base/bits.h"
#include "../core/geometry.h"
#include "../core/looks.h"
#include "../os/forks.h"
#include "../store/slot_set.h"

#define IPC_LINE        64u
#define IPC_HEADER      1024u /* bytes before the processes */
#define IPC_NAME_ROOM   36u
#define IPC_MOST_QUEUES 256u

/* A loop that another process could keep going ends after this many rounds. In a sound block, a thread needs another
 * round only because a different thread has made progress. So many rounds mean that another process overwrites the
 * block. */
#ifndef IPC_MOST_ROUNDS
#define IPC_MOST_ROUNDS (1u << 20)
#endif

/* ---- The block: fields of fixed width, which are aligned alike with 32 and 64 bits ------------------------------- */

/* Threads of any process sleep on `word` while they wait for something. */
typedef struct ipc_event {
    uint32_t word;   /* counts the calls */
    uint32_t asleep; /* a thread may sleep */
} ipc_event;

typedef struct kolk_ipc_queue_ {
    KOLK_ALIGNAS(8) uint64_t tail; /* the next push's ticket */
    KOLK_ALIGNAS(8) uint64_t seen; /* a value that `head` had when a push read it */
    unsigned char apart[112];
    KOLK_ALIGNAS(8) uint64_t head; /* the next pop's ticket */
    unsigned char apart_too[120];
    ipc_event room, items; /* both sides read these, and hardly ever write them */
    unsigned char apart_again[112];
} ipc_queue;

/* A process may be dead as long as IPC_LIVES stands; IPC_ENDS: what it has left is being recovered. */
enum { IPC_LIVES = 1, IPC_ENDS = 2 };

/* A process. The one that holds the lock of byte n of the file has record n. */
typedef struct ipc_process {
    uint32_t used; /* 0: there is no object of it; else IPC_LIVES or IPC_ENDS */
    uint32_t pid;
    char name[16];
    unsigned char apart[40];
} ipc_process;

typedef struct kolk_ipc_block_ {
    KOLK_ALIGNAS(8) uint64_t magic; /* written last */
    KOLK_ALIGNAS(8) uint64_t size;
    KOLK_ALIGNAS(8) uint64_t object_size;
    uint32_t object_align, capacity, queues, queue_capacity, max_processes, version, tag, orphans;
    char name[IPC_NAME_ROOM];
    unsigned char apart[36];
    ipc_event free;
    unsigned char apart_too[56];
    KOLK_ALIGNAS(8) uint64_t search; /* odd: free slots without a hint are searched for (ipc_hints.c) */
    uint32_t used_words;             /* behind these words of 64 slots, no slot was ever used */
    unsigned char apart_again[52];
} ipc_block;

#define IPC_MAGIC UINT64_C(0x316370696b6c6f6b) /* "kolkipc1", which another byte order reads backwards */

/* ---- Lives ------------------------------------------------------------------------------------------------------- */

/* The life of a slot, which is all that is true about it:
 *
 *     | generation, 32 bits: odd while it is alive | pushes of this life, 19 | queued? | owner's number, 12 |
 *
 * A free slot has no owner. An object that is queued belongs to its queue; the number is that of the process that has
 * pushed it. An object whose owner is 0 is an orphan that is kept. */
#define IPC_OWNER    UINT64_C(0xfff)
#define IPC_QUEUED   UINT64_C(0x1000)
#define IPC_ONE_PUSH UINT64_C(0x2000)
#define IPC_PUSHES   (UINT64_C(0xffffffff) & ~(IPC_OWNER | IPC_QUEUED))

static inline uint32_t generation_of(uint64_t life) {
    return (uint32_t)(life >> 32);
}

static inline bool has_live_object(uint64_t life) {
    return generation_of(life) & 1;
}

static inline uint32_t life_owner(uint64_t life) {
    return (uint32_t)(life & IPC_OWNER);
}

/* The life of an object that process n owns, as it is now. */
static inline uint64_t owned_life(uint64_t life, uint32_t n) {
    return (life & ~(IPC_OWNER | IPC_QUEUED)) | n;
}

static inline uint64_t next_life(uint64_t life, uint32_t n) {
    return (uint64_t)(generation_of(life) + 1) << 32 | n;
}

static inline uint64_t life_at(const kolk_ipc *pool, uint32_t slot) {
    KOLK_ASSERT_(slot < pool->capacity);
    return kolk_load_(&pool->lives[slot], KOLK_ACQUIRE_); /* partner: change_life */
}

/* Every change of a life is one of these, and takes effect by it, except what recovery does. */
static inline bool change_life(const kolk_ipc *pool, uint32_t slot, uint64_t from, uint64_t to) {
    return kolk_compare_exchange_(&pool->lives[slot], &from, to, KOLK_SEQ_CST_, KOLK_RELAXED_);
}

/* ---- Slots ------------------------------------------------------------------------------------------------------- */

static inline void *object_at(const kolk_ipc *pool, uint32_t slot) {
    return pool->slots + (size_t)slot * pool->stride;
}

/* Returns the slot that begins there, or KOLK_NO_SLOT_. */
static inline uint32_t slot_of(const kolk_ipc *pool, const void *object) {
    uintptr_t offset = (uintptr_t)object - (uintptr_t)pool->slots;
    uintptr_t slot = kolk_exact_slot_(offset, pool->shift, pool->inverse);
    return slot < pool->capacity ? (uint32_t)slot : KOLK_NO_SLOT_;
}

static inline kolk_slot_set_ hints_of(const kolk_ipc *pool) {
    return (kolk_slot_set_){.end = pool->hints_end, .step = KOLK_SHEET_};
}

/* The bits of a word of hints that stand for slots. Another process may have set others. */
static inline uint64_t bits_in_word(const kolk_ipc *pool, uint32_t word) {
    uint32_t first = word * 64;
    if (first >= pool->capacity) return 0;
    return pool->capacity - first >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << (pool->capacity - first)) - 1;
}

/* Slots from this one on were never used. 0: the pool is all zero. */
static inline uint32_t used_slots(const kolk_ipc *pool) {
    if (!pool->block) return 0;
    uint32_t words = kolk_load_(&pool->block->used_words, KOLK_SEQ_CST_), all = pool->capacity;
    return words <= all / 64 ? words * 64 : all;
}

static inline bool is_corrupt(const kolk_ipc *pool) {
    return kolk_raw_load_(&pool->corrupt, KOLK_RELAXED_);
}

/* From now on this process can change nothing: number_here returns 0. */
static inline void note_corruption(const kolk_ipc *pool) {
    kolk_ipc *it = (kolk_ipc *)(uintptr_t)pool;
    kolk_raw_store_(&it->corrupt, 1, KOLK_RELAXED_);
    kolk_raw_store_(&it->me, 0, KOLK_RELAXED_);
}

/* ---- The dead ---------------------------------------------------------------------------------------------------- */

/* Dead processes, whose locks the thread holds that recovers what they have left: a bit for each number from `first`
 * on. One walk over the pool serves them all. */
#define IPC_MOST_DEAD 1024u /* a multiple of 64 */

typedef struct ipc_dead {
    uint32_t first;
    uint64_t numbers[IPC_MOST_DEAD / 64];
} ipc_dead;

static inline bool is_dead(const ipc_dead *dead, uint32_t n) {
    uint32_t at = n - dead->first;
    return at < IPC_MOST_DEAD && (dead->numbers[at / 64] & kolk_bits_at_(at));
}

/* ---- ipc_ask.c --------------------------------------------------------------------------------------------------- */

/* Reports that this process cannot `verb` an object, which it does not own or which is none. */
void kolk_ipc_fail_object_(const kolk_ipc *pool, const void *object, const char *verb, const void *site);

/* Reports that there is no free slot, and who has them. */
void kolk_ipc_fail_full_(const kolk_ipc *pool, const void *site);

/* Reports a call that a pool which may only be read cannot make, or one with a number that no queue has. */
void kolk_ipc_fail_read_only_(const kolk_ipc *pool, const char *verb, const void *site);
void kolk_ipc_fail_queue_(const kolk_ipc *pool, uint32_t queue, const char *verb, const void *site);

/* ---- ipc_wait.c -------------------------------------------------------------------------------------------------- */

/* A thread that waits. */
typedef struct ipc_wait {
    kolk_deadline deadline;
    kolk_looks_ looks;
    uint32_t word; /* the event's word, before the last look */
    bool listens;  /* `asleep` is set, and the thread has looked since */
    bool slept;
} ipc_wait;

/* Call it when a look has found nothing. Polls, prepares to sleep, or sleeps: the caller then looks again. Returns
 * false if the deadline has passed. */
bool kolk_ipc_wait_(kolk_ipc *pool, ipc_event *on, ipc_wait *me);

/* Call it when the wait is over. Returns true if the thread has slept: then it calls another one if there is more. */
bool kolk_ipc_end_wait_(kolk_ipc *pool, ipc_event *on, const ipc_wait *me);

/* Wakes a thread that sleeps there, or all of them. */
void kolk_ipc_call_(ipc_event *at, uint32_t n);
static inline void call_one(ipc_event *at) {
    if (KOLK_UNLIKELY_(kolk_load_(&at->asleep, KOLK_SEQ_CST_))) kolk_ipc_call_(at, 1);
}

/* ---- ipc_hints.c ------------------------------------------------------------------------------------------------- */

#ifndef KOLK_SCHEDULED
#define IPC_LOOKS 100u /* for hints, between two searches */
#else
#define IPC_LOOKS 1u
#endif

/* Returns a slot that is probably free; KOLK_NO_SLOT_: there is no hint. */
uint32_t kolk_ipc_next_hint_(const kolk_ipc *pool);

/* Was there a free slot, for a thread that has found no hint? If so, there are hints now, unless others took the
 * slots. */
bool kolk_ipc_search_(kolk_ipc *pool);

/* Keeps the hint of a slot that this thread has just freed, or shows it to all while somebody searches. */
void kolk_ipc_keep_hint_(const kolk_ipc *pool, uint32_t slot);

/* Shows the hints of slots of one word, one at least, that this thread has just freed. */
void kolk_ipc_show_hints_(const kolk_ipc *pool, uint32_t word, uint64_t freed);

/* ---- ipc_ring.c -------------------------------------------------------------------------------------------------- */

/* Puts a slot, whose life says already that it is queued, at the end. KOLK_FULL, KOLK_CLOSED and KOLK_CORRUPT: it is
 * not there. */
kolk_status kolk_ipc_put_(const kolk_ipc *pool, ipc_queue *in, uint32_t slot);

/* Claims the first object for process `me`. KOLK_EMPTY, KOLK_CLOSED (and empty), KOLK_CORRUPT. */
kolk_status kolk_ipc_take_(const kolk_ipc *pool, ipc_queue *in, uint32_t me, uint32_t *slot);

/* Marks the end of a queue: what comes after is refused. Is nothing left before the mark? */
void kolk_ipc_mark_end_(const kolk_ipc *pool, ipc_queue *in);
bool kolk_ipc_is_at_end_(const kolk_ipc *pool, const ipc_queue *in);

/* The number of objects in a queue. */
uint32_t kolk_ipc_entries_(const kolk_ipc *pool, const ipc_queue *in);

/* Is the ring sound (I2)? Marks the bits of its slots, which must be queued, and in no ring yet (I3). */
bool kolk_ipc_is_ring_valid_(const kolk_ipc *pool, const ipc_queue *in, uint64_t *marks);

/* Before the slots of dead processes become free: completes the pops that are claimed, and makes what these have pushed
 * the queues' own. */
void kolk_ipc_settle_(const kolk_ipc *pool, const ipc_dead *dead);

/* ---- ipc_recover.c ----------------------------------------------------------------------------------------------- */

/* Gives this process a number and a lock. */
kolk_status kolk_ipc_join_(kolk_ipc *pool);
void kolk_ipc_leave_(kolk_ipc *pool);

/* For a fork's child, which is a process of its own: gives it a number, or 0 if it gets none. */
uint32_t kolk_ipc_join_again_(kolk_ipc *pool);

/* The number of this process; 0: it can change nothing, or is a fork's child that has changed nothing yet. */
static inline uint32_t number_so_far(const kolk_ipc *pool) {
    uint32_t forks = kolk_raw_load_(&pool->forks, KOLK_ACQUIRE_); /* partner: become */
    return KOLK_UNLIKELY_(forks != kolk_forks_now_()) ? 0 : kolk_raw_load_(&pool->me, KOLK_RELAXED_);
}

/* The number of this process; 0: it can change nothing. */
static inline uint32_t number_here(kolk_ipc *pool) {
    uint32_t n = number_so_far(pool);
    return KOLK_UNLIKELY_(!n) ? kolk_ipc_join_again_(pool) : n;
}

/* Looks for dead processes, if that was not done in the last `ns`. Returns true if slots have become free. */
bool kolk_ipc_look_for_dead_(kolk_ipc *pool, int64_t ns);
static inline void look_while_waiting(kolk_ipc *pool, const ipc_wait *me) {
    if (me->listens) kolk_ipc_look_for_dead_(pool, INT64_C(10000000));
}

#endif
