/* select.cc: runs SELECT 1 on a PostgreSQL server: on a private connection, on one from kolk's pool, and on a new one.
 * Prints CSV as resource.cc does: nanoseconds per query, medians of rounds in which all three take turns in random
 * order. Usage: tools/with_postgres.sh select, which sets CONNINFO.
 * promise: pq.h "a borrow checks ... transaction, or for discard_all" */
#include "threads.h"

#include <kolk/pq.h>
#include <libpq-fe.h>

static const char *conninfo;

static void ask(PGconn *conn) {
    PGresult *result = PQexec(conn, "SELECT 1");
    require(PQresultStatus(result) == PGRES_TUPLES_OK, "select", PQerrorMessage(conn));
    PQclear(result);
}

template <typename query> static samples each_of(size_t count, query one) {
    double begin = now_ns();
    for (size_t done = 0; done < count; done++) one();
    return {(now_ns() - begin) / static_cast<double>(count)};
}

int main(int argc, char **argv) {
    require(argc > 1, "select", "usage: tools/with_postgres.sh select");
    conninfo = argv[1];
    static kolk_pq db;
    kolk_pq_desc desc = {};
    desc.conninfo = conninfo;
    desc.pool.name = "select";
    succeed_or_exit(kolk_pq_init(&db, &desc));
    PGconn *own = PQconnectdb(conninfo);
    auto on_own = [&] { ask(own); };
    auto from_pool = [] {
        kolk_borrowed borrow;
        kolk_status status = kolk_resource_borrow(&db.pool, nullptr, &borrow);
        require(status == KOLK_OK, "kolk", borrow.error.text);
        ask(kolk_pq_conn(&borrow));
        kolk_resource_give_back(&db.pool, &borrow);
    };
    auto on_new = [] {
        PGconn *conn = PQconnectdb(conninfo);
        ask(conn);
        PQfinish(conn);
    };
    take_turns({{"select", "1", "own", [&](size_t count) { return each_of(count, on_own); }, 64},
                {"select", "1", "kolk", [&](size_t count) { return each_of(count, from_pool); }, 64},
                {"select", "1", "new", [&](size_t count) { return each_of(count, on_new); }, 4}},
               25, 100e6);
    PQfinish(own);
    kolk_resource_deinit(&db.pool);
}
