/* remote_pages.c: which memory of another process is resident. See remote.h.
 *
 * The kernel's file /proc/PID/pagemap has 64 bits for each page: bit 63 says that the page is in memory. Its other bits
 * are not needed, so the right to read the process suffices. A GiB has 2 MiB of this file. It takes 2 ms to read, or 40
 * if the GiB is resident. */
#include "../os/system.h"

#include "remote.h"

#if KOLK_REMOTE_

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

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
