/* bank.h: 16 threads (the tellers) move money between accounts over 8 connections while the server or the network
 * fails; then the books are checked. The promises are:
 *     - a broken connection causes at most one error, and is never lent again
 *     - a borrow returns within its deadline and 50 ms
 *     - the ledger has exactly the committed transfers; the sum of money is constant
 *     - once the trouble is over, there are min_idle connections within 2 s, and nothing fails any more
 *     - the server never sees more than max connections
 *     - in the end no descriptor or thread is left
 * On a busy machine, more time is allowed; a thread that only sleeps measures how much. */
#ifndef TESTS_PQ_BANK_H
#define TESTS_PQ_BANK_H

#include "server.h"

#include <libpq-events.h>

#define ACCOUNTS       24
#define MONEY          1000
#define TELLERS        16
#define CONNECTIONS    8
#define BORROW_MS      1000
#define TRANSFERS      100000 /* per teller, at most */
#define BROKEN_AT_MOST 4096

typedef enum outcome { NOT_TRIED, FAILED, UNKNOWN, COMMITTED } outcome;

typedef struct teller {
    pthread_t thread;
    int64_t number, transfers;
    uint8_t *fates; /* the outcome of each transfer */
} teller;

static struct {
    kolk_pq db;
    int64_t query_ms; /* a query's deadline */
    teller tellers[TELLERS];
    int64_t pause_ms;                           /* atomic: how long a teller rests after each transfer */
    bool stops;                                 /* atomic, like the counters */
    uint64_t committed, query_errors, failures; /* transfers; failed queries; failed borrows */
    uint64_t causes[KOLK_PQ_BROKEN + 1];        /* how many borrows failed for each; 0: no create failed */
    int64_t latest_ns, oversleep_ns;            /* the greatest delay of a borrow, and of a nap */
    int64_t crowd_ms;                           /* the longest time with more connections than max */
    int64_t alive;                              /* connections at the server, by the last query */
    pthread_mutex_t lock;                       /* guards `broken` and the maxima */
    uintptr_t broken[BROKEN_AT_MOST];           /* numbers of broken connections */
    uintptr_t connections;                      /* how many have been numbered */
    size_t broken_count;
    pthread_t watcher, sleeper;
} bank;

#define COUNT(what) __atomic_add_fetch(&bank.what, 1, __ATOMIC_RELAXED)
#define READ(what)  __atomic_load_n(&bank.what, __ATOMIC_RELAXED)

static inline int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline void note_most(int64_t *most, int64_t value) {
    pthread_mutex_lock(&bank.lock);
    if (*most < value) *most = value;
    pthread_mutex_unlock(&bank.lock);
}

static inline int ignore_event(PGEventId event, void *info, void *context) {
    (void)event, (void)info, (void)context;
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
    kolk_deadline deadline = kolk_deadline_after(bank.query_ms);
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
    while (!READ(stops) && me->transfers < TRANSFERS) {
        kolk_borrowed borrow;
        kolk_borrow_desc wish = {.deadline = kolk_deadline_after(BORROW_MS), .who = "a teller"};
        kolk_status status = kolk_resource_borrow(&bank.db.pool, &wish, &borrow);
        note_most(&bank.latest_ns, now_ns() - wish.deadline.ns);
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
        int64_t pause_ms = READ(pause_ms);
        if (pause_ms) nap_ms(random_below(&random, (uint32_t)pause_ms * 2));
    }
    return argument;
}

/* ---- Watchers ---------------------------------------------------------------------------------------------------- */

#define AS_THE_BANK "FROM pg_stat_activity WHERE application_name = 'bank'"

/* Asks the server how many connections the bank has. */
static inline void *run_watcher(void *argument) {
    PGconn *conn = NULL;
    for (int64_t since = 0; !READ(stops); nap_ms(10)) {
        if (!conn) conn = PQconnectdb(server.socket);
        PGresult *result = PQexec(conn, "SELECT count(*) " AS_THE_BANK);
        bool good = PQresultStatus(result) == PGRES_TUPLES_OK;
        int64_t alive = good ? strtoll(PQgetvalue(result, 0, 0), NULL, 10) : 0, now = now_ms();
        PQclear(result);
        __atomic_store_n(&bank.alive, alive, __ATOMIC_RELAXED);
        if (alive <= CONNECTIONS) since = 0;
        if (alive > CONNECTIONS && since == 0) since = now;
        if (since) note_most(&bank.crowd_ms, now - since);
        if (good) continue;
        PQfinish(conn);
        conn = NULL;
    }
    PQfinish(conn);
    return argument;
}

/* Measures how late threads wake up on this machine. */
static inline void *run_sleeper(void *argument) {
    while (!READ(stops)) {
        int64_t begin = now_ns();
        nap_ms(5);
        note_most(&bank.oversleep_ns, now_ns() - begin - 5000000);
    }
    return argument;
}

/* ---- The day ----------------------------------------------------------------------------------------------------- */

