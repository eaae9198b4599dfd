/* The system refuses the n-th request for memory within a malloc, n = 1, 2 ... If malloc still returns a block, errno
 * must be unchanged. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile int refused; /* the n-th from now; 0: none; volatile, as malloc counts as a leaf function */

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): libc's names begin with two underscores */
int mprotect(void *start, size_t size, int protection) {
    if (refused > 0 && (refused = refused - 1) == 0) {
        errno = ENOMEM;
        return -1;
    }
    return (int)syscall(SYS_mprotect, start, size, protection);
}

int main(void) {
    int helped = 0;
    free(malloc(1)); /* makes the heap: without one, every alloc fails */
    for (int nth = 1; nth < 5; nth++)
        for (size_t size = 16; size < 1000000; size += size / 4) {
            refused = nth;
            errno = 77;
            void *block = malloc(size);
            int error = errno, was_refused = refused == 0;
            refused = 0;
            if (error != (block ? 77 : ENOMEM)) return printf("%zu: errno %d\n", size, error), 1;
            helped += block && was_refused;
        }
    puts(helped ? "done" : "nothing was refused within a malloc that gave a block");
}
