/* kolk_heap.h: malloc, watched, and refused on demand, for the tests of objects that come from there. Who includes it says
 *     // link: -Wl,--wrap=malloc,--wrap=posix_memalign,--wrap=free */
#ifndef KOLK_HEAP_H
#define KOLK_HEAP_H

#include "kolk_debug_test.h"

typedef struct block {
    void *start;
    size_t size, align;
} block;

static struct {
    block blocks[4096];
    uint32_t count; /* that are not freed yet */
    uint32_t calls, refused_from;
    bool on;
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

void *__wrap_malloc(size_t size) {
    return heap.on && refused() ? NULL : watched(__real_malloc(size), size, 0);
}

int __wrap_posix_memalign(void **start, size_t align, size_t size) {
    if (heap.on && refused()) return 12; /* ENOMEM */
    int error = __real_posix_memalign(start, align, size);
    if (!error) watched(*start, size, align);
    return error;
}

void __wrap_free(void *start) {
    uint32_t n = 0;
    while (n < heap.count && heap.blocks[n].start != start) n++;
    if (heap.on && start) assert_true(n < heap.count);
    if (n < heap.count) heap.blocks[n] = heap.blocks[--heap.count];
    __real_free(start);
}

static inline const block *block_of(const void *object) {
    for (uint32_t n = 0; n < heap.count; n++)
        if (heap.blocks[n].start == object) return &heap.blocks[n];
    return NULL;
}

static inline int bypass(void **state) {
    plain_environment(state);
    setenv("KOLK_BYPASS", "1", 1);
    memset(&heap, 0, sizeof heap);
    heap.on = true;
    return 0;
}

static inline int end_bypass(void **state) {
    heap.on = false;
    return plain_environment(state);
}

#endif
