/* keeper.c: threads come and go in a list of keepers; keeper.h has the essay. */
#include "keeper.h"

#if KOLK_HOSTED

#include "../base/assert.h"
#include "../os/lock.h"
#include "../os/thread.h"

void kolk_keepers_list(kolk_keepers *keepers, kolk_keeper *keeper) {
    KOLK_ASSERT(!keeper->taken);
    keeper->next = kolk_keepers_first(keepers);
    kolk_store(&keepers->first, (uintptr_t)keeper, KOLK_SEQ_CST); /* partner: kolk_keepers_first */
}

void kolk_keeper_take(kolk_keeper *keeper) {
    KOLK_ASSERT(!keeper->taken);
    kolk_store(&keeper->owner, kolk_thread(), KOLK_RELAXED); /* first: in a fork's child this thread is gone */
    kolk_store(&keeper->taken, 1, KOLK_RELEASE);
}

kolk_keeper *kolk_keepers_take(kolk_keepers *keepers, kolk_keeper_maker *make, void *context) {
    uint32_t n = 0;
    kolk_lock_word(&keepers->lock);
    kolk_keeper *found = kolk_keepers_first(keepers);
    for (; found && found->taken; found = found->next) n++;
    if (!found && (found = make(context, n))) kolk_keepers_list(keepers, found);
    if (found) kolk_keeper_take(found);
    kolk_unlock_word(&keepers->lock);
    return found;
}

void kolk_keepers_give(kolk_keepers *keepers, kolk_keeper *keeper) {
    KOLK_ASSERT(keeper->taken);
    kolk_lock_word(&keepers->lock);
    kolk_keeper_release(keeper);
    kolk_unlock_word(&keepers->lock);
}

kolk_magazine *kolk_keeper_magazine(const kolk_keeper *keeper, const kolk_depot *depot) {
    kolk_magazine *magazine = kolk_keeper_magazines(keeper);
    while (magazine && magazine->depot != depot) magazine = magazine->next;
    return magazine;
}

kolk_magazine *kolk_keepers_next_magazine(const kolk_depot *depot, const kolk_magazine *magazine) {
    if (!depot->keepers) return NULL; /* the store is all zero */
    const kolk_keeper *keeper = magazine ? magazine->keeper->next : kolk_keepers_first(depot->keepers);
    kolk_magazine *next = NULL;
    for (; keeper && !next; keeper = keeper->next) next = kolk_keeper_magazine(keeper, depot);
    return next;
}

void kolk_keeper_add(kolk_keeper *keeper, kolk_magazine *magazine) {
    KOLK_ASSERT(magazine->depot && magazine->top == 0);
    magazine->keeper = keeper;
    magazine->next = kolk_keeper_magazines(keeper);
    kolk_store(&keeper->magazines, (uintptr_t)magazine, KOLK_SEQ_CST); /* partner: kolk_keeper_magazines */
}

bool kolk_keeper_is_dead(const kolk_keeper *keeper, uint32_t me, bool closely) {
    if (!keeper->taken || keeper->owner == me) return false;
    return closely ? kolk_thread_has_ended(keeper->owner) : kolk_thread_is_gone(keeper->owner);
}

#endif
