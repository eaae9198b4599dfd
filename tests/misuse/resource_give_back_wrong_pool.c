// row: give_back to another pool
#include "resource.h"

int main(void) {
    kolk_resource_pool links, others;
    open_links(&links, (kolk_resource_pool_desc){.max = 2});
    open_links(&others, (kolk_resource_pool_desc){.name = "others"});
    kolk_borrowed one = borrow(&links);
    WRONG(give(&others, &one));
    give(&links, &one);
    close_links(&others);
    close_links(&links);
    return end();
}
