// row: borrow in a fork's child
#include "resource.h"

#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    kolk_resource_pool links;
    kolk_borrowed one;
    open_links(&links, (kolk_resource_pool_desc){.max = 2});
    pid_t child = fork();
    if (child == 0) {
        WRONG(one = borrow(&links));
        _exit(0);
    }
    RIGHT(one = borrow(&links));
    RIGHT(give(&links, &one));
    waitpid(child, NULL, 0);
    close_links(&links);
    return end();
}
