/* What kolk uses of Microsoft's compiler, made of gcc's builtins: with this as <intrin.h>, the code that is for that
 * compiler runs where there is none. A long has 32 bits there. */
#ifndef INTRIN_H
#define INTRIN_H

#include <emmintrin.h>
#include <stdint.h>

#define __forceinline inline __attribute__((always_inline))
#define __declspec(word) DECLSPEC_##word
#define DECLSPEC_noinline   __attribute__((noinline))
#define DECLSPEC_thread     _Thread_local
#define __assume(condition) __builtin_unreachable()
#define _ReturnAddress()    __builtin_extract_return_addr(__builtin_return_address(0))
#define _mm_pause()         __builtin_ia32_pause()
#define _ReadWriteBarrier() __asm__ volatile("" ::: "memory")

#define _BitScanForward(index, mask)                                                                                   \
    (*(index) = (unsigned)__builtin_ctzll((uint32_t)(mask) | UINT64_C(1) << 32), (uint32_t)(mask) != 0)
#define _BitScanReverse(index, mask)   (*(index) = 31 - (unsigned)__builtin_clz((uint32_t)(mask)), 1)
#define _BitScanForward64(index, mask) (*(index) = (unsigned)__builtin_ctzll(mask), 1)

#define _InterlockedCompareExchange8(at, desired, expected)                                                            \
    __sync_val_compare_and_swap((volatile uint8_t *)(at), (uint8_t)(expected), (uint8_t)(desired))
#define _InterlockedCompareExchange(at, desired, expected)                                                             \
    __sync_val_compare_and_swap((volatile uint32_t *)(at), (uint32_t)(expected), (uint32_t)(desired))
#define _InterlockedCompareExchange64(at, desired, expected)                                                           \
    __sync_val_compare_and_swap((volatile uint64_t *)(at), (uint64_t)(expected), (uint64_t)(desired))

#endif
