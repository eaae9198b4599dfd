/* generations.h: the library of tests that wear slots out asks the program how many lives a slot has, 2^n - 1. The
 * program itself has the number as a constant, which it gives by `// define: KOLK_GENERATION_MAX=N`. */
#ifndef TESTS_GENERATIONS_H
#define TESTS_GENERATIONS_H

extern const unsigned kolk_generation_max;

#ifndef KOLK_GENERATION_MAX
#define KOLK_GENERATION_MAX kolk_generation_max
#endif

#endif
