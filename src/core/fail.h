/* fail.h: how a pool reports a bug of its caller. */
#ifndef KOLK_SRC_FAIL_H
#define KOLK_SRC_FAIL_H

#include "watch.h"

#define KOLK_STACK_DEPTH_ 3  /* calls that a report names at each site, unless sites=N sets a different number */
#define KOLK_STACK_MOST_  16 /* ... and the greatest N */

/* The number of return addresses needed to name `depth` calls, plus a NULL. Some of the addresses may be in functions
 * of kolk's headers that the compiler did not merge into their callers. */
#define KOLK_STACK_ROOM_(depth) ((depth) + 4)

#define KOLK_SITE_WORDS_ (KOLK_HOSTED ? 512 : 1) /* bytes for the text of a site, which may be cut */

#define KOLK_HOLDERS_WORDS_ (3 * KOLK_SITE_WORDS_) /* bytes for failure.holders */

/* Keeps the calling thread's stack, if more than one call is to be named later. Any thread may call it at any time. */
static inline kolk_kept_site_ kolk_site_keep_(const void *site, uint32_t depth) {
    return kolk_watch_ && site && depth > 1 ? kolk_watch_->keep(site, depth) : (kolk_kept_site_)site;
}

/* The address of a kept site, and its stack; NULL: only the address is known. */
static inline const void *const *kolk_site_stack_(kolk_kept_site_ kept) {
    return kolk_watch_ ? kolk_watch_->kept(kept) : NULL;
}

static inline const void *kolk_site_address_(kolk_kept_site_ kept) {
    const void *const *stack = kolk_site_stack_(kept);
    return stack ? *stack : (const void *)kept;
}

/* Writes up to `depth` calls of the stack at a kept site in words; "" if there is no watch. */
void kolk_site_words_(kolk_kept_site_ kept, uint32_t depth, bool lines, char *words, size_t size);

/* Builds the sentence "kolk: POOL: WHAT" and calls the handler with it. WHAT is `format`, with %s for a string and %u
 * for a uint64_t. failure.sentence is set here and is valid during that call. */
void kolk_fail_(kolk_failure failure, const char *format, ...);

/* Reports why the caller cannot `verb` failure.object. It points `inside` bytes behind the start of failure.slot, or
 * into no slot if failure.slot is UINT32_MAX; `noun` is this kind of pool's word for a slot. failure.rule is the rule
 * that is broken if the pointer is the slot's start: KOLK_NEVER_ISSUED, or the rule about a free slot. For any other
 * pointer, this function sets the rule. */
void kolk_fail_object_(kolk_failure failure, const char *verb, const char *noun, uint64_t inside);

/* Reports that a handle belongs to another pool. */
void kolk_fail_handle_(kolk_failure failure, kolk_handle handle);

#endif
