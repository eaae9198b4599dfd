/* keeper.c: threads come and go in a list of keepers; keeper.h has the essay. */
#include "keeper.h"

#if KOLK_HOSTED

#include "../base/assert.h"
#include "../os/lock.h"
#include "../os/thread.h"

void kolk_keepers_list_(kolk_keepers_ *keepers, kolk_keeper_ *keeper) {
    KOLK_ASSERT_(!keeper->taken);
    keeper->next = kolk_keepers_first_(keepers);
    kolk_store_(&keepers->first, (uintptr_t)keeper, KOLK_SEQ_CST_); /* partner: kolk_keepers_first_ */
}

void kolk_keeper_take_(kolk_keeper_ *keeper) {
    KOLK_ASSERT_(!keeper->taken);
    kolk_store_(&keeper->owner, kolk_thread_(), KOLK_RELAXED_); /* first, because a fork's child lacks this thread */
    kolk_store_(&keeper->taken, 1, KOLK_RELEASE_);
}

kolk_keeper_ *kolk_keepers_take_(kolk_keepers_ *keepers, kolk_keeper_maker_ *make, void *context) {
    uint32_t n = 0;
    kolk_lock_word_(&keepers->lock);
    kolk_keeper_ *found = kolk_keepers_first_(keepers);
    for (; found && found->taken; found = found->next) n++;
    if (!found && (found = make(context, n))) kolk_keepers_list_(keepers, found);
    if (found) kolk_keeper_take_(found);
    kolk_unlock_word_(&keepers->lock);
    return found;
}

void kolk_keepers_give_(kolk_keepers_ *keepers, kolk_keeper_ *keeper) {
    KOLK_ASSERT_(keeper->taken);
    kolk_lock_word_(&keepers->lock);
    kolk_keeper_release_(keeper);
    kolk_unlock_word_(&keepers->lock);
}

kolk_magazine_ *kolk_keeper_magazine_(const kolk_keeper_ *keeper, const kolk_depot_ *depot) {
    kolk_magazine_ *magazine = kolk_keeper_magazines_(keeper);
    while (magazine && magazine->depot != depot) magazine = magazine->next;
    return magazine;
}

kolk_magazine_ *kolk_keepers_next_magazine_(const kolk_depot_ *depot, const kolk_magazine_ *magazine) {
    if (!depot->keepers) return NULL; /* the store is all zero */
    const kolk_keeper_ *keeper = magazine ? magazine->keeper->next : kolk_keepers_first_(depot->keepers);
    kolk_magazine_ *next = NULL;
    for (; keeper && !next; keeper = keeper->next) next = kolk_keeper_magazine_(keeper, depot);
    return next;
}

void kolk_keeper_add_(kolk_keeper_ *keeper, kolk_magazine_ *magazine) {
    KOLK_ASSERT_(magazine->depot && magazine->top == 0);
    magazine->keeper = keeper;
    magazine->next = kolk_keeper_magazines_(keeper);
    kolk_store_(&keeper->magazines, (uintptr_t)magazine, KOLK_SEQ_CST_); /* partner: kolk_keeper_magazines_ */
}

bool kolk_keeper_is_dead_(const kolk_keeper_ *keeper, uint32_t me, bool closely) {
    if (!keeper->taken || keeper->owner == me) return false;
    return closely ? kolk_thread_has_ended_(keeper->owner) : kolk_thread_is_gone_(keeper->owner);
}

#endif
