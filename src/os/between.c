/* between.c: see between.h.
 *
 * The locks are open file description locks (fcntl(2), F_OFD_SETLK), one byte each. The system releases them when the
 * last descriptor of the open file is closed, so it has to be an open file of this process alone: one that is opened
 * through /proc, is closed at exec, and is closed by hand in a fork's child. */
#include "system.h"

#include "kolk/base.h"

#include "between.h"

#if KOLK_HOSTED

#if KOLK_BETWEEN_

#include "../base/assert.h"
#include "../base/atomics.h"
#include "forks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* From <linux/memfd.h> and <fcntl.h>, for C libraries that lack them. */
#ifndef MFD_CLOEXEC
#define MFD_CLOEXEC       1u
#define MFD_ALLOW_SEALING 2u
#endif
#ifndef F_ADD_SEALS
#define F_ADD_SEALS   1033
#define F_GET_SEALS   1034
#define F_SEAL_SEAL   1
#define F_SEAL_SHRINK 2
#define F_SEAL_GROW   4
#endif
#ifndef F_OFD_SETLK
#define F_OFD_SETLK 37
#endif

int kolk_between_make_(void) {
    return (int)syscall(SYS_memfd_create, "kolk", MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

bool kolk_between_resize_(int fd, uint64_t size) {
    if (size > INT64_MAX || ftruncate(fd, (off_t)size) != 0) return false;
    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL); /* other files than memfd's have no seals */
    return true;
}

uint64_t kolk_between_size_(int fd) {
    struct stat about;
    return fstat(fd, &about) == 0 && about.st_size > 0 ? (uint64_t)about.st_size : 0;
}

bool kolk_between_is_sealed_(int fd) {
    int seals = fcntl(fd, F_GET_SEALS);
    return seals != -1 && (seals & F_SEAL_SHRINK);
}

int kolk_between_copy_(int fd) {
    return fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

void kolk_between_drop_(int fd) {
    close(fd);
}

/* ---- Open files of this process alone ---------------------------------------------------------------------------- */

static uint32_t locks[KOLK_MOST_LOCKS_]; /* descriptors + 1; 0: unused */

static bool note_lock_file(int fd) {
    for (uint32_t n = 0; n < KOLK_MOST_LOCKS_; n++) {
        uint32_t none = 0;
        if (kolk_raw_compare_exchange_(&locks[n], &none, (uint32_t)fd + 1, KOLK_RELAXED_, KOLK_RELAXED_)) return true;
    }
    return false;
}

static bool forget_lock_file(int fd) {
    for (uint32_t n = 0; n < KOLK_MOST_LOCKS_; n++) {
        uint32_t it = (uint32_t)fd + 1;
        if (kolk_raw_compare_exchange_(&locks[n], &it, 0, KOLK_RELAXED_, KOLK_RELAXED_)) return true;
    }
    return false;
}

/* The locks are the parent's. As long as the child had the open files too, nobody would notice the parent's death. */
static void close_lock_files(void) {
    for (uint32_t n = 0; n < KOLK_MOST_LOCKS_; n++) {
        uint32_t it = kolk_raw_load_(&locks[n], KOLK_RELAXED_);
        kolk_raw_store_(&locks[n], 0, KOLK_RELAXED_);
        if (it) close((int)it - 1);
    }
}

__attribute__((constructor)) static void close_in_children(void) {
    kolk_forks_tell_(close_lock_files);
}

int kolk_between_open_(int fd, bool *read_only) {
    char path[32];
    int flags = fcntl(fd, F_GETFL);
    if (flags == -1 || (flags & O_ACCMODE) == O_WRONLY) return -1;
    *read_only = (flags & O_ACCMODE) == O_RDONLY;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int own = open(path, (*read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC);
    if (own == -1 || note_lock_file(own)) return own;
    close(own);
    return -1;
}

/* In a fork's child, the descriptor of its parent is closed already, and may be another file now. */
void kolk_between_close_(int fd) {
    if (fd >= 0 && forget_lock_file(fd)) close(fd);
}

static bool set_lock(int fd, uint32_t n, short kind) {
    struct flock lock = {.l_type = kind, .l_whence = SEEK_SET, .l_start = (off_t)n, .l_len = 1};
    return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

bool kolk_between_lock_(int fd, uint32_t n) {
    int before = errno;
    bool taken = set_lock(fd, n, F_WRLCK);
    errno = before;
    return taken;
}

void kolk_between_unlock_(int fd, uint32_t n) {
    set_lock(fd, n, F_UNLCK);
}

void *kolk_between_map_(int fd, size_t size, bool read_only) {
    void *start = mmap(NULL, size, read_only ? PROT_READ : PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return start == MAP_FAILED ? NULL : start;
}

void kolk_between_unmap_(void *start, size_t size) {
    munmap(start, size);
}

uint32_t kolk_between_number_(void) {
    return (uint32_t)getpid();
}

void kolk_between_name_(char name[16]) {
    const char *own = program_invocation_short_name;
    memset(name, 0, 16);
    if (own) memcpy(name, own, strnlen(own, 15));
}

#else

int kolk_between_make_(void) {
    return -1;
}

bool kolk_between_resize_(int fd, uint64_t size) {
    (void)fd, (void)size;
    return false;
}

uint64_t kolk_between_size_(int fd) {
    (void)fd;
    return 0;
}

bool kolk_between_is_sealed_(int fd) {
    (void)fd;
    return false;
}

int kolk_between_copy_(int fd) {
    (void)fd;
    return -1;
}

void kolk_between_drop_(int fd) {
    (void)fd;
}

int kolk_between_open_(int fd, bool *read_only) {
    (void)fd, (void)read_only;
    return -1;
}

void kolk_between_close_(int fd) {
    (void)fd;
}

void *kolk_between_map_(int fd, size_t size, bool read_only) {
    (void)fd, (void)size, (void)read_only;
    return NULL;
}

void kolk_between_unmap_(void *start, size_t size) {
    (void)start, (void)size;
}

bool kolk_between_lock_(int fd, uint32_t n) {
    (void)fd, (void)n;
    return false;
}

void kolk_between_unlock_(int fd, uint32_t n) {
    (void)fd, (void)n;
}

uint32_t kolk_between_number_(void) {
    return 0;
}

void kolk_between_name_(char name[16]) {
    name[0] = 0;
}

#endif

#endif
