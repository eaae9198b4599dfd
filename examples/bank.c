/* Money moves between accounts of a PostgreSQL database: 16 tellers share 8 connections. From time to time a thread
 * ends one of the connections at the server. A teller whose connection breaks gets one error, and repeats the transfer
 * on another connection. Each transfer has a number, so that none is made twice if the answer to a COMMIT is lost.
 *
 *     bank CONNINFO [CONNECTIONS [TRANSFERS [NAME]]]
 *
 * CONNINFO names the server; `make bank` starts a temporary one. Several of these programs may share the accounts, each
 * with its own name. With KOLK_BANK_POOLER=1 they also work through PgBouncer. */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include <kolk/pq.h>
#include <libpq-fe.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TELLERS = 16, ACCOUNTS = 100 };

static kolk_pq db;
static int transfers = 2000, errors; /* errors is atomic */
static const char *name = "bank";

struct teller {
    pthread_t thread;
    int number;
};

/* Runs a query, and stores the first value of the answer in `text`, if there is one. */
static bool ask(const kolk_borrowed *borrow, char text[32], const char *sql, int n, const char *const *values) {
    kolk_error error;
    PGresult *result = kolk_pq_exec_prepared(borrow, sql, sql, n, values, kolk_deadline_after(10000), &error);
    if (text) snprintf(text, 32, "%s", PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "");
    PQclear(result);
    return error.code == 0;
}

/* Moves the money in one transaction. If it is not committed, give_back rolls it back. */
static bool move_money(const kolk_borrowed *borrow, int from, int to, int amount, const char *transfer) {
    char texts[4][32], made[32];
    snprintf(texts[0], sizeof texts[0], "%d",
             from < to ? from : to); /* always in the same order, so that no two transfers wait for each other */
    snprintf(texts[1], sizeof texts[1], "%d", from < to ? -amount : amount);
    snprintf(texts[2], sizeof texts[2], "%d", from < to ? to : from);
    snprintf(texts[3], sizeof texts[3], "%d", from < to ? amount : -amount);
    const char *values[] = {texts[0], texts[1], texts[2], texts[3]};
    const char *update = "UPDATE account SET balance = balance + $2 WHERE id = $1";
    if (!ask(borrow, NULL, "BEGIN", 0, NULL)) return false;
    if (!ask(borrow, made, "INSERT INTO ledger VALUES ($1) ON CONFLICT DO NOTHING RETURNING 'new'", 1, &transfer))
        return false;
    if (!*made) return true; /* it was committed, but the answer was lost */
    return ask(borrow, NULL, update, 2, values) && ask(borrow, NULL, update, 2, values + 2) &&
           ask(borrow, NULL, "COMMIT", 0, NULL);
}

static bool borrow_one(kolk_borrowed *borrow) {
    kolk_status status = kolk_resource_borrow(&db.pool, NULL, borrow); /* waits for 30 s at most */
    if (status == KOLK_OK) return true;
    fprintf(stderr, "%s: %s\n", kolk_status_text(status), borrow->error.text);
    nanosleep(&(struct timespec){.tv_nsec = 100000000},
              NULL); /* the pool itself waits for a restarting server, so this is worse */
    return false;
}

static bool transfer_once(int from, int to, int amount, const char *transfer) {
    kolk_borrowed borrow;
    if (!borrow_one(&borrow)) return false;
    bool made = move_money(&borrow, from, to, amount, transfer);
    kolk_resource_give_back(&db.pool, &borrow);
    return made;
}

