/* test_queue_histories.c with threads that are interrupted everywhere. */
#define WINDOWS 20000
#include "test_queue_histories.c" /* NOLINT(bugprone-suspicious-include): the same program over another library */
