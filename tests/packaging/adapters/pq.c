/* The smallest program that needs kolk, its adapter for PostgreSQL, and libpq. There is no server. */
#include <kolk/pq.h>
#include <libpq-fe.h>
#include <stdio.h>

int main(void) {
    kolk_pq db;
    kolk_borrow borrow;
    if (kolk_pq_init(&db, &(kolk_pq_desc){.conninfo = "host=/nowhere"}) != KOLK_OK) return 1;
    bool works = kolk_resource_borrow(&db.pool, NULL, &borrow) == KOLK_NOT_CREATED &&
                 borrow.error.code == KOLK_PQ_REFUSED && PQlibVersion() > 0;
    kolk_resource_pool_deinit(&db.pool);
    puts(works ? "kolk works with PostgreSQL" : "kolk does not work with PostgreSQL");
    return works ? 0 : 1;
}
