// row: second give_back, at once
#include "resource.h"

int main(void) {
    kolk_resource_pool links;
    open_links(&links, (kolk_resource_pool_desc){.max = 2});
    kolk_borrowed one = borrow(&links);
    give(&links, &one);
    WRONG(give(&links, &one));
    close_links(&links);
    return end();
}
