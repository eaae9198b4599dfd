/* base.c: what every pool shares: sentences for statuses, and the way of a failure to its handler. */
#include "kolk/base.h"

#include "fail.h"

#include <stdarg.h>

#if __STDC_HOSTED__
#include <stdio.h>
#include <stdlib.h>
#endif

const char *kolk_status_text(kolk_status status) {
    switch (status) {
#define KOLK_STATUS_CASE(name, sentence)                                                                               \
    case name:                                                                                                         \
        return sentence;
        KOLK_STATUS_LIST(KOLK_STATUS_CASE)
#undef KOLK_STATUS_CASE
    }
    return "not a status of kolk";
}

/* ---- Failures -------------------------------------------------------------------------------------------------- */

static void print_and_abort(const kolk_failure *failure, void *context) {
    (void)context;
#if __STDC_HOSTED__
    fprintf(stderr, "%s\n", failure->sentence);
    abort();
#else
    (void)failure;
    __builtin_trap();
#endif
}

static void (*failure_handler)(const kolk_failure *failure, void *context) = print_and_abort;
static void *failure_context;

void kolk_set_failure_handler(void (*handler)(const kolk_failure *failure, void *context), void *context) {
    failure_handler = handler ? handler : print_and_abort;
    failure_context = context;
}

/* Text that is cut where it gets too long; without libc, so that freestanding programs have sentences too. */
typedef struct text {
    char bytes[256];
    size_t length;
} text;

static void put(text *out, const char *string) {
    while (*string && out->length + 1 < sizeof out->bytes) out->bytes[out->length++] = *string++;
    out->bytes[out->length] = 0;
}

static void put_number(text *out, uint64_t number) {
    char digits[21];
    char *digit = digits + sizeof digits - 1;
    *digit = 0;
    do *--digit = (char)('0' + number % 10);
    while (number /= 10);
    put(out, digit);
}

void kolk_fail(kolk_failure failure, const char *format, ...) {
    text sentence = {.length = 0};
    put(&sentence, "kolk: ");
    put(&sentence, *failure.pool ? failure.pool : "a pool without a name");
    put(&sentence, ": ");
    va_list arguments;
    va_start(arguments, format);
    for (; *format; format++) {
        if (*format != '%')
            put(&sentence, (char[2]){*format, 0});
        else if (*++format == 's')
            put(&sentence, va_arg(arguments, const char *));
        else
            put_number(&sentence, va_arg(arguments, uint64_t));
    }
    va_end(arguments);
    failure.sentence = sentence.bytes;
    failure_handler(&failure, failure_context);
}
