/* generations.h: for tests that wear slots out. The library for them is compiled so that it reads the number of a
 * slot's lives, 2^n - 1, from the program. A program `with: KOLK_GENERATION_MAX=N` defines this number as a
 * constant: generations.c. */
#ifndef TESTS_GENERATIONS_H
#define TESTS_GENERATIONS_H

extern const unsigned kolk_generation_max;

#ifndef KOLK_GENERATION_MAX
#define KOLK_GENERATION_MAX kolk_generation_max
#endif

#endif
