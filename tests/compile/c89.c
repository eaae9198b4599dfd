// expect: error: kolk.s headers need C99, C11 or gnu89
// flags: -std=c89
#include <kolk/kolk.h>
