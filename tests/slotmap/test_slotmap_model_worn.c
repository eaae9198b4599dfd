/* runs: long not:asan with: KOLK_GENERATION_MAX=3 wraps: help/no_sites.h */
/* Runs test_slotmap_model.c with slots that three lives wear out. */
#include "test_slotmap_model.c" /* NOLINT(bugprone-suspicious-include): the same program over another library */
