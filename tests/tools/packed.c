/* Uses slot maps correctly, which the tool must not report; then makes mistakes, each in a fork, which it must: packed
 * NAME...
 *
 *     kept, read    a write, or a read, through a pointer that a removal has made stale
 *     fresh         a decision that depends on a byte that was never written
 *
 * On stderr, each report follows a line > NAME, and precedes a line status: N, which is not 0 if the program was
 * ended. */
#include <kolk/kolk.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct thing { /* of 12 bytes, so that neighbours share granules of 8 bytes */
    char bytes[12];
} thing;

KOLK_SLOTMAP_TYPE(things, thing)

static things map;

static int by_first_byte(const void *a, const void *b, void *context) {
    (void)context;
    return ((const thing *)a)->bytes[0] - ((const thing *)b)->bytes[0];
}

static things_handle add(char letter) {
    things_handle handle;
    thing *object = things_add(&map, &handle);
    if (!object) abort();
    memset(object, letter, sizeof *object);
    return handle;
}

/* Every place is used, released and used again; objects are read to the last byte. */
static void use_well(void) {
    things_handle handles[100];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 100; i++) handles[i] = add((char)(i % 50));
        for (int i = 0; i < 100; i += 3) things_remove(&map, handles[i]);
        things_sort(&map, by_first_byte, NULL);
        KOLK_EACH(things, each, &map) {
            if (each->bytes[11] != each->bytes[0]) abort();
            if (each->bytes[11] % 7 == 0) things_remove(&map, things_handle_of(&map, each));
        }
        things_trim(&map);
        if (!things_is_valid(&map)) abort();
        things_clear(&map);
    }
}

static void use_well_everywhere(void) {
    static KOLK_SLOTMAP_STORAGE(thing, 101) storage;
    kolk_slotmap_desc descs[3] = {
        {.name = "fixed", .capacity = 100},
        {.name = "growing", .max_capacity = 100000},
        {.name = "lent", .memory = &storage, .memory_size = sizeof storage},
    };
    for (int i = 0; i < 3; i++) {
        if (things_init(&map, &descs[i]) != KOLK_OK) abort();
        use_well();
        things_deinit(&map);
        memset(&storage, 1, sizeof storage); /* the memory is the program's again */
    }
}

static void make_mistake(const char *name) {
    if (things_init(&map, &(kolk_slotmap_desc){.capacity = 10}) != KOLK_OK) exit(2);
    things_handle a = add('a'), b = add('b');
    thing *kept = things_get(&map, b);
    things_remove(&map, a);
    if (strcmp(name, "kept") == 0) *(volatile char *)kept = 1;
    if (strcmp(name, "read") == 0 && *(volatile char *)kept == 1) puts("It is 1.");
    if (strcmp(name, "fresh") == 0) {
        things_add(&map, NULL);
        if (*(volatile char *)&things_at(&map, 1)->bytes[3] == 1) puts("It is 1.");
    }
    things_deinit(&map);
}

int main(int argc, char **argv) {
    use_well_everywhere();
    for (int n = 1; n < argc; n++) {
        int status;
        fprintf(stderr, "> %s\n", argv[n]);
        pid_t child = fork();
        if (child == 0) {
            make_mistake(argv[n]);
            return 0;
        }
        if (child < 0 || waitpid(child, &status, 0) != child) return 2;
        fprintf(stderr, "status: %d\n", status);
    }
    return 0;
}
