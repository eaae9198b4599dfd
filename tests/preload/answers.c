/* Prints the results of malloc and its family, in lines that are the same under every malloc that follows glibc's
 * manual. preload.sh runs it without and with libkolk-malloc.so, and compares the output. `answers more` tests
 * functions that glibc 2.36 lacks, or that differ there from the manual: preload.sh has the expected lines. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *name_of(int error) {
    return error == 0        ? "0"
           : error == ENOMEM ? "ENOMEM"
           : error == EINVAL ? "EINVAL"
           : error == ERANGE ? "ERANGE"
                             : "other";
}

static int is_aligned(const void *block, size_t align) {
    return (uintptr_t)block % align == 0;
}

/* Prints the result of a request in one line: whether there is a block, whether it is aligned and large enough, and
 * errno. */
static void say(const char *what, size_t request, void *block, size_t align, size_t size) {
    int error = errno;
    printf("%s %zu: %s, errno %s", what, request, block ? "block" : "NULL", name_of(error));
    if (block) printf(", aligned %d, enough %d", is_aligned(block, align), malloc_usable_size(block) >= size);
    putchar('\n');
    if (block) memset(block, 0xa5, size);
    errno = ERANGE;
}

/* The sizes are volatile, to hide them from the compiler. */
static const volatile size_t sizes[] = {0,
                                        1,
                                        15,
                                        16,
                                        17,
                                        24,
                                        100,
                                        1000,
                                        1024,
                                        1025,
                                        4096,
                                        65536,
                                        262144,
                                        262145,
                                        1000000,
                                        10000000,
                                        PTRDIFF_MAX,
                                        (size_t)PTRDIFF_MAX + 1,
                                        SIZE_MAX - 65536,
                                        SIZE_MAX - 15,
                                        SIZE_MAX - 1,
                                        SIZE_MAX};
#define SIZES (sizeof sizes / sizeof *sizes)

static void simple(void) {
    for (unsigned n = 0; n < SIZES; n++) {
        size_t size = sizes[n];
        void *block = malloc(size);
        say("malloc", size, block, 16, size);
        void *other = malloc(size);
        if (block) printf("another %d\n", block != other);
        free(block);
        free(other);
        printf("free: errno %s\n", name_of(errno));
        block = calloc(size, 1);
        int zero = 1;
        for (size_t i = 0; block && i < size; i++) zero &= ((char *)block)[i] == 0;
        printf("zero %d\n", zero);
        say("calloc", size, block, 16, size);
        free(block);
    }
    free(NULL);
    printf("free of NULL: errno %s, usable %zu\n", name_of(errno), malloc_usable_size(NULL));
    say("calloc of no", 0, calloc(0, 100), 16, 0);
    volatile size_t half = SIZE_MAX / 2;
    say("calloc that overflows", 3, calloc(half, 3), 1, 0);
    say("calloc that overflows to 0", 0, calloc(half + 1, 2), 1, 0);
    say("calloc too large", 1, calloc(half, 1), 1, 0);
}

static void resized(void) {
    for (unsigned from = 0; from < SIZES; from++)
        for (unsigned to = 0; to < SIZES; to++) {
            unsigned char *block = malloc(sizes[from]);
            if (!block) continue;
            size_t keep = sizes[from] < sizes[to] ? sizes[from] : sizes[to], same = 0;
            for (size_t i = 0; i < sizes[from]; i++) block[i] = (unsigned char)(i * 7 % 251);
            errno = ERANGE;
            unsigned char *moved = realloc(block, sizes[to]);
            int error = errno;
            const unsigned char *at = moved ? moved : sizes[to] ? block : NULL; /* at size 0 it was freed */
            while (at && same < keep && at[same] == (unsigned char)(same * 7 % 251)) same++;
            printf("realloc %zu %zu: %s, errno %s, the same %d\n", sizes[from], sizes[to], moved ? "block" : "NULL",
                   name_of(error), !at || same == keep);
            if (moved) printf("aligned %d enough %d\n", is_aligned(moved, 16), malloc_usable_size(moved) >= sizes[to]);
            free(moved);
            if (!moved && sizes[to]) free(block);
        }
    errno = ERANGE;
    void *block = realloc(NULL, 0);
    say("realloc of NULL", 0, block, 16, 0);
    volatile size_t half = SIZE_MAX / 2;
    say("reallocarray that overflows", 3, reallocarray(block, half, 3), 1, 0);
    block = reallocarray(block, 10, 10);
    say("reallocarray", 100, block, 16, 100);
    printf("to no: %s\n", reallocarray(block, 10, 0) ? "block" : "NULL");
}