static inline void open_bank(const char *conninfo, int64_t query_ms, int64_t pause_ms) {
    memset(&bank, 0, sizeof bank);
    pthread_mutex_init(&bank.lock, NULL);
    bank.query_ms = query_ms;
    bank.pause_ms = pause_ms;
    ask_admin("DROP TABLE IF EXISTS account, ledger; CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);"
              "CREATE TABLE ledger (id bigint PRIMARY KEY, payer int, payee int, amount int);"
              "INSERT INTO account SELECT generate_series(0, 23), 1000;"
              "GRANT ALL ON account, ledger TO alice");
    make_db(&bank.db, &(kolk_pq_desc){.conninfo = conninfo,
                                      .pool = {.name = "bank", .max = CONNECTIONS, .min_idle = CONNECTIONS}});
    REQUIRE(pthread_create(&bank.watcher, NULL, run_watcher, NULL) == 0);
    REQUIRE(pthread_create(&bank.sleeper, NULL, run_sleeper, NULL) == 0);
    for (int64_t i = 0; i < TELLERS; i++) {
        bank.tellers[i] = (teller){.number = i, .fates = calloc(TRANSFERS, 1)};
        REQUIRE(bank.tellers[i].fates);
        REQUIRE(pthread_create(&bank.tellers[i].thread, NULL, run_teller, &bank.tellers[i]) == 0);
    }
}

/* Waits until this many more transfers are committed. */
static inline void await_transfers(uint64_t more) {
    uint64_t begin = READ(committed);
    for (int64_t start = now_ms(); READ(committed) < begin + more; nap_ms(1)) REQUIRE(now_ms() - start < 60000);
}

/* Waits until a borrow has failed with this cause. */
static inline void await_cause(kolk_pq_cause cause) {
    for (int64_t start = now_ms(); READ(causes[cause]) == 0; nap_ms(1)) REQUIRE(now_ms() - start < 60000);
}

/* After the trouble, waits until the server sees all connections, which must take at most 2 s. */
static inline void await_recovery(void) {
    int64_t begin = now_ms();
    await_transfers(1);
    while (READ(alive) < CONNECTIONS) {
        nap_ms(1);
        REQUIRE(now_ms() - begin < 60000);
    }
    int64_t took = now_ms() - begin;
    pthread_mutex_lock(&bank.lock);
    int64_t busy = bank.oversleep_ns / 1000000;
    pthread_mutex_unlock(&bank.lock);
    kolk_resource_pool_stats stats;
    kolk_resource_stats(&bank.db.pool, &stats);
    print_message("  all connections after %" PRId64 " ms; made %" PRIu64 ", seen dead %" PRIu64
                  ", broken in use %zu; errors of queries %" PRIu64 ", of borrows %" PRIu64 "\n",
                  took, stats.created, stats.invalid, bank.broken_count, READ(query_errors), READ(failures));
    assert_true(took <= 10000 + 20 * busy); /* more than 2 s, because the machine may be busy */
    /* Transfers that began before may still fail, but later ones must not. For a while, all connections are used at
     * full speed. Then the tellers rest longer, while the last old borrows may still wait until their deadline. */
    nap_ms(does_a_part() ? 100 : 300);
    if (!does_a_part()) {
        int64_t pause_ms = READ(pause_ms);
        __atomic_store_n(&bank.pause_ms, 100, __ATOMIC_RELAXED);
        nap_ms(BORROW_MS - 200);
        __atomic_store_n(&bank.pause_ms, pause_ms, __ATOMIC_RELAXED);
    }
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

/* Ends the bank, and checks the books. `crowds`: the server did not notice that connections had ended. */
static inline void close_bank(bool crowds) {
    __atomic_store_n(&bank.stops, true, __ATOMIC_RELAXED);
    for (int i = 0; i < TELLERS; i++) pthread_join(bank.tellers[i].thread, NULL);
    pthread_join(bank.watcher, NULL);
    pthread_join(bank.sleeper, NULL);
    assert_true(kolk_resource_is_valid(&bank.db.pool));
    assert_int_equal(kolk_resource_close(&bank.db.pool, kolk_deadline_after(20000)), KOLK_OK);
    kolk_resource_deinit(&bank.db.pool);
    PGconn *admin = connect_admin();
    check_ledger(admin);
    for (int64_t begin = now_ms(); ask_number(admin, "SELECT count(*) " AS_THE_BANK) > 0; nap_ms(5))
        REQUIRE(now_ms() - begin < 20000);
    PQfinish(admin);
    int64_t late = bank.latest_ns / 1000000, busy = bank.oversleep_ns / 1000000;
    print_message("  %" PRIu64 " transfers; a borrow %" PRId64 " ms, a nap %" PRId64 " ms too late at most\n",
                  bank.committed, late > 0 ? late : 0, busy);
    assert_true(late <= 250 + 10 * busy); /* 50 ms on an idle machine */
    assert_true(crowds || bank.crowd_ms <= 500 + 10 * busy);
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
        ask_number(admin, "SELECT pg_terminate_backend(pid)::int FROM (SELECT pid " AS_THE_BANK
                          " ORDER BY random() LIMIT 1) one");
        nap_ms(pause_ms);
    }
    PQfinish(admin);
}

#endif
