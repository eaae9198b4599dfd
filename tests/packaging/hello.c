/* The smallest program that needs the headers and the library: one object is allocated, found by its handle, sent
 * through a queue, which needs the system's threads, and freed. */
#include <kolk/kolk.h>
#include <stdio.h>

struct hello {
    int number;
};

KOLK_POOL_TYPE(hellos, struct hello)
KOLK_QUEUE_TYPE(mail, struct hello)

static bool send_through_a_queue(void) {
    mail queue;
    struct hello sent = {.number = 42}, received = {.number = 0};
    if (mail_init(&queue, &(kolk_queue_desc){.name = "mail", .capacity = 1}) != KOLK_OK) return false;
    mail_push(&queue, &sent, KOLK_FOREVER);
    mail_pop(&queue, &received, KOLK_FOREVER);
    bool waits = mail_pop(&queue, &received, kolk_deadline_after(1)) == KOLK_TIMEOUT;
    mail_deinit(&queue);
    return waits && received.number == 42;
}

int main(void) {
    hellos pool;
    if (hellos_init(&pool, &(kolk_pool_desc){.name = "hellos", .capacity = 8}) != KOLK_OK) return 1;
    struct hello *hello = hellos_alloc(&pool);
    if (!hello) return 1;
    *hello = (struct hello){.number = 42};
    hellos_handle handle = hellos_handle_of(&pool, hello);
    bool found = hellos_get(&pool, handle) == hello;
    hellos_free(&pool, hello);
    bool gone = !hellos_get(&pool, handle);
    hellos_deinit(&pool);
    bool works = found && gone && send_through_a_queue();
    puts(works ? "kolk works" : "kolk does not work");
    return works ? 0 : 1;
}
