// row: free by a local that is deinit'd
// only: kolk
#define SHARED 1
#include "misuse.h"

static void free_by(kolk_shared_local *local, void *object) {
    __asm__ volatile("" : "+r"(object));
    kolk_shared_free(local, object);
}

int main(void) {
    pool items;
    kolk_shared_local other;
    open_pool(&items, "items");
    if (kolk_shared_local_init(&other, &items.shared) != KOLK_OK) exit(1);
    unsigned char *item = take(&items);
    RIGHT(free_by(&other, item));
    kolk_shared_local_deinit(&other);
    WRONG(free_by(&other, item));
    close_pool(&items);
    return end();
}
