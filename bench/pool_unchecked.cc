/* pool_unchecked.cc: kolk with no double-free test and no handles, beside boost::pool, which has neither. A program of
 * its own because KOLK_CHECKS is one for a program: inline functions have one body. */
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
