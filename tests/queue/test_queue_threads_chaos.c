/* runs: longest once with: KOLK_CHAOS=1 */
/* Runs test_queue_threads.c over a library in which threads yield or sleep at random before their atomic operations. */
#define OPERATIONS 1000
#include "test_queue_threads.c" /* NOLINT(bugprone-suspicious-include): the same program over another library */
