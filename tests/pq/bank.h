/* bank.h: 16 threads (the tellers) move money between accounts over 8 connections while the server or the network
 * fails; then the books are checked. The promises are:
 *     - a broken connection causes at most one error, and is never lent again
 *     - the ledger has exactly the committed transfers; the sum of money is constant
 *     - once the trouble is over, the server soon has max connections of the bank, and nothing fails any more
 *     - in the end no descriptor or thread is left
 * Deadlines are short only while there is trouble, when a slow machine may miss them, too. */
#ifndef TESTS_PQ_BANK_H
#define TESTS_PQ_BANK_H

#include "server.h"

#include <libpq-events.h>

#define ACCOUNTS       24
#define MONEY          1000
#define TELLERS        16
#define CONNECTIONS    8
#define BORROW_MS      1000   /* in trouble */
#define TRANSFERS      100000 /* per teller, at most */
#define BROKEN_AT_MOST 4096

typedef enum outcome { NOT_TRIED, FAILED, UNKNOWN, COMMITTED } outcome;

typedef struct teller {
    pthread_t thread;
    int64_t number, transfers;
    uint8_t *fates;  /* the outcome of each transfer */
    uint64_t rounds; /* atomic: borrows that have ended */
} teller;

static struct {
    kolk_pq db;
    teller tellers[TELLERS];
    int64_t pause_ms;                           /* how long a teller rests after each transfer */
    int64_t borrow_ms, query_ms;                /* atomic: the deadlines of a borrow and of a query */
    bool stops;                                 /* atomic, like the counters */
    uint64_t committed, query_errors, failures; /* transfers; failed queries; failed borrows */
    uint64_t causes[KOLK_PQ_BROKEN + 1];        /* how many borrows failed for each; 0: no create failed */
    int64_t alive;                              /* connections at the server, by the last query */
    pthread_mutex_t lock;                       /* guards `broken` */
    uintptr_t broken[BROKEN_AT_MOST];           /* numbers of broken connections */
    uintptr_t connections;                      /* how many have been numbered */
    size_t broken_count;
    pthread_t watcher;
} bank;

#define COUNT(what) __atomic_add_fetch(&bank.what, 1, __ATOMIC_RELAXED)
#define READ(what)  __atomic_load_n(&bank.what, __ATOMIC_RELAXED)

static inline int ignore_event(PGEventId event, void *info, void *context) {
    return 1;
}

/* A number that no other connection ever has, unlike the number of a server process, which may be reused. */
static inline uintptr_t connection_number(PGconn *conn) {
    uintptr_t number = (uintptr_t)PQinstanceData(conn, ignore_event);
    if (number) return number;
    number = __atomic_add_fetch(&bank.connections, 1, __ATOMIC_RELAXED);
    REQUIRE(PQregisterEventProc(conn, ignore_event, "bank", NULL));
    REQUIRE(PQsetInstanceData(conn, ignore_event, (void *)number));
    return number;
}

static inline bool is_broken(uintptr_t number) {
    bool found = false;
    pthread_mutex_lock(&bank.lock);
    for (size_t i = 0; i < bank.broken_count; i++) found |= bank.broken[i] == number;
    pthread_mutex_unlock(&bank.lock);
    return found;
}

static inline void note_broken(uintptr_t number) {
    REQUIRE(!is_broken(number)); /* its first error */
    pthread_mutex_lock(&bank.lock);
    REQUIRE(bank.broken_count < BROKEN_AT_MOST);
    bank.broken[bank.broken_count++] = number;
    pthread_mutex_unlock(&bank.lock);
}

/* ---- Tellers ----------------------------------------------------------------------------------------------------- */

/* Runs a query of the transfer. On failure returns false, and the connection gets no more queries. */
static inline bool teller_asks(const kolk_borrowed *borrow, uintptr_t number, const char *name, const char *sql, int n,
                               const char *const *values) {
    kolk_error error;
    kolk_deadline deadline = kolk_deadline_after(READ(query_ms));
    PGresult *result = name ? kolk_pq_exec_prepared(borrow, name, sql, n, values, deadline, &error)
                            : kolk_pq_exec(borrow, sql, n, values, deadline, &error);
    if (error.code) {
        COUNT(query_errors);
        /* if the deadline had passed before the query was sent, the connection is unchanged */
        if (error.code == KOLK_PQ_BROKEN || strstr(error.text, "was not cancelled in time"))
            note_broken(number);
        else if (error.code != KOLK_PQ_TIMEOUT)
            fprintf(stderr, "%s: %s\n", sql, error.text);
        REQUIRE(error.code == KOLK_PQ_BROKEN || error.code == KOLK_PQ_TIMEOUT);
    }
    PQclear(result);
    return error.code == 0;
}

