// expect: error: trivially copyable
// variant: OF_SLOTMAP
// variant: OF_QUEUE
/* Objects that are moved or copied as bytes must be trivially copyable. The objects of a pool stay where they are, and
 * may be of any type. */
#include <kolk/kolk.h>
#include <string>

struct session {
    std::string user;
};

KOLK_POOL_TYPE(sessions, session)
KOLK_SHARED_TYPE(tables, session)
KOLK_QUEUE_TYPE(waiting, session *)
#if defined(OF_SLOTMAP)
KOLK_SLOTMAP_TYPE(packed, session)
#elif defined(OF_QUEUE)
KOLK_QUEUE_TYPE(sent, session)
#endif
