/* fuzz_shared.c: any bytes are a program that uses a shared pool, well and badly, beside the model of
 * tests/shared/model.h. Each byte is one choice: first of the descriptor, then of operations and their arguments; bytes
 * that are missing at the end are 0. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include "../tests/help/plain.h"

#define sharedmodel_fail(m, format, ...)                                                                               \
    do {                                                                                                               \
        fprintf(stderr, "operation %" PRIu64 ": " format "\n", (m)->step, __VA_ARGS__);                                \
        abort();                                                                                                       \
    } while (0)
#include "../tests/shared/model.h"

#include "../tests/help/no_sites.h"
#include "kolk_input.h"

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
