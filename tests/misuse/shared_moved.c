// row: local_init of a pool that was moved
// only: kolk
#define SHARED 1
#include "misuse.h"

#include <string.h>

static kolk_shared here, there;

static kolk_shared *moved(void) {
    memcpy(&there, &here, sizeof there);
    memset(&here, 0xe5, sizeof here);
    return &there;
}

static void begin_local(kolk_shared_local *local, kolk_shared *items) {
    stage("local_init");
    if (kolk_shared_local_init(local, items) != KOLK_OK) exit(1);
}

int main(void) {
    kolk_shared *items = &here;
    kolk_shared_local local;
    if (kolk_shared_init(items, &(kolk_shared_desc){.name = "items", .object_size = SIZE, .capacity = 100})) exit(1);
    WRONG(items = moved());
    begin_local(&local, items);
    kolk_shared_free(&local, kolk_shared_alloc(&local));
    kolk_shared_local_deinit(&local);
    kolk_shared_deinit(items);
    return end();
}
