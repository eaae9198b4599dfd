/* SPDX-License-Identifier: Zlib */
/* kolk/ipc.h: a pool of objects that several processes use, and queues in which they hand objects to each other. Any
 * process may be killed at any instruction: no slot is lost, nobody waits for it, and nothing stays behind. Linux only.
 *
 *     #include <kolk/kolk.h>
 *     #include <stdio.h>
 *     #include <sys/wait.h>
 *     #include <unistd.h>
 *
 *     struct frame { int number; };
 *     KOLK_IPC_TYPE(frames, struct frame)
 *
 *     static frames pool;                                             // all zero
 *
 *     int main(void) {
 *         kolk_ipc_desc desc = {.name = "frames", .capacity = 100, .queues = 1};
 *         if (frames_init(&pool, &desc) != KOLK_OK) return 1;
 *         pid_t child = fork();                                       // uses the pool as a process of its own
 *         if (child == 0) {
 *             for (int number = 1; number <= 10; number++) {
 *                 struct frame *frame = frames_alloc(&pool);
 *                 if (!frame) return 1;                               // a hundred are alive
 *                 frame->number = number;
 *                 frames_push(&pool, 0, frame, KOLK_FOREVER);         // now the queue has it
 *             }
 *             frames_close(&pool, 0);
 *             return 0;
 *         }
 *         int sum = 0;
 *         for (struct frame *frame; (frame = frames_pop(&pool, 0, KOLK_FOREVER)); frames_free(&pool, frame))
 *             sum += frame->number;                                   // now it is ours
 *         waitpid(child, NULL, 0);
 *         printf("%d %u\n", sum, frames_count(&pool));                // 55 0
 *         frames_deinit(&pool);
 *     }
 *
 * (frames_... come from typed.h: the same functions as below, with your type for void *. A process that is no child
 * gets the pool's file over a socket or by exec: see kolk_ipc_attach.)
 *
 * A live object has one owner: the process that has allocated or popped it, or the queue that it was pushed into. Only
 * its owner may free, push or change it. If a process ends without a deinit (it is killed, crashes, exits, or calls
 * exec), another process notices and frees what it owned: see When a process dies.
 *
 * Cost      alloc, free, push and pop are O(1): one atomic read-modify-write for alloc and for free, and three or four
 *           for push and for pop. A free slot may have to be searched for among all slots; this happens if the pool is
 *           nearly full. A call that waits first polls for some 50 microseconds, and then sleeps. A push that finds a
 *           sleeper makes one system call. attach is O(1).
 * Memory    one file without a name (memfd), which the system removes when the last process has ended. A slot costs its
 *           stride, 8 bytes, 1 bit, and 8 to 16 bytes for each queue. Memory that was never used costs nothing.
 * Contents  a new object has the bytes of the slot's last life, or any others. Pointers in objects are valid in the
 *           process that wrote them only: refer to other objects by handles.
 * Threads   any thread of any process may call any function at the same time, except init, attach, deinit and is_valid.
 *           alloc, free, push, pop with KOLK_NOW, and get are lock-free: a thread that is stopped or killed in the
 *           middle of one stops no other. NULL from alloc proves that at one moment during the call no slot was free.
 *           There is one exception: the thread has searched millions of slots, and others took each one that became
 *           free meanwhile.
 *           A process that is stopped (SIGSTOP, a debugger) is not dead, however long it lasts.
 * Forks     a child may use the pool. It is a process of its own, which owns nothing at first; what the parent owns
 *           stays the parent's. Children made by _Fork or clone: see base.h.
 * Trust     see docs/processes.md: a process that writes garbage into the block costs the others the pool
 *           (KOLK_CORRUPT), but neither crashes nor hangs them. A process that may only read can get and walk.
 * Design    the essay in src/ipc/ipc.c. Not in freestanding builds.
 */
#ifndef KOLK_IPC_H
#define KOLK_IPC_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Descriptor -------------------------------------------------------------------------------------------------- */

