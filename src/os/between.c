/* between.c: see between.h.
 *
 * The locks are open file description locks (fcntl(2), F_OFD_SETLK), one byte each. The system releases them when
 * nobody has the open file any more, neither a descriptor nor a mapping. So a lock is kept by a mapping that children
 * do not get (MADV_DONTFORK) and that ends with the process's memory: at any death, after its last instruction, and at
 * an exec. The descriptor is closed at once, so no child, and no program that closes all descriptors, can change that.
 * A fork waits until it is closed, because it takes the process's lock. */
#include "system.h"

#include "kolk/base.h"

#include "between.h"

#if KOLK_HOSTED

#if KOLK_BETWEEN_

#include "cancel.h"
#include "lock.h"
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

/* From <linux/memfd.h> and <fcntl.h>, for C libraries that lack them. */
#ifndef MFD_CLOEXEC
#define MFD_CLOEXEC       1u
#define MFD_ALLOW_SEALING 2u
#endif
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u
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
#define HUGETLBFS 0x958458f6 /* from <linux/magic.h> */

size_t kolk_between_page_(int fd) {
    struct statfs about;
    bool huge = fstatfs(fd, &about) == 0 && (uint32_t)about.f_type == HUGETLBFS;
    return huge ? (size_t)about.f_bsize : kolk_memory_page_();
}

/* Some systems demand that a file says that it is no program (vm.memfd_noexec), and old ones do not know that. */
int kolk_between_make_(void) {
    long fd = syscall(SYS_memfd_create, "kolk", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL) fd = syscall(SYS_memfd_create, "kolk", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    return (int)fd;
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
    int cancel = kolk_cancel_off_();
    close(fd);
    kolk_cancel_restore_(cancel);
}

kolk_access_ kolk_between_access_(int fd) {
    int flags = fcntl(fd, F_GETFL);
    if (flags == -1 || (flags & O_ACCMODE) == O_WRONLY) return KOLK_NO_ACCESS_;
    return (flags & O_ACCMODE) == O_RDONLY ? KOLK_ACCESS_TO_READ_ : KOLK_ACCESS_;
}

void *kolk_between_map_(int fd, size_t size, bool read_only) {
    void *start = mmap(NULL, size, read_only ? PROT_READ : PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return start == MAP_FAILED ? NULL : start;
}

void kolk_between_unmap_(void *start, size_t size) {
    munmap(start, size);
}

/* ---- Locks ------------------------------------------------------------------------------------------------------- */

uint64_t kolk_between_identity_(int fd) {
    struct stat about;
    if (fstat(fd, &about) != 0) return 0;
    return (uint64_t)about.st_dev * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)about.st_ino;
}

/* A thread that is cancelled in open or close must not take the process's lock with it. */
static int cancel_before; /* of the thread that has the lock */

static void begin_locking(void) {
    int cancel = kolk_cancel_off_();
    kolk_lock_();
    cancel_before = cancel;
}

static void end_locking(void) {
    int cancel = cancel_before;
    kolk_unlock_();
    kolk_cancel_restore_(cancel);
}

int kolk_between_open_(int fd, uint64_t identity) {
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    begin_locking();
    int opened = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (opened >= 0 && kolk_between_identity_(opened) == identity) return opened;
    if (opened >= 0) close(opened);
    end_locking();
    return -1;
}

bool kolk_between_lock_(int opened, uint32_t n) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)n, .l_len = 1};
    return fcntl(opened, F_OFD_SETLK, &lock) == 0;
}

void *kolk_between_keep_(int opened, size_t page) {
    void *kept = mmap(NULL, page, PROT_NONE, MAP_SHARED, opened, 0);
    bool failed = kept == MAP_FAILED || madvise(kept, page, MADV_DONTFORK) != 0;
    if (failed && kept != MAP_FAILED) munmap(kept, page);
    kolk_between_close_(opened);
    return failed ? NULL : kept;
}

void kolk_between_close_(int opened) {
    close(opened);
    end_locking();
}

void kolk_between_release_(void *kept, size_t page) {
    munmap(kept, page);
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

size_t kolk_between_page_(int fd) {
    (void)fd;
    return 1;
}

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

kolk_access_ kolk_between_access_(int fd) {
    (void)fd;
    return KOLK_NO_ACCESS_;
}

void *kolk_between_map_(int fd, size_t size, bool read_only) {
    (void)fd, (void)size, (void)read_only;
    return NULL;
}

void kolk_between_unmap_(void *start, size_t size) {
    (void)start, (void)size;
}

uint64_t kolk_between_identity_(int fd) {
    (void)fd;
    return 0;
}

int kolk_between_open_(int fd, uint64_t identity) {
    (void)fd, (void)identity;
    return -1;
}

bool kolk_between_lock_(int opened, uint32_t n) {
    (void)opened, (void)n;
    return false;
}

void *kolk_between_keep_(int opened, size_t page) {
    (void)opened, (void)page;
    return NULL;
}

void kolk_between_close_(int opened) {
    (void)opened;
}

void kolk_between_release_(void *kept, size_t page) {
    (void)kept, (void)page;
}

uint32_t kolk_between_number_(void) {
    return 0;
}

void kolk_between_name_(char name[16]) {
    name[0] = 0;
}

#endif

#endif
