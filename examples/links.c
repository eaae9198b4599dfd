/* Short links with counters, in one SQLite file and without a server. Many threads look up links at the same time.
 * Threads that count a visit wait for their turn, first come, first served, without repeated attempts. */
#define _POSIX_C_SOURCE 200809L
#include "kolk.h"
#include <kolk/sqlite.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

enum { VISITORS = 8, VISITS = 60 };

static const char *const names[] = {"gpp", "kolk", "gpp", "wal", "lost", "gpp"}; /* the links that visitors request */
static kolk_sqlite links;

static void require(bool done, const kolk_sqlite_borrow *borrow) {
    if (done) return;
    fprintf(stderr, "links: %s\n", borrow->error.text);
    exit(1);
}

static bool has_link(const char *name) {
    kolk_sqlite_borrow borrow;
    require(kolk_sqlite_read(&links, NULL, &borrow) == KOLK_OK, &borrow);
    sqlite3_stmt *select = kolk_sqlite_prepare(&borrow, "select url from links where name = ?");
    sqlite3_bind_text(select, 1, name, -1, SQLITE_STATIC);
    bool found = sqlite3_step(select) == SQLITE_ROW;
    kolk_sqlite_give_back(&borrow); /* resets the statement, which is kept for the next reader */
    return found;
}

static void count_visit(const char *name, bool changes_its_mind) {
    kolk_sqlite_borrow borrow;
    require(kolk_sqlite_write(&links, NULL, &borrow) == KOLK_OK, &borrow);
    sqlite3_stmt *update = kolk_sqlite_prepare(&borrow, "update links set visits = visits + 1 where name = ?");
    sqlite3_bind_text(update, 1, name, -1, SQLITE_STATIC);
    require(sqlite3_step(update) == SQLITE_DONE, &borrow);
    if (!changes_its_mind) require(kolk_sqlite_exec(&borrow, "commit"), &borrow);
    kolk_sqlite_give_back(&borrow); /* rolls back, because there was no commit */
}

static void *visit(void *unused) {
    for (int n = 0; n < VISITS; n++)
        if (has_link(names[n % 6])) count_visit(names[n % 6], n % 10 == 9);
    return unused;
}

int main(void) {
    char path[] = "/tmp/links.XXXXXX";
    kolk_sqlite_desc desc = {.path = path, .setup = "pragma synchronous = normal", .pool = {.name = "links", .max = 4}};
    if (mkstemp(path) < 0 || kolk_sqlite_init(&links, &desc) != KOLK_OK) return 1;
    kolk_sqlite_borrow borrow;
    require(kolk_sqlite_write(&links, NULL, &borrow) == KOLK_OK, &borrow);
    require(kolk_sqlite_exec(&borrow, "create table links(name text primary key, url text, visits integer default 0);"
                                      "insert into links(name, url) values ('gpp', 'gameprogrammingpatterns.com'),"
                                      "('kolk', 'kolk.example'), ('wal', 'sqlite.org/wal.html'); commit"),
            &borrow);
    kolk_sqlite_give_back(&borrow);

    pthread_t threads[VISITORS];
    for (int n = 0; n < VISITORS; n++)
        if (pthread_create(&threads[n], NULL, visit, NULL) != 0) return 1;
    for (int n = 0; n < VISITORS; n++) pthread_join(threads[n], NULL);

    kolk_resource_pool_stats stats;
    kolk_resource_stats(&links.writer, &stats);
    printf("%d threads, %u connection that writes\n", VISITORS, (unsigned)stats.created);
    require(kolk_sqlite_read(&links, NULL, &borrow) == KOLK_OK, &borrow);
    sqlite3_stmt *list = kolk_sqlite_prepare(&borrow, "select visits, name, url from links order by visits desc, name");
    for (; sqlite3_step(list) == SQLITE_ROW; putchar('\n'))
        for (int column = 0; column < 3; column++) printf("  %-4s", (const char *)sqlite3_column_text(list, column));
    kolk_sqlite_give_back(&borrow);
    kolk_sqlite_deinit(&links);
    return remove(path) != 0;
}