static inline outcome make_transfer(const kolk_borrowed *borrow, int64_t id, uint64_t *random) {
    uintptr_t number = connection_number(kolk_pq_conn(borrow));
    REQUIRE(!is_broken(number)); /* a broken connection must not be lent again */
    uint32_t from = random_below(random, ACCOUNTS), to = random_below(random, ACCOUNTS - 1), amount;
    to += to >= from;
    amount = random_below(random, 100);
    char texts[6][24];
    snprintf(texts[0], sizeof *texts, "%u", from < to ? from : to); /* always in the same order: no deadlock */
    snprintf(texts[1], sizeof *texts, "%d", from < to ? -(int)amount : (int)amount);
    snprintf(texts[2], sizeof *texts, "%u", from < to ? to : from);
    snprintf(texts[3], sizeof *texts, "%d", from < to ? (int)amount : -(int)amount);
    snprintf(texts[4], sizeof *texts, "%" PRId64, id);
    snprintf(texts[5], sizeof *texts, "%u", from);
    static const char update[] = "UPDATE account SET balance = balance + $2::int WHERE id = $1::int";
    const char *ledger[] = {texts[4], texts[5], from < to ? texts[2] : texts[0], from < to ? texts[3] : texts[1]};
    if (!teller_asks(borrow, number, NULL, "BEGIN", 0, NULL) ||
        !teller_asks(borrow, number, "update", update, 2, (const char *[]){texts[0], texts[1]}) ||
        !teller_asks(borrow, number, "update", update, 2, (const char *[]){texts[2], texts[3]}) ||
        !teller_asks(borrow, number, NULL, "INSERT INTO ledger VALUES ($1, $2, $3, $4)", 4, ledger))
        return FAILED;
    if (random_below(random, 8) == 0) return FAILED; /* without a commit */
    return teller_asks(borrow, number, NULL, "COMMIT", 0, NULL) ? COMMITTED : UNKNOWN;
}

static inline void *run_teller(void *argument) {
    teller *me = (teller *)argument;
    uint64_t random = (uint64_t)me->number + seed;
    for (; !READ(stops) && me->transfers < TRANSFERS; __atomic_add_fetch(&me->rounds, 1, __ATOMIC_RELAXED)) {
        kolk_borrowed borrow;
        kolk_borrow_desc wish = {.deadline = kolk_deadline_after(READ(borrow_ms)), .who = "a teller"};
        kolk_status status = kolk_resource_borrow(&bank.db.pool, &wish, &borrow);
        if (status != KOLK_OK) {
            REQUIRE(status == KOLK_TIMEOUT || status == KOLK_NOT_CREATED);
            COUNT(failures);
            REQUIRE(borrow.error.code >= 0 && borrow.error.code <= KOLK_PQ_BROKEN);
            COUNT(causes[borrow.error.code]);
            nap_ms(5);
            continue;
        }
        outcome fate = make_transfer(&borrow, me->number * TRANSFERS + me->transfers, &random);
        me->fates[me->transfers++] = (uint8_t)fate;
        if (fate == COMMITTED) COUNT(committed);
        kolk_resource_give_back(&bank.db.pool, &borrow);
        if (bank.pause_ms) nap_ms(random_below(&random, (uint32_t)bank.pause_ms * 2));
    }
    return argument;
}

/* ---- Watchers ---------------------------------------------------------------------------------------------------- */

#define AS_THE_BANK "FROM pg_stat_activity WHERE application_name = 'bank'"

/* Asks the server how many connections the bank has. */
static inline void *run_watcher(void *argument) {
    PGconn *conn = NULL;
    for (; !READ(stops); nap_ms(10)) {
        if (!conn) conn = PQconnectdb(server.socket);
        PGresult *result = PQexec(conn, "SELECT count(*) " AS_THE_BANK);
        bool good = PQresultStatus(result) == PGRES_TUPLES_OK;
        __atomic_store_n(&bank.alive, good ? strtoll(PQgetvalue(result, 0, 0), NULL, 10) : 0, __ATOMIC_RELAXED);
        PQclear(result);
        if (good) continue;
        PQfinish(conn);
        conn = NULL;
    }
    PQfinish(conn);
    return argument;
}

/* ---- The day ----------------------------------------------------------------------------------------------------- */

static inline void open_bank(const char *conninfo, int64_t query_ms, int64_t pause_ms) {
    memset(&bank, 0, sizeof bank);
    pthread_mutex_init(&bank.lock, NULL);
    bank.borrow_ms = BORROW_MS;
    bank.query_ms = query_ms;
    bank.pause_ms = pause_ms;
    ask_admin("DROP TABLE IF EXISTS account, ledger; CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);"
              "CREATE TABLE ledger (id bigint PRIMARY KEY, payer int, payee int, amount int);"
              "INSERT INTO account SELECT generate_series(0, 23), 1000;"
              "GRANT ALL ON account, ledger TO alice");
    make_db(&bank.db, &(kolk_pq_desc){.conninfo = conninfo,
                                      .patience_ms = 1000,
                                      .pool = {.name = "bank", .max = CONNECTIONS, .min_idle = CONNECTIONS}});
    REQUIRE(pthread_create(&bank.watcher, NULL, run_watcher, NULL) == 0);
    for (int64_t i = 0; i < TELLERS; i++) {
        bank.tellers[i] = (teller){.number = i, .fates = calloc(TRANSFERS, 1)};
        REQUIRE(bank.tellers[i].fates);
        REQUIRE(pthread_create(&bank.tellers[i].thread, NULL, run_teller, &bank.tellers[i]) == 0);
    }
}

