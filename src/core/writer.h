/* writer.h: collects small pieces of text and passes them on in larger ones. Not in freestanding builds. */
#ifndef KOLK_SRC_WRITER_H
#define KOLK_SRC_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `put` receives the text. Initialise with {.put = put, .context = context}. */
typedef struct kolk_writer_ {
    void (*put)(const char *text, size_t length, void *context);
    void *context;
    size_t length;
    char bytes[1024];
} kolk_writer_;

void kolk_write_char_(kolk_writer_ *out, char c);
void kolk_write_text_(kolk_writer_ *out, const char *text);
void kolk_write_spaces_(kolk_writer_ *out, size_t n);
void kolk_write_number_(kolk_writer_ *out, uint64_t number);

/* Writes a text between quotes. JSON escapes all control characters, OpenMetrics only the line feed. A byte that is not
 * UTF-8 becomes U+FFFD in JSON. In OpenMetrics, where different names must stay different, it becomes its value in
 * hexadecimal. */
void kolk_write_quoted_(kolk_writer_ *out, const char *text, bool json);

/* Passes the remaining text to `put`. */
void kolk_write_flush_(kolk_writer_ *out);

typedef struct kolk_digits_ {
    char text[21];
} kolk_digits_;

kolk_digits_ kolk_digits_of_(uint64_t number);

#endif
