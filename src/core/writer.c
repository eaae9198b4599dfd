/* writer.c: see writer.h. */
#include "kolk/base.h"

#if KOLK_HOSTED

#include "../base/assert.h"
#include "tools.h"
#include "writer.h"

#include <inttypes.h>
#include <stdio.h>

void kolk_write_flush_(kolk_writer_ *out) {
    KOLK_ASSERT_(out->put);
    kolk_tools_wrote_(out->bytes, out->length);
    if (out->length) out->put(out->bytes, out->length, out->context);
    out->length = 0;
}

void kolk_write_char_(kolk_writer_ *out, char c) {
    KOLK_ASSERT_(out->length <= sizeof out->bytes);
    if (out->length == sizeof out->bytes) kolk_write_flush_(out);
    out->bytes[out->length++] = c;
}

void kolk_write_text_(kolk_writer_ *out, const char *text) {
    while (*text) kolk_write_char_(out, *text++);
}

void kolk_write_spaces_(kolk_writer_ *out, size_t n) {
    while (n--) kolk_write_char_(out, ' ');
}

kolk_digits_ kolk_digits_of_(uint64_t number) {
    kolk_digits_ result;
    snprintf(result.text, sizeof result.text, "%" PRIu64, number);
    return result;
}

void kolk_write_number_(kolk_writer_ *out, uint64_t number) {
    kolk_write_text_(out, kolk_digits_of_(number).text);
}

/* Returns the length in bytes of the UTF-8 character at the start of the text; 0 if there is none (Unicode 15, table
 * 3-7). */
static size_t utf8_length(const char *text) {
    const unsigned char *at = (const unsigned char *)text;
    if (at[0] < 0x80) return 1;
    if (at[0] < 0xc2 || at[0] > 0xf4) return 0;
    size_t length = at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
    for (size_t i = 1; i < length; i++)
        if (at[i] < 0x80 || at[i] > 0xbf) return 0;
    if (at[0] == 0xe0 && at[1] < 0xa0) return 0; /* overlong: a shorter form exists */
    if (at[0] == 0xed && at[1] > 0x9f) return 0; /* half of a UTF-16 surrogate pair */
    if (at[0] == 0xf0 && at[1] < 0x90) return 0; /* overlong: a shorter form exists */
    if (at[0] == 0xf4 && at[1] > 0x8f) return 0; /* beyond Unicode */
    return length;
}

void kolk_write_quoted_(kolk_writer_ *out, const char *text, bool json) {
    char escape[8];
    kolk_write_char_(out, '"');
    while (*text) {
        size_t length = utf8_length(text);
        unsigned first = (unsigned char)*text;
        if (length == 0) {
            snprintf(escape, sizeof escape, json ? "\xef\xbf\xbd" : "\\\\x%02x", first);
            kolk_write_text_(out, escape);
            text++;
        } else if (*text == '\n') {
            kolk_write_text_(out, "\\n");
            text++;
        } else if (json && first < ' ') {
            snprintf(escape, sizeof escape, "\\u%04x", first);
            kolk_write_text_(out, escape);
            text++;
        } else {
            if (*text == '"' || *text == '\\') kolk_write_char_(out, '\\');
            while (length--) kolk_write_char_(out, *text++);
        }
    }
    kolk_write_char_(out, '"');
}

#endif
