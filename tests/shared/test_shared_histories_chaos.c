// define: KOLK_CHAOS=1
/* test_shared_histories.c with threads that are interrupted everywhere. */
#define ROUNDS 300
#include "test_shared_histories.c" /* NOLINT(bugprone-suspicious-include): the same program over another library */
