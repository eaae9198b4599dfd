// row: not given back for longer than leak_after_ms
#include "resource.h"

#include <unistd.h>

int main(void) {
    kolk_resource_pool links;
    open_links(&links, (kolk_resource_pool_desc){.max = 2, .leak_after_ms = 10});
    kolk_borrowed one = borrow(&links);
    RIGHT(give(&links, &one));
    WRONG(usleep(20000));
    stage("tick");
    kolk_resource_tick(&links, KOLK_FOREVER);
    WRONG(give(&links, &one));
    close_links(&links);
    return end();
}
