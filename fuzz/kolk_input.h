/* kolk_input.h: the bytes of a fuzzer as a model's choices: each is one, and those that are missing at the end are
 * 0. */
#ifndef KOLK_FUZZ_INPUT_H
#define KOLK_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>

typedef struct input {
    const uint8_t *at, *end;
} input;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline uint32_t draw_byte(void *context) {
    input *from = (input *)context;
    return from->at < from->end ? *from->at++ : 0;
}

#endif
