/* ipc_hints.c: finds free slots. A hint is a bit for a slot that is probably free: see ipc.c.
 *
 * Searching. An alloc that finds no hint makes `search` odd and looks at all lives. It gives each free slot a hint; the
 * slots' hints were on their way somewhere, or gone. If there is none, the alloc fails, unless something has become
 * free meanwhile: then it looks for that hint. While `search` is odd, a free gives its slot a hint at once, where all
 * find it, and then adds 2. So if an alloc finds no hint and `search` is what it was when this process last searched in
 * vain, nothing has become free since, and it need not search again. A free that fills half a word of hints ends the
 * search, by making the word even; if anything has happened meanwhile, it does not. One word for both, because a search
 * that ended and one that began later would else look alike.
 *
 * The alloc makes `search` odd before it looks at the lives, and a free changes the life before it reads `search`; all
 * four are sequentially consistent, so at least one sees what the other wrote (Dekker). (A recovery stores the life,
 * and then adds to `search` in any case: whichever addition is the first, the other thread sees what preceded it.)
 * Hence NULL proves that at one moment no slot was free: when `search` was read for the second time, every slot that
 * was seen alive was still alive, or its free had not returned yet. */
#include "ipc_inside.h"

#if KOLK_HOSTED

#include "../base/bits.h"

/* ---- Hints ------------------------------------------------------------------------------------------------------- */

/* The hints that a thread keeps to itself: slots of one word from which it allocates, and of one into which it
 * frees. */
typedef struct hints {
    uint64_t serial; /* of the pool */
    uint32_t word, freed_word;
    uint64_t bits, freed_bits;
} hints;

#define POOLS_OF_THREAD 4u /* more pools than that lose hints to each other */

static hints *hints_here(const kolk_ipc *pool) {
    static KOLK_THREAD_LOCAL_ hints of_thread[POOLS_OF_THREAD];
    hints *mine = &of_thread[pool->serial % POOLS_OF_THREAD];
    if (KOLK_UNLIKELY_(mine->serial != pool->serial)) *mine = (hints){.serial = pool->serial};
    return mine;
}

static void put_hints(const kolk_ipc *pool, uint32_t word, uint64_t bits) {
    kolk_slot_set_ set = hints_of(pool);
    if (bits) kolk_slot_set_put_(&set, word, bits);
}

static bool is_searching(const kolk_ipc *pool) {
    return kolk_load_(&pool->block->search, KOLK_SEQ_CST_) & 1;
}

#define ONE_RETURN 2u

/* Begins or ends the search, unless something has happened since the word was read. */
static void step_search(const kolk_ipc *pool, uint64_t seen) {
    kolk_compare_exchange_(&pool->block->search, &seen, seen + 1, KOLK_SEQ_CST_, KOLK_RELAXED_);
}

/* A slot is in use only if its word was noted before. */
static void note_use(const kolk_ipc *pool, uint32_t word) {
    uint32_t *words = &pool->block->used_words, used = kolk_load_(words, KOLK_SEQ_CST_);
    for (uint32_t rounds = 0; used <= word && rounds < IPC_MOST_ROUNDS; rounds++)
        if (kolk_compare_exchange_(words, &used, word + 1, KOLK_SEQ_CST_, KOLK_SEQ_CST_)) return;
}

/* Takes the hints of a word that others can see: not more than each 64th of all, so that others find some too. */
static bool take_hints(const kolk_ipc *pool, hints *mine) {
    uint32_t most = is_searching(pool) ? 1 : pool->capacity < 64 * 64 ? 1 + pool->capacity / 64 : 64, word;
    kolk_slot_set_ set = hints_of(pool);
    kolk_slot_walk_ walk = kolk_slot_walk_from_(&set, kolk_bits_words_(pool->capacity), mine->word);
    while (kolk_slot_walk_next_(&walk, &word)) {
        uint64_t valid = bits_in_word(pool, word);
        if (!valid) continue;
        mine->bits = most >= 64 ? kolk_slot_set_take_word_(&set, word) : kolk_slot_set_take_some_(&set, word, most);
        mine->bits &= valid;
        mine->word = word;
        if (!mine->bits) continue;
        note_use(pool, word);
        return true;
    }
    return false;
}

uint32_t kolk_ipc_next_hint_(const kolk_ipc *pool) {
    hints *mine = hints_here(pool);
    if (!mine->bits && mine->freed_bits) {
        mine->bits = mine->freed_bits;
        mine->word = mine->freed_word;
        mine->freed_bits = 0;
    }
    if (!mine->bits && !take_hints(pool, mine)) return KOLK_NO_SLOT_;
    uint32_t slot = mine->word * 64 + kolk_bits_lowest_(mine->bits);
    mine->bits &= mine->bits - 1;
    return slot;
}

void kolk_ipc_show_hints_(const kolk_ipc *pool, uint32_t word, uint64_t freed) {
    kolk_slot_set_ set = hints_of(pool);
    put_hints(pool, word, freed);
    uint64_t search = kolk_fetch_add_(&pool->block->search, ONE_RETURN, KOLK_SEQ_CST_) + ONE_RETURN;
    uint64_t valid = bits_in_word(pool, word),
             bits = kolk_load_(kolk_slot_set_word_(&set, word), KOLK_RELAXED_) & valid;
    bool many = 2 * kolk_bits_count_(bits) >= kolk_bits_count_(valid);
    if ((search & 1) && many) step_search(pool, search);
    call_one(&pool->block->free);
}

void kolk_ipc_keep_hint_(const kolk_ipc *pool, uint32_t slot) {
    hints *mine = hints_here(pool);
    if (KOLK_UNLIKELY_(is_searching(pool))) {
        kolk_ipc_show_hints_(pool, slot / 64, kolk_bits_at_(slot));
        return;
    }
    if (mine->freed_word != slot / 64) {
        put_hints(pool, mine->freed_word, mine->freed_bits);
        mine->freed_word = slot / 64;
        mine->freed_bits = 0;
    }
    mine->freed_bits |= kolk_bits_at_(slot);
}

/* ---- Search ------------------------------------------------------------------------------------------------------ */

/* Gives each free slot a hint; false if there is none. */
static bool hint_at_all(const kolk_ipc *pool) {
    bool any = false;
    for (uint32_t word = 0; word < kolk_bits_words_(pool->capacity); word++) {
        uint64_t free = 0;
        for (uint64_t left = bits_in_word(pool, word); left; left &= left - 1) {
            uint32_t slot = word * 64 + kolk_bits_lowest_(left);
            if (!has_live_object(kolk_load_(&pool->lives[slot], KOLK_SEQ_CST_))) free |= kolk_bits_at_(slot);
        }
        put_hints(pool, word, free);
        any |= free != 0;
    }
    return any;
}

bool kolk_ipc_search_(kolk_ipc *pool) {
    const uint64_t *word = &pool->block->search;
    uint64_t search = kolk_load_(word, KOLK_SEQ_CST_);
    if (!(search & 1)) step_search(pool, search++);
    if (search == kolk_load_(&pool->seen, KOLK_RELAXED_)) return false;
    if (hint_at_all(pool) || kolk_load_(word, KOLK_SEQ_CST_) != search) return true;
    kolk_store_(&pool->seen, search, KOLK_RELAXED_);
    return false;
}

#endif
