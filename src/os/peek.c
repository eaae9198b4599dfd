/* peek.c: see peek.h. On Linux, it reads the process's own memory with process_vm_readv, as if it were another
 * process's. Where that is not allowed, and on other POSIX systems, the bytes go through a pipe: write reports EFAULT
 * where a direct read would raise a signal. */
#include "system.h"

#include "kolk/base.h"

#include "peek.h"

#if KOLK_HOSTED

#ifndef __linux__
static size_t peek_words_as_another(uintptr_t *to, const uintptr_t *const *from, size_t n) {
    (void)to, (void)from, (void)n;
    return 0;
}

#endif

#ifdef _WIN32

#include <windows.h>

bool kolk_peek_(void *to, const void *from, size_t size) {
    SIZE_T done = 0;
    return ReadProcessMemory(GetCurrentProcess(), from, to, size, &done) && done == size;
}

#else

#include "cancel.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#ifdef __linux__

#include <sys/syscall.h>
#include <sys/uio.h>

/* Make these system calls directly, because sanitizers check the arguments of libc's functions. The sixth argument must
 * be a long: syscall reads longs, and a compiler may leave garbage above an int on the stack. */
#define OPEN_PIPE(ends)          syscall(SYS_pipe2, ends, O_CLOEXEC)
#define WRITE_TO(fd, from, size) syscall(SYS_write, fd, from, size)

static long read_memory_of(int64_t process, void *to, const void *from, size_t size) {
    struct iovec local = {to, size}, remote = {(void *)(uintptr_t)from, size};
    return syscall(SYS_process_vm_readv, (long)process, &local, 1L, &remote, 1L, 0L);
}

bool kolk_peek_of_(int64_t process, void *to, const void *from, size_t size) {
    return read_memory_of(process, to, from, size) == (long)size;
}

/* Returns 1 if it copied the bytes, 0 if they cannot be read, -1 if the system forbids or lacks the call. */
static int peek_as_another(void *to, const void *from, size_t size) {
    long done = read_memory_of(getpid(), to, from, size);
    if (done >= 0) return done == (long)size;
    return errno == EFAULT ? 0 : -1;
}

#define WORDS_AT_ONCE 16u

/* Copies the first words, until one cannot be read. Returns how many.
 * NOLINTNEXTLINE(readability-non-const-parameter): the words are written */
static size_t peek_words_as_another(uintptr_t *to, const uintptr_t *const *from, size_t n) {
    struct iovec local = {to, 0}, remote[WORDS_AT_ONCE];
    size_t words = n < WORDS_AT_ONCE ? n : WORDS_AT_ONCE;
    for (size_t i = 0; i < words; i++) remote[i] = (struct iovec){(void *)(uintptr_t)from[i], sizeof *to};
    local.iov_len = words * sizeof *to;
    int error = errno;
    long done = syscall(SYS_process_vm_readv, (long)getpid(), &local, 1L, remote, words, 0L);
    errno = error;
    return done < 0 ? 0 : (size_t)done / sizeof *to;
}

#else

#define OPEN_PIPE(ends)          pipe(ends)
#define WRITE_TO(fd, from, size) write(fd, from, size)

static int peek_as_another(void *to, const void *from, size_t size) {
    (void)to, (void)from, (void)size;
    return -1;
}

#endif

#define PIPE_STEP 512u /* bytes that fit into any pipe */

static bool peek_by_pipe(unsigned char *to, uintptr_t from, size_t size) {
    int ends[2];
    if (OPEN_PIPE(ends) != 0) return false;
    size_t done = 0;
    while (done < size) {
        size_t step = size - done < PIPE_STEP ? size - done : PIPE_STEP;
        const void *at = (const void *)(from + done);
        if (WRITE_TO(ends[1], at, step) != (long)step || read(ends[0], to + done, step) != (long)step) break;
        done += step;
    }
    close(ends[0]);
    close(ends[1]);
    return done == size;
}

bool kolk_peek_(void *to, const void *from, size_t size) {
    int error = errno, cancel = kolk_cancel_off_();
    int done = peek_as_another(to, from, size);
    if (done < 0) done = peek_by_pipe((unsigned char *)to, (uintptr_t)from, size);
    kolk_cancel_restore_(cancel);
    errno = error;
    return done;
}

#endif

void kolk_peek_words_(uintptr_t *to, const uintptr_t *const *from, size_t n) {
    for (size_t at = 0; at < n;) {
        size_t done = peek_words_as_another(to + at, from + at, n - at);
        if (done == 0 && !kolk_peek_(to + at, from[at], sizeof *to)) to[at] = 0;
        at += done ? done : 1;
    }
}

#endif
