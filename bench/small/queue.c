/* A queue: push and pop. */
#include <kolk/kolk.h>

KOLK_QUEUE_TYPE(numbers, int)

int main(void) {
    numbers queue;
    int number = 3;
    if (numbers_init(&queue, &(kolk_queue_desc){.name = "numbers", .capacity = 32}) != KOLK_OK) return 1;
    if (numbers_push(&queue, &number, KOLK_NOW) != KOLK_OK) return 2;
    number = 0;
    if (numbers_pop(&queue, &number, KOLK_NOW) != KOLK_OK) return 3;
    numbers_deinit(&queue);
    return number == 3 ? 0 : 4;
}
