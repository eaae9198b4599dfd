/* ipc_memory.c: the layout of the block; init, attach and deinit.
 *
 *     | header | processes | queues | hints | lives | rings | slots |
 *     0        1 KiB                                        a multiple of 4 KiB
 *
 * All offsets follow from seven numbers of the header. A process reads these once, checks that they describe a block
 * which the file has room for, and computes its own pointers. Afterwards nothing that another process writes moves
 * them. The layout does not depend on the size of pages or pointers. */
#include "ipc_inside.h"

#if KOLK_HOSTED

#include "../core/block.h"
#include "../core/handle.h"
#include "../core/begin.h"
#include "../core/tools.h"
#include "../os/between.h"

#include <string.h>

_Static_assert(sizeof((kolk_ipc){0}.own_name) == IPC_NAME_ROOM, "a name fits");
_Static_assert(sizeof(ipc_block) == 256 && sizeof(ipc_queue) == 384 && sizeof(ipc_process) == 64,
               "processes of other versions read this layout: change IPC_MAGIC");
_Static_assert(sizeof(void *) != 8 || (sizeof(kolk_ipc) == 272 && sizeof(kolk_ipc_desc) == 80),
               "the layout has changed: raise KOLK_ABI");

#define MOST_PROCESSES  4095u
#define MOST_FILE_BYTES (UINT64_C(1) << 46)

/* ---- Layout ------------------------------------------------------------------------------------------------------ */

typedef struct ipc_layout {
    uint64_t queues, hints, lives, rings, slots, size; /* offsets, but for the last one */
    uint32_t stride, ring;
} ipc_layout;

/* A power of two with room for all objects and the mark of a closed queue. */
static uint32_t ring_of(uint32_t queue_capacity) {
    uint32_t ring = 2;
    while (ring <= queue_capacity) ring *= 2;
    return ring;
}

/* The numbers of the header are in range. */
static ipc_layout lay_out(const ipc_block *header) {
    ipc_layout out = {.stride = (uint32_t)round_up(header->object_size, header->object_align),
                      .ring = header->queues ? ring_of(header->queue_capacity) : 0};
    out.queues = IPC_HEADER + (uint64_t)(header->max_processes + 1) * sizeof(ipc_process);
    out.hints = out.queues + header->queues * sizeof(ipc_queue);
    out.lives = round_up(out.hints + kolk_slot_set_size_(kolk_bits_words_(header->capacity)), IPC_LINE);
    out.rings = round_up(out.lives + (uint64_t)header->capacity * sizeof(uint64_t), IPC_LINE);
    out.slots = round_up(out.rings + (uint64_t)header->queues * out.ring * sizeof(uint64_t), KOLK_MAX_ALIGN_);
    out.size = out.slots + (uint64_t)header->capacity * out.stride;
    return out;
}

static kolk_status check_header(const ipc_block *it) {
    if (it->capacity == 0) return KOLK_ZERO_CAPACITY;
    if (it->capacity > INT32_MAX) return KOLK_BAD_CAPACITY;
    if (it->queues > IPC_MOST_QUEUES) return KOLK_BAD_QUEUES;
    if (it->queue_capacity == 0 || it->queue_capacity > it->capacity) return KOLK_BAD_QUEUES;
    if (it->max_processes == 0 || it->max_processes > MOST_PROCESSES) return KOLK_BAD_PROCESSES;
    if (it->orphans > KOLK_IPC_KEEP) return KOLK_BAD_ORPHANS;
    uint64_t size = lay_out(it).size;
    return size > MOST_FILE_BYTES || size > SIZE_MAX / 2 ? KOLK_SIZE_OVERFLOW : KOLK_OK;
}

