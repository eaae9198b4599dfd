/* queue_memory.c: initialises a queue from its descriptor, and deinitialises it. */
#include "queue_inside.h"

#if KOLK_HOSTED

#include "../core/begin.h"
#include "../core/watch.h"
#include "../core/block.h"
#include "../core/tools.h"
#include "../os/event.h"
#include "../os/memory.h"

#include <string.h>

#define CELL_HEAD 8 /* bytes of the turn */

_Static_assert(sizeof(void *) != 8 || (sizeof(kolk_queue) == 640 && sizeof(kolk_queue_desc) == 48),
               "the layout has changed: raise KOLK_ABI");
_Static_assert(sizeof(void *) != 8 || (offsetof(kolk_queue, ends) == 128 && sizeof(kolk_queue_end_) == 256 &&
                                       offsetof(kolk_queue_end_, asleep) == 128),
               "what different threads write is 128 bytes apart");

static void list_queue_stats(const void *queue, kolk_stats *out) {
    kolk_queue_stats((const kolk_queue *)queue, out);
}

static uintptr_t queue_facts(const void *given) {
    const kolk_queue *queue = (const kolk_queue *)given;
    return KOLK_FACTS_(queue->number, (uintptr_t)queue->cells, (uintptr_t)queue->mask, queue->stride, queue->item_size,
                       queue->capacity, queue->bytes, (uintptr_t)queue->name, (uintptr_t)queue->destroy,
                       (uintptr_t)queue->context);
}

static kolk_status check(size_t item_size, uint32_t capacity) {
    if (item_size == 0) return KOLK_ZERO_SIZE;
    if (capacity == 0) return KOLK_ZERO_CAPACITY;
    if (capacity > INT32_MAX) return KOLK_BAD_CAPACITY;
    if (item_size > INT32_MAX - 2 * CELL_HEAD) return KOLK_SIZE_OVERFLOW;
    if (capacity > PTRDIFF_MAX / (item_size + 2 * CELL_HEAD)) return KOLK_SIZE_OVERFLOW;
    return KOLK_OK;
}

static uint64_t mask_of(uint32_t capacity) {
    uint64_t unit = 2; /* so that two laps differ by more than 1 */
    while (unit < capacity) unit *= 2;
    return unit - 1;
}

const kolk_kind_ kolk_queue_kind_ = {
    .stats = list_queue_stats, .facts = queue_facts, .size = sizeof(kolk_queue), .id = KOLK_KIND_QUEUE_};

/* Emitted for other languages: in C and C++ programs they are inline. They are in this file because it sees no other
 * inline functions: mingw's gcc exports all that it sees. */
extern inline kolk_status kolk_queue_init(kolk_queue *queue, const kolk_queue_desc *desc);
extern inline kolk_status kolk_queue_rebind(kolk_queue *queue, const kolk_queue_desc *desc);

kolk_status kolk_queue_init_abi_(kolk_queue *queue, const kolk_queue_desc *desc, size_t type_size, size_t queue_size,
                                 uint32_t abi) {
    kolk_status status = kolk_begin_(queue, queue_size, sizeof *queue, abi, desc);
    if (status != KOLK_OK) return status;
    if (type_size && desc->item_size && desc->item_size != type_size) return KOLK_TYPE_MISMATCH;
    size_t item_size = type_size ? type_size : desc->item_size;
    status = check(item_size, desc->capacity);
    if (status != KOLK_OK) return status;
    uint32_t stride = (uint32_t)KOLK_ROUND_UP_(CELL_HEAD + item_size, 8);
    size_t bytes = (size_t)desc->capacity * stride;
    void *cells = kolk_memory_take_(bytes, bytes); /* reads as 0, which is the turn of the first lap */
    if (!cells) return KOLK_NO_MEMORY;
    *queue = (kolk_queue){.cells = (unsigned char *)cells,
                          .mask = mask_of(desc->capacity),
                          .stride = stride,
                          .item_size = (uint32_t)item_size,
                          .copied = desc->move ? 0 : (uint32_t)item_size,
                          .capacity = desc->capacity,
                          .bytes = bytes,
                          .name = kolk_name_kept_(desc->name),
                          .destroy = desc->destroy,
                          .move = desc->move,
                          .context = desc->context,
                          .ends = {{.ticket = OPEN}, {.ticket = OPEN}}};
    kolk_tools_add_root_(cells, bytes);
    kolk_list_(queue, sizeof *queue, &queue->number, &kolk_queue_kind_);
    return KOLK_OK;
}

KOLK_NOINLINE_ kolk_status kolk_queue_rebind_abi_(kolk_queue *queue, const kolk_queue_desc *desc, size_t type_size,
                                                  size_t queue_size, uint32_t abi) {
    kolk_status status = kolk_check_call_(queue_size, sizeof *queue, abi, desc);
    if (status != KOLK_OK) return status;
    if (!kolk_is_home_(queue, queue->number, queue->name, SITE)) return KOLK_MOVED;
    if (kolk_queue_runs_hook_(queue)) return KOLK_IN_HOOK;
    if (type_size && desc->item_size && desc->item_size != type_size) return KOLK_TYPE_MISMATCH;
    size_t item_size = type_size ? type_size : desc->item_size;
    if (!kolk_is_kept_(item_size, queue->item_size)) return KOLK_STRUCT_CHANGED;
    if (!kolk_is_kept_(desc->capacity, queue->capacity) || !desc->move != !queue->move) return KOLK_LAYOUT_CHANGED;
    queue->name = kolk_name_kept_(desc->name);
    queue->destroy = desc->destroy;
    queue->move = desc->move;
    queue->context = desc->context;
    kolk_relist_(queue->number, queue->name, NULL);
    return KOLK_OK;
}

KOLK_NOINLINE_ void kolk_queue_deinit(kolk_queue *queue) {
    if (!queue->cells || !kolk_is_home_(queue, queue->number, queue->name, SITE)) return;
    if (kolk_queue_is_barred_(queue, "deinit", SITE)) return;
    kolk_unlist_(queue->number);
    queue->number = 0;          /* `destroy` may use the queue */
    kolk_queue_shutdown(queue); /* so that `destroy` cannot push */
    kolk_queue_clear(queue);
    for (int end = PUSH; end <= POP; end++)
        if (queue->ends[end].fd) kolk_event_close_((int)queue->ends[end].fd - 1);
    kolk_tools_remove_root_(queue->cells, queue->bytes);
    kolk_memory_release_(queue->cells, queue->bytes);
    memset(queue, 0, sizeof *queue);
}

#endif
