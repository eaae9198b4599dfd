/* runs: longest once with: KOLK_CHAOS=1 */
/* Runs test_shared_death.c over a library that interrupts threads at every atomic operation. */
#include "test_shared_death.c" /* NOLINT(bugprone-suspicious-include): the same program over another library */
