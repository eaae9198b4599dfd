/* A resource pool: borrow, give back. */
#include <kolk/kolk.h>

static bool create(void *context, const char *key, kolk_deadline deadline, void **resource, kolk_error *error) {
    (void)key, (void)deadline, (void)error;
    *resource = context;
    return true;
}

static void destroy(void *context, void *resource) {
    (void)context, (void)resource;
}

KOLK_RESOURCE_TYPE(numbers, int)

int main(void) {
    int number = 3;
    numbers pool;
    numbers_borrowed borrowed;
    kolk_resource_pool_desc desc = {
        .name = "numbers", .create = create, .destroy = destroy, .context = &number, .max = 1, .no_housekeeper = true};
    if (numbers_init(&pool, &desc) != KOLK_OK) return 1;
    if (numbers_borrow(&pool, &(kolk_borrow_desc){.deadline = KOLK_FOREVER}, &borrowed) != KOLK_OK) return 2;
    int found = *numbers_resource_of(&borrowed);
    numbers_give_back(&pool, &borrowed);
    numbers_deinit(&pool);
    return found == 3 ? 0 : 3;
}