/* The header is this process's own copy. */
static void point_into_block(kolk_ipc *pool, const ipc_block *header, unsigned char *start) {
    ipc_layout layout = lay_out(header);
    pool->block = (ipc_block *)(void *)start;
    pool->queues_at = (ipc_queue *)(void *)(start + layout.queues);
    pool->hints_end = (uint64_t *)(void *)(start + layout.hints) +
                      kolk_slot_set_size_(kolk_bits_words_(header->capacity)) / sizeof(uint64_t);
    pool->lives = (uint64_t *)(void *)(start + layout.lives);
    pool->rings = (uint64_t *)(void *)(start + layout.rings);
    pool->slots = start + layout.slots;
    pool->stride = layout.stride;
    kolk_set_divisor_(layout.stride, &pool->shift, &pool->inverse);
    pool->object_size = (uint32_t)header->object_size;
    pool->capacity = header->capacity;
    pool->queues = header->queues;
    pool->queue_capacity = header->queue_capacity;
    pool->ring_mask = layout.ring - 1;
    pool->max_processes = header->max_processes;
    pool->tag = header->tag;
    pool->orphans = (uint8_t)header->orphans;
}

/* ---- Registry ---------------------------------------------------------------------------------------------------- */

/* The registry asks for the name first, before the pool has a number: it must not walk over all lives then, because an
 * attach is O(1). */
static void list_ipc_stats(const void *given, kolk_stats *out) {
    const kolk_ipc *pool = (const kolk_ipc *)given;
    if (pool->number)
        kolk_ipc_stats(pool, out);
    else
        *out = (kolk_stats){.name = pool->name ? pool->name : "", .kind = "ipc"};
}

static uint32_t list_ipc_holders(const void *pool, kolk_ipc_holder *holders, uint32_t n) {
    return kolk_ipc_holders((const kolk_ipc *)pool, holders, n);
}

static uintptr_t ipc_facts(const void *given) {
    const kolk_ipc *pool = (const kolk_ipc *)given;
    if (!pool->block) return 0;
    return KOLK_FACTS_(pool->number, (uintptr_t)pool->block, (uintptr_t)pool->lives, (uintptr_t)pool->slots,
                       pool->capacity, pool->stride, pool->object_size, pool->max_processes, pool->size,
                       (uintptr_t)pool->name);
}

const kolk_kind_ kolk_ipc_kind_ = {
    .stats = list_ipc_stats,
    .facts = ipc_facts,
    .size = sizeof(kolk_ipc),
    .holders = list_ipc_holders,
    .id = KOLK_KIND_IPC_,
};

/* ---- Init and attach --------------------------------------------------------------------------------------------- */

extern inline kolk_status kolk_ipc_init(kolk_ipc *pool, const kolk_ipc_desc *desc);
extern inline kolk_status kolk_ipc_init_in(kolk_ipc *pool, int fd, const kolk_ipc_desc *desc);
extern inline kolk_status kolk_ipc_attach(kolk_ipc *pool, int fd, const kolk_ipc_desc *desc);

static kolk_status resolve_header(const kolk_ipc_desc *desc, size_t type_size, size_t type_align, ipc_block *out) {
    size_t size = desc->object_size, align = desc->object_align;
    kolk_status status = kolk_block_resolve_size_(&size, &align, type_size, type_align);
    if (status != KOLK_OK) return status;
    *out = (ipc_block){
        .object_size = size,
        .object_align = (uint32_t)align,
        .capacity = desc->capacity,
        .queues = desc->queues,
        .queue_capacity = desc->queue_capacity ? desc->queue_capacity : desc->capacity,
        .max_processes = desc->max_processes ? desc->max_processes : 64,
        .version = desc->version,
        .orphans = (uint32_t)desc->orphans,
    };
    if (desc->name) strncpy(out->name, desc->name, IPC_NAME_ROOM - 1);
    out->tag = kolk_tag_bits_(desc->tag, desc->name ? out->name : NULL);
    status = check_header(out);
    out->size = lay_out(out).size;
    return status;
}

/* The members of a pool that are this process's own. */
static void begin_view(kolk_ipc *pool, const kolk_ipc_desc *desc) {
    static uint64_t serials;
    pool->serial = kolk_fetch_add_(&serials, 1, KOLK_RELAXED_) + 1;
    pool->seen = UINT64_MAX;
    pool->on_orphan = desc->on_orphan;
    pool->context = desc->context;
    pool->trap_full = desc->trap_full;
}

static void begin_file(kolk_ipc *pool, int fd) {
    pool->fd = fd;
    pool->page = (uint32_t)kolk_between_page_(fd);
}

