/* state.c: whether this process records, and what each thread knows: see inside.h. */
#define _GNU_SOURCE
#include "inside.h"

static struct state off;
struct state *record_state = &off;
_Thread_local struct here record_here __attribute__((tls_model("initial-exec")));
