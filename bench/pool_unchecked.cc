/* pool_unchecked.cc: compares kolk, without the double-free test and without handles, with boost::pool, which has
 * neither. This is a separate program because KOLK_CHECKS must be the same throughout a program: inline functions have
 * one body. */
#define KOLK_CHECKS 0
#include "churn.h"

int main(int argc, char **argv) {
    add<no_allocator>("loop");
    add<boost_pool>("boost");
    add<chapter_list>("chapter");
    add<kolk_typed<KOLK_GENERATIONS_NONE>>("kolk_typed_none");
    add<kolk_untyped<KOLK_REUSE_LIFO, KOLK_GENERATIONS_NONE>>("kolk_untyped_none");
    return measure(argc, argv);
}
