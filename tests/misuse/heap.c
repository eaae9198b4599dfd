/* The mistakes that only exist with heaps and malloc, whose blocks are of any size. */
#ifndef MALLOC
#define HEAP 1
#endif
#include "misuse.h"

#define PAGE  4096
#define LARGE 1000000 /* bytes of a block that has pages of its own */

static void *take_block(size_t size) {
    stage("alloc");
#ifdef MALLOC
    void *block = malloc(size);
#else
    void *block = kolk_heap_alloc(&items, size);
#endif
    __asm__ volatile("" : "+r"(block));
    return block;
}

static void *resize(void *block, size_t size) {
    stage("realloc");
    __asm__ volatile("" : "+r"(block));
#ifdef MALLOC
    void *moved = realloc(block, size);
#else
    void *moved = kolk_heap_realloc(&items, block, size);
#endif
    __asm__ volatile("" : "+r"(moved));
    if (!moved) fputs("answer: NULL\n", stderr);
    return moved;
}

#ifdef HEAP

static void deinit_at_end(void *context) {
    (void)context;
    WRONG(kolk_heap_deinit(&items));
}

MISTAKE(heap_deinit_in_hook, "deinit in a function that is called at the end of the same heap", "heap") {
    if (!kolk_heap_on_end(&items, deinit_at_end, NULL)) exit(1);
}

#endif

MISTAKE(heap_large_double_free, "double free of a large block", "heap malloc") {
    unsigned char *item = take_block(LARGE);
    give_back(&items, item);
    WRONG(give_back(&items, item));
}

MISTAKE(heap_large_interior, "free of a pointer into a large block", "heap malloc") {
    unsigned char *item = take_block(LARGE);
    WRONG(give_back(&items, item + 16));
    give_back(&items, item);
}

MISTAKE(heap_large_read, "read of a large block after free", "heap malloc") {
    unsigned char *item = take_block(LARGE);
    write_bytes(item, LARGE);
    RIGHT(read_word(item));
    give_back(&items, item);
    WRONG(read_word(item));
}

MISTAKE(heap_overflow_page, "overflow by a page", "heap malloc") {
    unsigned char *item = take_block(SIZE);
    unsigned char *other = take_block(SIZE);
    write_bytes(item, SIZE);
    WRONG(write_bytes(item, SIZE + PAGE));
    give_back(&items, other);
    give_back(&items, item);
}

MISTAKE(heap_overflow_unasked, "overflow into the bytes between the requested and the allocated size", "heap malloc") {
    unsigned char *item = take_block(SIZE - 4);
    write_bytes(item, SIZE - 4);
    WRONG(write_bytes(item, SIZE - 3));
    give_back(&items, item);
}

MISTAKE(heap_realloc_freed, "realloc of a block that is freed", "heap malloc") {
    unsigned char *item = take_block(SIZE);
    RIGHT(item = resize(item, 10 * SIZE));
    give_back(&items, item);
    WRONG((void)resize(item, 10 * SIZE));
}

MISTAKE(heap_realloc_interior, "realloc of a pointer into a block", "heap malloc") {
    unsigned char *item = take_block(SIZE);
    WRONG((void)resize(item + 16, 10 * SIZE));
    RIGHT(item = resize(item, 10 * SIZE));
    give_back(&items, item);
}

MISTAKE(heap_realloc_kept, "write through a pointer from before a realloc", "heap malloc") {
    unsigned char *item = take_block(SIZE);
    unsigned char *moved = resize(item, 10 * SIZE);
    RIGHT(write_bytes(moved, 1));
    WRONG(write_bytes(item, 1));
    give_back(&items, moved);
    item = take_block(SIZE);
    give_back(&items, item);
}
