/* thread.c: see thread.h. */
#include "system.h"

#include "kolk/base.h"

#include "thread.h"

#if KOLK_HOSTED

#if defined(_WIN32)
#include <windows.h>

uint32_t kolk_thread_(void) {
    return GetCurrentThreadId();
}

bool kolk_thread_is_gone_(uint32_t thread) {
    if (!thread) return false;
    HANDLE handle = OpenThread(SYNCHRONIZE, FALSE, thread);
    if (!handle) return GetLastError() == ERROR_INVALID_PARAMETER;
    bool gone = WaitForSingleObject(handle, 0) == WAIT_OBJECT_0;
    CloseHandle(handle);
    return gone;
}

uint32_t kolk_processor_(void) {
    return GetCurrentProcessorNumber();
}

#elif defined(__linux__)
#include "../base/assert.h"
#include "cancel.h"
#include "lock.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A thread's number has two parts. The upper bits are the fork count at the time when the thread first asked for its
 * number; the lower bits are the system's number of the thread at that time. In a fork's child the thread that forked
 * keeps its number, although the system now uses the process's number for it and may assign the old one to another
 * thread. The fork count distinguishes these two threads. */
#define NUMBER_BITS 22 /* the system's numbers are less than 1 << 22 (PID_MAX_LIMIT) */
static _Thread_local uint32_t my_number;
static uint32_t forked; /* the thread that forked last */
static pid_t process;   /* set at that fork; still the parent's after _Fork or clone, which run no handlers */

uint32_t kolk_thread_(void) {
    if (my_number) return my_number;
    uint32_t number = (uint32_t)syscall(SYS_gettid);
    KOLK_ASSERT_(number > 0);
    KOLK_ASSERT_(number >> NUMBER_BITS == 0);
    my_number = kolk_forks_now_() << NUMBER_BITS | number;
    return my_number;
}

uint32_t kolk_processor_(void) {
    return (uint32_t)sched_getcpu();
}

/* The system's number of a thread; 0, which no thread has, if the thread exists only in the parent of the last fork. */
static uint32_t system_number_of(uint32_t thread) {
    if (thread == forked) return (uint32_t)process;
    uint32_t here = kolk_forks_() << NUMBER_BITS;
    return thread >> NUMBER_BITS == here >> NUMBER_BITS ? thread - here : 0;
}

/* In a process that was created without running fork handlers, no thread is known. */
static bool is_known_thread(uint32_t thread) {
    return thread && getpid() == process;
}

bool kolk_thread_is_gone_(uint32_t thread) {
    if (!is_known_thread(thread)) return false;
    int before = errno;
    uint32_t number = system_number_of(thread);
    bool gone = !number || (syscall(SYS_tgkill, process, number, 0) != 0 && errno == ESRCH);
    errno = before;
    return gone;
}

#define EXITING   4u /* PF_EXITING, since Linux 2.4: the thread will not return from the kernel */
#define FLAGS_ARE 7  /* the number of spaces between the last parenthesis and the flags: proc(5) */

/* Reads what /proc has of a thread: as much as there is room for, and nothing if there is no such thread. */
static void read_of_task(uint32_t number, const char *what, char *text, size_t size) {
    char path[40];
    snprintf(path, sizeof path, "/proc/self/task/%u/%s", number, what);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? 0 : read(file, text, size - 1);
    if (file >= 0) close(file);
    text[length > 0 ? length : 0] = 0;
}

static bool is_exiting(uint32_t number) {
    char text[400];
    read_of_task(number, "stat", text, sizeof text);
    const char *at = strrchr(text, ')');
    for (int n = 0; at && n < FLAGS_ARE; n++) at = strchr(at + 1, ' ');
    return at && (strtoul(at, NULL, 10) & EXITING);
}

/* Ask /proc first: if the thread ends in between, kolk_thread_is_gone_ finds it gone. */
bool kolk_thread_has_ended_(uint32_t thread) {
    int before = errno, cancel = kolk_cancel_off_();
    bool exiting = is_known_thread(thread) && is_exiting(system_number_of(thread));
    kolk_cancel_restore_(cancel);
    errno = before;
    return exiting || kolk_thread_is_gone_(thread);
}

void kolk_thread_name_(uint32_t thread, char *name, size_t size) {
    KOLK_ASSERT_(size > 0);
    int before = errno, cancel = kolk_cancel_off_();
    read_of_task(is_known_thread(thread) ? system_number_of(thread) : 0, "comm", name, size);
    name[strcspn(name, "\n")] = 0;
    kolk_cancel_restore_(cancel);
    errno = before;
}

uint32_t kolk_thread_system_number_(uint32_t thread) {
    return thread ? system_number_of(thread) : 0;
}

static void remember_process(void) {
    forked = my_number;
    process = getpid();
}

__attribute__((constructor)) static void remember_process_in_forks(void) {
    remember_process();
    pthread_atfork(NULL, NULL, remember_process);
}

#else

uint32_t kolk_thread_(void) {
    return 0;
}

bool kolk_thread_is_gone_(uint32_t thread) {
    (void)thread;
    return false;
}

uint32_t kolk_processor_(void) {
    return 0;
}

#endif

#if !defined(__linux__)
bool kolk_thread_has_ended_(uint32_t thread) {
    return kolk_thread_is_gone_(thread);
}

void kolk_thread_name_(uint32_t thread, char *name, size_t size) {
    (void)thread, (void)size;
    *name = 0;
}

uint32_t kolk_thread_system_number_(uint32_t thread) {
    return thread;
}

#endif

const char *kolk_thread_own_name_(void) {
    static KOLK_THREAD_LOCAL_ char own_name[KOLK_THREAD_NAME_];
    static KOLK_THREAD_LOCAL_ bool has_asked;
    if (!has_asked) kolk_thread_name_(kolk_thread_(), own_name, sizeof own_name);
    has_asked = true;
    return own_name;
}

#endif
