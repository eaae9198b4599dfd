/* pool.cc: alloc and free, beside glibc malloc, mimalloc, jemalloc, boost::pool and the chapter's free list. */
#include "churn.h"

/* The row of glibc is glibc's only if no library that was loaded has taken malloc over. */
static void check_malloc_is_glibc() {
    Dl_info info = {};
    void *symbol = dlsym(RTLD_DEFAULT, "malloc");
    if (symbol && dladdr(symbol, &info) && info.dli_fname && std::strstr(info.dli_fname, "libc.so")) return;
    std::fprintf(stderr, "malloc is not glibc's but of %s\n", info.dli_fname ? info.dli_fname : "an unknown file");
    std::exit(1);
}

int main(int argc, char **argv) {
    add<no_allocator>("loop");
    add<glibc_malloc>("glibc");
    add<mimalloc>("mimalloc");
    add<jemalloc>("jemalloc");
    add<boost_pool>("boost");
    add<chapter_list>("chapter");
    add<kolk_typed<KOLK_GENERATIONS_RECYCLE>>("kolk_typed");
    add<kolk_typed<KOLK_GENERATIONS_NONE>>("kolk_typed_none");
    add<kolk_untyped<KOLK_REUSE_LIFO, KOLK_GENERATIONS_RECYCLE>>("kolk_untyped");
    add<kolk_untyped<KOLK_REUSE_LOWEST, KOLK_GENERATIONS_RECYCLE>>("kolk_lowest");
    add<kolk_untyped<KOLK_REUSE_FIFO, KOLK_GENERATIONS_RECYCLE>>("kolk_fifo");
    add<kolk_untyped<KOLK_REUSE_LIFO, KOLK_GENERATIONS_RECYCLE, true>>("kolk_ages");
    int status = measure(argc, argv);
    check_malloc_is_glibc();
    return status;
}
