/* runs: long two-processors not:wine not:qemu with: KOLK_CHAOS=1 */
/* test_ipc_kills.c with processes that stop at random before an atomic operation, where most of them are then
 * killed. */
#include "test_ipc_kills.c" /* NOLINT(bugprone-suspicious-include): the same program over another library */

#include "../help/chaos.h"
