/* The smallest program that needs kolk, its adapter for SQLite, and SQLite. */
#include <kolk/sqlite.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    kolk_sqlite store;
    kolk_sqlite_borrow borrow;
    FILE *empty = fopen("hello.db", "w");
    if (!empty || fclose(empty) != 0) return 1;
    if (kolk_sqlite_init(&store, &(kolk_sqlite_desc){.path = "hello.db"}) != KOLK_OK) return 1;
    bool works =
        kolk_sqlite_read(&store, NULL, &borrow) == KOLK_OK && strcmp(sqlite3_errmsg(borrow.db), "not an error") == 0;
    kolk_sqlite_give_back(&borrow);
    kolk_sqlite_deinit(&store);
    remove("hello.db");
    puts(works ? "kolk works with SQLite" : "kolk does not work with SQLite");
    return works ? 0 : 1;
}
