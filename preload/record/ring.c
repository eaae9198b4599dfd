/* ring.c: the process that records, and the ring in memory from which the reader gets the records.
 *
 * The kolk command has made the ring as a file in memory (memfd). KOLK_RECORD contains the number of the process that
 * records, and the path of that file: 1235:/proc/1234/fd/3. So the program inherits no descriptor, and may close all
 * descriptors. Recording continues after exec, as wrapper scripts need: the reader forgets the previous program. Child
 * programs also have the variable and this library, but a different process number, so they record nothing.
 *
 * A fork's child has the ring mapped as well and must not touch it. Its copy of the state is zeroed (MADV_WIPEONFORK),
 * even after a fork that calls no handlers. The child of a vfork shares all memory and records for its parent, which is
 * right, because they share the blocks.
 *
 * One lock orders the records of all threads. It is taken after an alloc and before a free, so a block's alloc is
 * recorded after the free that released its address. A realloc is both, and holds the lock throughout. No other code of
 * the program or of libc runs under the lock, except the wait for the reader. */
#define _GNU_SOURCE
#include "inside.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define RELAXED __ATOMIC_RELAXED
#define ACQUIRE __ATOMIC_ACQUIRE
#define RELEASE __ATOMIC_RELEASE

/* ---- The lock (Drepper, Futexes Are Tricky, 2011) ---------------------------------------------------------------- */

void record_lock(void) {
    uint32_t *lock = &record_state->lock, expected = 0;
    if (__atomic_compare_exchange_n(lock, &expected, 1, false, ACQUIRE, RELAXED)) return;
    int before = errno;
    while (__atomic_exchange_n(lock, 2, ACQUIRE) != 0) wire_sleep(lock, 2, 0);
    errno = before;
}

void record_unlock(void) {
    uint32_t *lock = &record_state->lock;
    if (__atomic_exchange_n(lock, 0, RELEASE) != 2) return;
    int before = errno;
    wire_wake(lock);
    errno = before;
}

/* ---- The ring ---------------------------------------------------------------------------------------------------- */

static void wake_reader(struct wire *wire) {
    if (!__atomic_load_n(&wire->asleep, RELAXED)) return;
    int before = errno;
    __atomic_store_n(&wire->asleep, 0, RELAXED);
    wire_wake(&wire->asleep);
    errno = before;
}

/* Sleeps until the ring has space. If the reader is gone, there will never be space, and this process stops
 * recording. */
static __attribute__((noinline)) void make_room(struct state *state, size_t count) {
    struct wire *wire = state->wire;
    struct timing timing = record_slow_begin();
    int before = errno;
    while (state->on) {
        uint32_t turn = __atomic_load_n(&wire->turn, ACQUIRE);
        state->most = __atomic_load_n(&wire->tail, ACQUIRE) + WIRE_WORDS; /* partner: the reader's release */
        if (state->most - state->head >= count) break;
        __atomic_store_n(&wire->is_full, 1, __ATOMIC_SEQ_CST);
        wake_reader(wire);
        wire_sleep(&wire->turn, turn, 50);
        if (getppid() != state->recorder) __atomic_store_n(&state->on, 0, RELAXED);
    }
    errno = before;
    record_slow_end(timing);
}

void record_begin(size_t count) {
    struct state *state = record_state;
    if (__builtin_expect(state->most - state->head < count, 0)) make_room(state, count);
}

void record_put(const uint64_t *words, size_t count) {
    struct state *state = record_state;
    for (size_t i = 0; i < count; i++) state->wire->words[state->head++ % WIRE_WORDS] = words[i];
}

void record_end(void) {
    struct state *state = record_state;
    uint64_t before = state->wire->head;
    __atomic_store_n(&state->wire->head, state->head, RELEASE); /* partner: the reader's acquire */
    if (before / WIRE_CALL != state->head / WIRE_CALL) wake_reader(state->wire);
}

/* ---- The start --------------------------------------------------------------------------------------------------- */

/* Finds the value of KOLK_RECORD; getenv does not work yet. */
static const char *find_setting(char **environment) {
    static const char name[] = "KOLK_RECORD=";
    for (char **at = environment; *at; at++)
        if (strncmp(*at, name, sizeof name - 1) == 0) return *at + sizeof name - 1;
    return NULL;
}

/* Returns the file's path if the setting is for this process. */
static const char *path_for_us(const char *setting) {
    int number = 0;
    for (; *setting >= '0' && *setting <= '9'; setting++) number = 10 * number + (*setting - '0');
    return *setting == ':' && number == getpid() ? setting + 1 : NULL;
}

static struct wire *map_wire(const char *path) {
    struct stat file;
    struct wire *wire = MAP_FAILED;
    int descriptor = open(path, O_RDWR | O_CLOEXEC);
    if (descriptor < 0) return NULL;
    if (fstat(descriptor, &file) == 0 && (size_t)file.st_size == sizeof *wire)
        wire = mmap(NULL, sizeof *wire, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    if (wire == MAP_FAILED) return NULL;
    if (wire->magic == WIRE_MAGIC) return wire;
    munmap(wire, sizeof *wire);
    return NULL;
}

struct wire *record_wire(char **environment) {
    const char *setting = find_setting(environment), *path = setting ? path_for_us(setting) : NULL;
    return path ? map_wire(path) : NULL;
}

uint32_t record_ring_begin(struct wire *wire) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct state *state = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (state == MAP_FAILED) return WIRE_NO_MEMORY;
    if (madvise(state, page, MADV_WIPEONFORK) != 0) return WIRE_OLD_KERNEL;
    uint64_t head = wire->head, word = WIRE_PROGRAM;
    *state = (struct state){.on = 1, .wire = wire, .head = head, .most = head, .recorder = getppid()};
    record_state = state;
    record_begin(1);
    record_put(&word, 1);
    record_end();
    return WIRE_STARTED;
}
