/* Makes mistakes with a pooled object, which the tool must report: mistakes typed|untyped NAME... Each is made in a
 * fork, because that is faster than starting the tool again. On stderr, each report is enclosed by:
 *
 *     > NAME
 *     status: 0       its exit status, or minus the number of the signal that ended it
 *
 * tools.sh looks for the functions marked PLACE in the stacks of the reports. */
#include <kolk/kolk.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLACE static __attribute__((noinline))

/* 24 bytes without padding: the byte after an object is the first byte of the next slot. */
typedef struct thing {
    char bytes[24 - sizeof(char *)];
    char *block;
} thing;

KOLK_POOL_TYPE(things, thing)

static things pool;
static bool typed;
static thing *volatile kept; /* an object that the program does not lose */

PLACE thing *allocate(void) {
    return typed ? things_alloc(&pool) : kolk_pool_alloc(&pool.pool);
}

PLACE void release(thing *object) {
    if (typed)
        things_free(&pool, object);
    else
        kolk_pool_free(&pool.pool, object);
}

PLACE void read_byte(const char *byte) {
    (void)*(const volatile char *)byte;
}

PLACE void write_byte(char *byte) {
    *(volatile char *)byte = 1;
}

PLACE void decide(const char *byte) {
    if (*(const volatile char *)byte) puts("The byte is not 0.");
}

/* Adds a malloc block to which only the object points. */
PLACE void add_block(thing *object) {
    object->block = malloc(40);
}

/* ---- The mistakes ------------------------------------------------------------------------------------------------ */

PLACE void read_after_free(void) {
    thing *object = allocate();
    release(object);
    read_byte(&object->bytes[3]);
}

PLACE void write_after_free(void) {
    thing *object = allocate();
    release(object);
    write_byte(&object->bytes[3]);
}

PLACE void decide_after_free(void) {
    thing *object = allocate();
    memset(object, 0, sizeof *object);
    release(object);
    decide(&object->bytes[3]);
}

/* The pool itself reports this mistake. */
PLACE void double_free(void) {
    thing *object = allocate();
    release(object);
    release(object);
}

PLACE void overflow(void) {
    thing *object = allocate();
    write_byte((char *)(object + 1));
    release(object);
}

PLACE void overread(void) {
    thing *object = allocate();
    read_byte((const char *)(object + 1));
    release(object);
}

PLACE void uninitialised(void) {
    thing *object = allocate();
    decide(&object->bytes[3]);
    release(object);
}

PLACE void leak(void) {
    *allocate() = (thing){.bytes = "nobody knows me"};
}

/* Not a leak: the block's pointer is in a live object, to which the program has a pointer. */
PLACE void block_of_live(void) {
    add_block(kept);
}

PLACE void block_of_freed(void) {
    block_of_live();
    release(kept);
}

/* ------------------------------------------------------------------------------------------------------------------ */

static const struct mistake {
    const char *name;
    void (*make)(void);
} mistakes[] = {
    {"read-after-free", read_after_free},
    {"write-after-free", write_after_free},
    {"decide-after-free", decide_after_free},
    {"double-free", double_free},
    {"overflow", overflow},
    {"overread", overread},
    {"uninitialised", uninitialised},
    {"leak", leak},
    {"block-of-live", block_of_live},
    {"block-of-freed", block_of_freed},
};

int main(int count, char **words) {
    if (count < 3) return 2;
    typed = strcmp(words[1], "typed") == 0;
    if (things_init(&pool, &(kolk_pool_desc){.name = "things", .capacity = 8}) != KOLK_OK) return 2;
    kept = allocate();
    for (int n = 2; n < count; n++) {
        int status;
        fprintf(stderr, "> %s\n", words[n]);
        pid_t child = fork();
        if (child == 0) {
            for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++)
                if (strcmp(words[n], mistakes[i].name) == 0) mistakes[i].make();
            return 0; /* no deinit, which would free the live objects */
        }
        if (child < 0 || waitpid(child, &status, 0) != child) return 2;
        fprintf(stderr, "status: %d\n", WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status));
    }
    return 0;
}
