/* A program that frees an object twice, through wrappers, three calls below main, and leaks another. An optimising
 * compiler inlines these static functions. stacks.sh finds the lines by their comments. */
#include "kolk/kolk.h"

struct message {
    int words[10];
};
KOLK_POOL_TYPE(messages, struct message)

#ifndef ALLOC
#define ALLOC messages_alloc /* or another typed function */
#endif

static messages pool;
static struct message *last;
static int count;

static void message_drop(struct message *message) {
    count--;
    messages_free(&pool, message); /* in message_drop */
}

static struct message *message_new(void) {
    count++;
    return ALLOC(&pool); /* in message_new */
}

static void time_out(void) {
    message_drop(last); /* in time_out */
    count += 2;
}

static void post(void) {
    last = message_new(); /* in post */
    count += 3;
}

static void tick(int n) {
    if (n == 0)
        post(); /* in tick, the first */
    else
        time_out(); /* in tick, later */
    count += n;
}

int main(void) {
    messages_init(&pool, &(kolk_pool_desc){.name = "messages", .capacity = 20});
    for (int n = 0; n < 3; n++) tick(n); /* in main */
    return count;
}
