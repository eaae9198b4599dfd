/* environment.c: see environment.h. */
#include "system.h"

#include "kolk/base.h"

#include "environment.h"

#if KOLK_HOSTED

#include <stdlib.h>
#include <string.h>

#if defined(__linux__)
#include <sys/auxv.h>
#endif
#ifndef _WIN32
#include <unistd.h>
#endif

/* On Linux, the kernel decides when the program starts, so it is asked only once. */
bool kolk_has_more_rights_(void) {
#if defined(_WIN32)
    return false;
#elif defined(__linux__)
    static uint8_t known; /* 1: no, 2: yes */
    uint8_t answer = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (!answer) {
        answer = getauxval(AT_SECURE) ? 2 : 1;
        __atomic_store_n(&known, answer, __ATOMIC_RELAXED);
    }
    return answer == 2;
#else
    return getuid() != geteuid() || getgid() != getegid();
#endif
}

const char *kolk_environment_(const char *name) {
    return kolk_has_more_rights_() ? NULL : getenv(name);
}

bool kolk_environment_may_have_(void) {
#if defined(__linux__)
    for (char *const *at = environ; at && *at; at++)
        if ((*at)[0] == 'K' && strncmp(*at, "KOLK_", sizeof "KOLK_" - 1) == 0) return true;
    return false;
#else
    return true;
#endif
}

#endif
