/* runs: long not:asan not:wine with: KOLK_GENERATION_MAX=3 wraps: help/no_sites.h */
/* Runs test_pool_model.c with slots that three lives wear out.
 * promise: "Frees all live ... stay worn out", "A slot is worn ... used first"; base.h "its generations ... memory per
 * slot" */
#define OPERATIONS 6000000
#include "test_pool_model.c" /* NOLINT(bugprone-suspicious-include): the same program over another library */
