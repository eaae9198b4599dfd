/* Few expensive things for many threads: 3 desks, 8 people. They stand in a queue: to pop one is to sit down, to push it is to
 * get up. Who finds none waits, as long as it likes, and is served first come, first served.
 *
 * A shared pool's alloc_wait waits too, but for memory: its capacity is what can be alive at least, and with its threads'
 * caches a little more. Where the number is what counts, keep the things in a queue. */
#include <kolk/kolk.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { DESKS = 3, PEOPLE = 8, VISITS = 500 };

struct desk {
    atomic_int people;   /* who sit at it: 1 at most */
    int visits;          /* needs no lock: who pops the desk sees what was written before it was pushed */
    char drawers[65536]; /* what makes it expensive */
};
KOLK_QUEUE_TYPE(room, struct desk *)

static struct desk desks[DESKS];
static room free_desks;
static atomic_int sitting, most, crowded, sent_home;

static void sit_down(struct desk *desk) {
    int now = ++sitting, before = most;
    if (++desk->people != 1) crowded++;
    while (now > before && !atomic_compare_exchange_weak(&most, &before, now)) {}
    desk->visits++;
}

static void get_up(struct desk *desk) {
    desk->people--;
    sitting--;
    room_push(&free_desks, &desk, KOLK_FOREVER); /* never waits: there is room for every desk */
}

static void *work(void *argument) {
    struct desk *desk;
    for (int n = 0; n < VISITS && room_pop(&free_desks, &desk, KOLK_FOREVER) == KOLK_OK; n++) {
        sit_down(desk);
        get_up(desk);
    }
    return argument;
}

static void *come_too_late(void *argument) {
    struct desk *desk;
    sent_home += room_pop(&free_desks, &desk, KOLK_FOREVER) == KOLK_SHUTDOWN;
    return argument;
}

static void for_all_people(void *(*act)(void *), pthread_t *people) {
    for (int n = 0; n < PEOPLE; n++)
        if (pthread_create(&people[n], NULL, act, NULL) != 0) exit(1);
}

int main(void) {
    pthread_t people[PEOPLE];
    struct desk *mine[DESKS], *another;
    if (room_init(&free_desks, &(kolk_queue_desc){.name = "desks", .capacity = DESKS}) != KOLK_OK) return 1;
    for (int n = 0; n < DESKS; n++) room_push(&free_desks, &(struct desk *){&desks[n]}, KOLK_FOREVER);
    for_all_people(work, people);
    for (int n = 0; n < PEOPLE; n++) pthread_join(people[n], NULL);
    printf("%d people sat down %d times, %s than %d at a time, %d times two at one desk\n", PEOPLE,
           desks[0].visits + desks[1].visits + desks[2].visits, most > DESKS ? "more" : "no more", DESKS, crowded);

    for (int n = 0; n < DESKS; n++) room_pop(&free_desks, &mine[n], KOLK_FOREVER);
    kolk_status status = room_pop(&free_desks, &another, kolk_deadline_after(10));
    printf("all are taken; after 10 milliseconds: %s\n", kolk_status_text(status));
    for_all_people(come_too_late, people);
    room_shutdown(&free_desks); /* closing time */
    for (int n = 0; n < PEOPLE; n++) pthread_join(people[n], NULL);
    printf("%d people waited for a desk and were told: %s\n", sent_home, kolk_status_text(KOLK_SHUTDOWN));
    room_deinit(&free_desks);
}
