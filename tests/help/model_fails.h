/* model_fails.h: what a model does when it and the library disagree: in a test it calls cmocka's fail_msg, in a fuzzer
 * it aborts. A model `m` has a description, `what`, and counts its operations in `step`. */
#ifndef TESTS_MODEL_FAILS_H
#define TESTS_MODEL_FAILS_H

#include "plain.h"

#ifdef model_fail /* the model defines its own reaction */
#elif defined(TESTS_TEST_H)
#define model_fail(m, format, ...) fail_msg("%s, operation %" PRIu64 ": " format, (m)->what, (m)->step, __VA_ARGS__)
#else
#define model_fail(m, format, ...)                                                                                     \
    do {                                                                                                               \
        fprintf(stderr, "%s, operation %" PRIu64 ": " format "\n", (m)->what, (m)->step, __VA_ARGS__);                 \
        abort();                                                                                                       \
    } while (0)
#endif

#define model_assert(m, condition)                                                                                     \
    do {                                                                                                               \
        if (!(condition)) model_fail(m, "line %d: not so: %s", __LINE__, #condition);                                  \
    } while (0)

#endif
