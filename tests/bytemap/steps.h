/* steps.h: the operations of the GTA pool as numbers, applied to the model and to kolk_bytemap, to compare streams of
 * them: random ones, all short ones, test vectors, a fuzzer's bytes. */
#ifndef TESTS_BYTEMAP_STEPS_H
#define TESTS_BYTEMAP_STEPS_H

#include "model.h"
#include "../help/plain.h"

typedef enum step_kind {
    STEP_NEW,
    STEP_NEW_AT,
    STEP_DELETE,
    STEP_GET_AT,
    STEP_GET_SLOT,
    STEP_CLEAR,
    STEP_KINDS
} step_kind;

typedef struct step {
    step_kind kind;
    int32_t argument; /* a handle (new_at, get_at), or an index (delete, get_slot) */
} step;

/* The handle of the object that the operation returned or deleted, and first_free afterwards. Each is -1 if there is
 * none. */
typedef struct answer {
    int32_t handle, cursor;
} answer;

static inline answer step_model(gta_pool *pool, step s) {
    int32_t slot = -1, handle = -1;
    switch (s.kind) {
    case STEP_NEW:
        slot = gta_new(pool);
        break;
    case STEP_NEW_AT:
        slot = gta_new_at(pool, s.argument);
        break;
    case STEP_GET_AT:
        slot = gta_get_at(pool, s.argument);
        break;
    case STEP_GET_SLOT:
        slot = gta_get_slot(pool, s.argument);
        break;
    case STEP_DELETE:
        if (gta_get_slot(pool, s.argument) != -1) handle = gta_handle(pool, s.argument);
        gta_delete(pool, s.argument);
        break;
    case STEP_CLEAR:
    case STEP_KINDS:
        gta_clear(pool);
    }
    if (slot != -1) handle = gta_handle(pool, slot);
    return (answer){handle, pool->first_free};
}

/* `failures` counts calls of the failure handler. */
static inline answer step_kolk(kolk_bytemap *pool, step s, const unsigned *failures) {
    void *object = NULL;
    int32_t handle = -1;
    unsigned before = *failures;
    switch (s.kind) {
    case STEP_NEW:
        object = kolk_bytemap_new(pool);
        break;
    case STEP_NEW_AT:
        object = kolk_bytemap_new_at(pool, s.argument);
        break;
    case STEP_GET_AT:
        object = kolk_bytemap_get_at(pool, s.argument);
        break;
    case STEP_GET_SLOT:
        object = kolk_bytemap_get_slot(pool, s.argument);
        break;
    case STEP_DELETE:
        object = kolk_bytemap_get_slot(pool, s.argument);
        if (object) handle = kolk_bytemap_get_index(pool, object);
        object = (void *)((uintptr_t)pool->object_list + (uintptr_t)s.argument * pool->object_size);
        kolk_bytemap_delete(pool, object);
        if ((*failures > before) != (handle == -1 && object)) handle = INT32_MIN; /* equals no answer */
        object = NULL;
        break;
    case STEP_CLEAR:
    case STEP_KINDS:
        kolk_bytemap_clear(pool);
    }
    if (s.kind != STEP_DELETE && *failures > before) handle = INT32_MIN;
    if (object) handle = kolk_bytemap_get_index(pool, object);
    return (answer){handle, pool->cursor ? *pool->cursor : pool->first_free};
}

/* Does every byte agree with the model? */
static inline bool same_bytes(const gta_pool *model, const kolk_bytemap *pool) {
    for (int32_t i = 0; i < model->count; i++)
        if (gta_handle(model, i) != i * 256 + pool->byte_map[i]) return false;
    return true;
}

#endif
