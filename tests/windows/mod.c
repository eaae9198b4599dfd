/* A mod: a DLL with its own copy of kolk, which works on the game's pool of peds and has pools of its own. It ends them
 * in DllMain, where the loader's lock is held: so its resource pool has no housekeeper, because a thread cannot end
 * under that lock. */
#include "cpool.h"

#include <kolk/kolk.h>
#include <windows.h>

KOLK_BYTEMAP_TYPE(peds, struct ped)

struct note {
    int32_t handle;
};
KOLK_POOL_TYPE(notes, struct note)
KOLK_SHARED_TYPE(tickets, struct note)

__declspec(dllexport) mod_begin begin;
__declspec(dllexport) mod_spawn spawn;
__declspec(dllexport) mod_kill kill_it;
__declspec(dllexport) mod_model_of model_of;
__declspec(dllexport) mod_count count;

static peds all;
static notes own;
static tickets of_all_threads;
static kolk_resource_pool links;

static bool create(void *context, const char *key, kolk_deadline deadline, void **resource, kolk_error *error) {
    (void)key, (void)deadline, (void)error;
    *resource = context;
    return true;
}

bool begin(struct cpool *pool) {
    kolk_borrowed link;
    const kolk_bytemap_view view = {.name = "peds",
                                    .object_list = pool->objects,
                                    .byte_map = pool->bytes,
                                    .count = pool->count,
                                    .cursor = &pool->first_free,
                                    .writable = true};
    const kolk_resource_pool_desc desc = {.context = &all, .create = create, .no_housekeeper = true};
    if (peds_attach(&all, &view) != KOLK_OK) return false;
    if (notes_init(&own, &(kolk_pool_desc){.capacity = 10}) != KOLK_OK) return false;
    if (tickets_init(&of_all_threads, &(kolk_shared_desc){.capacity = 10}) != KOLK_OK) return false;
    if (!tickets_alloc(tickets_local_of_thread(&of_all_threads))) return false;
    if (kolk_resource_init(&links, &desc) != KOLK_OK) return false;
    if (kolk_resource_borrow(&links, &(kolk_borrow_desc){.key = NULL}, &link) != KOLK_OK) return false;
    kolk_resource_give_back(&links, &link);
    return true;
}

int32_t spawn(int32_t model) {
    struct ped *ped = peds_new(&all);
    struct note *note = notes_alloc(&own);
    if (!ped || !note) return KOLK_BYTEMAP_NULL;
    ped->model = model;
    note->handle = peds_get_index(&all, ped);
    return note->handle;
}

bool kill_it(int32_t handle) {
    struct ped *ped = peds_get_at(&all, handle);
    peds_delete(&all, ped);
    return ped;
}

int32_t model_of(int32_t handle) {
    const struct ped *ped = peds_get_at(&all, handle);
    return ped ? ped->model : -1;
}

int32_t count(void) {
    return peds_is_valid(&all) ? peds_used_count(&all) : -1;
}

BOOL WINAPI DllMain(HINSTANCE module, DWORD reason, LPVOID process_ends);

BOOL WINAPI DllMain(HINSTANCE module, DWORD reason, LPVOID process_ends) {
    (void)module;
    if (reason != DLL_PROCESS_DETACH || process_ends) return TRUE;
    kolk_resource_deinit(&links);
    tickets_deinit(&of_all_threads);
    notes_deinit(&own);
    peds_flush(&all);
    return TRUE;
}
