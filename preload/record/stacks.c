/* stacks.c: numbers the stacks from which malloc and its family are called.
 *
 * Walking a stack with the unwind tables takes microseconds, and most calls come from a known place. So a thread
 * remembers, for a return address and the stack pointer there, where in the stack each of the outer return addresses
 * was found:
 *
 *     | back into f |  frame of f  | back into g |  frame of g  | back into main | ...
 *                   ^ stack        ^ places[1]                  ^ places[2]
 *
 * If the same addresses are still there, the stack is the same: at a given place in f, f's frame has a fixed size, so
 * the return address into g is always found at the same distance. (Functions with alloca have frames of many sizes. An
 * old address may be left over in such a frame; the result is then an earlier stack.) A few stacks are remembered for
 * each address and pointer, because the calls further out may alternate. If none of them is there, the stack is walked.
 * On machines that, unlike x86, do not keep return addresses just below the caller's stack pointer, nothing is
 * remembered.
 *
 * A stack that was walked is looked up in a table by its frames. A new stack gets the next number, and is recorded. The
 * table lies in address space reserved at the start, so nothing ever moves, and a thread may compare frames of a known
 * number without a lock. */
#define _GNU_SOURCE
#include "inside.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unwind.h>

#ifndef RECORD_CACHE
#define RECORD_CACHE 1024 /* stacks that a thread remembers */
#endif
#define WAYS  4 /* of them with the same hash: stacks that differ only further out are in one set */
#define INDEX (2 * (uint32_t)WIRE_STACKS)

struct stack {
    uintptr_t frames[WIRE_DEPTH]; /* 0 where there are no more */
};

struct walk {
    uintptr_t from; /* the stack pointer of malloc's caller, the first frame recorded */
    uint32_t count;
    bool is_plain; /* each return address was found in its expected place */
    uintptr_t places[WIRE_DEPTH];
    struct stack stack;
};

struct memory {
    struct caller caller;
    uint32_t number; /* 0 if nothing is remembered */
    uint32_t count;
    uint32_t places[WIRE_DEPTH]; /* bytes above caller.stack; the first frame needs none */
};

struct cache {
    struct memory memories[RECORD_CACHE / WAYS][WAYS];
    uint32_t walks;     /* the next one is remembered in this place of its set */
    struct cache *next; /* the next of the caches that no thread has */
};

static struct stack *stacks; /* by number, from 1 on */
static uint32_t *numbers;    /* by hash; 0 if none */
static uint32_t last_number;
static struct cache *unused; /* used under the lock */
static pthread_key_t key;

static void *map(size_t size) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* ---- What a thread remembers ------------------------------------------------------------------------------------- */

/* Called when a thread ends. If the thread allocates after that, it gets another cache. */
static void leave_cache(void *cache) {
    if (!record_state->on) return;
    record_here.cache = NULL;
    memset(cache, 0, sizeof(struct cache));
    record_lock();
    ((struct cache *)cache)->next = unused;
    unused = cache;
    record_unlock();
}

/* Returns NULL if there is no memory. */
static __attribute__((noinline)) struct cache *get_cache(void) {
    record_lock();
    struct cache *cache = unused;
    if (cache) unused = cache->next;
    record_unlock();
    if (!cache) cache = map(sizeof *cache);
    if (!cache) return NULL;
    record_here.cache = cache;
    pthread_setspecific(key, cache); /* if it fails, the cache is not reused when the thread ends */
    return cache;
}

/* Returns the set in which this caller's stacks are remembered. */
static struct memory *find_set(struct cache *cache, struct caller caller) {
    uint64_t hash = (caller.site ^ caller.stack << 20) * UINT64_C(0x9e3779b97f4a7c15);
    return cache->memories[(hash >> 32) % (RECORD_CACHE / WAYS)];
}

static bool is_same(const struct memory *memory, struct caller caller) {
    if (memory->caller.site != caller.site || memory->caller.stack != caller.stack || !memory->number) return false;
    const struct stack *stack = &stacks[memory->number];
    for (uint32_t i = 1; i < memory->count; i++)
        if (*(const uintptr_t *)(caller.stack + memory->places[i]) != stack->frames[i]) return false;
    return true;
}

static void remember(struct memory *memory, struct caller caller, const struct walk *walk, uint32_t number) {
    memory->number = 0;
    if (!walk->is_plain) return;
    for (uint32_t i = 1; i < walk->count; i++) {
        uintptr_t place = walk->places[i] - caller.stack;
        if (place > UINT32_MAX) return;
        memory->places[i] = (uint32_t)place;
    }
    memory->caller = caller;
    memory->count = walk->count;
    memory->number = number;
}

/* ---- Walking ----------------------------------------------------------------------------------------------------- */

