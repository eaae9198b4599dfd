// row: second give_back, another borrow in between
#include "resource.h"

int main(void) {
    kolk_resource_pool links;
    open_links(&links, (kolk_resource_pool_desc){.max = 2});
    kolk_borrowed one = borrow(&links);
    give(&links, &one);
    kolk_borrowed other = borrow(&links);
    WRONG(give(&links, &one));
    give(&links, &other);
    close_links(&links);
    return end();
}
