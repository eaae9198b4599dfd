/* preload/record/wire.h: the protocol between libkolk-record.so, in a program, and the kolk command: a ring of words in
 * memory that both have mapped. So nothing is lost if the program is killed.
 *
 * A record is a few 64-bit words. The lowest three bits of the first word are the record's kind.
 *
 *     WIRE_FREE     address + thread, stack
 *     WIRE_ALLOC    address + thread, size, stack             the address is 0 if it failed
 *     WIRE_CALLOC   address + thread, size, stack, count      of `count` objects of `size` bytes
 *     WIRE_ALIGNED  address + thread, size, stack, alignment
 *     WIRE_REALLOC  address + thread, size, stack, to         the address is 0 for NULL; to is 0 if it failed
 *     WIRE_STACK    frames, stack, each frame                 precedes the stack's first use; innermost frame first
 *                   bytes + whether it is a name, stack, address, words    a pool's name in place of a stack
 *     WIRE_MODULE   bytes of the path + whether it is the first of a new list, bias, begin, end, the path's words
 *     WIRE_PROGRAM  a program begins by exec: all earlier records belong to the previous program
 *
 * A frame is a return address. It lies in a module of the latest list. Addresses of objects that do not come from
 * malloc have WIRE_OWN set: they may be that of the malloc block which contains them. Their lowest bits are in the
 * word `stack`. */
#ifndef KOLK_RECORD_WIRE_H
#define KOLK_RECORD_WIRE_H

#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { WIRE_FREE, WIRE_ALLOC, WIRE_CALLOC, WIRE_ALIGNED, WIRE_REALLOC, WIRE_STACK, WIRE_MODULE, WIRE_PROGRAM };

/* The parts of the first word. Blocks of malloc are aligned to at least 8 bytes, and all lie below 2^48. */
#define WIRE_KIND(word)     ((unsigned)(word)&7)
#define WIRE_OWN            ((uint64_t)1 << 63)
#define WIRE_ADDRESS(word)  ((word) & (WIRE_OWN | (((uint64_t)1 << 48) - 8)))
#define WIRE_THREAD(word)   ((unsigned)((word) >> 48 & (WIRE_THREADS - 1)))
#define WIRE_COUNT(word)    ((uint32_t)((word) >> 16)) /* of frames, or of bytes */
#define WIRE_LOW(stack)     ((stack) >> 32 & 7)        /* of the address */
#define WIRE_IS_FIRST(word) ((word) >> 8 & 1)
#define WIRE_IS_NAME(word)  ((word) >> 8 & 1)

enum {
    WIRE_DEPTH = 8,         /* frames of a stack, enough to see past wrappers; each call compares all of them */
    WIRE_STACKS = 1 << 20,  /* numbers of stacks; 0 means unknown, because the numbers are used up */
    WIRE_THREADS = 1 << 15, /* all further threads share the last number */
    WIRE_WORDS = 1 << 16,   /* the size of the ring: 512 KiB, so that it stays in a cache */
    WIRE_NAME_ROOM = 128,   /* bytes; longer names of pools are cut */
    WIRE_CALL = 1 << 12,    /* words after which a sleeping reader is woken */
};

#define WIRE_MAGIC UINT64_C(0x346b6c6f6b636572) /* "recklok4" */

enum { WIRE_NOTHING, WIRE_STARTED, WIRE_NO_MEMORY, WIRE_OLD_KERNEL };

struct wire {
    uint64_t magic;
    uint32_t state;               /* WIRE_NOTHING and so on, set by the program */
    uint64_t slow_ns;             /* processor time that rare and long work of recording has taken: see cost.c */
    int64_t sampled_ns;           /* time that other work has taken in some calls ... */
    uint64_t samples;             /* ... in so many */
    _Alignas(64) uint64_t head;   /* words written so far; set by the program */
    _Alignas(64) uint64_t tail;   /* words read so far; set by the reader */
    uint32_t turn;                /* changes whenever the ring has more space: the writer sleeps on it */
    uint32_t is_full;             /* a writer is asleep */
    _Alignas(64) uint32_t asleep; /* the reader sleeps on it */
    _Alignas(4096) uint64_t words[WIRE_WORDS];
};

/* These functions sleep on a word of shared memory, and wake the thread that sleeps on it. They make raw system calls,
 * so the caller must preserve errno. */
static inline void wire_sleep(uint32_t *word, uint32_t expected, long milliseconds) {
    struct timespec most = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    syscall(SYS_futex, word, 0 /* FUTEX_WAIT */, expected, milliseconds ? &most : (void *)0, (void *)0, 0);
}

static inline void wire_wake(uint32_t *word) {
    syscall(SYS_futex, word, 1 /* FUTEX_WAKE */, 1, (void *)0, (void *)0, 0);
}

#endif