/* Waits until this many more transfers are committed. */
static inline void await_transfers(uint64_t more) {
    uint64_t begin = READ(committed);
    EVENTUALLY(READ(committed) >= begin + more);
}

/* Waits until a borrow has failed with this cause. */
static inline void await_cause(kolk_pq_cause cause) {
    EVENTUALLY(READ(causes[cause]) > 0);
}

/* Waits until each teller has ended two more rounds. The first one may have begun long before. */
static inline void await_rounds(void) {
    uint64_t begin[TELLERS];
    for (int i = 0; i < TELLERS; i++) begin[i] = READ(tellers[i].rounds);
    for (int i = 0; i < TELLERS; i++) EVENTUALLY(READ(tellers[i].rounds) >= begin[i] + 2);
}

/* After the trouble, waits until the server has all connections; from then on, nothing fails. */
static inline void await_recovery(void) {
    int64_t begin = now_ms();
    await_transfers(1);
    EVENTUALLY(READ(alive) == CONNECTIONS);
    int64_t took = now_ms() - begin;
    kolk_resource_pool_stats stats;
    kolk_resource_stats(&bank.db.pool, &stats);
    print_message("  all connections after %" PRId64 " ms; made %" PRIu64 ", seen dead %" PRIu64
                  ", broken in use %zu; errors of queries %" PRIu64 ", of borrows %" PRIu64 "\n",
                  took, stats.created, stats.invalid, bank.broken_count, READ(query_errors), READ(failures));
    __atomic_store_n(&bank.borrow_ms, 120000, __ATOMIC_RELAXED);
    __atomic_store_n(&bank.query_ms, 120000, __ATOMIC_RELAXED);
    await_rounds(); /* whoever began before may still fail */
    uint64_t errors = READ(query_errors) + READ(failures);
    await_transfers(200);
    assert_int_equal(READ(query_errors) + READ(failures), errors);
}

/* Checks that the ledger has each committed transfer, and no failed one. */
static inline void check_ledger(PGconn *admin) {
    PGresult *result = PQexec(admin, "SELECT id FROM ledger");
    uint64_t known = 0;
    for (int row = 0; row < PQntuples(result); row++) {
        int64_t id = strtoll(PQgetvalue(result, row, 0), NULL, 10);
        uint8_t fate = bank.tellers[id / TRANSFERS].fates[id % TRANSFERS];
        REQUIRE(fate == COMMITTED || fate == UNKNOWN);
        known += fate == COMMITTED;
    }
    PQclear(result);
    assert_int_equal(known, bank.committed);
    assert_int_equal(ask_number(admin, "SELECT sum(balance) FROM account"), ACCOUNTS * MONEY);
    assert_int_equal(ask_number(admin, "SELECT count(*) FROM account a WHERE balance <> 1000"
                                       " + (SELECT coalesce(sum(amount), 0) FROM ledger WHERE payee = a.id)"
                                       " - (SELECT coalesce(sum(amount), 0) FROM ledger WHERE payer = a.id)"),
                     0);
}

/* Ends the bank, and checks the books. */
static inline void close_bank(void) {
    __atomic_store_n(&bank.stops, true, __ATOMIC_RELAXED);
    for (int i = 0; i < TELLERS; i++) pthread_join(bank.tellers[i].thread, NULL);
    pthread_join(bank.watcher, NULL);
    assert_true(kolk_resource_is_valid(&bank.db.pool));
    assert_int_equal(kolk_resource_close(&bank.db.pool, soon()), KOLK_OK);
    kolk_resource_deinit(&bank.db.pool);
    PGconn *admin = connect_admin();
    check_ledger(admin);
    EVENTUALLY(ask_number(admin, "SELECT count(*) " AS_THE_BANK) == 0);
    PQfinish(admin);
    print_message("  %" PRIu64 " transfers\n", bank.committed);
    for (int i = 0; i < TELLERS; i++) free(bank.tellers[i].fates);
}

/* Fills the array with ids of server processes of the bank, and returns how many. */
static inline size_t bank_processes(int *pids, size_t room) {
    PGconn *admin = connect_admin();
    PGresult *result = PQexec(admin, "SELECT pid " AS_THE_BANK " ORDER BY random()");
    size_t count = 0;
    for (; count < room && count < (size_t)PQntuples(result); count++)
        pids[count] = (int)strtol(PQgetvalue(result, (int)count, 0), NULL, 10);
    PQclear(result);
    PQfinish(admin);
    return count;
}

/* Ends this many server processes of the bank, one after another. */
static inline void terminate_some(int count, int64_t pause_ms) {
    PGconn *admin = connect_admin();
    for (; count > 0; count--) {
        ask_number(admin, "SELECT pg_terminate_backend(pid, 120000)::int FROM (SELECT pid " AS_THE_BANK
                          " ORDER BY random() LIMIT 1) one");
        nap_ms(pause_ms);
    }
    PQfinish(admin);
}

#endif