static void aligned(void) {
    for (size_t align = 0; align <= (size_t)1 << 22; align = align ? 2 * align : 1)
        for (unsigned n = 0; n < SIZES; n++) {
            void *block = &block;
            errno = ERANGE;
            int answer = posix_memalign(&block, align, sizes[n]);
            printf("posix_memalign %zu %zu: %s, errno %s, untouched %d\n", align, sizes[n], name_of(answer),
                   name_of(errno), block == &block);
            if (answer == 0) {
                say("it", sizes[n], block, align, sizes[n]);
                free(block);
            }
            if (align == 0) continue;
            errno = ERANGE;
            block = aligned_alloc(align, sizes[n]);
            say("aligned_alloc", sizes[n], block, align, sizes[n]);
            free(block);
            block = memalign(align, sizes[n]);
            say("memalign", sizes[n], block, align, sizes[n]);
            free(block);
        }
    static const size_t odd[] = {3, 12, 24, 1000, SIZE_MAX / 2 + 2, SIZE_MAX};
    for (unsigned n = 0; n < sizeof odd / sizeof *odd; n++) {
        void *block = NULL;
        printf("posix_memalign %zu: %s\n", odd[n], name_of(posix_memalign(&block, odd[n], 8)));
        errno = ERANGE;
        block = memalign(odd[n], 100);
        say("memalign", odd[n], block, odd[n] < 1000 ? odd[n] & (~odd[n] + 1) : 1, 100);
        free(block);
    }
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (unsigned n = 0; n < SIZES; n++) {
        void *block = valloc(sizes[n]);
        say("valloc", sizes[n], block, page, sizes[n]);
        free(block);
        block = pvalloc(sizes[n]);
        say("pvalloc", sizes[n], block, page, sizes[n] ? (sizes[n] + page - 1) / page * page : 0);
        free(block);
    }
}

static void asked(void) {
    static void *blocks[1000];
    struct mallinfo2 before = mallinfo2();
    for (int i = 0; i < 1000; i++) blocks[i] = malloc(100);
    void *large = malloc((size_t)64 << 20);
    struct mallinfo2 after = mallinfo2();
    printf("mallinfo2: sum %d, more %d, pages of its own %zu, bytes %d\n",
           after.uordblks + after.fordblks == after.arena, after.uordblks - before.uordblks >= 100000,
           after.hblks - before.hblks, after.hblkhd - before.hblkhd >= (size_t)64 << 20);
    for (int i = 0; i < 1000; i++) free(blocks[i]);
    free(large);
    before = mallinfo2();
    printf("and back %d %d\n", after.uordblks - before.uordblks >= 100000,
           after.hblkhd - before.hblkhd >= (size_t)64 << 20);
    free(malloc((size_t)8 << 20)); /* kolk keeps its pages */
    printf("kept %d\n", mallinfo2().hblkhd - before.hblkhd != 0);
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    struct mallinfo small = mallinfo();
    printf("mallinfo: sum %d\n", small.uordblks + small.fordblks == small.arena);
    int trimmed = malloc_trim(0);
    printf("malloc_trim: %d\n", trimmed == 0 || trimmed == 1);
}

static void more(void) {
    void (*sized)(void *, size_t) = (void (*)(void *, size_t))dlsym(RTLD_DEFAULT, "free_sized");
    void (*aligned_sized)(void *, size_t, size_t) =
        (void (*)(void *, size_t, size_t))dlsym(RTLD_DEFAULT, "free_aligned_sized");
    struct mallinfo2 before = mallinfo2();
    for (int i = 0; i < 100000; i++) {
        sized(malloc(1000), 1000);
        aligned_sized(aligned_alloc(64, 128), 64, 128);
    }
    sized(NULL, 0);
    aligned_sized(NULL, 16, 0);
    printf("freed %d\n", mallinfo2().uordblks - before.uordblks < 1000000);
    errno = ERANGE;
    say("aligned_alloc 24", 100, aligned_alloc(*(volatile size_t *)&(size_t){24}, 100), 1, 100);
    say("aligned_alloc 0", 100, aligned_alloc(*(volatile size_t *)&(size_t){0}, 100), 1, 100);
    printf("cfree %d\n", dlsym(RTLD_DEFAULT, "cfree") != NULL);
}

int main(int argc, char **argv) {
    (void)argv;
    errno = ERANGE; /* a call that succeeds must not change it */
    say("first call", SIZE_MAX, malloc(*(volatile size_t *)&(size_t){SIZE_MAX}), 1, 0);
    if (argc > 1) {
        more();
        return 0;
    }
    simple();
    resized();
    aligned();
    asked();
    return 0;
}
