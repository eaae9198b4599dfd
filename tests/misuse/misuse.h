/* misuse.h: the vocabulary of the mistakes in this folder. Each of them is a program, which makes one mistake and
 * continues. One source makes several programs: on kolk_pool; with -DPACKED on kolk_slotmap; with -DSHARED on
 * kolk_shared; with -DIPC on kolk_ipc; with -DRESOURCE on kolk_resource_pool; with -DHEAP on kolk_heap; and with
 * -DMALLOC on malloc. Each has a clean twin, without the mistake.
 *
 * The programs of a file are one executable, because compiling takes longer than running, as does starting a tool:
 *
 *     gcc -Iinclude tests/misuse/pool.c libkolk.a -o mistakes && ./mistakes double_free_later leak_exit
 *
 * The arguments name the programs, each of which runs in a fork of a fresh process. Behind the word "clean", their
 * clean twins run, all in one fork. Files that are compiled in different ways can be linked into one executable too:
 * -DBUILD=_heap appends this word to the names. On stderr:
 *
 *     program: NAME
 *     stage: misuse    the mistake is made now; the verbs inside it are not announced
 *     stage: alloc     (free, deinit, exit) the program does this now: later reports appeared only at this stage
 *     answer: NULL     a function returned NULL, or a pattern of the debug mode was read
 *     status: 0        the program's exit status, or minus the number of the signal that ended it */
#ifndef KOLK_TESTS_MISUSE_H
#define KOLK_TESTS_MISUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE 32 /* bytes of an object */

/* WRONG: what only the program with the mistake does. RIGHT: what only its clean twin does. */
#define WRONG(call) (is_clean ? (void)0 : (begin_misuse(), (void)(call), end_misuse()))
#define RIGHT(call) (is_clean ? (void)(call) : (void)0)

__attribute__((weak)) bool is_clean; /* weak, as each file of an executable has it, as main is below */
static bool in_misuse;

/* Prints to stderr, which is unbuffered like the reports, so the lines are in the order of events. */
static inline void stage(const char *name) {
    if (!in_misuse) fprintf(stderr, "stage: %s\n", name);
}

static inline void begin_misuse(void) {
    stage("misuse");
    in_misuse = true;
}

static inline void end_misuse(void) {
    in_misuse = false;
}

/* ---- Pools: in the programs on malloc they do nothing ------------------------------------------------------------ */

#ifdef MALLOC

typedef char pool;

static inline void open_pool(pool *items, const char *name) {
    (void)items, (void)name;
}

static inline void close_pool(pool *items) {
    (void)items;
}

static inline void *new_object(pool *items) {
    (void)items;
    return malloc(SIZE);
}

static inline void free_object(pool *items, void *object) {
    (void)items;
    free(object);
}

#elif defined(RESOURCE)

#include <kolk/resource.h>

typedef kolk_resource_pool pool;

static bool create(void *context, const char *key, kolk_deadline deadline, void **resource, kolk_error *error) {
    (void)context, (void)key, (void)deadline, (void)error;
    *resource = malloc(SIZE);
    return *resource;
}

static void destroy(void *context, void *resource) {
    (void)context;
    free(resource);
}

static inline void open_desc(pool *links, kolk_resource_pool_desc desc) {
    if (!desc.create) desc.create = create;
    desc.destroy = destroy;
    desc.no_housekeeper = true;
    if (kolk_resource_init(links, &desc) != KOLK_OK) exit(1);
}

static inline void open_pool(pool *links, const char *name) {
    open_desc(links, (kolk_resource_pool_desc){.name = name, .max = 2});
}

static inline void close_pool(pool *links) {
    stage("deinit");
    kolk_resource_deinit(links);
}

#elif defined(SHARED)

#include <kolk/shared.h>

#define HANDLES 1

typedef struct pool {
    kolk_shared shared;
    kolk_shared_local local;
} pool;

static inline void open_desc(pool *items, kolk_shared_desc desc) {
    desc.object_size = SIZE;
    desc.capacity = 100;
    if (kolk_shared_init(&items->shared, &desc) != KOLK_OK) exit(1);
    if (kolk_shared_local_init(&items->local, &items->shared) != KOLK_OK) exit(1);
}

