/* test_slotmap_exhaustive.c with slots that are worn out by one life. */
#include "test_slotmap_exhaustive.c" /* NOLINT(bugprone-suspicious-include): the same program over another library */
