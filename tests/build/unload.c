/* Loads the given library, uses it in a thread, unloads it, and only then lets the thread end; several times. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sem_t used, may_end;
static void (*use_heaps)(unsigned n);

static void *work(void *heaps) {
    use_heaps((unsigned)(uintptr_t)heaps);
    sem_post(&used);
    while (sem_wait(&may_end) != 0) {}
    return NULL;
}

static void outlive(const char *path, unsigned heaps) {
    pthread_t thread;
    void *library = dlopen(path, RTLD_NOW), *found = library ? dlsym(library, "use_heaps") : NULL;
    if (!found) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    memcpy(&use_heaps, &found, sizeof found);
    if (pthread_create(&thread, NULL, work, (void *)(uintptr_t)heaps) != 0) exit(1);
    while (sem_wait(&used) != 0) {}
    if (dlclose(library) != 0 || dlopen(path, RTLD_NOW | RTLD_NOLOAD)) {
        fprintf(stderr, "it is still loaded\n");
        exit(1);
    }
    sem_post(&may_end);
    pthread_join(thread, NULL);
}

int main(int count, char **arguments) {
    if (count != 2 || sem_init(&used, 0, 0) != 0 || sem_init(&may_end, 0, 0) != 0) return 1;
    for (unsigned n = 0; n < 3; n++) {
        outlive(arguments[1], 1);
        outlive(arguments[1], 20);
    }
    return 0;
}
