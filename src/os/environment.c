/* environment.c: see environment.h. */
#include "system.h"

#include "kolk/base.h"

#include "environment.h"

#if KOLK_HOSTED

#include <stdlib.h>

#if defined(__linux__)
#include <sys/auxv.h>
#elif !defined(_WIN32)
#include <unistd.h>
#endif

bool kolk_has_more_rights_(void) {
#if defined(_WIN32)
    return false;
#elif defined(__linux__)
    return getauxval(AT_SECURE);
#else
    return getuid() != geteuid() || getgid() != getegid();
#endif
}

const char *kolk_environment_(const char *name) {
    return kolk_has_more_rights_() ? NULL : getenv(name);
}

#endif
