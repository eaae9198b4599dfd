/* A program whose trace is known: record.sh has the trace that kolk record must write for it. Each size occurs only
 * once.
 * Usage: recorded all PLUGIN | crash | killed | closed | many | code N | patient | busy MS | child MS */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))

static void *kept;
static volatile int steps; /* changed after a call, so that this is not a tail call */

APART static void *get(size_t size) {
    void *block = malloc(size);
    steps++;
    return block;
}

/* Both functions call get at the same stack depth. */
APART static void *left(size_t size) {
    void *block = get(size);
    steps += 2;
    return block;
}

APART static void *right(size_t size) {
    void *block = get(size);
    steps += 3;
    return block;
}

static inline __attribute__((always_inline)) void *inlined(size_t size) {
    void *block = malloc(size);
    steps++;
    return block;
}

APART static void *deep(int levels, size_t size) {
    void *block = levels > 1 ? deep(levels - 1, size) : malloc(size);
    steps++;
    return block;
}

__attribute__((constructor)) static void begin(void) {
    kept = get(0x11);
}

__attribute__((destructor)) static void end(void) {
    free(kept);
    free(get(0x12));
}

APART static void family(void) {
    void *block = calloc(0x10, 0x2), *other;
    block = realloc(block, 0x1000);
    free(block);
    block = realloc(NULL, 0x21);
    other = reallocarray(NULL, 0x2, 0x33);
    steps = realloc(block, 0) != NULL;
    free(other);
    if (posix_memalign(&block, 64, 0x301) == 0) free(block);
    free(aligned_alloc(128, 0x380));
    free(memalign(32, 0x302));
    free(valloc(0x303));
    free(pvalloc(0x304));
    free(NULL);
    free(inlined(0x22));
    free(deep(12, 0x23));
    free(left(0x24));
    free(right(0x25));
}

APART static void failures(void) {
    volatile size_t much = PTRDIFF_MAX;
    void *block = get(0x31);
    steps = malloc(much) || realloc(block, much) || calloc(much, 4) || reallocarray(block, much, 4);
    free(block);
}

static void *first_thread(void *unused) {
    (void)unused;
    return get(0x41);
}

static void *second_thread(void *block) {
    free(block);
    return get(0x43);
}

APART static void threads(void) {
    pthread_t thread;
    void *block;
    pthread_create(&thread, NULL, first_thread, NULL);
    pthread_join(thread, &block);
    free(block);
    pthread_create(&thread, NULL, second_thread, get(0x42));
    pthread_join(thread, &block);
    free(block);
}

APART static void libraries(const char *path) {
    void *library = dlopen(path, RTLD_NOW);
    void *(*make)(size_t) = library ? (void *(*)(size_t))(uintptr_t)dlsym(library, "plugin_make") : get;
    free(make(0x51));
    dlclose(library);
}

/* Neither a child made by fork nor a program that a child executes is recorded. Calls made in a vfork's child count as
 * its parent's. */
APART static void children(void) {
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 20000; i++) free(get(0x61));
        _exit(kept == NULL);
    }
    waitpid(child, NULL, 0);
    child = vfork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "echo $((1 + 1))", (char *)NULL);
        _exit(1);
    }
    waitpid(child, NULL, 0);
    free(get(0x62));
}

static void hand_in(int number) {
    (void)number;
    _exit(7);
}

static void many(void) {
    for (int i = 0; i < 3000000; i++) free(get(0x71));
}

/* Works until this process has taken so much processor time. */
static void be_busy(int milliseconds) {
    while (clock() / (CLOCKS_PER_SEC / 1000) < milliseconds) steps++;
}

int main(int argc, char **argv) {
    const char *way = argc > 1 ? argv[1] : "all";
    if (!strcmp(way, "all")) {
        family();
        failures();
        threads();
        libraries(argv[2]);
        children();
        return 0;
    }
    void *block = get(0x81);
    if (!strcmp(way, "crash")) abort();
    if (!strcmp(way, "killed")) kill(getpid(), SIGKILL);
    if (!strcmp(way, "code")) exit(atoi(argv[2]));
    if (!strcmp(way, "closed"))
        for (int i = 0; i < 1000; i++) close(i);
    if (!strcmp(way, "many")) {
        pid_t recorder = getppid();
        puts("begins");
        fflush(stdout);
        while (getppid() == recorder) usleep(1000); /* until the recorder is killed */
        many();
        puts("done");
    }
    if (!strcmp(way, "busy")) be_busy(atoi(argv[2]));
    if (!strcmp(way, "child")) {
        pid_t child = fork();
        if (child == 0) {
            be_busy(atoi(argv[2]));
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    if (!strcmp(way, "patient")) { /* waits for a signal */
        signal(SIGINT, hand_in);
        signal(SIGTERM, hand_in);
        puts("waits");
        fflush(stdout);
        for (;;) pause();
    }
    free(get(0x82));
    free(block);
    return 0;
}