/* What becomes of the objects of a process that has died. Objects that it has pushed stay in their queue. */
typedef enum kolk_ipc_orphans {
    KOLK_IPC_FREE = 0, /* they are freed */
    KOLK_IPC_KEEP      /* they stay alive without an owner, until kolk_ipc_adopt */
} kolk_ipc_orphans;

/* Zero means the default. At an attach, it means: whatever the block has. */
typedef struct kolk_ipc_desc {
    const char *name KOLK_OR_0_;    /* for statistics and the default tag; copied, cut to 35 bytes */
    size_t object_size KOLK_OR_0_;  /* bytes; must be given, unless the pool is typed */
    size_t object_align KOLK_OR_0_; /* a power of two up to 4096; 0: the largest that divides object_size, up to 16 */
    uint32_t capacity KOLK_OR_0_;   /* objects; exact */
    uint32_t queues KOLK_OR_0_;     /* how many queues there are, numbered from 0; up to 256 */
    uint32_t queue_capacity KOLK_OR_0_; /* objects in each queue; 0: capacity, so that no push finds a queue full */
    uint32_t max_processes KOLK_OR_0_;  /* the most processes at the same time, up to 4095; 0: 64 */
    uint32_t version KOLK_OR_0_;        /* your own number for what is in an object */
    uint32_t tag KOLK_OR_0_;            /* distinguishes its handles from other pools'; 0: a hash of the name */
    kolk_ipc_orphans orphans KOLK_OR_0_;

    /* The rest is this process's own, and need not be the same in the others. */

    /* Called for each object of a dead process that this process finds, in place of `orphans`. The object is this
     * process's now: free it, push it or keep it. May be NULL. It may call any function of the pool except deinit, and
     * is called in an attach too, before that returns. A child that it forks must not return from it. */
    void (*on_orphan)(void *object, void *context) KOLK_OR_0_;
    void *context KOLK_OR_0_;
    /* An alloc that finds no slot reports KOLK_FULL, with the processes that hold the most objects. */
    bool trap_full KOLK_OR_0_;
    /* Attach to a file that another process could truncate, which would kill this one (SIGBUS). Without this, only
     * files that are sealed against it are accepted; those of kolk_ipc_init are. */
    bool unsealed KOLK_OR_0_;
} kolk_ipc_desc;

/* ---- Struct: read no field; call the functions instead ----------------------------------------------------------- */

/* A process's access to a pool. In one that is zero-initialised, alloc and pop return NULL. Never copy or move it. */
typedef struct kolk_ipc {
    unsigned char *slots;
    uint64_t *lives;               /* by slot: see src/ipc/ipc.c */
    struct kolk_ipc_block_ *block; /* the start of the mapped file */
    struct kolk_ipc_queue_ *queues_at;
    uint64_t *rings;
    uint64_t *hints_end;
    uintptr_t inverse;
    size_t size; /* of the file */
    uint32_t stride, capacity, tag, object_size;
    uint32_t queues, queue_capacity, ring_mask, max_processes;
    uint32_t number; /* number in the registry; 0: not registered */
    uint32_t me;     /* the process's number in the block; 0: none */
    uint32_t forks;  /* kolk_forks_now_ when it got that number */
    uint32_t lock, recovering, wrong_pool;
    int32_t fd;
    uint8_t shift;
    bool read_only, trap_full;
    uint8_t corrupt;
    uint8_t orphans;
    KOLK_ALIGNAS(8) uint64_t file;   /* its identity (src/os/between.h) */
    KOLK_ALIGNAS(8) uint64_t serial; /* unique in the process */
    KOLK_ALIGNAS(8) uint64_t seen;   /* the block's `search` when the last one found no free slot */
    KOLK_ALIGNAS(8) uint64_t failed;
    KOLK_ALIGNAS(8) uint64_t waits;
    KOLK_ALIGNAS(8) uint64_t looked; /* kolk_now_ns_ when it last looked for dead processes */
    uint32_t waiting;                /* threads of this process that wait now */
    uint32_t in_vain;                /* how many of the last waits had to yield: see src/core/looks.h */
    uint32_t page;                   /* bytes of one of the file */
    void *lock_kept;                 /* that of number `me` (src/os/between.h) */
    const char *name;
    void (*on_orphan)(void *object, void *context);
    void *context;
    char own_name[36]; /* what `name` is copied from */
} kolk_ipc;

