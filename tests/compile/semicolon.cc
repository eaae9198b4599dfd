// expect: ok
// flags: -Wpedantic
/* A semicolon behind the macros that make functions is no error in C++, and no warning. */
#include "semicolon.c"
