/* calls.c: see calls.h. The module of a frame is found on arrival, because another module may lie at that address
 * later. The words of a frame are found at the end. */
#define _GNU_SOURCE
#include "calls.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Makes space for element `count` by doubling the array, and zeroes the new part. */
static bool have_room(struct calls *calls, void **array, size_t *room, size_t count, size_t size) {
    if (count < *room) return true;
    size_t more = *room ? *room : 256;
    while (more <= count) more *= 2;
    char *moved = realloc(*array, more * size);
    if (!moved) {
        calls->has_no_memory = true;
        return false;
    }
    memset(moved + *room * size, 0, (more - *room) * size);
    *array = moved;
    *room = more;
    return true;
}

void calls_add_module(struct calls *calls, bool is_first, struct module module) {
    for (size_t i = 0; is_first && i < calls->module_count; i++) calls->modules[i].is_there = false;
    for (size_t i = 0; i < calls->module_count; i++) { /* it may be in an earlier list, unchanged */
        struct module *known = &calls->modules[i];
        if (known->bias != module.bias || known->begin != module.begin || strcmp(known->path, module.path) != 0)
            continue;
        known->is_there = true;
        free(module.path);
        return;
    }
    void *modules = calls->modules;
    if (!have_room(calls, &modules, &calls->module_room, calls->module_count, sizeof module)) {
        free(module.path);
        return;
    }
    calls->modules = modules;
    module.is_there = true;
    calls->modules[calls->module_count++] = module;
}

static uint32_t find_module(const struct calls *calls, uint64_t frame) {
    for (size_t i = calls->module_count; i-- > 0;) {
        const struct module *module = &calls->modules[i];
        if (module->is_there && frame - module->begin < module->end - module->begin) return (uint32_t)i + 1;
    }
    return 0;
}

void calls_add(struct calls *calls, uint32_t number, const uint64_t *frames, uint32_t count) {
    void *all = calls->calls;
    if (!have_room(calls, &all, &calls->room, number, sizeof *calls->calls)) return;
    calls->calls = all;
    struct call *call = &calls->calls[number];
    for (uint32_t i = 0; i < count && i < WIRE_DEPTH; i++) {
        call->frames[i] = frames[i];
        call->modules[i] = find_module(calls, frames[i]);
    }
    if (number >= calls->count) calls->count = (size_t)number + 1;
}

/* ---- Words ------------------------------------------------------------------------------------------------------- */

/* Keeps the words for a frame; NULL if there was no memory for them. Returns them. */
static const char *keep_words(struct calls *calls, uint64_t key, char *words) {
    void *all = calls->words;
    if (!words) calls->has_no_memory = true;
    if (!words || !have_room(calls, &all, &calls->word_room, calls->word_count, sizeof *calls->words)) {
        free(words);
        return "?";
    }
    calls->words = all;
    calls->words[calls->word_count] = words;
    for (char *at = words; *at; at++)
        if (*at == '\n') *at = ' ';
    if (!map_put(&calls->places, key, (uint32_t)calls->word_count)) calls->has_no_memory = true;
    calls->word_count++;
    return words;
}

static uint64_t key_of(uint64_t frame, uint32_t module) {
    return frame ^ (uint64_t)module << 48;
}

static char *make_words(const struct calls *calls, uint64_t frame, uint32_t module) {
    char *text = NULL;
    size_t length;
    FILE *words = open_memstream(&text, &length);
    if (!words) return NULL;
    if (module)
        symbols_print(words, &calls->modules[module - 1], frame);
    else
        fprintf(words, "0x%" PRIx64, frame);
    return fclose(words) == 0 ? text : NULL;
}

/* Returns the words for a frame. Each frame is looked up only once. */
static const char *words_for(struct calls *calls, uint64_t frame, uint32_t module) {
    uint32_t number;
    if (map_get(&calls->places, key_of(frame, module), &number)) return calls->words[number];
    return keep_words(calls, key_of(frame, module), make_words(calls, frame, module));
}

void calls_add_name(struct calls *calls, uint32_t number, uint64_t address, const char *name) {
    calls_add(calls, number, &address, 1);
    keep_words(calls, key_of(address, find_module(calls, address)), strdup(name));
}

static void write_call(struct calls *calls, struct output *output, size_t number) {
    const struct call *call = &calls->calls[number];
    char *begin = output_room(output, 32);
    output->used += (size_t)snprintf(begin, 32, "= Call %zx ", number);
    if (!call->frames[0]) output_text(output, "?", 1);
    for (uint32_t i = 0; i < WIRE_DEPTH && call->frames[i]; i++) {
        const char *words = words_for(calls, call->frames[i], call->modules[i]);
        if (i > 0) output_text(output, " < ", 3);
        output_text(output, words, strlen(words));
    }
    output_text(output, "\n", 1);
}

void calls_write(struct calls *calls, struct output *output) {
    for (size_t number = 0; number < calls->count; number++)
        if (number > 0 || calls->count == WIRE_STACKS) write_call(calls, output, number);
}

void calls_free(struct calls *calls) {
    for (size_t i = 0; i < calls->module_count; i++) symbols_close(&calls->modules[i]);
    for (size_t i = 0; i < calls->word_count; i++) free(calls->words[i]);
    map_free(&calls->places);
    free(calls->words);
    free(calls->modules);
    free(calls->calls);
    *calls = (struct calls){0};
}