/* ---- Life -------------------------------------------------------------------------------------------------------- */

/* Makes a pool in a new file without a name, whose size is sealed. If the status is not KOLK_OK (the descriptor breaks
 * a rule, KOLK_NO_MEMORY, KOLK_NO_LOCKS or KOLK_NEEDS_LINUX), *pool is left all zero. Cost: O(capacity / 64), apart
 * from the system's work. */
KOLK_FOLDED_INLINE_ kolk_status kolk_ipc_init(kolk_ipc *pool, const kolk_ipc_desc *desc);

/* The same in a file of yours, which must be empty and open for reading and writing, such as one that gets a name when
 * it is complete (O_TMPFILE and linkat). It stays yours, and is sealed
 * if it can be. KOLK_NOT_EMPTY: it is not empty. */
KOLK_FOLDED_INLINE_ kolk_status kolk_ipc_init_in(kolk_ipc *pool, int fd, const kolk_ipc_desc *desc);

/* Attaches the calling process to the pool in this file, which it may then close. The descriptor may be all zero; what
 * is not zero must be what the pool was made with, or the status is KOLK_OTHER_LAYOUT. KOLK_NOT_A_BLOCK: the file is no
 * pool, is not complete yet, or comes from another version of kolk or a machine of another byte order. KOLK_NOT_SEALED:
 * see `unsealed`. KOLK_TOO_MANY_PROCESSES: there are max_processes; an attach waits up to a second for a number that
 * another process is giving back. KOLK_NO_LOCKS: there is no /proc, or no descriptor left. A file that is open for
 * reading only gives a pool that can be read only: get, is_live, walks, counts and statistics work, and the others
 * report KOLK_READ_ONLY. A process with 32 bits may attach to the pool of one with 64, and the other way round. A
 * process may attach several times, and counts as several then. */
KOLK_FOLDED_INLINE_ kolk_status kolk_ipc_attach(kolk_ipc *pool, int fd, const kolk_ipc_desc *desc);

/* Returns the pool's file: send it over a socket (SCM_RIGHTS), or let a program inherit it (it is close-on-exec: use
 * dup2 or fcntl). It belongs to the pool, and deinit closes it. -1: the pool is all zero. For a process that may only
 * read, send open("/proc/self/fd/N", O_RDONLY). */
KOLK_API_ int kolk_ipc_fd(const kolk_ipc *pool);

/* Leaves the pool, and leaves *pool all zero. Objects that this process owns become orphans, without the hook. No
 * thread of this process may be inside a call. The other processes go on; the last one takes the pool with it.
 * O(slots that were ever used). */
KOLK_USES_(1) void kolk_ipc_deinit(kolk_ipc *pool);

/* Returns KOLK_OK, or why this process can change nothing more: KOLK_CORRUPT, KOLK_READ_ONLY, in a fork's child that
 * gets no number KOLK_TOO_MANY_PROCESSES, or KOLK_NO_DESCRIPTOR if it is all zero. */
KOLK_USES_(1) kolk_status kolk_ipc_status(kolk_ipc *pool);

/* ---- Objects ----------------------------------------------------------------------------------------------------- */

/* Returns an object, which this process owns, or NULL if no slot is free. Before it returns NULL it looks for dead
 * processes, but at most once in a millisecond. */
KOLK_USES_(1) void *kolk_ipc_alloc(kolk_ipc *pool);

/* The same, but waits for a slot until the deadline. Waiting threads are served in no particular order. */
KOLK_USES_(1) void *kolk_ipc_alloc_wait(kolk_ipc *pool, kolk_deadline deadline);

