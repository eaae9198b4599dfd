// row: use of a resource after its discard
#include "resource.h"

int main(void) {
    kolk_resource_pool links;
    open_links(&links, (kolk_resource_pool_desc){.max = 2});
    kolk_borrowed one = borrow(&links);
    unsigned char *resource = one.resource;
    __asm__ volatile("" : "+r"(resource));
    RIGHT(write_bytes(resource, SIZE));
    kolk_resource_discard(&links, &one);
    WRONG(write_bytes(resource, SIZE));
    close_links(&links);
    return end();
}
