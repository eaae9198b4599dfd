/* resource_init.c: emits the inline functions of resource.h for other languages. This file sees no other inline
 * functions, because mingw's gcc exports all that it sees. */
#include "kolk/resource.h"

#if KOLK_HOSTED

extern inline kolk_status kolk_resource_init(kolk_resource_pool *pool, const kolk_resource_pool_desc *desc);
extern inline kolk_status kolk_resource_rebind(kolk_resource_pool *pool, const kolk_resource_pool_desc *desc);

#endif