/* Frees an object that this process owns. Its handles are stale from now on. NULL does nothing. An object that the
 * process does not own (a double free, or one that it has pushed) is reported as KOLK_NOT_OWNER and stays as it is. The
 * default failure handler only prints that, because another process may have overwritten the block. A pointer that is
 * not from this pool is a bug of the caller. */
KOLK_USES_(1) void kolk_ipc_free(kolk_ipc *pool, void *object);

/* ---- Queues ------------------------------------------------------------------------------------------------------ */

/* Puts an object that this process owns at the end of a queue, which owns it from then on. If the status is not
 * KOLK_OK, the process still owns it:
 *
 *     KOLK_FULL       the queue has queue_capacity objects; only with the deadline KOLK_NOW
 *     KOLK_TIMEOUT    it still had at the deadline
 *     KOLK_CLOSED     the queue is closed
 *     KOLK_CORRUPT, or another status of kolk_ipc_status
 *
 * An object that the process does not own is reported, as by kolk_ipc_free, and so is a queue that does not exist;
 * KOLK_NOT_OWNER and KOLK_NO_QUEUE are returned then. */
KOLK_USES_(1) kolk_status kolk_ipc_push(kolk_ipc *pool, uint32_t queue, void *object, kolk_deadline deadline);

/* Takes the first object out of a queue: this process owns it from then on. Waits for one until the deadline. NULL:
 * there was none at the deadline, or the queue is closed and empty, or kolk_ipc_status is not KOLK_OK. Each object is
 * popped once, by one process, in the order of the pushes. */
KOLK_USES_(1) void *kolk_ipc_pop(kolk_ipc *pool, uint32_t queue, kolk_deadline deadline);

/* Ends the pushes into a queue, for ever. What is in it can still be popped; afterwards pops return NULL, also those
 * that wait. */
KOLK_USES_(1) void kolk_ipc_close(kolk_ipc *pool, uint32_t queue);

/* Is the queue closed and empty? */
KOLK_API_ bool kolk_ipc_is_closed(const kolk_ipc *pool, uint32_t queue);

/* The number of objects in a queue: exact while nobody pushes or pops. */
KOLK_API_ uint32_t kolk_ipc_queued(const kolk_ipc *pool, uint32_t queue);

/* ---- When a process dies -----------------------------------------------------------------------------------------
 *
 * The system tells that a process has ended: it releases the process's lock on the file, at any kind of end, and also
 * at exec. So there is no daemon, no time-out, no number of a process that could be used again, and it works across
 * containers.
 *
 * What a dead process was in the middle of is completed or undone: each operation takes effect by one atomic write. An
 * object that it had pushed is in the queue. One that it had popped, allocated, or was about to push is an orphan. A
 * handle of an orphan that was freed is stale.
 *
 * Processes notice it when they need a slot and find none, when they have waited for 10 milliseconds, and at an attach.
 */

/* Looks for dead processes now, and returns how many objects they owned. O(max_processes); if any are dead, also
 * O(slots that were ever used), for all of them together. Returns 0 if another thread of this process is doing it. */
KOLK_USES_(1) uint32_t kolk_ipc_recover(kolk_ipc *pool);

/* With KOLK_IPC_KEEP: makes this process the owner of an object that has none, and returns it, or NULL if there is
 * none. O(slots that were ever used). */
KOLK_USES_(1) void *kolk_ipc_adopt(kolk_ipc *pool);

/* ---- Handles and questions --------------------------------------------------------------------------------------- */

/* Returns the handle of a live object, whoever owns it: valid in every process. Any other pointer is a bug of the
 * caller; the result is then the null handle. */
KOLK_API_ kolk_handle kolk_ipc_handle_of(const kolk_ipc *pool, const void *object);

/* Returns the object of a handle, or NULL if it was freed. Its owner may free it right afterwards. After 2^31 lives of
 * its slot a handle becomes valid again. */
KOLK_API_ void *kolk_ipc_get(const kolk_ipc *pool, kolk_handle handle);

