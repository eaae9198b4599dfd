/* test_slotmap_model.c with slots that are worn out by three lives. */
#include "test_slotmap_model.c" /* NOLINT(bugprone-suspicious-include): the same program over another library */
