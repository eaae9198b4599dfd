/* posix.c: see posix.h, sys/mman.h. */
#include "posix.h"

#include <signal.h>
#include <windows.h>

#include <psapi.h>

#include "sys/mman.h"

pid_t fork(void) {
    return -1;
}

pid_t vfork(void) {
    return fork();
}

pid_t waitpid(pid_t child, int *status, int options) {
    (void)child, (void)status, (void)options;
    return -1;
}

int unshare(int what) {
    (void)what;
    return -1;
}

/* ---- The environment, limits ------------------------------------------------------------------------------------- */

int setenv(const char *name, const char *value, int replaces) {
    if (!replaces && getenv(name)) return 0;
    return _putenv_s(name, value);
}

int unsetenv(const char *name) {
    return _putenv_s(name, "");
}

long sysconf(int name) {
    SYSTEM_INFO info;
    (void)name;
    GetSystemInfo(&info);
    return (long)info.dwPageSize;
}

bool use_one_core(bool only_one) {
    DWORD_PTR own, all;
    if (!GetProcessAffinityMask(GetCurrentProcess(), &own, &all)) return false;
    return SetProcessAffinityMask(GetCurrentProcess(), only_one ? all & (~all + 1) : all);
}

/* ---- Ends -------------------------------------------------------------------------------------------------------- */

static void end_by_signal(int signal) {
    TerminateProcess(GetCurrentProcess(), KOLK_SIGNAL | (UINT)signal);
}

static LONG WINAPI end_by_crash(EXCEPTION_POINTERS *crash) {
    (void)crash;
    end_by_signal(SIGSEGV);
    return EXCEPTION_CONTINUE_SEARCH;
}

void end_at_crashes(void) {
    SetUnhandledExceptionFilter(end_by_crash);
    signal(SIGABRT, end_by_signal);
}

int sigaction(int signal_number, const struct sigaction *now, struct sigaction *before) {
    void (*last)(int) = signal(signal_number, now->sa_handler);
    if (last == SIG_ERR) return -1;
    if (before) before->sa_handler = last;
    return 0;
}

static DWORD WINAPI end_in_time(void *seconds) {
    Sleep((DWORD)(uintptr_t)seconds * 1000);
    end_by_signal(SIGALRM);
    return 0;
}

unsigned alarm(unsigned seconds) {
    static HANDLE clock;
    if (clock) TerminateThread(clock, 0);
    clock = seconds ? CreateThread(NULL, 0, end_in_time, (void *)(uintptr_t)seconds, 0, NULL) : NULL;
    return 0;
}

/* ---- Pages ------------------------------------------------------------------------------------------------------- */

static DWORD access_of(int protection) {
    if (protection & PROT_WRITE) return PAGE_READWRITE;
    return protection & PROT_READ ? PAGE_READONLY : PAGE_NOACCESS;
}

void *mmap(void *start, size_t size, int protection, int flags, int file, long long offset) {
    (void)file, (void)offset;
    if (flags & MAP_FIXED) VirtualFree(start, size, MEM_DECOMMIT);
    void *made =
        VirtualAlloc(start, size, flags & MAP_FIXED ? MEM_COMMIT : MEM_RESERVE | MEM_COMMIT, access_of(protection));
    return made ? made : MAP_FAILED;
}

int mprotect(void *start, size_t size, int protection) {
    DWORD before;
    return VirtualProtect(start, size, access_of(protection), &before) ? 0 : -1;
}

int munmap(void *start, size_t size) {
    (void)size;
    return VirtualFree(start, 0, MEM_RELEASE) ? 0 : -1;
}

int mincore(void *start, size_t size, unsigned char *states) {
    PSAPI_WORKING_SET_EX_INFORMATION pages[512]; /* wine opens a file for each call */
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t done = 0; done * page < size;) {
        DWORD count = 0;
        for (; count < sizeof pages / sizeof *pages && (done + count) * page < size; count++)
            pages[count].VirtualAddress = (char *)start + (done + count) * page;
        if (!QueryWorkingSetEx(GetCurrentProcess(), pages, count * (DWORD)sizeof *pages)) return -1;
        for (DWORD n = 0; n < count; n++) states[done++] = pages[n].VirtualAttributes.Valid;
    }
    return 0;
}
