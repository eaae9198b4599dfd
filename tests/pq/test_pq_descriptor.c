/* runs: slow not:clang wraps: help/adapter.h */
/* The members of the resource pool's descriptor in that of the PostgreSQL adapter.
 * promise: "create, destroy ... gets the context", "Does not connect ... needed afterwards", "kolk_pq_deinit" */
#include "../help/test.h"

#include "../help/adapter.h"

#include <kolk/pq.h>

static kolk_pq db;

static kolk_status init_adapter(const kolk_resource_pool_desc *pool) {
    return kolk_pq_init(&db, &(kolk_pq_desc){.pool = *pool});
}

int main(void) {
    return test_descriptor(" create destroy validate reset validate_after_ms ");
}
