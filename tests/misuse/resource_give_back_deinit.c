// row: give_back after deinit
#include "resource.h"

int main(void) {
    kolk_resource_pool links;
    open_links(&links, (kolk_resource_pool_desc){.max = 2});
    kolk_borrowed one = borrow(&links);
    RIGHT(give(&links, &one));
    close_links(&links);
    WRONG(give(&links, &one));
    return end();
}