/* Maps a file. On failure, end_view releases what there is. */
static kolk_status map_block(kolk_ipc *pool, int fd, size_t size, unsigned char **start) {
    kolk_access_ access = kolk_between_access_(fd);
    if (access == KOLK_NO_ACCESS_) return KOLK_NO_LOCKS;
    pool->read_only = access == KOLK_ACCESS_TO_READ_;
    pool->file = kolk_between_identity_(fd);
    *start = (unsigned char *)kolk_between_map_(fd, size, pool->read_only);
    return *start ? KOLK_OK : KOLK_NO_MEMORY;
}

static void end_view(kolk_ipc *pool, unsigned char *start) {
    if (start) kolk_between_unmap_(start, pool->size);
    if (pool->fd >= 0) kolk_between_drop_(pool->fd);
    memset(pool, 0, sizeof *pool);
}

static kolk_status fail_view(kolk_ipc *pool, unsigned char *start, kolk_status status) {
    end_view(pool, start);
    return status;
}

/* The magic is written last: a process that attaches meanwhile finds no block yet. */
static void publish(kolk_ipc *pool, const ipc_block *header) {
    ipc_block *block = pool->block;
    kolk_slot_set_ hints = hints_of(pool);
    memcpy(block, header, sizeof *header);
    for (uint32_t word = 0; word < kolk_bits_words_(pool->capacity); word++)
        kolk_slot_set_put_(&hints, word, bits_in_word(pool, word));
    kolk_store_(&block->magic, IPC_MAGIC, KOLK_RELEASE_); /* partner: read_header */
}

static kolk_status list(kolk_ipc *pool, const char *name) {
    memcpy(pool->own_name, name, sizeof pool->own_name);
    pool->name = *name ? kolk_name_kept_(pool->own_name) : NULL;
    kolk_list_(pool, sizeof *pool, &pool->number, &kolk_ipc_kind_);
    return KOLK_OK;
}

static kolk_status make_in(kolk_ipc *pool, int fd, const kolk_ipc_desc *desc, const ipc_block *header) {
    unsigned char *start = NULL;
    uint64_t size = round_up(header->size, pool->page);
    if (!kolk_between_resize_(fd, size)) return fail_view(pool, start, KOLK_NO_MEMORY);
    pool->size = (size_t)size;
    kolk_status status = map_block(pool, fd, pool->size, &start);
    if (status == KOLK_OK && pool->read_only) status = KOLK_NO_LOCKS;
    if (status != KOLK_OK) return fail_view(pool, start, status);
    point_into_block(pool, header, start);
    begin_view(pool, desc);
    publish(pool, header);
    status = kolk_ipc_join_(pool);
    return status == KOLK_OK ? list(pool, header->name) : fail_view(pool, start, status);
}

KOLK_NOINLINE_ kolk_status kolk_ipc_init_abi_(kolk_ipc *pool, int fd, const kolk_ipc_desc *desc, size_t type_size,
                                              size_t type_align, size_t pool_size, uint32_t abi) {
    ipc_block header;
    kolk_status status = kolk_begin_(pool, pool_size, sizeof *pool, abi, desc);
    if (status != KOLK_OK) return status;
    if (!KOLK_BETWEEN_) return KOLK_NEEDS_LINUX;
    status = resolve_header(desc, type_size, type_align, &header);
    if (status != KOLK_OK) return status;
    if (fd != KOLK_IPC_NEW_ && kolk_between_size_(fd)) return KOLK_NOT_EMPTY;
    begin_file(pool, fd == KOLK_IPC_NEW_ ? kolk_between_make_() : kolk_between_copy_(fd));
    return pool->fd < 0 ? fail_view(pool, NULL, KOLK_NO_LOCKS) : make_in(pool, pool->fd, desc, &header);
}

/* Copies the header, whose name then ends, and whose other numbers are in range. */
static kolk_status read_header(const unsigned char *start, uint64_t size, ipc_block *out) {
    const ipc_block *block = (const ipc_block *)(const void *)start;
    if (kolk_load_(&block->magic, KOLK_ACQUIRE_) != IPC_MAGIC) return KOLK_NOT_A_BLOCK; /* partner: publish */
    memcpy(out, block, sizeof *out);
    out->name[IPC_NAME_ROOM - 1] = 0;
    uint64_t align = out->object_align;
    if (align == 0 || align > KOLK_MAX_ALIGN_ || (align & (align - 1))) return KOLK_NOT_A_BLOCK;
    if (out->object_size == 0 || out->object_size > INT32_MAX - KOLK_MAX_ALIGN_) return KOLK_NOT_A_BLOCK;
    kolk_status status = check_header(out);
    if (status != KOLK_OK) return status == KOLK_SIZE_OVERFLOW ? status : KOLK_NOT_A_BLOCK;
    return lay_out(out).size <= size ? KOLK_OK : KOLK_NOT_A_BLOCK;
}

