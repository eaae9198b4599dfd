/* last_life.h: wears slots out at once. Include kolk/pool.h or kolk.h first. */
#ifndef TESTS_POOL_LAST_LIFE_H
#define TESTS_POOL_LAST_LIFE_H

/* The life of the object in this slot is the slot's last one. */
static inline void be_in_last_life(kolk_pool *pool, uint32_t slot) {
    pool->states[slot] |= (uint8_t)(128u - KOLK_A_LIFE_);
    pool->high[slot] = KOLK_GENERATION_MAX / KOLK_LOWS_;
}

#endif
