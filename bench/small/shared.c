/* A pool for many threads: a local, alloc, free. */
#include <kolk/kolk.h>

KOLK_SHARED_TYPE(numbers, int)

int main(void) {
    numbers pool;
    numbers_local local;
    if (numbers_init(&pool, &(kolk_shared_desc){.name = "numbers", .capacity = 32}) != KOLK_OK) return 1;
    if (numbers_local_init(&local, &pool) != KOLK_OK) return 2;
    int *number = numbers_alloc(&local);
    if (!number) return 3;
    numbers_free(&local, number);
    numbers_local_deinit(&local);
    numbers_deinit(&pool);
    return 0;
}
