/* test_resource_threads.c over a library that interrupts threads at every atomic operation. */
#define OPERATIONS 4000
#include "test_resource_threads.c" /* NOLINT(bugprone-suspicious-include): the same program over another library */
