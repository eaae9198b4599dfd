/* The number of a slot's lives in a program with KOLK_GENERATION_MAX=N: generations.h. */
#include "generations.h"

const unsigned kolk_generation_max = KOLK_GENERATION_MAX;