static void *work(void *argument) {
    struct teller *me = argument;
    unsigned random = (unsigned)me->number * 7919u + 1;
    for (int i = 0; i < transfers / TELLERS; i++) {
        char transfer[64];
        snprintf(transfer, sizeof transfer, "%.30s %d-%d", name, me->number, i);
        random = random * 1664525u + 1013904223u;
        int from = (int)(random >> 8) % ACCOUNTS, to = (from + 1 + (int)(random >> 16) % (ACCOUNTS - 1)) % ACCOUNTS;
        while (!transfer_once(from, to, (int)(random >> 24), transfer))
            __atomic_add_fetch(&errors, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

/* Ends one of our connections, ten times. */
static void *make_trouble(void *argument) {
    for (int i = 0; i < 10; i++) {
        kolk_borrowed borrow;
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        if (kolk_resource_borrow(&db.pool, NULL, &borrow) == KOLK_OK)
            ask(&borrow, NULL,
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = current_user"
                " AND pid <> pg_backend_pid() AND backend_type = 'client backend' LIMIT 1",
                0, NULL);
        kolk_resource_give_back(&db.pool, &borrow);
    }
    return argument;
}

static bool make_tables(void) {
    static const char tables[] =
        "SELECT pg_advisory_xact_lock(1); CREATE TABLE IF NOT EXISTS ledger (transfer text PRIMARY KEY);"
        "CREATE TABLE IF NOT EXISTS account (id int PRIMARY KEY, balance int NOT NULL);"
        "INSERT INTO account SELECT n, 1000 FROM generate_series(0, 99) n ON CONFLICT DO NOTHING";
    kolk_borrowed borrow;
    kolk_error error;
    if (!borrow_one(&borrow)) return false;
    PQclear(kolk_pq_exec(&borrow, tables, 0, NULL, kolk_deadline_after(30000), &error));
    kolk_resource_give_back(&db.pool, &borrow);
    if (error.code) fprintf(stderr, "%s\n", error.text);
    return error.code == 0;
}

static bool sum_up(char sum[32], char made[32]) {
    char like[64];
    const char *values[] = {like};
    kolk_borrowed borrow;
    snprintf(like, sizeof like, "%.30s %%", name);
    if (!borrow_one(&borrow)) return false;
    bool asked = ask(&borrow, sum, "SELECT sum(balance) FROM account", 0, NULL) &&
                 ask(&borrow, made, "SELECT count(*) FROM ledger WHERE transfer LIKE $1", 1, values);
    kolk_resource_give_back(&db.pool, &borrow);
    return asked;
}

int main(int argc, char **argv) {
    int tries = 0; /* these connections may be ended too */
    unsigned connections = argc > 2 ? (unsigned)atoi(argv[2]) : 8;
    if (argc > 3) transfers = atoi(argv[3]);
    if (argc > 4) name = argv[4];
    kolk_pq_desc desc = {.conninfo = argc > 1 ? argv[1] : NULL,
                         .pool = {.name = "bank", .max = connections, .min_idle = connections},
                         .no_prepared = getenv("KOLK_BANK_POOLER") != NULL};
    if (kolk_pq_init(&db, &desc) != KOLK_OK) return 1;
    while (!make_tables())
        if (++tries == 20) return 1;

    struct teller tellers[TELLERS];
    pthread_t trouble;
    if (pthread_create(&trouble, NULL, make_trouble, NULL) != 0) return 1;
    for (int n = 0; n < TELLERS; n++) {
        tellers[n].number = n;
        if (pthread_create(&tellers[n].thread, NULL, work, &tellers[n]) != 0) return 1;
    }
    for (int n = 0; n < TELLERS; n++) pthread_join(tellers[n].thread, NULL);
    pthread_join(trouble, NULL);

    char sum[32], made[32];
    for (tries = 0; !sum_up(sum, made);)
        if (++tries == 20) return 1;
    kolk_resource_pool_stats stats;
    kolk_resource_stats(&db.pool, &stats);
    kolk_resource_deinit(&db.pool);
    printf("%s: %s transfers in the ledger, %s in all accounts together\n", name, made, sum);
    printf("%s: %d attempts failed, %u connections at most, %llu made, wait: half of all below %llu us\n", name, errors,
           connections, (unsigned long long)stats.created, (unsigned long long)stats.wait.p50_ns / 1000);
    return atoi(sum) != ACCOUNTS * 1000 || atoi(made) != transfers / TELLERS * TELLERS;
}

/* runs: long processes not:clang */
