/* runs: not:clang wraps: help/adapter.h */
/* The members of the resource pool's descriptor in that of the SQLite adapter.
 * promise: "create, destroy ... gets the context" */
#include "../help/test.h"

#include "../help/adapter.h"

#include <kolk/sqlite.h>

static kolk_sqlite store;

static kolk_status init_adapter(const kolk_resource_pool_desc *pool) {
    return kolk_sqlite_init(&store, &(kolk_sqlite_desc){.path = "/tmp/none.db", .pool = *pool});
}

int main(void) {
    return test_descriptor(" create destroy validate reset ");
}
