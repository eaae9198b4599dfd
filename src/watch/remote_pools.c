/* remote_pools.c: the pools of another process. See remote.h. */
#include "remote.h"

#if KOLK_REMOTE_

#include "stats.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define STEP       4096u /* bytes of a module that are searched at once */
#define MOST_POOLS (UINT32_C(1) << 20)
#define TRIES      3u

static const struct {
    const kolk_kind_ *kind;
    kolk_remote_kind_ *read;
} kinds[KOLK_KINDS_] = {
    [KOLK_KIND_POOL_] = {&kolk_pool_kind_, kolk_remote_pool_},
    [KOLK_KIND_SLOTMAP_] = {&kolk_slotmap_kind_, kolk_remote_slotmap_},
    [KOLK_KIND_BYTEMAP_] = {&kolk_bytemap_kind_, kolk_remote_bytemap_},
    [KOLK_KIND_QUEUE_] = {&kolk_queue_kind_, kolk_remote_queue_},
    [KOLK_KIND_SHARED_] = {&kolk_shared_kind_, kolk_remote_shared_},
    [KOLK_KIND_RESOURCE_] = {&kolk_resource_kind_, kolk_remote_resource_},
    [KOLK_KIND_HEAP_] = {&kolk_heap_kind_, kolk_remote_heap_},
    [KOLK_KIND_HEAP_CLASS_] = {&kolk_heap_class_kind_, kolk_remote_heap_class_},
    [KOLK_KIND_TRAY_] = {&kolk_tray_kind_, NULL},
    [KOLK_KIND_IPC_] = {&kolk_ipc_kind_, kolk_remote_ipc_},
};

/* ---- One pool ---------------------------------------------------------------------------------------------------- */

typedef struct remote_entry {
    const void *pool, *kind;
    uintptr_t facts;
    char name[KOLK_NAME_ROOM_];
} remote_entry;

static bool read_entry(kolk_remote_ *remote, const kolk_beacon_ *beacon, const unsigned char *at, remote_entry *out) {
    unsigned char bytes[512];
    if (!kolk_remote_read_(remote, bytes, at, beacon->entry_size)) return false;
    memcpy(&out->pool, bytes + beacon->pool_at, sizeof out->pool);
    memcpy(&out->kind, bytes + beacon->kind_at, sizeof out->kind);
    memcpy(&out->facts, bytes + beacon->facts_at, sizeof out->facts);
    memcpy(out->name, bytes + beacon->name_at, sizeof out->name);
    out->name[sizeof out->name - 1] = 0;
    return true;
}

/* The id of the pool's kind; 0 if this library knows no kind of that layout. */
static uint32_t kind_of(kolk_remote_ *remote, const remote_entry *entry) {
    kolk_kind_ there;
    if (!kolk_remote_read_(remote, &there, entry->kind, sizeof there)) return 0;
    const kolk_kind_ *kind = there.id < KOLK_KINDS_ ? kinds[there.id].kind : NULL;
    return kind && kind->size == there.size && kind->layout == there.layout ? there.id : 0;
}

static bool read_pool(kolk_remote_ *remote, const remote_entry *entry, uint32_t id, kolk_record_ *out) {
    const kolk_kind_ *kind = kinds[id].kind;
    void *copy = NULL;
    remote->used = 0;
    remote->resident = 0;
    remote->saw = remote->blind = false;
    *out = (kolk_record_){.extra = kind->extra};
    if (kind->facts) {
        copy = kolk_remote_copy_(remote, entry->pool, kind->size);
        if (!copy || kind->facts(copy) != entry->facts) return false;
    }
    if (!kinds[id].read)
        kind->stats(copy, &out->stats);
    else if (!kinds[id].read(remote, entry->pool, copy, out))
        return false;
    out->stats.name = entry->name;
    out->has_resident = remote->saw && !remote->blind;
    out->resident = remote->resident;
    return true;
}

/* ---- One copy of kolk -------------------------------------------------------------------------------------------- */

static bool is_right(const kolk_beacon_ *beacon) {
    uint32_t size = beacon->entry_size, last = size - (uint32_t)sizeof(void *);
    return size <= 512 && size >= KOLK_NAME_ROOM_ && beacon->pool_at <= last && beacon->kind_at <= last &&
           beacon->facts_at <= last && beacon->name_at <= size - KOLK_NAME_ROOM_;
}

