/* probes.h: static tracepoints (USDT) for perf, bpftrace, SystemTap and gdb, if <sys/sdt.h> is present when the library
 * is built. Each is one nop instruction, outside the fast paths.
 *
 *     kolk:full(pool name, capacity)              an alloc returns NULL
 *     kolk:grow(pool name, capacity, new one)
 *     kolk:stale_handle(pool name, handle)        get finds no object, for a handle that is not null
 *     kolk:alloc(pool name, object, size)         in pools in debug mode; KOLK_DEBUG=trace enables only these two
 *     kolk:free(pool name, object) */
#ifndef KOLK_SRC_PROBES_H
#define KOLK_SRC_PROBES_H

#include "kolk/base.h"

#if KOLK_DIAGNOSTICS && defined(__has_include)
#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#endif
#endif

#ifdef DTRACE_PROBE
#ifdef __clang__
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments" /* in <sys/sdt.h> */
#endif
#define PROBE2(name, a, b)    DTRACE_PROBE2(kolk, name, a, b)
#define PROBE3(name, a, b, c) DTRACE_PROBE3(kolk, name, a, b, c)
#else
#define PROBE2(name, a, b)    ((void)0)
#define PROBE3(name, a, b, c) ((void)0)
#endif

#endif
