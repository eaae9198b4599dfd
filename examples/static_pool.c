/* A pool on a device without a heap, a libc or an operating system: it holds a radio's packets in static memory, whose
 * size the compiler knows. Everything above main compiles with -ffreestanding -nostdlib, together with the library, and
 * then needs only memcpy, memmove, memset and memcmp. main exists only where there is a place to print. */
#include "kolk.h"

struct packet {
    uint8_t length, bytes[31];
};
KOLK_POOL_TYPE(packets, struct packet)

enum { PACKETS = 16 };
static KOLK_POOL_STORAGE(struct packet, PACKETS) memory; /* the macro is a type: add `static`, a section and so on */
_Static_assert(KOLK_HOSTED || sizeof memory <= 16 * 32 + 16 * 10, "on devices, 10 bytes beside each of 16 packets");

static packets pool;

/* The functions that the rest of the firmware calls. */
bool radio_start(void);
bool radio_receive(const uint8_t *bytes, uint8_t length);
uint32_t radio_handle_all(void);
uint32_t radio_room(void);

bool radio_start(void) {
    kolk_pool_desc desc = {.name = "packets", .capacity = PACKETS, .memory = &memory, .memory_size = sizeof memory};
    return packets_init(&pool, &desc) == KOLK_OK;
}

/* If the pool is full or the packet is too long, drops it, as radios do, and returns false. */
bool radio_receive(const uint8_t *bytes, uint8_t length) {
    struct packet *packet = length <= sizeof packet->bytes ? packets_alloc(&pool) : NULL;
    if (!packet) return false;
    packet->length = length;
    for (uint8_t n = 0; n < length; n++) packet->bytes[n] = bytes[n];
    return true;
}

/* Returns the sum of all bytes that were received. */
uint32_t radio_handle_all(void) {
    uint32_t sum = 0;
    KOLK_EACH(packets, packet, &pool) {
        for (uint8_t n = 0; n < packet->length; n++) sum += packet->bytes[n];
        packets_free(&pool, packet);
    }
    return sum;
}

uint32_t radio_room(void) {
    return packets_available(&pool);
}

#if __STDC_HOSTED__
#include <stdio.h>

int main(void) {
    static const uint8_t bytes[40] = {1, 2, 3, 4};
    if (!radio_start()) return 1;
    printf("room for %u packets\n", radio_room());

    printf("4 bytes: %s\n", radio_receive(bytes, 4) ? "received" : "dropped");
    printf("40 bytes: %s\n", radio_receive(bytes, 40) ? "received" : "dropped");
    uint32_t more = 0;
    while (radio_receive(bytes, 4)) more++;
    printf("%u more, then the next one is dropped\n", more);

    printf("the bytes add up to %u\n", radio_handle_all());
    printf("room for %u packets\n", radio_room());
}
#endif
