/* ffi.c: the sizes of all structs of the headers, for other languages, which must provide the memory for them. */
#include "kolk/kolk.h"

typedef struct ffi_layout {
    const char *name;
    uint16_t size, align;
} ffi_layout;

#define LAYOUT(type)                                                                                                   \
    { #type, sizeof(type), _Alignof(type) }

static const ffi_layout layouts[] = {
    LAYOUT(kolk_handle),
    LAYOUT(kolk_deadline),
    LAYOUT(kolk_stats),
    LAYOUT(kolk_failure),
    LAYOUT(kolk_profiler),
    LAYOUT(kolk_budget),
    LAYOUT(kolk_bytemap_view),
    LAYOUT(kolk_bytemap),
    LAYOUT(kolk_bytemap_difference),
    LAYOUT(kolk_bytemap_region),
    LAYOUT(kolk_life),
    LAYOUT(kolk_pool_full),
    LAYOUT(kolk_pool_desc),
    LAYOUT(kolk_cursor),
    LAYOUT(kolk_age_cursor),
    LAYOUT(kolk_pool),
    LAYOUT(kolk_queue_desc),
    LAYOUT(kolk_queue),
    LAYOUT(kolk_heap_class),
    LAYOUT(kolk_heap_desc),
    LAYOUT(kolk_heap),
    LAYOUT(kolk_heap_class_stats),
    LAYOUT(kolk_ipc_desc),
    LAYOUT(kolk_ipc),
    LAYOUT(kolk_ipc_cursor),
    LAYOUT(kolk_ipc_holder),
    LAYOUT(kolk_error),
    LAYOUT(kolk_resource_event),
    LAYOUT(kolk_resource_pool_desc),
    LAYOUT(kolk_resource_pool),
    LAYOUT(kolk_borrowed),
    LAYOUT(kolk_borrow_desc),
    LAYOUT(kolk_times),
    LAYOUT(kolk_resource_pool_stats),
    LAYOUT(kolk_shared_desc),
    LAYOUT(kolk_shared_local),
    LAYOUT(kolk_shared),
    LAYOUT(kolk_shared_cursor),
    LAYOUT(kolk_slotmap_desc),
    LAYOUT(kolk_slotmap),
    LAYOUT(kolk_slotmap_cursor),
};

static const ffi_layout *struct_layout(const char *type) {
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        const char *name = layouts[i].name, *given = type;
        while (*name && *name == *given) name++, given++;
        if (*name == *given) return &layouts[i];
    }
    return NULL;
}

size_t kolk_size_of(const char *type) {
    const ffi_layout *layout = struct_layout(type);
    return layout ? layout->size : 0;
}

size_t kolk_align_of(const char *type) {
    const ffi_layout *layout = struct_layout(type);
    return layout ? layout->align : 0;
}
