/* tools.h: reports the state of kolk's memory to sanitizers and Valgrind. The library is one ordinary binary: it finds
 * out at run time whether the program runs under one of them, through weak symbols and Valgrind's client requests. */
#ifndef KOLK_SRC_TOOLS_H
#define KOLK_SRC_TOOLS_H

#include "kolk/base.h"

/* 1 where there may be such a tool. Elsewhere the functions below do nothing. */
#if KOLK_HOSTED && defined(__ELF__)
#define KOLK_TOOLS_ 1
#else
#define KOLK_TOOLS_ 0
#endif

#if KOLK_TOOLS_

/* Is there a tool that watches malloc: AddressSanitizer, LeakSanitizer, MemorySanitizer or memcheck? */
bool kolk_tools_watch_malloc_(void);

/* Marks these bytes as written for MemorySanitizer, which does not see the library's own writes. */
void kolk_tools_wrote_(const void *bytes, size_t size);

/* Marks these bytes as written for every tool: copies of objects, whose padding may never have been written. */
void kolk_tools_copied_(const void *bytes, size_t size);

/* Poisons these bytes: they must not be touched from now on. For AddressSanitizer, no byte after them in the same
 * granule of 8 bytes may be in use. */
void kolk_tools_hide_(const void *bytes, size_t size);

/* Unpoisons these bytes: the program may touch them again, but must write them before it reads them. */
void kolk_tools_show_(const void *bytes, size_t size);

/* Between these two calls, MemorySanitizer does not check the bytes that the library passes to libc, because it has not
 * seen the library write them. No user function may be called between them. */
void kolk_tools_begin_libc_(void);
void kolk_tools_end_libc_(void);

/* Adds this range to the memory in which LeakSanitizer searches for pointers, or removes it again. */
void kolk_tools_add_root_(const void *start, size_t size);
void kolk_tools_remove_root_(const void *start, size_t size);

#else

static inline bool kolk_tools_watch_malloc_(void) {
    return false;
}

static inline void kolk_tools_wrote_(const void *bytes, size_t size) {
    (void)bytes, (void)size;
}

static inline void kolk_tools_copied_(const void *bytes, size_t size) {
    (void)bytes, (void)size;
}

static inline void kolk_tools_hide_(const void *bytes, size_t size) {
    (void)bytes, (void)size;
}

static inline void kolk_tools_show_(const void *bytes, size_t size) {
    (void)bytes, (void)size;
}

static inline void kolk_tools_begin_libc_(void) {}

static inline void kolk_tools_end_libc_(void) {}

static inline void kolk_tools_add_root_(const void *start, size_t size) {
    (void)start, (void)size;
}

static inline void kolk_tools_remove_root_(const void *start, size_t size) {
    (void)start, (void)size;
}

#endif
#endif
