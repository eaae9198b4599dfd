/* The smallest program that needs kolk, its adapter for PostgreSQL, and libpq. There is no server. */
#include <kolk/pq.h>
#include <libpq-fe.h>
#include <stdio.h>

int main(void) {
    kolk_pq db;
    kolk_borrowed borrow;
    if (kolk_pq_init(&db, &(kolk_pq_desc){.conninfo = "host=/nowhere"}) != KOLK_OK) return 1;
    kolk_status status;
    do { /* until a maker has tried to connect */
        kolk_borrow_desc wish = {.deadline = kolk_deadline_after(100)};
        status = kolk_resource_borrow(&db.pool, &wish, &borrow);
    } while (status == KOLK_TIMEOUT && borrow.error.code == 0);
    bool works = status == KOLK_TIMEOUT && borrow.error.code == KOLK_PQ_REFUSED && PQlibVersion() > 0;
    kolk_resource_deinit(&db.pool);
    puts(works ? "kolk works with PostgreSQL" : "kolk does not work with PostgreSQL");
    return works ? 0 : 1;
}
