/* modules.c: records where the program and its libraries lie. ld.so counts the libraries that it has loaded and those
 * that it has unloaded. Nothing is recorded while both counts stay the same.
 *
 * ld.so holds its own lock while it calls us. A thread that holds it may allocate, and then wait for our lock. So our
 * lock is always taken after ld.so's, never before. */
#define _GNU_SOURCE
#include "inside.h"

#include <limits.h>
#include <link.h>
#include <string.h>

static unsigned long long told_adds, told_subs; /* these are used under ld.so's lock */

/* Finds the whole path of a module; for the program itself, ld.so does not provide one. */
static size_t find_path(const char *name, char *path) {
    size_t length = 0;
    if (*name == '\0') {
        ssize_t read = readlink("/proc/self/exe", path, PATH_MAX);
        return read > 0 ? (size_t)read : 0;
    }
    if (*name != '/' && strchr(name, '/') && syscall(SYS_getcwd, path, PATH_MAX) > 0) {
        length = strlen(path);
        path[length++] = '/';
    }
    size_t more = strlen(name);
    if (length + more > PATH_MAX) more = 0;
    memcpy(path + length, name, more);
    return length + more;
}

static void tell(const struct dl_phdr_info *info, bool is_first) {
    static union {
        char path[PATH_MAX + 8];
        uint64_t words[PATH_MAX / 8 + 1];
    } name;
    uintptr_t begin = UINTPTR_MAX, end = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD) continue;
        uintptr_t from = info->dlpi_addr + part->p_vaddr, to = from + part->p_memsz;
        if (from < begin) begin = from;
        if (to > end) end = to;
    }
    size_t length = find_path(info->dlpi_name ? info->dlpi_name : "", name.path);
    memset(name.path + length, 0, 8);
    uint64_t words[] = {WIRE_MODULE | (uint64_t)is_first << 8 | (uint64_t)length << 16, info->dlpi_addr, begin, end};
    record_lock();
    record_begin(4 + (length + 7) / 8);
    record_put(words, 4);
    record_put(name.words, (length + 7) / 8);
    record_end();
    record_unlock();
}

static int look_at(struct dl_phdr_info *info, size_t size, void *data) {
    bool *is_first = data;
    (void)size;
    if (*is_first && info->dlpi_adds == told_adds && info->dlpi_subs == told_subs) return 1;
    told_adds = info->dlpi_adds;
    told_subs = info->dlpi_subs;
    tell(info, *is_first);
    *is_first = false;
    return 0;
}

void record_modules(void) {
    bool is_first = true;
    dl_iterate_phdr(look_at, &is_first);
}
