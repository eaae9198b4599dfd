// expect: error: incompatible
// c++: error: (convert|conversion|no matching function|incompatible|cannot initialize)
// flags: -Wpedantic -Wconversion -Wshadow
/* Each WRONG line uses something of one resource pool, or of a queue, as if it belonged to another resource pool. */
#include <kolk/kolk.h>

typedef struct connection {
    int socket;
} connection;
typedef struct decoder {
    double state;
} decoder;

KOLK_RESOURCE_TYPE(connections, connection)
KOLK_RESOURCE_TYPE(decoders, decoder)
KOLK_QUEUE_TYPE(jobs, int)

void use(connections *c, decoders *d, jobs *q, connections_borrowed *one, decoders_borrowed *other, kolk_borrowed *any,
         decoder *state) {
    connections_borrow(c, NULL, one);
    connection *mine = connections_resource_of(one);
    mine->socket = 1;
    connections_give_back(c, one);
    state = decoders_resource_of(other);
    state->state = 0;
    decoders_discard(d, other);
    kolk_resource_give_back(&c->pool, any);
    jobs_close(q);
    WRONG(connections_borrow(c, NULL, other));
    WRONG(connections_borrow(d, NULL, one));
    WRONG(connections_give_back(d, one));
    WRONG(decoders_give_back(d, one));
    WRONG(connections_discard(c, other));
    WRONG(state = connections_resource_of(one));
    WRONG(connections_resource_of(other));
    WRONG(connections_give_back(c, any));
    WRONG(connections_evict(q));
}
