/* begin.h: the first and the last step, which all inits share. process.h explains the order of an init's steps. */
#ifndef KOLK_SRC_BEGIN_H
#define KOLK_SRC_BEGIN_H

#include "kolk/base.h"

#include "homes.h"
#include "names.h"
#include "process.h"
#include "registry.h"
#include "../core/tools.h"

#include <string.h>

/* Has the program the layout of the library's struct, and does it pass a descriptor? */
static inline kolk_status kolk_check_call_(size_t size, size_t own_size, uint32_t abi, const void *desc) {
    if (abi != KOLK_ABI || size != own_size) return KOLK_WRONG_ABI;
    return desc ? KOLK_OK : KOLK_NO_DESCRIPTOR;
}

/* Sets the struct to zero and reads the process's settings. `size` is the struct's size in the program, `own_size` its
 * size in the library. The init fails with the status that this returns, unless that is KOLK_OK. */
static inline kolk_status kolk_begin_(void *self, size_t size, size_t own_size, uint32_t abi, const void *desc) {
#if KOLK_DIAGNOSTICS
    kolk_noted_ noted;
    bool again = kolk_registry_evict_(self, &noted);
#endif
    memset(self, 0, size);
    kolk_status status = kolk_check_call_(size, own_size, abi, desc);
    if (status != KOLK_OK) return status;
    kolk_process_start_();
#if KOLK_DIAGNOSTICS
    if (again) kolk_homes_report_evicted_(&noted);
#endif
    return KOLK_OK;
}

/* Adds the complete struct to the registry, which writes the pool's number to `number`, a field of the struct. */
static inline kolk_status kolk_enlist_(const void *self, size_t size, uint32_t *number, const kolk_kind_ *kind) {
    kolk_tools_wrote_(self, size);
    kolk_registry_add_(self, number, kind);
    return KOLK_OK;
}

#endif
