/* fail.c: see fail.h. */

#include "../base/assert.h"
#include "../base/atomics.h"
#include "begin.h"
#include "fail.h"
#include "tools.h"

#include <stdarg.h>

#if KOLK_HOSTED
#include "../os/cancel.h"
#include "../os/environment.h"

#include <stdio.h>
#include <stdlib.h>
#endif

static void (*failure_handler)(const kolk_failure *failure, void *context); /* NULL: the default handler */
static void *failure_context;

void kolk_set_failure_handler(void (*handler)(const kolk_failure *failure, void *context), void *context) {
    failure_handler = handler;
    failure_context = context;
}

/* Text that is cut at the size of its buffer. It needs no libc, so that freestanding programs get the sentences,
 * too. */
typedef struct text {
    char bytes[KOLK_HOSTED ? 2048 : 256];
    size_t length;
} text;

static void append_text(text *out, const char *string) {
    KOLK_ASSERT_(out->length < sizeof out->bytes);
    while (*string && out->length + 1 < sizeof out->bytes) out->bytes[out->length++] = *string++;
    out->bytes[out->length] = 0;
}

/* Divides by 10 and returns the remainder. Divides in parts, because small devices have no 64-bit division. */
static unsigned take_digit(uint64_t *number) {
    uint32_t rest = (uint32_t)(*number >> 32);
    uint64_t quotient = rest / 10;
    rest = rest % 10 << 16 | (uint32_t)(*number >> 16 & 0xffff);
    quotient = quotient << 16 | rest / 10;
    rest = rest % 10 << 16 | (uint32_t)(*number & 0xffff);
    *number = quotient << 16 | rest / 10;
    return rest % 10;
}

static void append_number(text *out, uint64_t number) {
    char digits[21];
    char *digit = digits + sizeof digits - 1;
    *digit = 0;
    do *--digit = (char)('0' + take_digit(&number));
    while (number);
    append_text(out, digit);
}

static void append_format(text *out, const char *format, va_list arguments) {
    for (; *format; format++) {
        if (*format != '%')
            append_text(out, (char[2]){*format, 0});
        else if (*++format == 's')
            append_text(out, va_arg(arguments, const char *));
        else {
            KOLK_ASSERT_(*format == 'u');
            append_number(out, va_arg(arguments, uint64_t));
        }
    }
}

/* If `stack` is NULL, only the site is known. */
static void append_site(text *out, const char *before, const void *site, const void *const *stack, uint32_t depth,
                        bool lines) {
    char words[KOLK_SITE_WORDS_] = "";
    const void *const alone[] = {site, NULL};
    if (!site || !kolk_watch_) return;
    kolk_watch_->words(stack ? stack : alone, depth, lines, words, sizeof words);
    if (!*words) return;
    append_text(out, before);
    append_text(out, words);
}

/* The site is the call that failed or, in the case of damage, the call that found the damage. */
static const char *word_before_site(kolk_status rule) {
    bool damage = rule == KOLK_WRITE_AFTER_FREE || rule == KOLK_OVERFLOW || rule == KOLK_UNDERFLOW;
    return damage ? ", seen by " : " by ";
}

static void append_sites(text *out, const kolk_failure *failure) {
    uint32_t depth = failure->depth;
    append_site(out, word_before_site(failure->rule), failure->site, failure->stack, depth, true);
    if (failure->rule >= KOLK_LEAK) return; /* the sentence already names the sites */
    const char *before_free = failure->alloc_site ? ", freed by " : "; freed by ";
    append_site(out, "; allocated by ", failure->alloc_site, failure->alloc_stack, depth, true);
    append_site(out, before_free, failure->free_site, failure->free_stack, depth, true);
    if (!KOLK_WATCHED_ || !failure->holders) return;
    append_text(out, "; ");
    append_text(out, failure->holders);
}

#if KOLK_HOSTED
static void print_and_abort(const kolk_failure *failure) {
    text by = {.length = 0};
    const char *before = word_before_site(failure->rule);
    if (!failure->sites) append_site(&by, before, failure->site, failure->stack, failure->depth, false);
    bool is_known =
        failure->slot != UINT32_MAX || failure->rule == KOLK_DOUBLE_FREE || failure->rule == KOLK_DEAD_OBJECT;
    bool more = kolk_watch_ && is_known && !failure->sites && !failure->no_debug;
    int cancel = kolk_cancel_off_();
    fprintf(stderr, "%s%s%s\n", failure->sentence, by.bytes, more ? "; KOLK_DEBUG=sites tells more" : "");
    kolk_cancel_restore_(cancel);
    if (failure->rule < KOLK_LEAK) abort();
}
#else
static void print_and_abort(const kolk_failure *failure) {
    (void)failure;
    __builtin_trap();
}
#endif

