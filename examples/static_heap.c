/* Messages of any length on a device without an operating system: a heap in static memory, whose size the compiler
 * knows. A gateway keeps each message until it is acknowledged: many are short, a few are long. If no tray has room,
 * the oldest message has to go. Everything above main compiles with -ffreestanding -nostdlib, together with the
 * library. main exists only where there is a place to print. */
#include "kolk.h"

static const kolk_heap_class trays[] = {
    {.name = "short", .size = 32, .capacity = 24},
    {.name = "usual", .size = 96, .capacity = 8},
    {.name = "long", .size = 512, .capacity = 2},
};
static KOLK_ALIGNAS(16) unsigned char memory[KOLK_HEAP_BYTES + KOLK_HEAP_TRAY_BYTES(32, 24) +
                                             KOLK_HEAP_TRAY_BYTES(96, 8) + KOLK_HEAP_TRAY_BYTES(512, 2)];
static kolk_heap heap;

struct message {
    struct message *next; /* the one that came after it */
    uint16_t number, length;
    uint8_t bytes[];
};
static struct message *oldest, **end = &oldest;
static uint32_t dropped;

/* The functions that the rest of the firmware calls. */
bool gateway_start(void);
bool gateway_receive(uint16_t number, const uint8_t *bytes, uint16_t length);
bool gateway_acknowledge(uint16_t number);
uint32_t gateway_dropped(void);

static void remove_message(struct message **at) {
    struct message *gone = *at;
    *at = gone->next;
    if (end == &gone->next) end = at;
    kolk_heap_free(&heap, gone);
}

/* Makes room by dropping the oldest message whose block is large enough. */
static bool drop_oldest(kolk_heap *full, size_t size, void *context) {
    (void)context;
    for (struct message **at = &oldest; *at; at = &(*at)->next)
        if (kolk_heap_usable_size(full, *at) >= size) {
            remove_message(at);
            dropped++;
            return true;
        }
    return false;
}

bool gateway_start(void) {
    kolk_heap_desc desc = {.name = "messages",
                           .classes = trays,
                           .n_classes = 3,
                           .memory = memory,
                           .memory_size = sizeof memory,
                           .on_full = drop_oldest};
    return kolk_heap_init(&heap, &desc) == KOLK_OK;
}

/* Returns false if the message is longer than all trays. */
bool gateway_receive(uint16_t number, const uint8_t *bytes, uint16_t length) {
    struct message *message = kolk_heap_alloc(&heap, sizeof *message + length);
    if (!message) return false;
    message->next = NULL;
    message->number = number;
    message->length = length;
    for (uint16_t n = 0; n < length; n++) message->bytes[n] = bytes[n];
    *end = message;
    end = &message->next;
    return true;
}

bool gateway_acknowledge(uint16_t number) {
    struct message **at = &oldest;
    while (*at && (*at)->number != number) at = &(*at)->next;
    if (!*at) return false;
    remove_message(at);
    return true;
}

uint32_t gateway_dropped(void) {
    return dropped;
}

#if __STDC_HOSTED__
#include <stdio.h>

int main(void) {
    static const uint8_t bytes[600] = {0};
    if (!gateway_start()) return 1;
    for (uint16_t number = 0; number < 40; number++)
        gateway_receive(number, bytes, (uint16_t)(number % 10 == 9 ? 400 : number % 3 * 8));
    printf("40 messages, %u dropped\n", gateway_dropped());
    printf("message 39: %s\n", gateway_acknowledge(39) ? "acknowledged" : "unknown");
    printf("message 9: %s\n", gateway_acknowledge(9) ? "acknowledged" : "unknown");
    printf("600 bytes: %s\n", gateway_receive(40, bytes, 600) ? "received" : "too long");

    kolk_heap_class_stats tray;
    for (uint32_t n = 0; kolk_heap_stats_of_class(&heap, n, &tray); n++)
        printf("%s: at most %u of %u\n", tray.stats.name, tray.stats.peak, tray.stats.capacity);
}
#endif
