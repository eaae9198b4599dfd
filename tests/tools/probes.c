/* Makes every probe fire, and prints the arguments that each must have. Exits with 77 if the library was built without
 * probes. */
#include <kolk/kolk.h>

#include <inttypes.h>
#include <stdio.h>

static kolk_pool pool;

static void *alloc(void) {
    void *object = kolk_pool_alloc(&pool);
    if (object) printf("alloc sparks %p 40\n", object);
    return object;
}

int main(void) {
    if (!(kolk_features() & KOLK_HAS_PROBES)) return 77;
    kolk_pool_desc desc = {.name = "sparks", .object_size = 40, .capacity = 2, .max_capacity = 3};
    if (kolk_pool_init(&pool, &desc) != KOLK_OK) return 1;
    void *first = alloc();
    kolk_handle handle = kolk_pool_handle_of(&pool, first);
    alloc();
    puts("grow sparks 2 3");
    alloc();
    if (alloc()) return 1;
    puts("full sparks 3");
    kolk_pool_free(&pool, first);
    printf("free sparks %p\n", first);
    if (kolk_pool_get(&pool, handle)) return 1;
    printf("stale_handle sparks %" PRIx64 "\n", handle.bits);
    if (kolk_pool_get(&pool, (kolk_handle){0})) return 1; /* the null handle does not count as stale */
    return 0;
}
