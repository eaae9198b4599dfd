// define: KOLK_CHAOS=1
/* test_shared_debug_threads.c with threads that are interrupted everywhere. */
#define OPERATIONS 8000
#include "test_shared_debug_threads.c" /* NOLINT(bugprone-suspicious-include): the same program over another library */
