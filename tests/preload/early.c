/* A library that allocates in its constructor, in its destructor, and in fork handlers, which it registers before main.
 * life.c is linked with it, and also loads it repeatedly under another name. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Dynamic thread-local storage, which ld.so allocates if the library is loaded later. */
static _Thread_local char own[5000];
static char *kept[3];

/* Allocates, resizes and frees blocks of sizes up to a megabyte. */
static void use_malloc(void) {
    for (size_t size = 1; size < (size_t)1 << 20; size = 2 * size + 1) {
        char *block = malloc(size);
        if (!block) abort();
        memset(block, 1, size);
        block = realloc(block, 2 * size);
        if (!block) abort();
        free(block);
    }
}

__attribute__((constructor)) static void begin(void) {
    pthread_atfork(use_malloc, use_malloc, use_malloc);
    for (int i = 0; i < 3; i++) kept[i] = strdup("from before main");
    use_malloc();
}

__attribute__((destructor)) static void end(void) {
    for (int i = 0; i < 3; i++) free(kept[i]);
    use_malloc();
}

const char *early_text(void);
const char *early_text(void) {
    strcpy(own, kept[1]);
    return own;
}
