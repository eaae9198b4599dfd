// expect: error: incompatible
// c++: error: (convert|conversion|no matching function|incompatible|cannot initialize)
// flags: -Wpedantic -Wconversion -Wshadow
// together: yes
// variant: BORROW_TO_ANOTHER_TYPE
// variant: BORROW_FROM_ANOTHER_POOL
// variant: GIVE_BACK_TO_ANOTHER_POOL
// variant: GIVE_BACK_ANOTHER_TYPE
// variant: DISCARD_ANOTHER_TYPE
// variant: A_RESOURCE_OF_ANOTHER_TYPE
// variant: RESOURCE_OF_ANOTHER_BORROW
// variant: UNTYPED_BORROW
// variant: A_QUEUE
/* Each variant uses something of one resource pool, or of a queue, as if it belonged to another resource pool. */
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

void use(connections *c, decoders *d, jobs *q, connections_borrowed *one, decoders_borrowed *other, kolk_borrowed *any);

void use(connections *c, decoders *d, jobs *q, connections_borrowed *one, decoders_borrowed *other,
         kolk_borrowed *any) {
    connections_borrow(c, NULL, one);
    connection *mine = connections_resource_of(one);
    mine->socket = 1;
    connections_give_back(c, one);
    decoders_discard(d, other);
    kolk_resource_give_back(&c->pool, any);
    jobs_close(q);
#ifdef BORROW_TO_ANOTHER_TYPE
    connections_borrow(c, NULL, other);
#endif
#ifdef BORROW_FROM_ANOTHER_POOL
    connections_borrow(d, NULL, one);
#endif
#ifdef GIVE_BACK_TO_ANOTHER_POOL
    connections_give_back(d, one);
#endif
#ifdef GIVE_BACK_ANOTHER_TYPE
    decoders_give_back(d, one);
#endif
#ifdef DISCARD_ANOTHER_TYPE
    connections_discard(c, other);
#endif
#ifdef A_RESOURCE_OF_ANOTHER_TYPE
    decoder *wrong = connections_resource_of(one);
    wrong->state = 0;
#endif
#ifdef RESOURCE_OF_ANOTHER_BORROW
    connections_resource_of(other);
#endif
#ifdef UNTYPED_BORROW
    connections_give_back(c, any);
#endif
#ifdef A_QUEUE
    connections_evict(q);
#endif
}
