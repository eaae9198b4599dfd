/* count.h: counts the instructions and the stack of calls on a Cortex-M4 or a RISC-V in QEMU, exactly. QEMU's clock
 * counts instructions (-icount): the RISC-V's register minstret has their number, and with shift=8 an instruction of
 * the Cortex-M4 takes 256 ns, so that SysTick, at 25 MHz, tells each from the next. The stack is painted before a call;
 * afterwards the paint shows how deep the call went. */
#ifndef BENCH_DEVICE_COUNT_H
#define BENCH_DEVICE_COUNT_H

#include <kolk/kolk.h>

#include "ask_host.h"

#define SYSTICK ((volatile uint32_t *)0xe000e010) /* control, reload, value: ARMv7-M, B3.3 */

enum { STACK = 64, DEEP_STACK = 256, PAINT = 0x5a5a5a5a }; /* words that are painted; what is in them */

typedef struct figure {
    bool deep;                                 /* such as an init: paint more */
    uint32_t calls, instructions, most, stack; /* most instructions of a call, and most bytes of stack */
} figure;

static uint32_t overhead; /* instructions of `measure` itself */

#ifdef __arm__
static inline uint32_t read_clock(void) {
    return SYSTICK[2]; /* it counts down */
}

static inline uint32_t instructions_between(uint32_t begin, uint32_t end) {
    return (((begin - end) & 0xffffff) * 40 + 128) / 256;
}

static inline volatile uint32_t *stack_here(void) {
    volatile uint32_t *here;
    __asm__ volatile("mov %0, sp" : "=r"(here));
    return here;
}
#else
static inline uint32_t read_clock(void) {
    uint32_t now;
    __asm__ volatile(".option push\n\t.option arch, +zicsr\n\tcsrr %0, minstret\n\t.option pop" : "=r"(now)::"memory");
    return now;
}

static inline uint32_t instructions_between(uint32_t begin, uint32_t end) {
    return end - begin;
}

static inline volatile uint32_t *stack_here(void) {
    volatile uint32_t *here;
    __asm__ volatile("mv %0, sp" : "=r"(here));
    return here;
}
#endif

/* Adds a call to the figure: `usual` if it counts for the average, otherwise only for the maxima. */
static __attribute__((noinline)) void measure(figure *of, void (*call)(void), bool usual) {
    uint32_t words = of->deep ? DEEP_STACK : STACK, clean = 0;
    volatile uint32_t *bottom = stack_here() - words;
    for (uint32_t i = 0; i < words; i++) bottom[i] = PAINT;
    uint32_t begin = read_clock();
    call();
    uint32_t count = instructions_between(begin, read_clock()) - overhead;
    while (clean < words && bottom[clean] == PAINT) clean++;
    uint32_t depth = clean ? (words - clean) * (uint32_t)sizeof *bottom : UINT32_MAX;
    if (usual) of->calls++, of->instructions += count;
    if (count > of->most) of->most = count;
    if (depth > of->stack) of->stack = depth;
}

static void call_nothing(void) {}

static void call_hundred(void) {
    __asm__ volatile(".rept 100\n\tnop\n\t.endr");
}

/* Starts the clock. Returns false if it does not count exactly. */
static bool start_count(void) {
#ifdef __arm__
    SYSTICK[1] = 0xffffff;
    SYSTICK[2] = 0;
    SYSTICK[0] = 5; /* on, by the processor's clock */
#endif
    figure nothing = {0}, hundred = {0};
    measure(&nothing, call_nothing, true);
    overhead = nothing.most;
    for (int i = 0; i < 100; i++) {
        measure(&hundred, call_hundred, true);
        if (hundred.most != 100 || hundred.instructions != 100 * hundred.calls || hundred.stack) return false;
    }
    return true;
}

static void print(const char *text) {
    ask_host(4, text); /* SYS_WRITE0 */
}

static void print_number(uint32_t number) {
    char digits[12];
    char *digit = digits + sizeof digits - 1;
    *digit = 0;
    do *--digit = (char)('0' + number % 10);
    while (number /= 10);
    print(digit);
}

/* Prints a line of bench/device.sh: a name and a number. */
static void print_line(const char *name, uint32_t number) {
    print(name);
    print(" ");
    print_number(number);
    print("\n");
}

/* Prints a line: a name, and sum / n with one decimal place, rounded up. */
static inline void print_tenths(const char *name, size_t sum, uint32_t n) {
    uint32_t tenths = ((uint32_t)sum * 10 + n - 1) / n;
    print(name);
    print(" ");
    print_number(tenths / 10);
    print(".");
    print_number(tenths % 10);
    print("\n");
}

/* Prints a line: a name, instructions on average and at most, bytes of stack. */
static void print_figure(const char *name, const figure *of) {
    print(name);
    print(" ");
    print_number(of->calls ? (of->instructions + of->calls / 2) / of->calls : 0);
    print(" ");
    print_number(of->most);
    print(" ");
    print_number(of->stack);
    print("\n");
}

static uint32_t random_state = 1;

static inline uint32_t draw(uint32_t below) {
    random_state = random_state * 1664525 + 1013904223;
    return (random_state >> 8) % below;
}

#endif
