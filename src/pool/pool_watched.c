/* pool_watched.c: a pointer to the code for options, which pools in debug mode need. It is in a file of its own, so
 * that a program without diagnostics (KOLK_WITHOUT_DIAGNOSTICS) can have another one, which is NULL. */
#include "pool_inside.h"

#if KOLK_WATCHED_
const kolk_pool_options_ *const kolk_pool_watched_options_ = kolk_pool_all_options_;
#endif
