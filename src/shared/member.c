/* member.c: threads come and go in a list of members. The idea is told in member.h. */
#include "member.h"

#if KOLK_HOSTED

#include "../core/assert.h"
#include "../os/lock.h"
#include "../os/thread.h"

/* A new one, listed. */
static kolk_member *list_member(kolk_members *members, kolk_member *member) {
    KOLK_ASSERT(!member->taken && member->epoch == 0);
    member->next = kolk_members_first(members);
    kolk_store(&members->first, (uintptr_t)member, KOLK_SEQ_CST); /* partner: kolk_members_first */
    return member;
}

kolk_member *kolk_members_take(kolk_members *members, kolk_member_maker *make, void *context) {
    uint32_t n = 0;
    kolk_lock_word(&members->lock);
    kolk_member *found = kolk_members_first(members);
    for (; found && found->taken; found = found->next) n++;
    kolk_member *made = found ? NULL : make(context, n);
    if (made) found = list_member(members, made);
    if (found) {
        kolk_store(&found->owner, kolk_thread(), KOLK_RELAXED); /* first: in a fork's child this thread is gone */
        kolk_store(&found->taken, 1, KOLK_RELEASE);             /* partner: kolk_member_is_of */
    }
    kolk_unlock_word(&members->lock);
    return found;
}

void kolk_members_give(kolk_members *members, kolk_member *member) {
    KOLK_ASSERT(member->taken && member->epoch == 0);
    kolk_lock_word(&members->lock);
    kolk_store(&member->taken, 0, KOLK_RELAXED);
    kolk_unlock_word(&members->lock);
}

kolk_magazine *kolk_member_magazine(const kolk_member *member, const kolk_depot *depot) {
    kolk_magazine *magazine = kolk_member_magazines(member);
    while (magazine && magazine->depot != depot) magazine = magazine->next;
    return magazine;
}

kolk_magazine *kolk_depot_next_magazine(const kolk_depot *depot, const kolk_magazine *magazine) {
    if (!depot->members) return NULL; /* of a pool that is all zero */
    return kolk_members_next_magazine(depot->members, depot, magazine);
}

kolk_magazine *kolk_members_next_magazine(const kolk_members *members, const kolk_depot *depot,
                                          const kolk_magazine *magazine) {
    const kolk_member *member = magazine ? magazine->member->next : kolk_members_first(members);
    kolk_magazine *next = NULL;
    for (; member && !next; member = member->next) next = kolk_member_magazine(member, depot);
    return next;
}

void kolk_member_add(kolk_member *member, kolk_magazine *magazine) {
    KOLK_ASSERT(magazine->depot && magazine->top == 0);
    magazine->member = member;
    magazine->next = kolk_member_magazines(member);
    kolk_store(&member->magazines, (uintptr_t)magazine, KOLK_SEQ_CST); /* partner: kolk_member_magazines */
}

bool kolk_member_is_dead(const kolk_member *member, uint32_t me, bool closely) {
    if (!member->taken || member->owner == me) return false;
    return closely ? kolk_thread_has_ended(member->owner) : kolk_thread_is_gone(member->owner);
}

#endif
