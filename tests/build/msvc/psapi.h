/* What kolk uses of <psapi.h>. */
#ifndef PSAPI_H
#define PSAPI_H

typedef struct PSAPI_WORKING_SET_EX_INFORMATION {
    void *VirtualAddress;
    union {
        size_t Flags;
        struct {
            size_t Valid : 1;
        };
    } VirtualAttributes;
} PSAPI_WORKING_SET_EX_INFORMATION;

IMPORTED BOOL WINAPI QueryWorkingSetEx(HANDLE process, void *pages, DWORD size);

#endif
