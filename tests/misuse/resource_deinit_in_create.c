// row: deinit in create, of the same pool
#include "resource.h"

static kolk_resource_pool links;

static bool create_and_end(void *context, const char *key, kolk_deadline deadline, void **resource, kolk_error *error) {
    stage("deinit");
    WRONG(kolk_resource_deinit(&links));
    return create(context, key, deadline, resource, error);
}

int main(void) {
    open_links(&links, (kolk_resource_pool_desc){.max = 1, .create = create_and_end});
    kolk_borrowed one = borrow(&links);
    give(&links, &one);
    close_links(&links);
    return end();
}
