/* tools.h: what sanitizers and Valgrind have to be told. The library is one ordinary binary: whether the program runs
 * under one of them is found at run time, through weak symbols and Valgrind's client requests. */
#ifndef KOLK_SRC_TOOLS_H
#define KOLK_SRC_TOOLS_H

#include <stdbool.h>
#include <stddef.h>

/* Is there a tool that watches malloc: AddressSanitizer, LeakSanitizer, MemorySanitizer or memcheck? */
bool kolk_tools_watch_malloc(void);

/* Tells MemorySanitizer that the library, which it does not see, has written these bytes. */
void kolk_tools_wrote(const void *bytes, size_t size);

/* Says that these bytes must not be touched from now on. For AddressSanitizer, no byte behind them in the same granule
 * of 8 bytes may be in use. */
void kolk_tools_hide(const void *bytes, size_t size);

/* Says that the program may touch them again, but has to write them before it reads them. */
void kolk_tools_show(const void *bytes, size_t size);

/* Between these, MemorySanitizer does not check what the library hands to libc: it has not seen the library write it.
 * No function of the user may be called there. */
void kolk_tools_begin_libc(void);
void kolk_tools_end_libc(void);

/* Tells LeakSanitizer that pointers to its blocks may be in here; or no longer. */
void kolk_tools_add_root(const void *start, size_t size);
void kolk_tools_remove_root(const void *start, size_t size);

#endif
