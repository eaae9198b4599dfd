/* input_drive.h: turns a fuzzer's bytes into a model's choices, one byte each. Missing bytes at the end are 0. Include
 * the model first: `model`, model_init, model_step, model_deinit. */
#ifndef FUZZ_INPUT_DRIVE_H
#define FUZZ_INPUT_DRIVE_H

typedef struct input {
    const uint8_t *at, *end;
} input;

static inline uint32_t draw_byte(void *context) {
    input *from = (input *)context;
    return from->at < from->end ? *from->at++ : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static model m;
    input from = {data, data + size};
    setenv("KOLK_BYPASS", "0", 1);
    unsetenv("KOLK_DEBUG");
    memset(&m, 0, sizeof m);
    m.what = "fuzzing";
    m.draw = draw_byte;
    m.context = &from;
    model_init(&m);
    while (from.at < from.end) model_step(&m);
    model_deinit(&m);
    return 0;
}

#endif
