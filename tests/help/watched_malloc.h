/* wraps: free malloc posix_memalign */
/* watched_malloc.h: counts calls of malloc and refuses them on demand, for tests of objects that come from malloc. */
#ifndef TESTS_WATCHED_MALLOC_H
#define TESTS_WATCHED_MALLOC_H

#include "debug_test.h"

typedef struct block {
    void *start;
    size_t size, align;
} block;

/* When the memory of a freed block is used again: as malloc decides, immediately, or never. */
typedef enum places { AS_EVER, AT_ONCE, NEVER } places;

static struct {
    block blocks[4096];
    uint32_t count; /* how many blocks are not freed yet */
    uint32_t calls, refused_from;
    bool on;
    places places;
    block kept[1 << 16]; /* freed blocks: AT_ONCE reuses the latest first, NEVER reuses none */
    uint32_t kept_count;
} heap;

void *__real_malloc(size_t size);
int __real_posix_memalign(void **start, size_t align, size_t size);
void __real_free(void *start);
void *__wrap_malloc(size_t size);
int __wrap_posix_memalign(void **start, size_t align, size_t size);
void __wrap_free(void *start);

static inline bool refused(void) {
    heap.calls++;
    return heap.refused_from && heap.calls >= heap.refused_from;
}

static inline void *watched(void *start, size_t size, size_t align) {
    if (!start || !heap.on) return start;
    assert_true(heap.count < LENGTH_OF(heap.blocks));
    heap.blocks[heap.count++] = (block){start, size, align};
    return start;
}

/* Takes and returns the latest freed block of this size and alignment, or returns NULL. */
static inline void *kept_block(size_t size, size_t align) {
    uint32_t n = heap.on && heap.places == AT_ONCE ? heap.kept_count : 0;
    while (n-- > 0) {
        block found = heap.kept[n];
        if (found.size != size || found.align != align) continue;
        memmove(&heap.kept[n], &heap.kept[n + 1], (--heap.kept_count - n) * sizeof found);
        return found.start;
    }
    return NULL;
}

void *__wrap_malloc(size_t size) {
    if (heap.on && refused()) return NULL;
    void *kept = kept_block(size, 0);
    return watched(kept ? kept : __real_malloc(size), size, 0);
}

int __wrap_posix_memalign(void **start, size_t align, size_t size) {
    if (heap.on && refused()) return 12; /* ENOMEM */
    void *kept = kept_block(size, align);
    int error = kept ? 0 : __real_posix_memalign(start, align, size);
    if (kept) *start = kept;
    if (!error) watched(*start, size, align);
    return error;
}

void __wrap_free(void *start) {
    uint32_t n = 0;
    while (n < heap.count && heap.blocks[n].start != start) n++;
    if (heap.on && start) assert_true(n < heap.count);
    block gone = n < heap.count ? heap.blocks[n] : (block){start, 0, 0};
    if (n < heap.count) heap.blocks[n] = heap.blocks[--heap.count];
    if (start && heap.on && heap.places != AS_EVER) {
        assert_true(heap.kept_count < LENGTH_OF(heap.kept));
        heap.kept[heap.kept_count++] = gone;
    } else {
        __real_free(start);
    }
}

static inline const block *block_of(const void *object) {
    for (uint32_t n = 0; n < heap.count; n++)
        if (heap.blocks[n].start == object) return &heap.blocks[n];
    return NULL;
}

/* Sets the way in which blocks that are freed from now on are reused. */
static inline void use_places(places what) {
    while (heap.kept_count > 0) __real_free(heap.kept[--heap.kept_count].start);
    heap.places = what;
}

static inline int bypass(void **state) {
    plain_environment(state);
    setenv("KOLK_BYPASS", "1", 1);
    memset(&heap, 0, sizeof heap);
    heap.on = true;
    return 0;
}

static inline int end_bypass(void **state) {
    use_places(AS_EVER);
    heap.on = false;
    return plain_environment(state);
}

#endif
