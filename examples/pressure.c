/* A program that gives memory back in time: when its own budget passes a mark, and when the system reports that it runs
 * short of memory (Linux: pressure stall information, /proc/pressure/memory; for a service of its own, its control
 * group's memory.pressure). Both wake the same poll. Usage: pressure [FILE], where FILE is the report to watch. */
#define _POSIX_C_SOURCE 200809L
#include "kolk.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct picture {
    int number;
    unsigned char pixels[128][128][4];
} picture;

KOLK_POOL_TYPE(pictures, picture)

static int bell[2]; /* a pipe */

/* Called in the middle of an alloc, so it only writes a byte. */
static void ring(kolk_budget *budget, void *context) {
    (void)budget, (void)context;
    if (write(bell[1], "!", 1) < 0) return; /* the pipe is full: it rings already */
}

static kolk_budget memory = {.limit = 64 << 20, .mark = 32 << 20, .on_mark = ring};
static pictures cache;

/* The system reports when threads have waited for memory for 100 ms within a second. Returns -1 where it cannot. */
static int watch(const char *path) {
    static const char trigger[] = "some 100000 1000000";
    int file = open(path, O_RDWR | O_NONBLOCK);
    if (file < 0) return -1;
    if (write(file, trigger, sizeof trigger) >= 0) return file;
    close(file);
    return -1;
}

/* Keeps the hundred newest pictures. */
static void give_memory_back(void) {
    while (pictures_count(&cache) > 100) pictures_free(&cache, pictures_oldest(&cache));
    size_t bytes = kolk_trim_all() + pictures_tick(&cache, 1000);
    printf("%u pictures are left; %s\n", pictures_count(&cache),
           bytes > 16 << 20 ? "more than 16 MiB went back to the system" : "little went back");
}

/* Waits for a mark or for memory pressure, and gives memory back. `timeout` is in milliseconds. */
static void look_around(int pressure, int timeout) {
    struct pollfd files[] = {{.fd = bell[0], .events = POLLIN}, {.fd = pressure, .events = POLLPRI}};
    char rings[64];
    if (poll(files, 2, timeout) <= 0) return;
    if (files[0].revents & POLLIN && read(bell[0], rings, sizeof rings) > 0) printf("the mark is passed\n");
    if (files[1].revents & POLLPRI) printf("the system runs short of memory\n");
    give_memory_back();
}

int main(int argc, char **argv) {
    int pressure = watch(argc > 1 ? argv[1] : "/proc/pressure/memory"); /* poll ignores -1 */
    if (pipe(bell) != 0) return 1;
    fcntl(bell[1], F_SETFL, O_NONBLOCK);
    kolk_pool_desc desc = {.name = "pictures", .max_capacity = 10000, .ages = true, .budget = &memory};
    if (pictures_init(&cache, &desc) != KOLK_OK) return 1;
    for (int n = 0; n < 1000; n++) {
        picture *one = pictures_alloc(&cache);
        if (!one) return fprintf(stderr, "no memory is left for picture %d\n", n), 1;
        one->number = n;
        memset(one->pixels, 255, sizeof one->pixels);
        look_around(pressure, 0);
    }
    printf("a thousand pictures came, and %s than 64 MiB were enough\n",
           kolk_budget_used(&memory) < memory.limit ? "less" : "no less");
    pictures_clear(&cache);
    pictures_deinit(&cache);
    printf("%llu bytes are in use\n", (unsigned long long)kolk_budget_used(&memory));
    return 0;
}

/* runs: not:wine */
