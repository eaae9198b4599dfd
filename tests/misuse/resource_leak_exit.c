// row: never given back, up to exit
#include "resource.h"

int main(void) {
    static kolk_resource_pool links;
    static kolk_borrowed one;
    open_links(&links, (kolk_resource_pool_desc){.max = 2});
    one = borrow(&links);
    RIGHT(give(&links, &one));
    RIGHT(close_links(&links));
    WRONG((void)one);
    return end();
}