static _Unwind_Reason_Code take_frame(struct _Unwind_Context *context, void *data) {
    struct walk *walk = data;
    uintptr_t frame = (uintptr_t)_Unwind_GetIP(context), end = (uintptr_t)_Unwind_GetCFA(context);
    if (walk->count == 0 && end != walk->from) return _URC_NO_REASON; /* a frame of this library */
    if (frame == 0) return _URC_END_OF_STACK;
    uintptr_t place = end - sizeof frame;
    if (*(const uintptr_t *)place != frame) walk->is_plain = false;
    walk->places[walk->count] = place;
    walk->stack.frames[walk->count++] = frame;
    return walk->count < WIRE_DEPTH ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static void walk_stack(struct walk *walk, struct caller caller) {
    *walk = (struct walk){.from = caller.stack, .is_plain = true};
    _Unwind_Backtrace(take_frame, walk);
    if (walk->count > 0) return;
    walk->is_plain = false; /* there are no unwind tables here */
    walk->stack.frames[walk->count++] = caller.site;
}

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */

static uint32_t first_place(const struct stack *stack) {
    uint64_t hash = 0;
    for (uint32_t i = 0; i < WIRE_DEPTH; i++)
        hash = (hash ^ stack->frames[i]) * UINT64_C(0x9e3779b97f4a7c15) + (hash >> 29);
    return (uint32_t)(hash >> 32) % INDEX;
}

/* Returns the element of `numbers` for this stack, or the 0 where it belongs. Called under the lock. */
static uint32_t *find_number(const struct stack *stack) {
    uint32_t place = first_place(stack);
    while (numbers[place] && memcmp(&stacks[numbers[place]], stack, sizeof *stack) != 0) place = (place + 1) % INDEX;
    return &numbers[place];
}

/* Called under the lock. */
static uint32_t add_stack(const struct walk *walk) {
    if (last_number + 1 == WIRE_STACKS) return 0;
    stacks[++last_number] = walk->stack;
    uint64_t words[WIRE_DEPTH + 2] = {WIRE_STACK | (uint64_t)walk->count << 16, last_number};
    for (uint32_t i = 0; i < walk->count; i++) words[i + 2] = walk->stack.frames[i];
    record_begin(walk->count + 2);
    record_put(words, walk->count + 2);
    record_end();
    return last_number;
}

static uint32_t number_stack(const struct walk *walk) {
    record_lock();
    uint32_t number = *find_number(&walk->stack);
    record_unlock();
    if (number) return number;
    record_modules(); /* so that the reader has the modules of the frames */
    record_lock();
    uint32_t *place = find_number(&walk->stack);
    if (!*place) *place = add_stack(walk);
    number = *place;
    record_unlock();
    return number;
}

static __attribute__((noinline)) uint32_t walk_and_number(struct cache *cache, struct caller caller) {
    struct timing timing = record_slow_begin();
    struct walk walk;
    walk_stack(&walk, caller);
    uint32_t number = number_stack(&walk);
    if (cache) remember(&find_set(cache, caller)[cache->walks++ % WAYS], caller, &walk, number);
    record_slow_end(timing);
    return number;
}

/* A name counts as a stack of one frame, which is its address. */
static uint32_t number_name(const char *name) {
    struct stack stack = {.frames = {(uintptr_t)name}};
    record_lock();
    uint32_t *place = find_number(&stack);
    if (!*place && last_number + 1 < WIRE_STACKS) {
        uint64_t text[WIRE_NAME_ROOM / 8] = {0};
        size_t length = strnlen(name, WIRE_NAME_ROOM), count = (length + 7) / 8;
        memcpy(text, name, length);
        stacks[++last_number] = stack;
        uint64_t words[] = {WIRE_STACK | 1 << 8 | (uint64_t)length << 16, last_number, (uintptr_t)name};
        record_begin(3 + count);
        record_put(words, 3);
        record_put(text, count);
        record_end();
        *place = last_number;
    }
    uint32_t number = *place;
    record_unlock();
    return number;
}

uint32_t record_stack(struct caller caller) {
    if (caller.pool) return number_name(caller.pool);
    struct cache *cache = record_here.cache;
    if (__builtin_expect(!cache, 0)) cache = get_cache();
    const struct memory *set = cache ? find_set(cache, caller) : NULL;
    for (int i = 0; set && i < WAYS; i++)
        if (is_same(&set[i], caller)) return set[i].number;
    return walk_and_number(cache, caller);
}

bool record_stacks_begin(void) {
    stacks = map(WIRE_STACKS * sizeof *stacks);
    numbers = map(INDEX * sizeof *numbers);
    return stacks && numbers && pthread_key_create(&key, leave_cache) == 0;
}
