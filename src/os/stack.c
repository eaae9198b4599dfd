/* stack.c: see stack.h. glibc's backtrace reads the unwind tables of the program, so it needs no frame pointers. On the
 * first call of backtrace, glibc loads the unwinder, which is a separate library. Other C libraries have no backtrace,
 * or have it in a separate library. On Windows, the system walks: by unwind tables in 64 bits, by frame pointers in
 * 32. */
#include "system.h"

#include "kolk/base.h"

#include "stack.h"

#include "../base/assert.h"
#include "../base/atomics.h"

#include <stdbool.h>

#if KOLK_HOSTED

#if defined(__GLIBC__) && defined(__has_include)
#if __has_include(<execinfo.h>)
#define HAS_BACKTRACE 1
#include <dlfcn.h>
#include <execinfo.h>
#endif
#endif

#define WALK_FEW  12 /* as many of kolk's own calls as usually lie between here and the site */
#define WALK_MANY 64 /* the most calls that are ever walked */

#ifdef _WIN32
#define HAS_BACKTRACE 1
#include <windows.h>

static int backtrace_once(void **calls, int most) {
    return CaptureStackBackTrace(0, (DWORD)most, calls, NULL);
}
#elif defined(HAS_BACKTRACE)
static uint8_t is_held;

/* glibc allocates when it loads the unwinder. The malloc that it calls may be kolk's, and may walk the stack again. */
static int backtrace_once(void **calls, int most) {
    static _Thread_local bool walks;
    if (walks || kolk_load_(&is_held, KOLK_RELAXED_)) return 0;
    walks = true;
    int count = backtrace(calls, most);
    walks = false;
    return count;
}
#endif

#ifdef HAS_BACKTRACE
/* Is this code of the program or of a library? A compiler that runs in the program, such as LuaJIT's, may describe its
 * code to the unwinder wrongly, which then aborts. */
static bool is_in_file(const void *code) {
#ifdef DLFO_STRUCT_HAS_EH_DBASE /* glibc 2.35 */
    struct dl_find_object found;
    return _dl_find_object((void *)(uintptr_t)code, &found) == 0;
#else
    (void)code;
    return true;
#endif
}

/* A return address in Thumb code is odd, but even if the unwinder tells it. */
static bool is_same_call(const void *site, const void *call) {
#ifdef __arm__
    return ((uintptr_t)site | 1) == ((uintptr_t)call | 1);
#else
    return site == call;
#endif
}

/* Looks for the site among the innermost `walked` calls. Returns the number of calls. *at becomes the site's index, or
 * the number of calls if the site is not among them. */
static int find_on_stack(const void *site, void **calls, int walked, int *at) {
    int count = backtrace_once(calls, walked);
    *at = 0;
    while (*at < count && !is_same_call(site, calls[*at])) ++*at;
    return count;
}
#endif

void kolk_stack_walk_(const void *site, const void **frames, size_t most) {
    KOLK_ASSERT_(site);
    KOLK_ASSERT_(most >= 2);
    size_t length = 0;
    frames[length++] = site;
#ifdef HAS_BACKTRACE
    void *calls[WALK_MANY];
    int few = most < WALK_MANY - WALK_FEW ? (int)most + WALK_FEW : WALK_MANY, at = 0; /* fewer calls take less time */
    int count = is_in_file(site) ? find_on_stack(site, calls, few, &at) : 0;
    if (at == count && count == few) count = find_on_stack(site, calls, WALK_MANY, &at);
    while (++at < count && length + 1 < most && calls[at]) frames[length++] = calls[at];
#endif
    frames[length] = NULL;
}

void kolk_stack_hold_(bool hold) {
#if defined(HAS_BACKTRACE) && !defined(_WIN32)
    kolk_store_(&is_held, hold, KOLK_RELAXED_);
#else
    (void)hold;
#endif
}

#endif