static inline void open_pool(pool *items, const char *name) {
    open_desc(items, (kolk_shared_desc){.name = name});
}

static inline void close_pool(pool *items) {
    stage("deinit");
    kolk_shared_local_deinit(&items->local);
    kolk_shared_deinit(&items->shared);
}

static inline void *new_object(pool *items) {
    return kolk_shared_alloc(&items->local);
}

static inline void free_object(pool *items, void *object) {
    kolk_shared_free(&items->local, object);
}

static inline kolk_handle handle_of(const pool *items, const void *object) {
    return kolk_shared_handle_of(&items->shared, object);
}

static inline void look_up(const pool *items, kolk_handle handle) {
    if (!kolk_shared_get(&items->shared, handle)) fputs("answer: NULL\n", stderr);
}

#elif defined(IPC)

#include <kolk/ipc.h>

#define HANDLES 1

typedef kolk_ipc pool;

static inline void open_pool(pool *items, const char *name) {
    kolk_ipc_desc desc = {.name = name, .object_size = SIZE, .capacity = 100, .queues = 1};
    if (kolk_ipc_init(items, &desc) != KOLK_OK) exit(1);
}

static inline void close_pool(pool *items) {
    stage("deinit");
    kolk_ipc_deinit(items);
}

static inline void *new_object(pool *items) {
    return kolk_ipc_alloc(items);
}

static inline void free_object(pool *items, void *object) {
    kolk_ipc_free(items, object);
}

static inline kolk_handle handle_of(const pool *items, const void *object) {
    return kolk_ipc_handle_of(items, object);
}

static inline void look_up(const pool *items, kolk_handle handle) {
    if (!kolk_ipc_get(items, handle)) fputs("answer: NULL\n", stderr);
}

#elif defined(PACKED)

#include <kolk/slotmap.h>

#define HANDLES 1

typedef kolk_slotmap pool;

static inline void open_pool(pool *items, const char *name) {
    kolk_slotmap_desc desc = {.name = name, .object_size = SIZE, .capacity = 100};
    if (kolk_slotmap_init(items, &desc) != KOLK_OK) exit(1);
}

static inline void close_pool(pool *items) {
    stage("deinit");
    kolk_slotmap_deinit(items);
}

static inline void *new_object(pool *items) {
    return kolk_slotmap_add(items, NULL);
}

static inline kolk_handle handle_of(const pool *items, const void *object) {
    return kolk_slotmap_handle_of(items, object);
}

static inline void free_object(pool *items, void *object) {
    kolk_slotmap_remove(items, handle_of(items, object));
}

static inline void look_up(const pool *items, kolk_handle handle) {
    if (!kolk_slotmap_get(items, handle)) fputs("answer: NULL\n", stderr);
}

static inline void give_back_handle(pool *items, kolk_handle handle) {
    stage("free");
    if (!kolk_slotmap_remove(items, handle)) fputs("answer: false\n", stderr);
}

#elif defined(HEAP)

#include <kolk/heap.h>

typedef kolk_heap pool;

static inline void open_pool(pool *items, const char *name) {
    if (kolk_heap_init(items, &(kolk_heap_desc){.name = name}) != KOLK_OK) exit(1);
}

static inline void close_pool(pool *items) {
    stage("deinit");
    kolk_heap_deinit(items);
}

static inline void *new_object(pool *items) {
    return kolk_heap_alloc(items, SIZE);
}

static inline void free_object(pool *items, void *object) {
    kolk_heap_free(items, object);
}

#else

#include <kolk/pool.h>

#define POOL    1
#define HANDLES 1

typedef kolk_pool pool;

static inline void open_pool(pool *items, const char *name) {
    kolk_pool_desc desc = {.name = name, .object_size = SIZE, .capacity = 100};
    if (kolk_pool_init(items, &desc) != KOLK_OK) exit(1);
}

static inline void close_pool(pool *items) {
    stage("deinit");
    kolk_pool_deinit(items);
}

static inline void *new_object(pool *items) {
    return kolk_pool_alloc(items);
}

static inline void free_object(pool *items, void *object) {
    kolk_pool_free(items, object);
}

static inline kolk_handle handle_of(const pool *items, const void *object) {
    return kolk_pool_handle_of(items, object);
}

