/* words.h: stretches of text, for settings that people write. */
#ifndef KOLK_SRC_WORDS_H
#define KOLK_SRC_WORDS_H

#include "../base/assert.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct word {
    const char *start;
    size_t length;
} word;

/* Cuts off the part before the first `separator`. Returns false if nothing is left. */
static inline bool cut_off(word *rest, char separator, word *part) {
    if (!rest->start) return false;
    const char *end = memchr(rest->start, separator, rest->length);
    part->start = rest->start;
    part->length = end ? (size_t)(end - rest->start) : rest->length;
    rest->start = end ? end + 1 : NULL;
    rest->length -= part->length + (end != NULL);
    return true;
}

/* Returns the text without trailing spaces, tabs and carriage returns. */
static inline word trimmed_end(word text) {
    while (text.length && memchr(" \t\r", text.start[text.length - 1], 3)) text.length--;
    return text;
}

/* Returns the text without leading and trailing characters of these kinds. */
static inline word trimmed(word text) {
    while (text.length && memchr(" \t\r", *text.start, 3)) text.start++, text.length--;
    return trimmed_end(text);
}

static inline bool is_text(word text, const char *other) {
    return strlen(other) == text.length && memcmp(text.start, other, text.length) == 0;
}

static inline bool is_same_text(word a, word b) {
    return a.length == b.length && memcmp(a.start, b.start, a.length) == 0;
}

static inline bool ends_with(word text, const char *part) {
    size_t length = strlen(part);
    return text.length >= length && memcmp(text.start + text.length - length, part, length) == 0;
}

/* Parses a number from 1 to UINT32_MAX; returns 0 if the text is not such a number. */
static inline uint32_t number_of(word text) {
    uint64_t number = 0;
    for (size_t i = 0; i < text.length; i++) {
        if (text.start[i] < '0' || text.start[i] > '9') return 0;
        number = number * 10 + (uint64_t)(text.start[i] - '0');
        if (number > UINT32_MAX) return 0;
    }
    return (uint32_t)number;
}

/* Copies the word into `text`, cut to `size` and terminated by 0. Returns `text`. */
static inline const char *copied(word from, char *text, size_t size) {
    KOLK_ASSERT_(size > 0);
    size_t length = from.length < size ? from.length : size - 1;
    memcpy(text, from.start, length);
    text[length] = 0;
    return text;
}

#endif