static bool is_as_described(const kolk_ipc_desc *desc, const ipc_block *header) {
    return kolk_is_kept_(desc->object_size, header->object_size) &&
           header->object_align % (desc->object_align ? desc->object_align : 1) == 0 &&
           kolk_is_kept_(desc->capacity, header->capacity) && kolk_is_kept_(desc->queues, header->queues) &&
           kolk_is_kept_(desc->queue_capacity, header->queue_capacity) &&
           kolk_is_kept_(desc->max_processes, header->max_processes) && kolk_is_kept_(desc->version, header->version) &&
           kolk_is_kept_((uint64_t)desc->orphans, header->orphans) &&
           (!desc->name || strncmp(desc->name, header->name, IPC_NAME_ROOM - 1) == 0) &&
           (!desc->tag || kolk_tag_bits_(desc->tag, NULL) == header->tag);
}

/* The type's size and alignment are part of what the descriptor says. */
static kolk_status with_type(kolk_ipc_desc *desc, size_t type_size, size_t type_align) {
    if (!type_size) return KOLK_OK;
    return kolk_block_resolve_size_(&desc->object_size, &desc->object_align, type_size, type_align);
}

static kolk_status attach_to(kolk_ipc *pool, int fd, const kolk_ipc_desc *desc) {
    ipc_block header;
    unsigned char *start = NULL;
    uint64_t size = kolk_between_size_(fd);
    if (size < IPC_HEADER) return fail_view(pool, start, KOLK_NOT_A_BLOCK);
    if (size > MOST_FILE_BYTES || size > SIZE_MAX / 2) return fail_view(pool, start, KOLK_SIZE_OVERFLOW);
    if (!desc->unsealed && !kolk_between_is_sealed_(fd)) return fail_view(pool, start, KOLK_NOT_SEALED);
    pool->size = (size_t)size;
    kolk_status status = map_block(pool, fd, pool->size, &start);
    if (status == KOLK_OK) status = read_header(start, size, &header);
    if (status == KOLK_OK && !is_as_described(desc, &header)) status = KOLK_OTHER_LAYOUT;
    if (status != KOLK_OK) return fail_view(pool, start, status);
    point_into_block(pool, &header, start);
    begin_view(pool, desc);
    if (!pool->read_only) status = kolk_ipc_join_(pool);
    return status == KOLK_OK ? list(pool, header.name) : fail_view(pool, start, status);
}

KOLK_NOINLINE_ kolk_status kolk_ipc_attach_abi_(kolk_ipc *pool, int fd, const kolk_ipc_desc *desc, size_t type_size,
                                                size_t type_align, size_t pool_size, uint32_t abi) {
    kolk_status status = kolk_begin_(pool, pool_size, sizeof *pool, abi, desc);
    if (status != KOLK_OK) return status;
    if (!KOLK_BETWEEN_) return KOLK_NEEDS_LINUX;
    kolk_ipc_desc described = *desc;
    status = with_type(&described, type_size, type_align);
    if (status != KOLK_OK) return status;
    begin_file(pool, kolk_between_copy_(fd));
    return pool->fd < 0 ? fail_view(pool, NULL, KOLK_NO_LOCKS) : attach_to(pool, pool->fd, &described);
}

int kolk_ipc_fd(const kolk_ipc *pool) {
    return pool->block ? pool->fd : -1;
}

KOLK_NOINLINE_ void kolk_ipc_deinit(kolk_ipc *pool) {
    if (!pool->block || !kolk_is_home_(pool, pool->number, pool->name, SITE)) return;
    kolk_unlist_(pool->number);
    kolk_ipc_leave_(pool);
    end_view(pool, (unsigned char *)pool->block);
}

#endif
