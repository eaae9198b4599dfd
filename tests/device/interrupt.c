/* interrupt.c: a pool that an interrupt handler and the main loop share, on a Cortex-M4: the pattern of docs/device.md.
 * SysTick, every 320 instructions, is a radio that receives a packet. The main loop handles and frees packets, and
 * sends some of its own. Returns 0 if no packet was lost or mixed up. With -DUNPROTECTED the interrupts stay on, and
 * the program must fail. */
#include <kolk/kolk.h>

#define SYSTICK ((volatile uint32_t *)0xe000e010) /* control, reload, value: ARMv7-M, B3.3 */

enum { PACKETS = 8, INTERRUPTS = 20000 };

struct packet {
    uint32_t number, inverse;
};
KOLK_POOL_TYPE(packets, struct packet)

static KOLK_POOL_STORAGE(struct packet, PACKETS) memory;
static packets pool;

/* What was received: the handler moves `received`, the main loop moves `handled`. */
static struct packet *ring[PACKETS];
static volatile uint32_t received, handled, dropped;

#ifdef UNPROTECTED
static uint32_t disable(void) {
    return 0;
}

static void enable(uint32_t before) {
    (void)before;
}
#else
/* Turns interrupts off, and returns what `enable` needs to turn them on again if they were on. */
static uint32_t disable(void) {
    uint32_t before;
    __asm__ volatile("mrs %0, primask\n\tcpsid i" : "=r"(before)::"memory");
    return before;
}

static void enable(uint32_t before) {
    __asm__ volatile("msr primask, %0" ::"r"(before) : "memory");
}
#endif

int main(void);
void tick(void);

/* The handler of SysTick. The main loop cannot interrupt it, so it turns nothing off. */
void tick(void) {
    struct packet *packet = packets_alloc(&pool);
    if (!packet) {
        dropped++;
        return;
    }
    *packet = (struct packet){.number = received, .inverse = ~received};
    ring[received % PACKETS] = packet;
    __asm__ volatile("" ::: "memory"); /* main reads the ring once `received` says so */
    received++;
}

static struct packet *alloc_in_main(void) {
    uint32_t before = disable();
    struct packet *packet = packets_alloc(&pool);
    enable(before);
    return packet;
}

static void free_in_main(struct packet *packet) {
    uint32_t before = disable();
    packets_free(&pool, packet);
    enable(before);
}

/* Sends a packet of its own, whose bytes must not change meanwhile. */
static bool send(uint32_t number) {
    struct packet *packet = alloc_in_main();
    if (!packet) return true;
    *packet = (struct packet){.number = number, .inverse = number + 1};
    for (volatile uint32_t n = number % 29; n > 0; n--) {}
    bool same = packet->number == number && packet->inverse == number + 1;
    free_in_main(packet);
    return same;
}

int main(void) {
    kolk_pool_desc desc = {.name = "packets", .capacity = PACKETS, .memory = &memory, .memory_size = sizeof memory};
    if (packets_init(&pool, &desc) != KOLK_OK) return 1;
    SYSTICK[1] = 7; /* 8 ticks of 40 instructions */
    SYSTICK[2] = 0;
    SYSTICK[0] = 7; /* on, with interrupts, by the processor's clock */
    while (received + dropped < INTERRUPTS) {
        if (!send(received)) return 2;
        if (handled == received) continue;
        struct packet *packet = ring[handled % PACKETS];
        if (packet->number != handled || packet->inverse != ~handled) return 3;
        free_in_main(packet);
        handled = handled + 1;
    }
    SYSTICK[0] = 0;
    for (; handled != received; handled = handled + 1) packets_free(&pool, ring[handled % PACKETS]);
    bool some = received > INTERRUPTS / 4;
    return some && packets_count(&pool) == 0 && kolk_pool_is_valid(&pool.pool) ? 0 : 4;
}
