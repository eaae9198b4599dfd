/* The functions of Windows that kolk calls, as <windows.h> declares them. */
#ifndef WINDOWS_H
#define WINDOWS_H

#define WINAPI __stdcall
typedef int BOOL;
typedef unsigned char BOOLEAN;
typedef unsigned long DWORD;
typedef size_t SIZE_T;
typedef void *HANDLE, *LPVOID;
typedef struct HINSTANCE__ *HMODULE;
typedef ptrdiff_t(WINAPI *FARPROC)(void);
typedef union LARGE_INTEGER {
    __int64 QuadPart;
} LARGE_INTEGER;
typedef struct _FILETIME {
    DWORD dwLowDateTime, dwHighDateTime;
} FILETIME;
typedef struct SYSTEM_INFO {
    DWORD dwOemId, dwPageSize;
    LPVOID lpMinimumApplicationAddress, lpMaximumApplicationAddress;
    size_t dwActiveProcessorMask;
    DWORD dwNumberOfProcessors, dwProcessorType, dwAllocationGranularity;
    unsigned short wProcessorLevel, wProcessorRevision;
} SYSTEM_INFO;
typedef struct SRWLOCK {
    void *Ptr;
} SRWLOCK;
typedef struct CONDITION_VARIABLE {
    void *Ptr;
} CONDITION_VARIABLE;
typedef DWORD(WINAPI *LPTHREAD_START_ROUTINE)(LPVOID argument);
typedef void(WINAPI *PFLS_CALLBACK_FUNCTION)(LPVOID value);

#define GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS       4
#define GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT 2

#define TRUE                      1
#define FALSE                     0
#define MAX_PATH                  260
#define INFINITE                  0xffffffff
#define WAIT_OBJECT_0             0
#define SYNCHRONIZE               0x100000
#define ERROR_INVALID_PARAMETER   87
#define FLS_OUT_OF_INDEXES        ((DWORD)0xffffffff)
#define MEM_COMMIT                0x1000
#define MEM_RESERVE               0x2000
#define MEM_DECOMMIT              0x4000
#define MEM_RELEASE               0x8000
#define PAGE_NOACCESS             1
#define PAGE_READWRITE            4
#define MOVEFILE_REPLACE_EXISTING 1
#define SRWLOCK_INIT                                                                                                   \
    { 0 }
#define CONDITION_VARIABLE_INIT                                                                                        \
    { 0 }

#define IMPORTED __declspec(dllimport)
IMPORTED void WINAPI AcquireSRWLockExclusive(SRWLOCK *lock);
IMPORTED BOOL WINAPI CloseHandle(HANDLE handle);
IMPORTED HANDLE WINAPI CreateThread(void *attributes, SIZE_T stack, LPTHREAD_START_ROUTINE start, LPVOID argument,
                                    DWORD flags, DWORD *number);
IMPORTED DWORD WINAPI FlsAlloc(PFLS_CALLBACK_FUNCTION end);
IMPORTED BOOL WINAPI FlsFree(DWORD index);
IMPORTED void *WINAPI FlsGetValue(DWORD index);
IMPORTED BOOL WINAPI FlsSetValue(DWORD index, void *value);
IMPORTED HANDLE WINAPI GetCurrentProcess(void);
IMPORTED DWORD WINAPI GetCurrentThreadId(void);
IMPORTED DWORD WINAPI GetLastError(void);
IMPORTED DWORD WINAPI GetModuleFileNameA(HMODULE module, char *name, DWORD size);
IMPORTED HMODULE WINAPI GetModuleHandleA(const char *name);
IMPORTED BOOL WINAPI GetModuleHandleExA(DWORD flags, const char *name, HMODULE *module);
IMPORTED FARPROC WINAPI GetProcAddress(HMODULE module, const char *name);
IMPORTED void WINAPI GetSystemInfo(SYSTEM_INFO *info);
IMPORTED void WINAPI GetSystemTimeAsFileTime(FILETIME *time);
IMPORTED BOOL WINAPI MoveFileExA(const char *from, const char *to, DWORD flags);
IMPORTED HANDLE WINAPI OpenThread(DWORD access, BOOL inherits, DWORD number);
IMPORTED BOOL WINAPI QueryPerformanceCounter(LARGE_INTEGER *count);
IMPORTED BOOL WINAPI QueryPerformanceFrequency(LARGE_INTEGER *frequency);
IMPORTED BOOL WINAPI ReadProcessMemory(HANDLE process, const void *from, void *to, SIZE_T size, SIZE_T *done);
IMPORTED void WINAPI ReleaseSRWLockExclusive(SRWLOCK *lock);
IMPORTED BOOL WINAPI SleepConditionVariableSRW(CONDITION_VARIABLE *bell, SRWLOCK *lock, DWORD milliseconds,
                                               DWORD flags);
IMPORTED BOOL WINAPI SwitchToThread(void);
IMPORTED LPVOID WINAPI VirtualAlloc(LPVOID start, SIZE_T size, DWORD type, DWORD protection);
IMPORTED BOOL WINAPI VirtualFree(LPVOID start, SIZE_T size, DWORD type);
IMPORTED DWORD WINAPI WaitForSingleObject(HANDLE handle, DWORD milliseconds);
IMPORTED void WINAPI WakeAllConditionVariable(CONDITION_VARIABLE *bell);

#endif
