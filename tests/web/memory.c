/* memory.c: on the web, memory is neither reserved nor released in parts. kolk must not take more of it by attempts to
 * do so. Prints what went wrong; prints nothing if all is well. */
#include "kolk.h"
#include <emscripten/heap.h>
#include <stdio.h>

enum { ROUNDS = 1000, SLOTS = 1000 };

struct page {
    char bytes[4096];
};
KOLK_POOL_TYPE(pages, struct page)

static pages pool;

static void fill_and_clear(void) {
    for (int n = 0; n < SLOTS; n++) {
        struct page *page = pages_alloc(&pool);
        if (page) page->bytes[0] = 1;
    }
    pages_clear(&pool);
}

int main(void) {
    if (pages_init(&pool, &(kolk_pool_desc){.capacity = 1, .max_capacity = SLOTS}) != KOLK_OK) puts("no pool");
    fill_and_clear();
    size_t before = emscripten_get_heap_size(), released = 0;
    for (int n = 0; n < ROUNDS; n++) {
        if (n % 100 == 0) fill_and_clear();
        released += pages_trim(&pool);
        released += pages_tick(&pool, SLOTS);
    }
    if (released > 0) printf("%zu bytes are said to be released\n", released);
    if (emscripten_get_heap_size() > before) printf("%zu more bytes are in use\n", emscripten_get_heap_size() - before);
    struct page *page = pages_alloc_zeroed(&pool);
    if (!page || page->bytes[0]) puts("no zeroed page");
    pages_deinit(&pool);
    for (int n = 0; n < ROUNDS; n++) { /* what a pool took is free for the next one */
        if (pages_init(&pool, &(kolk_pool_desc){.capacity = SLOTS}) != KOLK_OK) puts("no other pool");
        fill_and_clear();
        pages_deinit(&pool);
    }
    if (emscripten_get_heap_size() > before)
        printf("%zu bytes were not given back\n", emscripten_get_heap_size() - before);
}
