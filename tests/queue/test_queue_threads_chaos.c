/* test_queue_threads.c with threads that are interrupted everywhere. */
#define OPERATIONS 1000
#include "test_queue_threads.c" /* NOLINT(bugprone-suspicious-include): the same program over another library */