static inline void look_up(const pool *items, kolk_handle handle) {
    if (!kolk_pool_get(items, handle)) fputs("answer: NULL\n", stderr);
}

static inline void give_back_handle(pool *items, kolk_handle handle) {
    stage("free");
    if (!kolk_pool_free_handle(items, handle)) fputs("answer: false\n", stderr);
}

#endif

/* ---- Objects ----------------------------------------------------------------------------------------------------- */

#ifndef RESOURCE

/* The compiler must not know where the object comes from, or it would remove code that it can prove to be wrong. */
static inline void *take(pool *items) {
    stage("alloc");
    void *object = new_object(items);
    __asm__ volatile("" : "+r"(object));
    if (!object) fputs("answer: NULL\n", stderr);
    return object;
}

static inline void give_back(pool *items, void *object) {
    stage("free");
    __asm__ volatile("" : "+r"(object));
    free_object(items, object);
}

#endif

static inline void write_bytes(void *at, size_t size) {
    volatile unsigned char *byte = at;
    for (size_t i = 0; i < size; i++) byte[i] = 'x';
}

/* Branches on the value that it reads, as memcheck checks values only then. */
static inline void read_word(const void *at) {
    const volatile unsigned char *byte = at;
    uint32_t word = 0;
    for (size_t i = 0; i < sizeof word; i++) word |= (uint32_t)byte[i] << (8 * i);
    if (word == 0x1deadb0b) fputs("answer: reads 0x1deadb0b\n", stderr);
    if (word == 0xcdcdcdcd) fputs("answer: reads 0xcdcdcdcd\n", stderr);
    if (word == 0xfdfdfdfd) fputs("answer: reads 0xfdfdfdfd\n", stderr);
}

/* ---- Programs ---------------------------------------------------------------------------------------------------- */

static pool items, others;

/* A mistake, its row in docs/misuse.md, and the tables that have the row: "pool malloc shared" are kolk_pool's table,
 * with its columns for malloc, and kolk_shared's. `items` is initialised before, and ends afterwards. */
#define MISTAKE(name, row, tables) RUN_AROUND(name, open_pool(&items, "items"), close_pool(&items))

/* The same for a program that begins and ends its pools itself. */
#define WHOLE_MISTAKE(name, row, tables) RUN_AROUND(name, (void)0, (void)0)

#define RUN_AROUND(name, begin, finish)                                                                                \
    static void name(void);                                                                                            \
    static int run_##name(void) {                                                                                      \
        begin;                                                                                                         \
        name();                                                                                                        \
        finish;                                                                                                        \
        stage("exit");                                                                                                 \
        return 0;                                                                                                      \
    }                                                                                                                  \
    static const struct program program_##name                                                                         \
        __attribute__((section("programs"), used)) = {#name STRING(BUILD), run_##name};                                \
    static void name(void)

#ifndef BUILD
#define BUILD
#endif
#define STRING(word)     STRING_NOW(word)
#define STRING_NOW(word) #word

/* The linker makes one array of the programs of all files. */
struct program {
    const char *name;
    int (*run)(void);
};
extern const struct program __start_programs[], __stop_programs[];

static int run_named(const char *name) {
    const struct program *program = __start_programs;
    while (program < __stop_programs && strcmp(program->name, name) != 0) program++;
    if (program == __stop_programs) exit(1);
    fprintf(stderr, "program: %s\n", name);
    alarm(60);
    return program->run();
}

/* Returns the status of the last one. */
static int run_forked(char **names, int count) {
    int status;
    pid_t child = fork();
    if (child < 0) exit(1);
    if (child == 0) {
        for (; count > 1; count--) fprintf(stderr, "status: %d\n", run_named(*names++));
        exit(run_named(*names));
    }
    if (waitpid(child, &status, 0) != child) exit(1);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

__attribute__((weak)) int main(int argc, char **argv) {
    is_clean = argc > 1 && strcmp(argv[1], "clean") == 0;
    int each = is_clean ? argc - 2 : 1;
    for (char **name = argv + 1 + is_clean; *name; name += each)
        fprintf(stderr, "status: %d\n", run_forked(name, each));
    return 0;
}

#endif
