// define: KOLK_CHAOS=1
/* test_shared_hooks_threads.c with threads that are interrupted everywhere. */
#define OPERATIONS 20000
#include "test_shared_hooks_threads.c" /* NOLINT(bugprone-suspicious-include): the same program over another library */
