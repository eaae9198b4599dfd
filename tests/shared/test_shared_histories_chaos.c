/* runs: longest once with: KOLK_CHAOS=1 */
/* Runs test_shared_histories.c over a library that interrupts threads at every atomic operation. */
#define ROUNDS 300
#include "test_shared_histories.c" /* NOLINT(bugprone-suspicious-include): the same program over another library */