static void read_pools(kolk_remote_ *remote, const kolk_beacon_ *beacon, kolk_records_ *out) {
    const unsigned char *entries;
    uint32_t used;
    if (!is_right(beacon) || !kolk_remote_read_(remote, &entries, beacon->entries, sizeof entries)) return;
    if (!kolk_remote_read_(remote, &used, beacon->used, sizeof used)) return;
    for (uint32_t n = 0; n < used && n < MOST_POOLS; n++) {
        const unsigned char *at = entries + (size_t)n * beacon->entry_size;
        remote_entry entry;
        kolk_record_ record;
        for (unsigned tries = 0; tries < TRIES; tries++) {
            if (!read_entry(remote, beacon, at, &entry)) return;
            if (!entry.pool || !*entry.name) break;
            uint32_t id = kind_of(remote, &entry);
            if (!id) break;
            if (!read_pool(remote, &entry, id, &record)) continue;
            kolk_records_add_whole_(out, &record, KOLK_RECORD_ALONE_);
            break;
        }
    }
}

/* ---- The process ------------------------------------------------------------------------------------------------- */

typedef struct remote_finding {
    bool exists, readable; /* the process has memory, which could be read */
    bool found, other;     /* there is a kolk; there is one of another version */
} remote_finding;

static void look_at(kolk_remote_ *remote, const unsigned char *at, const unsigned char *address, kolk_records_ *out,
                    remote_finding *finding) {
    kolk_beacon_ beacon;
    memcpy(&beacon, at, sizeof beacon);
    if (beacon.self != (const void *)address) return;
    bool same = beacon.version == KOLK_BEACON_VERSION_ && beacon.abi == KOLK_ABI &&
                memcmp(beacon.library, KOLK_VERSION, sizeof KOLK_VERSION) == 0;
    finding->found = finding->found || same;
    finding->other = finding->other || !same;
    if (same) read_pools(remote, &beacon, out);
}

static void search_module(kolk_remote_ *remote, uintptr_t start, uintptr_t end, kolk_records_ *out,
                          remote_finding *finding) {
    static const char magic[16] = KOLK_BEACON_MAGIC_;
    unsigned char bytes[STEP + sizeof(kolk_beacon_)];
    for (; start < end; start += STEP) {
        size_t size = end - start < sizeof bytes ? end - start : sizeof bytes;
        if (!kolk_remote_read_(remote, bytes, (const void *)start, size)) return;
        finding->readable = true;
        for (size_t at = 0; at < STEP && at + sizeof(kolk_beacon_) <= size; at += sizeof(void *))
            if (memcmp(bytes + at, magic, sizeof magic) == 0)
                look_at(remote, bytes + at, (const unsigned char *)start + at, out, finding);
    }
}

static const char no_right[] = "this process may not be read: that takes the right to trace it (root, or its user if "
                               "kernel.yama.ptrace_scope is 0)";

static const char *read_process(kolk_remote_ *remote, kolk_records_ *out) {
    char name[40], line[512];
    remote_finding finding = {false, false, false, false};
    snprintf(name, sizeof name, "/proc/%lld/maps", (long long)remote->process);
    FILE *maps = fopen(name, "r");
    if (!maps) return errno == ENOENT ? "there is no such process" : no_right;
    while (fgets(line, sizeof line, maps)) {
        unsigned long long start, end, inode;
        char access[5];
        finding.exists = true;
        if (sscanf(line, "%llx-%llx %4s %*s %*s %llu", &start, &end, access, &inode) != 4) continue;
        if (strcmp(access, "rw-p") == 0 && inode)
            search_module(remote, (uintptr_t)start, (uintptr_t)end, out, &finding);
    }
    fclose(maps);
    if (finding.found) return NULL;
    if (finding.other) return "its kolk is of another version than this one";
    if (finding.readable) return "there is no kolk in this process";
    return finding.exists ? no_right : "this process has ended";
}

const char *kolk_stats_write_of(int64_t process, kolk_stats_format format,
                                void (*put)(const char *text, size_t length, void *context), void *context) {
    kolk_remote_ remote = {.process = process, .to_read = KOLK_REMOTE_MOST_};
    kolk_records_ records = {0};
    kolk_remote_open_pages_(&remote);
    const char *wrong = read_process(&remote, &records);
    if (!wrong) kolk_records_write_(&records, format, put, context);
    kolk_records_release_(&records);
    kolk_remote_close_pages_(&remote);
    kolk_remote_end_(&remote);
    return wrong;
}

#else

const char *kolk_stats_write_of(int64_t process, kolk_stats_format format,
                                void (*put)(const char *text, size_t length, void *context), void *context) {
    (void)process, (void)format, (void)put, (void)context;
    return KOLK_HOSTED ? "only on Linux can another process be read" : "there is no other process without an OS";
}

#endif
