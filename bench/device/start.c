/* The start of a program on a Cortex-M or a RISC-V with 32 bits without an operating system. It reports its exit code
 * to QEMU (-semihosting): 0 if main returns 0. If a failure traps, as kolk's default handler does on a device, it
 * reports 99. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "ask_host.h"

extern char data_from[], data_begin[], data_size[], bss_begin[], bss_size[]; /* arm.ld, riscv.ld */

int main(void);
void start(void);
void trapped(void);

static void end_program(uintptr_t code) {
    const uintptr_t reason[2] = {0x20026, code}; /* ADP_Stopped_ApplicationExit */
    ask_host(0x20, reason);
    for (;;) {}
}

__attribute__((used)) void start(void) {
    memcpy(data_begin, data_from, (size_t)data_size);
    memset(bss_begin, 0, (size_t)bss_size);
    end_program((uintptr_t)main());
}

__attribute__((used, aligned(4))) void trapped(void) {
    end_program(99);
}

#ifdef __arm__
__attribute__((weak)) void tick(void); /* a program's handler of SysTick */

__attribute__((section(".vectors"), used)) static const uintptr_t vectors[16] = {
    0x20400000,         (uintptr_t)start,   (uintptr_t)trapped, (uintptr_t)trapped,
    (uintptr_t)trapped, (uintptr_t)trapped, (uintptr_t)trapped, [15] = (uintptr_t)tick,
};
#else
__asm__(".section .vectors, \"ax\"\n\t"
        ".option arch, +zicsr\n\t"
        "la t0, trapped\n\t"
        "csrw mtvec, t0\n\t"
        "la sp, stack_end\n\t"
        "j start\n\t"
        ".text");
#endif
