/* runs: longest once with: KOLK_CHAOS=1 */
/* Runs test_resource_threads.c over a library in which threads yield or sleep at random before their atomic
 * operations. promise: "same time, except init and deinit" */
#define OPERATIONS 4000
#include "test_resource_threads.c" /* NOLINT(bugprone-suspicious-include): the same program over another library */
