/* For LD_PRELOAD: stands in for a tool that supports malloc and free but not kolk. At exit it prints how many blocks
 * there were of each size that served.c uses. */
#define _POSIX_C_SOURCE 200809L /* posix_memalign */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_memalign(size_t align, size_t size);
extern void __libc_free(void *block);

#define MANY             4096
#define LENGTH_OF(array) (sizeof(array) / sizeof *(array))

static struct {
    size_t size;
    unsigned given, freed;
} counts[] = {{.size = 4040}, {.size = 4048}, {.size = 4056}};

static struct {
    void *block;
    size_t kind;
} alive[MANY];

static void *note_given(void *block, size_t size) {
    for (size_t i = 0; i < LENGTH_OF(counts); i++) {
        if (counts[i].size != size) continue;
        counts[i].given++;
        size_t at = 0;
        while (alive[at].block) at++;
        alive[at].block = block;
        alive[at].kind = i;
    }
    return block;
}

void *malloc(size_t size) {
    return note_given(__libc_malloc(size), size);
}

int posix_memalign(void **memptr, size_t alignment, size_t size) {
    *memptr = note_given(__libc_memalign(alignment, size), size);
    return *memptr ? 0 : ENOMEM;
}

void free(void *ptr) {
    for (size_t at = 0; ptr && at < MANY; at++) {
        if (alive[at].block != ptr) continue;
        counts[alive[at].kind].freed++;
        alive[at].block = NULL;
    }
    __libc_free(ptr);
}

static __attribute__((destructor)) void say(void) {
    for (size_t i = 0; i < LENGTH_OF(counts); i++)
        printf("%zu bytes: %u blocks, %u freed\n", counts[i].size, counts[i].given, counts[i].freed);
}
