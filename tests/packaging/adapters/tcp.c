/* The smallest program that needs kolk and its adapter for TCP. */
#include <kolk/tcp.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    kolk_tcp links;
    kolk_borrowed borrow;
    kolk_borrow_desc wish = {.key = "nowhere", .deadline = kolk_deadline_after(30000)};
    if (kolk_tcp_init(&links, &(kolk_tcp_desc){.pool.max = 1}) != KOLK_OK) return 1;
    bool works = kolk_resource_borrow(&links.pool, &wish, &borrow) == KOLK_NOT_CREATED &&
                 strcmp(borrow.error.text, "nowhere: an address is host:port, [host]:port or unix:/path") == 0;
    kolk_tcp_deinit(&links);
    puts(works ? "kolk works with TCP" : "kolk does not work with TCP");
    return works ? 0 : 1;
}
