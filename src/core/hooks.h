/* hooks.h: what a hook may do with the pool whose hook it is. A pool or slot map has the number of the hook that runs
 * now, or of the strictest one if hooks call each other. Each function that a hook must not call compares it with the
 * last number that allows the call. Fast paths compare nothing: while a hook may only look, the bounds send all allocs
 * and frees to the slow paths. */
#ifndef KOLK_SRC_HOOKS_H
#define KOLK_SRC_HOOKS_H

enum {
    NO_HOOK,
    HOOK_CHANGES, /* may do anything but replace the hooks or the whole state: on_full, on_low */
    HOOK_LIVES,   /* may alloc and free: setup, reset, on_evict, on_remove */
    HOOK_FREES,   /* may free; its allocs return NULL: teardown; on_remove when all objects are removed */
    HOOK_LOOKS    /* may only look: cost, convert, on_move, move, compare, on_mark, a profiler's functions */
};

#endif
