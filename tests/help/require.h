/* require.h: an assert for threads and child processes, where cmocka's asserts can't be used. */
#ifndef TESTS_REQUIRE_H
#define TESTS_REQUIRE_H

#include <stdio.h>
#include <stdlib.h>

#define REQUIRE(what)                                                                                                  \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what);                                         \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

#endif
