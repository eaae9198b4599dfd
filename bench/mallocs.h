/* mallocs.h: glibc's malloc, and others that are loaded so that none of them replaces the malloc of the process. */
#ifndef KOLK_BENCH_MALLOCS_H
#define KOLK_BENCH_MALLOCS_H

#include "measure.h"

#include <dlfcn.h>

#include <cstring>
#include <string>

constexpr size_t object_size = 64;

struct thing {
    uint64_t words[object_size / 8];
};

struct glibc_malloc {
    std::string error; /* always empty */
    void *alloc(size_t size = object_size) { return std::malloc(size); }
    void free(void *memory) { std::free(memory); }
};

/* Another malloc, from a library loaded with RTLD_LOCAL, so that it does not become the malloc of the process. */
struct loaded_malloc {
    void *(*alloc_function)(size_t) = nullptr;
    void (*free_function)(void *) = nullptr;
    std::string error; /* why it cannot be used; empty if it can */

    loaded_malloc(const char *library, const char *alloc_name, const char *free_name) {
        void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
        if (handle) {
            alloc_function = reinterpret_cast<void *(*)(size_t)>(dlsym(handle, alloc_name));
            free_function = reinterpret_cast<void (*)(void *)>(dlsym(handle, free_name));
        }
        if (!alloc_function || !free_function) error = dlerror();
    }
    void *alloc(size_t size = object_size) { return alloc_function(size); }
    void free(void *memory) { free_function(memory); }
};

struct mimalloc : loaded_malloc {
    mimalloc() : loaded_malloc("libmimalloc.so.2", "mi_malloc", "mi_free") {}
};

struct jemalloc : loaded_malloc {
    jemalloc() : loaded_malloc("libjemalloc.so.2", "malloc", "free") {}
};

struct tcmalloc : loaded_malloc {
    tcmalloc() : loaded_malloc("libtcmalloc_minimal.so.4", "tc_malloc", "tc_free") {}
};

/* Fails if a loaded library has replaced malloc, because the row of glibc would then not be glibc's. */
inline void check_malloc_is_glibc() {
    Dl_info info = {};
    void *symbol = dlsym(RTLD_DEFAULT, "malloc");
    if (symbol && dladdr(symbol, &info) && info.dli_fname && std::strstr(info.dli_fname, "libc.so")) return;
    std::fprintf(stderr, "malloc is not glibc's but of %s\n", info.dli_fname ? info.dli_fname : "an unknown file");
    std::exit(1);
}

#endif
