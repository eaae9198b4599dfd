// expect: ok
// flags: -Wpedantic
/* The same in C++. promise: typed.h "A semicolon after this macro" */
#include "semicolon.c"
