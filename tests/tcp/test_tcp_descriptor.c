/* runs: not:clang wraps: help/adapter.h */
/* The members of the resource pool's descriptor in that of the TCP adapter.
 * promise: "destroy, validate and reset are the adapter's" */
#include "../help/test.h"

#include "../help/adapter.h"

#include <kolk/tcp.h>

static kolk_tcp tcp;

static kolk_status init_adapter(const kolk_resource_pool_desc *pool) {
    return kolk_tcp_init(&tcp, &(kolk_tcp_desc){.address = "127.0.0.1:1", .pool = *pool});
}

int main(void) {
    return test_descriptor(" create destroy validate reset ");
}
