/* A few expensive things for many threads: 3 desks for 8 people. A shared pool of 3 has no caches, so there are exactly
 * 3 desks. A thread that finds none waits, for as long as it takes, and waiters are served in order. A desk keeps the
 * contents of its drawers from one user to the next: alloc does not change an object's bytes. */
#include "kolk.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { DESKS = 3, PEOPLE = 8, VISITS = 500 };

struct desk {
    atomic_int people;   /* at this desk: 1 at most */
    int visits;          /* needs no lock, because each user sees all writes of the previous one */
    char drawers[65536]; /* what makes it expensive */
};
KOLK_SHARED_TYPE(room, struct desk)

static room desks;
static atomic_int sitting, most, crowded;

static struct desk *sit_down(room_local *local) {
    struct desk *desk = room_alloc_wait(local, KOLK_FOREVER);
    int now = ++sitting, before = most;
    if (++desk->people != 1) crowded++;
    while (now > before && !atomic_compare_exchange_weak(&most, &before, now)) {}
    desk->visits++;
    return desk;
}

static void get_up(room_local *local, struct desk *desk) {
    desk->people--;
    sitting--;
    room_free(local, desk);
}

static void *work(void *argument) {
    room_local *local = room_local_of_thread(&desks); /* it ends with the thread */
    if (!local) exit(1);
    for (int n = 0; n < VISITS; n++) get_up(local, sit_down(local));
    return argument;
}

int main(void) {
    pthread_t people[PEOPLE];
    if (room_init(&desks, &(kolk_shared_desc){.name = "desks", .capacity = DESKS}) != KOLK_OK) return 1;
    for (int n = 0; n < PEOPLE; n++)
        if (pthread_create(&people[n], NULL, work, NULL) != 0) return 1;
    for (int n = 0; n < PEOPLE; n++) pthread_join(people[n], NULL);

    room_local *local = room_local_of_thread(&desks);
    if (!local) return 1;
    int visits = 0;
    for (int n = 0; n < DESKS; n++) visits += sit_down(local)->visits - 1;
    printf("%d people sat down %d times, %s than %d at a time, %d times two at one desk\n", PEOPLE, visits,
           most > DESKS ? "more" : "no more", DESKS, crowded);
    struct desk *another = room_alloc_wait(local, kolk_deadline_after(10));
    printf("all are taken; after 10 milliseconds: %s\n", another ? "a fourth" : "none");
    room_deinit(&desks);
}
