/* ask_host.h: semihosting, an operation of the debugger, which is QEMU. */
#ifndef BENCH_DEVICE_ASK_HOST_H
#define BENCH_DEVICE_ASK_HOST_H

#include <stdint.h>

static inline void ask_host(uintptr_t operation, const void *argument) {
#ifdef __arm__
    register uintptr_t first __asm__("r0") = operation;
    register const void *second __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(first) : "r"(second) : "memory");
#else
    register uintptr_t first __asm__("a0") = operation;
    register const void *second __asm__("a1") = argument;
    __asm__ volatile(".balign 16\n\t.option push\n\t.option norvc\n\t"
                     "slli zero, zero, 0x1f\n\tebreak\n\tsrai zero, zero, 7\n\t.option pop"
                     : "+r"(first)
                     : "r"(second)
                     : "memory");
#endif
}

#endif