/* Is this the start of a live object? And: does this process own it? Any pointer is allowed. */
KOLK_API_ bool kolk_ipc_is_live(const kolk_ipc *pool, const void *object);
KOLK_API_ bool kolk_ipc_is_owned(const kolk_ipc *pool, const void *object);

/* The number of live objects: exact while no process allocates or frees. O(slots that were ever used). */
KOLK_API_ uint32_t kolk_ipc_count(const kolk_ipc *pool);

/* A walk over the live objects of all processes, in ascending order of slots, as that of shared.h. */
typedef struct kolk_ipc_cursor {
    const kolk_ipc *pool;
    uint32_t slot, end;
    bool more;
} kolk_ipc_cursor;

KOLK_API_ kolk_ipc_cursor kolk_ipc_each(const kolk_ipc *pool);
KOLK_USES_(1) void *kolk_ipc_cursor_next(kolk_ipc_cursor *cursor);

/* A process, and how many objects it holds. Number 0 is no process: its counts are those of the dead, for objects that
 * they had pushed and for orphans that are kept. */
typedef struct kolk_ipc_holder {
    uint32_t number; /* in the block, from 1 */
    uint32_t pid;    /* as the process itself sees it: another one in another container */
    uint32_t count;  /* objects that it owns, which are in no queue */
    uint32_t queued; /* objects that it has pushed, and that nobody has popped yet */
    char name[16];   /* of its program, cut */
} kolk_ipc_holder;

/* Writes the holders into an array of n, those that own the most objects first, and returns how many there are: 0 if
 * there is no memory to count. A process without objects counts too. O(slots that were ever used + max_processes). */
KOLK_API_ uint32_t kolk_ipc_holders(const kolk_ipc *pool, kolk_ipc_holder *holders, uint32_t n);

/* Counters, as for the other members. `peak` counts the slots that were ever used. `failed`, `waits` and `waiting` are
 * those of this process. */
KOLK_API_ void kolk_ipc_stats(const kolk_ipc *pool, kolk_stats *out);

/* Checks the invariants of src/ipc/ipc.c, for tests; no process may be inside a call. Also false: there is no memory
 * for it. */
KOLK_API_ bool kolk_ipc_is_valid(const kolk_ipc *pool);

/* ---- Inside ------------------------------------------------------------------------------------------------------ */

/* How an init or attach gets its file. */
#define KOLK_IPC_NEW_ (-1)

KOLK_HOSTED_("pools between processes")
kolk_status kolk_ipc_init_abi_(kolk_ipc *pool, int fd, const kolk_ipc_desc *desc, size_t type_size, size_t type_align,
                               size_t pool_size, uint32_t abi);
KOLK_HOSTED_("pools between processes")
kolk_status kolk_ipc_attach_abi_(kolk_ipc *pool, int fd, const kolk_ipc_desc *desc, size_t type_size, size_t type_align,
                                 size_t pool_size, uint32_t abi);

KOLK_NAMED_(kolk_ipc_desc_named_, kolk_ipc_desc)

KOLK_FOLDED_INLINE_ kolk_status kolk_ipc_init(kolk_ipc *pool, const kolk_ipc_desc *desc) {
    return kolk_ipc_init_abi_(pool, KOLK_IPC_NEW_, desc, 0, 0, sizeof *pool, KOLK_ABI);
}

KOLK_FOLDED_INLINE_ kolk_status kolk_ipc_init_in(kolk_ipc *pool, int fd, const kolk_ipc_desc *desc) {
    return kolk_ipc_init_abi_(pool, fd < 0 ? -2 : fd, desc, 0, 0, sizeof *pool, KOLK_ABI);
}

KOLK_FOLDED_INLINE_ kolk_status kolk_ipc_attach(kolk_ipc *pool, int fd, const kolk_ipc_desc *desc) {
    return kolk_ipc_attach_abi_(pool, fd, desc, 0, 0, sizeof *pool, KOLK_ABI);
}

#ifdef __cplusplus
}
#endif
#endif
