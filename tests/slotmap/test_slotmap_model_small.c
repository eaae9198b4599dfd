/* Runs test_slotmap_model.c over a library without diagnostics. */
#define OPERATIONS 300000
#include "test_slotmap_model.c" /* NOLINT(bugprone-suspicious-include): the same program over another library */
