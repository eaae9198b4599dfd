// define: KOLK_CHAOS=1
/* test_shared_death.c with threads that are interrupted everywhere. */
#include "test_shared_death.c" /* NOLINT(bugprone-suspicious-include): the same program over another library */
