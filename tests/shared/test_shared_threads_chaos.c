/* runs: longest once with: KOLK_CHAOS=1 */
/* Runs test_shared_threads.c over a library that interrupts threads at every atomic operation. */
#define OPERATIONS 60000
#include "test_shared_threads.c" /* NOLINT(bugprone-suspicious-include): the same program over another library */
