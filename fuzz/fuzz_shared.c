// link: -Wl,--wrap=kolk_site_text
/* fuzz_shared.c: any bytes are a program that uses a shared pool, well and badly, beside the model of
 * tests/kolk_sharedmodel.h. Each byte is one choice: first of the descriptor, then of operations and their arguments; bytes
 * that are missing at the end are 0. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include "../tests/kolk_plain.h"

#define sharedmodel_fail(m, format, ...)                                                                               \
    do {                                                                                                               \
        fprintf(stderr, "operation %" PRIu64 ": " format "\n", (m)->step, __VA_ARGS__);                                \
        abort();                                                                                                       \
    } while (0)
#include "../tests/kolk_sharedmodel.h"

typedef struct input {
    const uint8_t *at, *end;
} input;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const char *__wrap_kolk_site_text(const void *site, bool lines, char *text, size_t size);

/* Putting addresses into words takes a thousand times as long as all else, and is not what is tried here. */
const char *__wrap_kolk_site_text(const void *site, bool lines, char *text, size_t size) {
    (void)lines;
    snprintf(text, size, "%s", site ? "somewhere" : "");
    return text;
}

static uint32_t draw_byte(void *context) {
    input *from = (input *)context;
    return from->at < from->end ? *from->at++ : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static sharedmodel m;
    input from = {data, data + size};
    setenv("KOLK_BYPASS", "0", 1);
    unsetenv("KOLK_DEBUG");
    memset(&m, 0, sizeof m);
    m.what = "fuzzing";
    m.draw = draw_byte;
    m.context = &from;
    sharedmodel_init(&m);
    while (from.at < from.end) sharedmodel_step(&m);
    sharedmodel_deinit(&m);
    return 0;
}
