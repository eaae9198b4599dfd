/* A program that contains kolk, and loads libraries that do as well. Each letter of the last argument is a step:
 *     h     fills a pool of the program, which is never deinit'd
 *     1 2   loads the first, or the second, library; the later steps use it
 *     a b   unloads the first, or the second, library
 *     others: see copies_module.c
 * Between two steps it prints the letter of the next one to stderr, so that reports can be told apart. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kolk/kolk.h>

static kolk_pool hosts, world;

static void fill(void) {
    if (kolk_pool_init(&hosts, &(kolk_pool_desc){.name = "hosts", .object_size = 8, .capacity = 8}) != KOLK_OK) abort();
    for (int n = 0; n < 5; n++)
        if (!kolk_pool_alloc(&hosts)) abort();
}

static void *load(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library) return library;
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
}

static void unload(void *library, const char *path) {
    if (dlclose(library) == 0 && !dlopen(path, RTLD_NOW | RTLD_NOLOAD)) return;
    fprintf(stderr, "it is still loaded\n");
    exit(1);
}

int main(int count, char **arguments) {
    void *libraries[2] = {NULL}, *found = NULL;
    void (*take_step)(char step, kolk_pool *world);
    if (count != 4) return 1;
    for (const char *step = arguments[3]; *step; step++) {
        fprintf(stderr, "%c\n", *step);
        if (*step == 'h') {
            fill();
        } else if (*step == '1' || *step == '2') {
            found = dlsym(libraries[*step - '1'] = load(arguments[*step - '0']), "take_step");
        } else if (*step == 'a' || *step == 'b') {
            unload(libraries[*step - 'a'], arguments[*step - 'a' + 1]);
        } else {
            memcpy(&take_step, &found, sizeof found);
            take_step(*step, &world);
        }
    }
    fprintf(stderr, "exit\n");
    return 0;
}
