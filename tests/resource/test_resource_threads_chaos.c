// define: KOLK_CHAOS=1
/* test_resource_threads.c with threads that are interrupted everywhere. */
#define OPERATIONS 4000
#include "test_resource_threads.c" /* NOLINT(bugprone-suspicious-include): the same program over another library */
