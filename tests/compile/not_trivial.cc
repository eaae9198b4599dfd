// expect: error: trivial
// variant: OF_SLOTMAP kolk::slot_map
// variant: OF_QUEUE kolk::queue
// variant: OF_POOL kolk::pool
// variant: OF_DEFINED kolk::pool
// variant: OF_SHARED kolk::pool
// variant: OF_IPC kolk::pool
// variant: OF_IPC_POOL trivially copyable
/* The typed macros copy objects as bytes, and call no destructors. kolk.hpp has classes for other types. */
#include <kolk/kolk.h>
#include <string>
#include <utility>

struct session {
    std::string user;
};
struct request {
    std::pair<int, int> range; // has no trivial assignment, but nothing to destroy
};
KOLK_POOL_DECLARE(hidden, session)

KOLK_POOL_TYPE(requests, request)
KOLK_SHARED_TYPE(tables, std::pair<int, int>)
KOLK_QUEUE_TYPE(waiting, session *)
#if defined(OF_SLOTMAP)
KOLK_SLOTMAP_TYPE(packed, session)
#elif defined(OF_QUEUE)
KOLK_QUEUE_TYPE(sent, session)
#elif defined(OF_POOL)
KOLK_POOL_TYPE(sessions, session)
#elif defined(OF_DEFINED)
KOLK_POOL_DEFINE(hidden, session)
#elif defined(OF_SHARED)
KOLK_SHARED_TYPE(sessions, session)
#elif defined(OF_IPC)
KOLK_IPC_TYPE(sessions, session)
#elif defined(OF_IPC_POOL)
#include <kolk/kolk.hpp>
template class kolk::ipc_pool<session>;
#endif
