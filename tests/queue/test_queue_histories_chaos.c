/* runs: longest once with: KOLK_CHAOS=1 */
/* Runs test_queue_histories.c over a library in which threads yield or sleep at random before their atomic
 * operations. promise: "Every operation ... never spurious" */
#define WINDOWS 20000
#include "test_queue_histories.c" /* NOLINT(bugprone-suspicious-include): the same program over another library */
