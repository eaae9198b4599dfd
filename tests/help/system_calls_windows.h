/* wraps: kolk_memory_commit_ kolk_memory_discard_ kolk_memory_map_ kolk_memory_reserve_ */
/* system_calls_windows.h: the functions of src/os/memory.h. The system's own can't be replaced, because a program calls
 * those of a DLL through pointers. Only for system_calls.h. */

#include "os/memory.h"

#define __real_mincore mincore

void *__real_kolk_memory_reserve_(size_t size);
bool __real_kolk_memory_commit_(void *start, size_t size);
void *__real_kolk_memory_map_(size_t size);
size_t __real_kolk_memory_discard_(void *start, size_t size, bool counts);
void *__wrap_kolk_memory_reserve_(size_t size);
bool __wrap_kolk_memory_commit_(void *start, size_t size);
void *__wrap_kolk_memory_map_(size_t size);
size_t __wrap_kolk_memory_discard_(void *start, size_t size, bool counts);

void *__wrap_kolk_memory_reserve_(size_t size) {
    return refused(false) ? NULL : __real_kolk_memory_reserve_(size);
}

bool __wrap_kolk_memory_commit_(void *start, size_t size) {
    return !refused(false) && __real_kolk_memory_commit_(start, size);
}

void *__wrap_kolk_memory_map_(size_t size) {
    return refused(false) ? NULL : __real_kolk_memory_map_(size);
}

size_t __wrap_kolk_memory_discard_(void *start, size_t size, bool counts) {
    if (counts) os.looked_at += size;
    if (counts && refused(true)) counts = false;
    return refused(false) ? 0 : __real_kolk_memory_discard_(start, size, counts);
}
