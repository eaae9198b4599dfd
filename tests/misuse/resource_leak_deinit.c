// row: never given back, up to deinit
#include "resource.h"

int main(void) {
    kolk_resource_pool links;
    open_links(&links, (kolk_resource_pool_desc){.max = 2});
    static kolk_borrowed one;
    one = borrow(&links);
    RIGHT(give(&links, &one));
    WRONG((void)one);
    close_links(&links);
    return end();
}
