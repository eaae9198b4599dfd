/* SQLite in a heap: sqlite3_config sets the functions from which the library gets all of its memory. So the memory is
 * limited, and one call can free all of it. `sqlite_heap time` works with malloc and with kolk in turn, and prints the
 * times; each turn of kolk begins with a new heap. */
#include "kolk.h"
#include <sqlite3.h>
#include <stdio.h>
#include <time.h>

enum { ROUNDS = 15 };

static kolk_heap heap; /* global, because these functions get no context */
static kolk_heap_desc desc = {.name = "SQLite", .limit = 8 << 20};
static uint32_t left; /* blocks that SQLite has not freed */

static void *allocate(int size) {
    return kolk_heap_alloc(&heap, (size_t)size);
}

static void *resize(void *block, int size) {
    return kolk_heap_realloc(&heap, block, (size_t)size);
}

static void release(void *block) {
    kolk_heap_free(&heap, block);
}

static int size_of(void *block) {
    return (int)kolk_heap_usable_size(&heap, block);
}

static int round_up(int size) {
    return (size + 15) / 16 * 16;
}

static int begin(void *unused) {
    (void)unused;
    return kolk_heap_init(&heap, &desc) == KOLK_OK ? SQLITE_OK : SQLITE_NOMEM;
}

static void end(void *unused) {
    kolk_stats stats;
    (void)unused;
    kolk_heap_stats(&heap, &stats);
    left = stats.count;
    kolk_heap_deinit(&heap);
}

static const char *add_visits(sqlite3 *db, const char *many) {
    char *sql = sqlite3_mprintf("create table if not exists visits (visitor primary key, city);"
                                "with recursive i (n) as (select 1 union all select n + 1 from i where n < %s)"
                                "insert into visits select hex(randomblob(9)), 'city ' || n %% 50 from i",
                                many);
    int status = sqlite3_exec(db, sql, NULL, NULL, NULL);
    sqlite3_free(sql);
    return status == SQLITE_OK ? "done" : sqlite3_errmsg(db);
}

static void use_database(bool tells) {
    sqlite3 *db;
    if (sqlite3_open(":memory:", &db) != SQLITE_OK) return;
    const char *done = add_visits(db, "10000");
    if (tells) {
        sqlite3_int64 bytes = 0;
        for (void *block = NULL; (block = kolk_heap_next(&heap, block));) bytes += size_of(block);
        printf("10,000 visits: %s\n", done);
        printf("SQLite and the heap count %s bytes\n", bytes == sqlite3_memory_used() ? "the same" : "different");
        printf("1,000,000 more: %s\n", add_visits(db, "1000000"));
        printf("1,000 more: %s\n", add_visits(db, "1000"));
    }
    sqlite3_close(db);
    sqlite3_shutdown();
}

int main(int argc, char **argv) {
    sqlite3_mem_methods methods[2] = {{0}, {allocate, release, resize, size_of, round_up, begin, end, NULL}};
    (void)argv;
    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &methods[0]);
    for (int turn = 0; argc > 1 && turn < 2 * ROUNDS; turn++) {
        desc.limit = 0;
        sqlite3_config(SQLITE_CONFIG_MALLOC, &methods[turn % 2]);
        clock_t start = clock();
        use_database(false);
        printf("%s %.2f ms\n", turn % 2 ? "kolk  " : "malloc", (double)(clock() - start) * 1e3 / CLOCKS_PER_SEC);
    }
    if (argc > 1) return 0;
    sqlite3_config(SQLITE_CONFIG_MALLOC, &methods[1]);
    use_database(true);
    printf("%u blocks are left\n", left);
}

/* runs: 64-bits not:qemu not:wine */
