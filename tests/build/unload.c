/* Loads the given library, uses it in a thread, unloads it, and only then lets the thread end; several times. */
#define _GNU_SOURCE
#ifdef _WIN32
#include <windows.h>
#else
#include <dlfcn.h>
#endif
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef _WIN32
static void *load(const char *path, FARPROC *function) {
    HMODULE library = LoadLibraryA(path);
    *function = library ? GetProcAddress(library, "use_pools") : NULL;
    return library;
}

static int unload(void *library, const char *path) {
    return FreeLibrary((HMODULE)library) && !GetModuleHandleA(path);
}
#else
static void *load(const char *path, void **function) {
    void *library = dlopen(path, RTLD_NOW);
    *function = library ? dlsym(library, "use_pools") : NULL;
    return library;
}

static int unload(void *library, const char *path) {
    return dlclose(library) == 0 && !dlopen(path, RTLD_NOW | RTLD_NOLOAD);
}
#endif

static sem_t used, may_end;
static void (*use_pools)(unsigned n);

static void *work(void *heaps) {
    use_pools((unsigned)(uintptr_t)heaps);
    sem_post(&used);
    while (sem_wait(&may_end) != 0) {}
    return NULL;
}

static void outlive(const char *path, unsigned heaps) {
    pthread_t thread;
#ifdef _WIN32
    FARPROC found;
#else
    void *found;
#endif
    void *library = load(path, &found);
    if (!found) {
        fprintf(stderr, "it cannot be loaded\n");
        exit(1);
    }
    memcpy(&use_pools, &found, sizeof found);
    if (pthread_create(&thread, NULL, work, (void *)(uintptr_t)heaps) != 0) exit(1);
    while (sem_wait(&used) != 0) {}
    if (!unload(library, path)) {
        fprintf(stderr, "it is still loaded\n");
        exit(1);
    }
    sem_post(&may_end);
    pthread_join(thread, NULL);
}

/* The process's addresses in bytes, or 0 if the system does not tell. */
static uint64_t addresses(void) {
    unsigned long long pages = 0;
#ifdef __linux__
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%llu", &pages) != 1) exit(1);
    fclose(file);
    pages *= (unsigned long long)sysconf(_SC_PAGESIZE);
#endif
    return pages;
}

int main(int count, char **arguments) {
    enum { ROUNDS = 10, LEAST_LEAK = 64 * 1024 };
    if (count != 2 || sem_init(&used, 0, 0) != 0 || sem_init(&may_end, 0, 0) != 0) return 1;
    uint64_t first = 0;
    for (unsigned n = 0; n <= ROUNDS; n++) {
        outlive(arguments[1], 1);
        outlive(arguments[1], 20);
        if (n == 0) first = addresses();
    }
    uint64_t grown = addresses() - first;
    printf("%llu KiB of addresses are left by %d reloads\n", (unsigned long long)grown / 1024, 2 * ROUNDS);
    return grown >= 2 * ROUNDS * LEAST_LEAK;
}
