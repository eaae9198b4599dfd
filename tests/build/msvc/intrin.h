/* The functions that Microsoft's compiler has built in and kolk uses, as its <intrin.h> declares them. */
#ifndef INTRIN_H
#define INTRIN_H

#ifdef __cplusplus
extern "C" {
#endif
unsigned char _BitScanForward(unsigned long *index, unsigned long mask);
unsigned char _BitScanReverse(unsigned long *index, unsigned long mask);
char _InterlockedCompareExchange8(char volatile *at, char desired, char expected);
long _InterlockedCompareExchange(long volatile *at, long desired, long expected);
__int64 _InterlockedCompareExchange64(__int64 volatile *at, __int64 desired, __int64 expected);
void *_ReturnAddress(void);
#if defined(_M_X64) || defined(_M_ARM64)
unsigned char _BitScanForward64(unsigned long *index, unsigned __int64 mask);
#endif
#ifdef _M_X64
typedef struct __m128i {
    char bytes[16];
} __m128i;
__m128i _mm_loadu_si128(__m128i const *at);
int _mm_movemask_epi8(__m128i bytes);
#endif
#if defined(_M_ARM64)
void __dmb(unsigned int type);
void __isb(unsigned int type);
#define _ARM64_BARRIER_ISH 0xb
#define _ARM64_BARRIER_SY  0xf
#else
void _ReadWriteBarrier(void);
void _mm_pause(void);
#endif
#ifdef __cplusplus
}
#endif
#endif
