/* The process that top.sh and top.py look into: sessions creep, the only ticket is taken and a thread waits for it,
 * requests come and go. With an argument, there is a pool between processes, too. Says "ready" when all of that has
 * begun. */
#define _DEFAULT_SOURCE /* usleep */
#include <kolk/kolk.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct session {
    char text[200];
} session;

KOLK_POOL_TYPE(sessions, session)
KOLK_SHARED_TYPE(requests, session)
KOLK_SHARED_TYPE(tickets, session)

static sessions all;
static requests served;
static tickets only;

static void *wait_for_a_ticket(void *unused) {
    (void)unused;
    tickets_local local;
    if (tickets_local_init(&local, &only) != KOLK_OK || tickets_alloc_wait(&local, KOLK_FOREVER)) exit(1);
    return NULL;
}

static bool somebody_waits(void) {
    kolk_stats stats;
    tickets_stats(&only, &stats);
    return stats.waiting == 1;
}

static void have_frames(void) {
    static kolk_ipc frames;
    if (kolk_ipc_init(&frames, &(kolk_ipc_desc){.name = "frames", .object_size = 8, .capacity = 9}) != KOLK_OK) exit(1);
    for (int i = 0; i < 3; i++)
        if (!kolk_ipc_alloc(&frames)) exit(1);
}

int main(int argc, char **argv) {
    (void)argv;
    if (argc > 1) have_frames();
    const kolk_pool_desc many = {.name = "sessions", .capacity = 100, .max_capacity = 1000000};
    const kolk_shared_desc some = {.name = "requests", .capacity = 100},
                           one = {.name = "ti\033[2Jckets", .capacity = 1};
    requests_local requests_of_main;
    tickets_local tickets_of_main;
    pthread_t waiter;
    if (sessions_init(&all, &many) != KOLK_OK || requests_init(&served, &some) != KOLK_OK ||
        tickets_init(&only, &one) != KOLK_OK || requests_local_init(&requests_of_main, &served) != KOLK_OK ||
        tickets_local_init(&tickets_of_main, &only) != KOLK_OK || !tickets_alloc(&tickets_of_main) ||
        pthread_create(&waiter, NULL, wait_for_a_ticket, NULL) != 0)
        return 1;
    while (!somebody_waits()) usleep(1000);
    puts("ready");
    fflush(stdout);
    for (;;) {
        session *request = requests_alloc(&requests_of_main);
        if (!request || !sessions_alloc(&all)) return 1;
        requests_free(&requests_of_main, request);
        usleep(2000);
    }
}
