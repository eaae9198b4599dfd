/* runs: long not:wine with: KOLK_NO_FUTEX=1 */
/* Runs test_cancel.c without the futex: a mutex and a condition variable, as on systems other than Linux. */
#include "test_cancel.c" /* NOLINT(bugprone-suspicious-include): the same program with a different sleep */
