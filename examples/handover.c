/* Objects of a pool go to another thread and come back without being copied, because only their pointers go through a
 * queue.
 *
 * Only one thread at a time may use a kolk_pool. So the painter may read and write the pictures that it gets, but must
 * not free them or look up handles: another call into the pool may be running. It sends them back through a second
 * queue, and their owner frees them. No other synchronisation is needed: all writes before a push are visible after the
 * pop. (If several threads allocate, or if you do not want a second queue, use a shared pool as in workers.c.) */
#include "kolk.h"
#include <pthread.h>
#include <stdio.h>

enum { SLOTS = 4, FRAMES = 1000, PIXELS = 4096 };

struct picture {
    int frame;
    long checksum;
    unsigned char pixels[PIXELS];
};
KOLK_POOL_TYPE(pictures, struct picture)
KOLK_QUEUE_TYPE(mail, struct picture *)

static mail to_paint, painted;

static void *paint(void *argument) {
    for (struct picture *picture; mail_pop(&to_paint, &picture, KOLK_FOREVER) == KOLK_OK;) {
        picture->checksum = 0;
        for (int n = 0; n < PIXELS; n++) {
            picture->pixels[n] = (unsigned char)(picture->frame + n);
            picture->checksum += picture->pixels[n];
        }
        mail_push(&painted, &picture, KOLK_FOREVER); /* never waits: all pictures fit */
    }
    mail_close(&painted); /* no more pictures will come */
    return argument;
}

int main(void) {
    pictures pool;
    pthread_t painter;
    int frames = 0;
    long checksum = 0;
    kolk_queue_desc queues = {.name = "pictures", .capacity = SLOTS};
    if (pictures_init(&pool, &(kolk_pool_desc){.name = "pictures", .capacity = SLOTS}) != KOLK_OK) return 1;
    if (mail_init(&to_paint, &queues) != KOLK_OK || mail_init(&painted, &queues) != KOLK_OK) return 1;
    if (pthread_create(&painter, NULL, paint, NULL) != 0) return 1;

    for (struct picture *picture = NULL; frames < FRAMES || pictures_count(&pool) > 0;) {
        if (frames < FRAMES && (picture = pictures_alloc(&pool)) != NULL) {
            picture->frame = frames++;
            mail_push(&to_paint, &picture, KOLK_FOREVER);
            continue;
        }
        if (mail_pop(&painted, &picture, KOLK_FOREVER) != KOLK_OK) return 1; /* all are with the painter */
        checksum += picture->checksum;
        pictures_free(&pool, picture);
    }
    mail_close(&to_paint);
    pthread_join(painter, NULL);
    printf("%d pictures in %u slots, painted by another thread, none was copied; checksum %ld\n", frames,
           pool.pool.capacity, checksum);
    printf("%u pictures are still on their way\n", pictures_count(&pool));
    mail_deinit(&to_paint);
    mail_deinit(&painted);
    pictures_deinit(&pool);
}
