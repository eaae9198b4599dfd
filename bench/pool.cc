/* pool.cc: compares alloc and free with glibc malloc, mimalloc, jemalloc, boost::pool and the chapter's free list.
 * promise: pool.h "no system call, no lock", "free take one step for each factor of 64"; base.h "Without these settings
 * nothing costs more"; typed.h "each function ... stride is a constant"; README.md "take a third to a half of malloc's
 * time", "Nanoseconds for one ... | 1,000,000 |" */
#include "churn.h"

int main(int argc, char **argv) {
    add<no_allocator>("loop");
    add<unbounded<glibc_malloc>>("glibc");
    add<unbounded<mimalloc>>("mimalloc");
    add<unbounded<jemalloc>>("jemalloc");
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
