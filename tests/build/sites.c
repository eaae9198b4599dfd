/* Prints where two of its own calls and a function of the library are. Before that, it may delete or replace its own
 * file, or change its working directory. Usage: sites [delete | replace FILE | leave] */
#include "kolk/base.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static NOINLINE const void *here(void) {
    return __builtin_return_address(0);
}

static NOINLINE const void *aim(void) {
    const void *site = here(); /* in aim */
    __asm__ volatile("");
    return site;
}

const void *fire(void);
NOINLINE const void *fire(void) {
    const void *site = here(); /* in fire */
    __asm__ volatile("");
    return site;
}

int main(int count, char **arguments) {
    const char *wish = count > 1 ? arguments[1] : "";
    if (strcmp(wish, "delete") == 0 && unlink(arguments[0]) != 0) return 1;
    if (strcmp(wish, "replace") == 0 && rename(arguments[2], arguments[0]) != 0) return 1;
    if (strcmp(wish, "leave") == 0 && chdir("/") != 0) return 1;
    const char *status_text;
    const char *(*function)(kolk_status) = kolk_status_text;
    memcpy(&status_text, &function, sizeof function);
    const void *sites[] = {aim(), fire(), status_text + 1};
    for (int i = 0; i < 3; i++) {
        char text[200];
        puts(kolk_site_text(sites[i], true, text, sizeof text));
    }
    return 0;
}
