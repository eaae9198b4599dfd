/* device_count.h: for programs that count instructions on a Cortex-M4 under QEMU: with -icount shift=0 an instruction
 * takes a nanosecond, and SysTick counts 25 MHz. */
#ifndef TESTS_DEVICE_COUNT_H
#define TESTS_DEVICE_COUNT_H

#include <stdint.h>

#define SYSTICK             ((volatile uint32_t *)0xe000e010) /* control, reload, value: ARMv7-M, B3.3 */
#define INSTRUCTIONS_A_TICK 40u

static void start_ticks(void) {
    SYSTICK[1] = 0xffffff;
    SYSTICK[2] = 0;
    SYSTICK[0] = 5; /* on, by the processor's clock */
}

static uint32_t now_in_ticks(void) {
    return SYSTICK[2]; /* it counts down */
}

static uint32_t ticks_since(uint32_t begin) {
    return (begin - SYSTICK[2]) & 0xffffff;
}

static void print(const char *text) {
    register uintptr_t r0 __asm__("r0") = 4; /* SYS_WRITE0 of semihosting */
    register const char *r1 __asm__("r1") = text;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

static void print_number(uint32_t number) {
    char digits[12];
    char *digit = digits + sizeof digits - 1;
    *digit = 0;
    do *--digit = (char)('0' + number % 10);
    while (number /= 10);
    print(digit);
}

#endif
