// expect: error: deleted
// variant: COPIED
// variant: ASSIGNED
// variant: MOVED
// variant: RETURNED
// variant: A_SLOTMAP
// variant: A_QUEUE
// variant: A_SHARED
// variant: A_LOCAL
// variant: AN_IPC
// dialects: c++11 c++20
/* A typed pool must stay where it was initialised, so C++ does not copy it. Braces still make it all zero. */
#include <kolk/kolk.h>
#include <utility>

KOLK_POOL_TYPE(numbers, int)
KOLK_SLOTMAP_TYPE(packed, int)
KOLK_QUEUE_TYPE(sent, int)
KOLK_SHARED_TYPE(shared, int)
KOLK_IPC_TYPE(ipc, int)

numbers empty = {};
numbers other{};

#if defined(COPIED)
numbers copy(empty);
#elif defined(ASSIGNED)
void assign() {
    other = empty;
}
#elif defined(MOVED)
numbers moved(std::move(empty));
#elif defined(RETURNED)
numbers make(numbers &from) {
    return from;
}
#elif defined(A_SLOTMAP)
packed map_copy(const packed &from) {
    return from;
}
#elif defined(A_QUEUE)
void assign_queue(sent &to, sent &from) {
    to = from;
}
#elif defined(A_SHARED)
shared shared_copy(const shared &from) {
    return from;
}
#elif defined(A_LOCAL)
shared_local local_copy(const shared_local &from) {
    return from;
}
#elif defined(AN_IPC)
void assign_ipc(ipc &to, ipc &from) {
    to = from;
}
#endif
