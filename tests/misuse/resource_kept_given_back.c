// row: use of a resource after its give_back
#include "resource.h"

int main(void) {
    kolk_resource_pool links;
    open_links(&links, (kolk_resource_pool_desc){.max = 2});
    kolk_borrowed one = borrow(&links);
    void *resource = one.resource;
    RIGHT(write_bytes(resource, SIZE));
    give(&links, &one);
    WRONG(write_bytes(resource, SIZE));
    close_links(&links);
    return end();
}
