/* The start of a program on a Cortex-M4 without an operating system. It reports its exit code to QEMU (-semihosting): 0
 * if main returns 0. If a failure traps, as kolk's default handler does on a device, it reports none. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

extern char data_from[], data_begin[], data_size[], bss_begin[], bss_size[]; /* device.ld */

int main(void);
void start(void);
void trapped(void);
__attribute__((weak)) void tick(void); /* a program's handler of SysTick */

/* Semihosting: an operation of the debugger. */
static void ask_host(uintptr_t operation, const void *argument) {
    register uintptr_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

static void end_program(uintptr_t code) {
    const uintptr_t reason[2] = {0x20026, code}; /* ADP_Stopped_ApplicationExit */
    ask_host(0x20, reason);
    for (;;) {}
}

void start(void) {
    memcpy(data_begin, data_from, (size_t)data_size);
    memset(bss_begin, 0, (size_t)bss_size);
    end_program((uintptr_t)main());
}

void trapped(void) {
    end_program(99);
}

__attribute__((section(".vectors"), used)) static const uintptr_t vectors[16] = {
    0x20400000,         (uintptr_t)start,   (uintptr_t)trapped, (uintptr_t)trapped,
    (uintptr_t)trapped, (uintptr_t)trapped, (uintptr_t)trapped, [15] = (uintptr_t)tick,
};
