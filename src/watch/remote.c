/* remote.c: copies bytes of another process, and asks which of its memory is resident. See remote.h.
 *
 * The kernel's file /proc/PID/pagemap has 64 bits for each page: bit 63 says that the page is in memory. Its other bits
 * are not needed, so the right to read the process suffices. A GiB has 2 MiB of this file. It takes 2 ms to read, or 40
 * if the GiB is resident. */
#include "../os/system.h"

#include "remote.h"

#if KOLK_REMOTE_

#include "../core/tools.h"
#include "../os/memory.h"
#include "../os/peek.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define COPIES ((size_t)1 << 29) /* address space for the copies of one pool; 2^32 bits */
#define LEAST  2048u             /* a small read takes as long as one of 2 KiB */

bool kolk_remote_read_(kolk_remote_ *remote, void *to, const void *from, size_t size) {
    uint64_t cost = size > LEAST ? size : LEAST;
    if (cost > remote->to_read) return false;
    remote->to_read -= cost;
    if (!kolk_peek_of_(remote->process, to, from, size)) return false;
    kolk_tools_wrote_(to, size);
    return true;
}

void *kolk_remote_copy_(kolk_remote_ *remote, const void *from, size_t size) {
    if (!remote->copies) remote->copies = kolk_memory_reserve_(COPIES);
    size_t end = remote->used + (size + 63) / 64 * 64;
    if (!remote->copies || size > COPIES || end > COPIES) return NULL;
    if (end > remote->committed) {
        if (!kolk_memory_commit_(remote->copies + remote->committed, end - remote->committed)) return NULL;
        remote->committed = end;
    }
    void *copy = remote->copies + remote->used;
    remote->used = end;
    return kolk_remote_read_(remote, copy, from, size) ? copy : NULL;
}

bool kolk_remote_sum_(kolk_remote_ *remote, const void *from, uint32_t n, size_t step, uint64_t *sum) {
    unsigned char bytes[4096];
    if ((uint64_t)n * step > remote->to_read / 2) return false;
    const unsigned char *at = (const unsigned char *)from;
    for (size_t left = n * step; left;) {
        size_t size = left < sizeof bytes ? left : sizeof bytes;
        uint32_t number;
        if (!kolk_remote_read_(remote, bytes, at, size)) return false;
        for (size_t i = 0; i < size; i += step) {
            if (step == 1)
                number = bytes[i] % 128u;
            else
                memcpy(&number, bytes + i, sizeof number);
            *sum += number;
        }
        at += size;
        left -= size;
    }
    return true;
}

void kolk_remote_end_(kolk_remote_ *remote) {
    if (remote->copies) kolk_memory_release_(remote->copies, COPIES);
}

/* ---- Which memory is resident ------------------------------------------------------------------------------------ */

#define IS_PRESENT (UINT64_C(1) << 63)
#define ENTRIES    1024u               /* pages that are asked about at once */
#define MOST_SEEN  (UINT64_C(1) << 36) /* of all pools in one look, so that no process can hold up its reader */

void kolk_remote_open_pages_(kolk_remote_ *remote) {
    char name[40];
    long page = sysconf(_SC_PAGESIZE);
    snprintf(name, sizeof name, "/proc/%lld/pagemap", (long long)remote->process);
    remote->pages = open(name, O_RDONLY | O_CLOEXEC);
    remote->page = page > 0 ? (uint64_t)page : 4096;
    remote->to_see = MOST_SEEN;
}

void kolk_remote_close_pages_(const kolk_remote_ *remote) {
    if (remote->pages >= 0) close(remote->pages);
}

/* Adds the bytes from `start` to `end` that lie in present pages. Returns false if the file cannot be read. */
static bool add_present(kolk_remote_ *remote, uint64_t start, uint64_t end) {
    uint64_t entries[ENTRIES];
    while (start < end) {
        uint64_t first = start / remote->page, last = (end - 1) / remote->page;
        size_t n = last - first < ENTRIES ? (size_t)(last - first) + 1 : ENTRIES;
        ssize_t size = pread(remote->pages, entries, n * sizeof *entries, (off_t)(first * sizeof *entries));
        if (size < (ssize_t)sizeof *entries) return false;
        n = (size_t)size / sizeof *entries;
        for (size_t i = 0; i < n && start < end; i++) {
            uint64_t behind = (first + i + 1) * remote->page, to = behind < end ? behind : end;
            if (entries[i] & IS_PRESENT) remote->resident += to - start;
            start = to;
        }
    }
    return true;
}

void kolk_remote_see_(kolk_remote_ *remote, const void *start, uint64_t size) {
    uint64_t from = (uint64_t)(uintptr_t)start;
    bool can = remote->pages >= 0 && size <= remote->to_see && from <= (uint64_t)INT64_MAX - size;
    remote->saw = true;
    if (can) remote->to_see -= size;
    if (!can || !add_present(remote, from, from + size)) remote->blind = true;
}

#endif
