// define: KOLK_GENERATION_MAX=7
/* fuzz_slotmap.c: any bytes are a program that uses a slot map, well and badly, beside the model of
 * tests/slotmap/model.h. Each byte is one choice: first of the descriptor, then of operations and their arguments;
 * bytes that are missing at the end are 0. Seven lives wear a slot out. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include "../tests/help/plain.h"

#define slotmodel_fail(m, format, ...)                                                                                 \
    do {                                                                                                               \
        fprintf(stderr, "operation %" PRIu64 ": " format "\n", (m)->step, __VA_ARGS__);                                \
        abort();                                                                                                       \
    } while (0)
#include "../tests/slotmap/model.h"

#include "../tests/help/no_sites.h"
#include "kolk_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static slotmodel m;
    input from = {data, data + size};
    setenv("KOLK_BYPASS", "0", 1);
    unsetenv("KOLK_DEBUG");
    memset(&m, 0, sizeof m);
    m.what = "fuzzing";
    m.draw = draw_byte;
    m.context = &from;
    slotmodel_init(&m);
    while (from.at < from.end) slotmodel_step(&m);
    slotmodel_deinit(&m);
    return 0;
}
