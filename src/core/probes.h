/* probes.h: static tracepoints (USDT) for perf, bpftrace, SystemTap and gdb, if <sys/sdt.h> is present when the library
 * is built. Each is one nop instruction, outside the fast paths.
 *
 *     kolk:init(pool name, kind)                  of a pool that has a name
 *     kolk:deinit(pool name)
 *     kolk:full(pool name, capacity)              an alloc returns NULL, a push or a borrow returns KOLK_FULL; for a
 *                                                 heap, the number is its limit in bytes
 *     kolk:empty(queue name)                      a pop returns KOLK_EMPTY
 *     kolk:wait(pool name, what)                  the thread begins to wait in "alloc", "push", "pop" or "borrow"
 *     kolk:waited(pool name, what, status)        it has waited: KOLK_OK (0), or why in vain, such as KOLK_TIMEOUT
 *     kolk:leak(pool name, ns)                    a resource has been lent for so long that it is reported
 *     kolk:grow(pool name, capacity, new one)
 *     kolk:stale_handle(pool name, handle)        get finds no object, for a handle that is not null
 *     kolk:alloc(pool name, object, size)         in pools in debug mode; KOLK_DEBUG=trace enables only these two
 *     kolk:free(pool name, object) */
#ifndef KOLK_SRC_PROBES_H
#define KOLK_SRC_PROBES_H

#include "watch.h"

#if KOLK_WATCHED_ && defined(__has_include)
#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#endif
#endif

/* The name that a probe gets, of a pool that may have none. */
static inline const char *kolk_probe_name_(const char *name) {
    return name ? name : "";
}

#ifdef DTRACE_PROBE
#ifdef __clang__
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments" /* in <sys/sdt.h> */
#endif
#define PROBE1(name, a)       DTRACE_PROBE1(kolk, name, a)
#define PROBE2(name, a, b)    DTRACE_PROBE2(kolk, name, a, b)
#define PROBE3(name, a, b, c) DTRACE_PROBE3(kolk, name, a, b, c)
#else
#define PROBE1(name, a)       ((void)0)
#define PROBE2(name, a, b)    ((void)0)
#define PROBE3(name, a, b, c) ((void)0)
#endif

#endif
