// expect: ok
// flags: -Wpedantic
/* The same in C++. */
#include "semicolon.c"
