// define: KOLK_GENERATION_MAX=3
/* The same, while slots wear out after three lives. */
#include "test_debug_modes.c" /* NOLINT(bugprone-suspicious-include): the same program over another library */