/* Adds the callers of the site, if they will be printed. The user's handler gets them only with `sites`, because
 * walking the stack may make glibc load a library. */
static void note_stack(kolk_failure *failure, const void **frames) {
    uint32_t depth = failure->depth ? failure->depth : KOLK_STACK_DEPTH_;
    KOLK_ASSERT_(depth <= KOLK_STACK_MOST_);
    if (!kolk_watch_ || !failure->site || (failure_handler && !failure->sites)) return;
    kolk_watch_->walk(failure->site, frames, KOLK_STACK_ROOM_(depth));
    failure->stack = frames;
}

void kolk_fail_(kolk_failure failure, const char *format, ...) {
    text sentence = {.length = 0};
    append_text(&sentence, "kolk: ");
    append_text(&sentence, *failure.pool ? failure.pool : "a pool without a name");
    append_text(&sentence, ": ");
    va_list arguments;
    va_start(arguments, format);
    append_format(&sentence, format, arguments);
    va_end(arguments);
    const void *frames[KOLK_STACK_ROOM_(KOLK_STACK_MOST_)];
    note_stack(&failure, frames);
    if (failure.sites) append_sites(&sentence, &failure);
    failure.sentence = sentence.bytes;
    if (!failure_handler) {
        print_and_abort(&failure);
        return;
    }
    kolk_tools_wrote_(&failure, sizeof failure);
    kolk_tools_wrote_(&sentence, sizeof sentence);
    failure_handler(&failure, failure_context);
}

void kolk_fail_handle_(kolk_failure failure, kolk_handle handle) {
    failure.rule = KOLK_WRONG_POOL;
    failure.handle = handle;
    kolk_fail_(failure, "handle %u belongs to another pool", handle.bits);
}

void kolk_fail_object_(kolk_failure failure, const char *verb, const char *noun, uint64_t inside) {
    KOLK_ASSERT_(verb && noun);
    const char *format = "%s of %s %u, which is free"; /* each format uses as many of the arguments below as it needs */
    if (failure.slot == UINT32_MAX) {
        failure.rule = KOLK_FOREIGN_POINTER;
        format = failure.object ? "%s of a pointer that does not belong to this pool" : "%s of NULL";
    } else if (inside) {
        failure.rule = KOLK_INTERIOR_POINTER;
        format = "%s of a pointer into %s %u, at byte %u of it";
    } else if (failure.rule == KOLK_NEVER_ISSUED) {
        format = "%s of %s %u, which was never handed out";
    } else if (failure.rule == KOLK_DOUBLE_FREE) {
        format = "double %s of %s %u";
    }
    kolk_fail_(failure, format, verb, noun, (uint64_t)failure.slot, inside);
}

/* ---- Without a watch --------------------------------------------------------------------------------------------- */

const char kolk_no_settings_[] = "";

void kolk_site_words_(kolk_kept_site_ kept, uint32_t depth, bool lines, char *words, size_t size) {
    const void *const *stack = kolk_site_stack_(kept), *const alone[] = {(const void *)kept, NULL};
    *words = 0;
    if (kolk_watch_) kolk_watch_->words(stack ? stack : alone, depth, lines, words, size);
}

#if KOLK_HOSTED
void kolk_refuse_settings_(void) {
    static const char *const names[] = {"KOLK_DEBUG", "KOLK_STATS", "KOLK_STATS_AT", "KOLK_SIZES", "KOLK_FAIL"};
    static uint32_t told[sizeof names / sizeof *names]; /* the handler may longjmp: the others are reported later */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!kolk_environment_(names[i]) || kolk_raw_exchange_(&told[i], 1, KOLK_RELAXED_)) continue;
        kolk_failure failure = {.rule = KOLK_BAD_SETTING, .pool = names[i], .slot = UINT32_MAX};
        kolk_fail_(failure, "is set, but this program has no diagnostics (KOLK_NO_DIAGNOSTICS)");
    }
}
#endif
