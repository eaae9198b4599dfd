/* bits.c: what tests/ipc/bits.sh compiles with 32 and with 64 bits. The first program makes a pool and executes the
 * second; both push and pop, and the one that is killed is recovered by the other.
 * Usage: bits OTHER first|second      makes the pool; the second or the first is killed
 *        bits FD first|second         is the other program */
#include "kolk/kolk.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define REQUIRE(what)                                                                                                  \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            fprintf(stderr, "%s:%d: not so with %u bits: %s\n", __FILE__, __LINE__, 8 * (unsigned)sizeof(void *),      \
                    #what);                                                                                            \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

enum { CAPACITY = 100, HELD = 7, MESSAGES = 20000 };

typedef struct message { /* of the same layout with 32 bits, which would align these to 4 bytes */
    KOLK_ALIGNAS(8) uint64_t number;
    KOLK_ALIGNAS(8) kolk_handle self;
    uint32_t word, spare;
} message;

KOLK_IPC_TYPE(messages, message)

static void fill(message *it, uint64_t number) {
    it->number = number;
    it->word = (uint32_t)number * 7;
}

static message *take(messages *pool, uint32_t queue, uint64_t number) {
    message *it = messages_pop(pool, queue, KOLK_FOREVER);
    REQUIRE(it && it->number == number && it->word == (uint32_t)number * 7);
    return it;
}

/* Sends its own messages through queue `to`, and takes the other's out of queue `from`. Both have to run. */
static void exchange(messages *pool, uint32_t to, uint32_t from) {
    for (uint64_t number = 0; number < MESSAGES; number++) {
        message *it = messages_alloc_wait(pool, KOLK_FOREVER);
        REQUIRE(it);
        fill(it, number);
        it->self = messages_handle_of(pool, it).untyped;
        REQUIRE(messages_push(pool, to, it, KOLK_FOREVER) == KOLK_OK);
        it = take(pool, from, number);
        REQUIRE(messages_get(pool, (messages_handle){it->self}) == it);
        messages_free(pool, it);
    }
}

/* Holds some objects, tells the other by a message behind which two more are queued, and dies. */
static void hold_and_die(messages *pool, uint32_t to) {
    for (int n = 0; n < HELD; n++) fill(messages_alloc_wait(pool, KOLK_FOREVER), 0);
    for (uint64_t number = 1; number <= 3; number++) {
        message *it = messages_alloc_wait(pool, KOLK_FOREVER);
        fill(it, number);
        REQUIRE(messages_push(pool, to, it, KOLK_FOREVER) == KOLK_OK);
    }
    raise(SIGKILL);
}

static void recover(messages *pool, uint32_t from) {
    for (uint64_t number = 1; number <= 3; number++) messages_free(pool, take(pool, from, number));
    for (uint32_t found = 0; found < HELD; found += messages_recover(pool)) usleep(1000);
    REQUIRE(messages_count(pool) == 0 && messages_is_valid(pool));
    uint32_t n = 0;
    while (messages_alloc(pool)) n++;
    REQUIRE(n == CAPACITY);
    printf("%u bits have recovered the other\n", 8 * (unsigned)sizeof(void *));
}

static int be_second(int fd, bool dies) {
    messages pool = {0};
    REQUIRE(messages_attach(&pool, fd, &(kolk_ipc_desc){.queues = 2}) == KOLK_OK);
    exchange(&pool, 1, 0);
    if (dies) hold_and_die(&pool, 1);
    recover(&pool, 0);
    messages_deinit(&pool);
    return 0;
}

static int be_first(const char *other, const char *victim) {
    messages pool = {0};
    char number[16];
    int status;
    REQUIRE(messages_init(&pool, &(kolk_ipc_desc){.name = "bits", .capacity = CAPACITY, .queues = 2}) == KOLK_OK);
    snprintf(number, sizeof number, "%d", messages_fd(&pool));
    pid_t child = fork();
    if (child == 0) {
        fcntl(messages_fd(&pool), F_SETFD, 0);
        execl(other, other, number, victim, (char *)NULL);
        _exit(1);
    }
    exchange(&pool, 0, 1);
    if (strcmp(victim, "first") == 0) hold_and_die(&pool, 0);
    recover(&pool, 1);
    REQUIRE(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    messages_deinit(&pool);
    return 0;
}

int main(int argc, char **argv) {
    alarm(300);
    if (argc != 3) return 2;
    int fd = atoi(argv[1]);
    return fd > 0 ? be_second(fd, strcmp(argv[2], "second") == 0) : be_first(argv[1], argv[2]);
}
