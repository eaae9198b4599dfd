// expect: error: (incompatible|assignment to)
// c++: error: (convert|conversion|no matching function|incompatible|cannot initialize)
// flags: -Wpedantic -Wconversion -Wshadow
/* Each WRONG line uses something of one pool, slot map, queue, ... as if it belonged to another.
 * promise: typed.h "a pool or a handle of the wrong type" */
#include <kolk/kolk.h>

typedef struct thing {
    float x, y;
} thing;
typedef struct voice {
    float volume, pitch;
} voice;

KOLK_POOL_TYPE(bullets, thing)
KOLK_POOL_TYPE(voices, voice)

void use_pools(bullets *b, voices *v, thing *one, voice *other, bullets_handle handle) {
    voice *some[2];
    bullets_free(b, one);
    voices_free(v, other);
    one = bullets_get(b, handle);
    other = voices_alloc(v);
    voices_alloc_n(v, some, 2);
    if (voices_index(v, other) == bullets_index(b, one)) return;
    KOLK_EACH(bullets, each, b) one = each;
    WRONG(bullets_free(b, other));
    WRONG(voices_get(v, handle));
    WRONG(bullets_get(b, handle.untyped));
    WRONG(bullets_free(v, one));
    WRONG(bullets_clear(&b->pool));
    WRONG(one = voices_alloc(v));
    WRONG(other = bullets_get(b, handle));
    WRONG(bullets_alloc_n(b, some, 2));
    WRONG(one = voices_alloc_run(v, 2));
    WRONG(bullets_index(b, other));
    WRONG(KOLK_EACH(bullets, each, v) bullets_free(b, each));
}

KOLK_SLOTMAP_TYPE(bodies, thing)
KOLK_SLOTMAP_TYPE(sounds, voice)

void use_slotmaps(bodies *b, sounds *v, bullets *pool, thing *one, voice *other, bodies_handle handle) {
    sounds_handle of_voice;
    one = bodies_get(b, handle);
    other = sounds_add(v, &of_voice);
    if (sounds_index(v, other) == bodies_index(b, one) || !bodies_remove(b, handle)) return;
    KOLK_EACH(bodies, each, b) one = each;
    KOLK_EACH(bullets, each, pool) one = each;
    WRONG(sounds_get(v, handle));
    WRONG(bodies_get(b, bullets_handle_of(pool, one)));
    WRONG(bodies_remove(b, handle.untyped));
    WRONG(sounds_add(v, &handle));
    WRONG(bodies_clear(v));
    WRONG(bodies_clear(pool));
    WRONG(bodies_clear(&b->map));
    WRONG(one = sounds_add(v, &of_voice));
    WRONG(other = bodies_get(b, handle));
    WRONG(bodies_index(b, other));
    WRONG(handle = bodies_handle_of(b, other));
    WRONG(other = bodies_objects(b));
    WRONG(other = bodies_at(b, 0));
    WRONG(sounds_slot(v, handle));
    WRONG(sounds_remove(v, handle));
    WRONG(bodies_remove(b, one));
    WRONG(KOLK_EACH(bodies, each, v) one = each);
}

KOLK_QUEUE_TYPE(jobs, thing)
KOLK_QUEUE_TYPE(answers, voice)
KOLK_QUEUE_TYPE(pointers, thing *)

void use_queues(jobs *j, answers *a, pointers *p, bullets *pool, const thing *one, thing *two, voice *other, size_t n) {
    jobs_push(j, one, KOLK_NOW);
    jobs_pop(j, two, KOLK_NOW);
    jobs_push_n(j, one, &n, KOLK_NOW);
    pointers_push(p, &two, KOLK_NOW);
    answers_pop_n(a, other, &n, KOLK_NOW);
    bullets_clear(pool);
    WRONG(jobs_push(j, other, KOLK_NOW));
    WRONG(jobs_push(j, *one, KOLK_NOW));
    WRONG(jobs_push_n(j, other, &n, KOLK_NOW));
    WRONG(answers_push(j, other, KOLK_NOW));
    WRONG(jobs_pop(j, other, KOLK_NOW));
    WRONG(jobs_pop_n(j, other, &n, KOLK_NOW));
    WRONG(jobs_pop(j, one, KOLK_NOW)); // discards
    WRONG(jobs_pop(a, two, KOLK_NOW));
    WRONG(pointers_push(p, two, KOLK_NOW));
    WRONG(jobs_close(&j->queue));
    WRONG(jobs_clear(pool));
}

KOLK_SHARED_TYPE(tasks, thing)
KOLK_SHARED_TYPE(results, voice)

void use_shared_pools(tasks *j, tasks_local *local, results *a, results_local *other, kolk_shared *untyped, thing *one,
                      voice *two) {
    one = tasks_alloc(local);
    tasks_free(local, one);
    two = results_alloc_wait(other, KOLK_NOW);
    results_free_later(other, two);
    results_handle handle = results_handle_of(a, two);
    kolk_shared_each(untyped);
    tasks_each(j);
    WRONG(two = tasks_alloc(local));
    WRONG(one = tasks_alloc(j));
    WRONG(two = tasks_alloc_wait(local, KOLK_NOW));
    WRONG(tasks_free(local, two));
    WRONG(tasks_free(other, one));
    WRONG(tasks_free_later(local, two));
    WRONG(tasks_local_init(local, a));
    WRONG(local = results_local_of_thread(a));
    WRONG(tasks_get(j, handle));
    WRONG(tasks_count(untyped));
    (void)handle;
}

KOLK_RESOURCE_TYPE(connections, thing)
KOLK_RESOURCE_TYPE(decoders, voice)

void use_resource_pools(connections *c, decoders *d, jobs *q, connections_borrowed *one, decoders_borrowed *other,
                        kolk_borrowed *any, voice *state) {
    connections_borrow(c, NULL, one);
    thing *mine = connections_resource_of(one);
    mine->x = 1;
    connections_give_back(c, one);
    state = decoders_resource_of(other);
    state->pitch = 0;
    decoders_discard(d, other);
    kolk_resource_give_back(&c->pool, any);
    jobs_close(q);
    WRONG(connections_borrow(c, NULL, other));
    WRONG(connections_borrow(d, NULL, one));
    WRONG(connections_give_back(d, one));
    WRONG(decoders_give_back(d, one));
    WRONG(connections_discard(c, other));
    WRONG(state = connections_detach(c, one));
    WRONG(state = connections_resource_of(one));
    WRONG(connections_resource_of(other));
    WRONG(connections_give_back(c, any));
    WRONG(connections_evict(q));
}

KOLK_BYTEMAP_TYPE(peds, thing)
KOLK_BYTEMAP_TYPE(vehicles, voice)

void use_gta_pools(peds *p, vehicles *v, thing *one, voice *other, int handle) {
    peds_delete(p, one);
    one = peds_get_at(p, handle);
    other = vehicles_new(v);
    if (vehicles_get_index(v, other) == peds_get_index(p, one)) return;
    WRONG(peds_delete(p, other));
    WRONG(peds_delete(v, one));
    WRONG(peds_clear(&p->pool));
    WRONG(one = vehicles_new(v));
    WRONG(other = peds_get_at(p, handle));
    WRONG(peds_get_index(p, other));
}
