/* SPDX-License-Identifier: Zlib */
/* kolk/compiler.h: the same names for what gcc and clang on one side, and Microsoft's compiler on the other, express in
 * different ways. base.h includes it, so programs need not. A clang that imitates Microsoft's compiler (clang-cl)
 * counts as clang. Atomic operations and counts of bits that only the library needs are in src/base/atomics.h and
 * bits.h. */
#ifndef KOLK_COMPILER_H
#define KOLK_COMPILER_H

#include <stdint.h>

#if defined(_MSC_VER) && !defined(__clang__)
#define KOLK_MSVC_ 1
#else
#define KOLK_MSVC_ 0
#endif

#if !KOLK_MSVC_ && !defined(__GNUC__) && !defined(__clang__)
#error "kolk needs gcc, clang or Microsoft's compiler"
#endif
#if KOLK_MSVC_ && !defined(__cplusplus) && (!defined(__STDC_VERSION__) || __STDC_VERSION__ < 201112L)
#error "kolk's headers need C11 or C++17 of Microsoft's compiler: say /std:c11"
#endif
#if !defined(__cplusplus) && defined(__STRICT_ANSI__) && (!defined(__STDC_VERSION__) || __STDC_VERSION__ < 199901L)
#error "kolk's headers need C99, C11 or gnu89: leave out -ansi or -std=c89, or say -std=c99"
#define inline __inline__ /* so that this is the only error message */
#endif

#if defined(__SANITIZE_THREAD__)
#define KOLK_TSAN_ 1
#elif defined(__has_feature)
#define KOLK_TSAN_ __has_feature(thread_sanitizer)
#else
#define KOLK_TSAN_ 0
#endif

#if !KOLK_MSVC_ /* ---- gcc and clang ---- */

/* ALWAYS_INLINE compiles a hot function into each caller. NOINLINE keeps a rarely called function from taking registers
 * away from its caller. */
#define KOLK_ALWAYS_INLINE_ inline __attribute__((always_inline))
#define KOLK_NOINLINE_      __attribute__((noinline))

/* Marks a function whose body is in an .inl file. It is inlined even without optimisation, so that the debug mode's
 * `sites` lie in the user's function and not in one of kolk's. (With optimisation the compiler decides, because a
 * compiler that is forced to inline this function inlines fewer of the others.) */
#ifdef __OPTIMIZE__
#define KOLK_INLINE_AT_O0_ inline
#else
#define KOLK_INLINE_AT_O0_ KOLK_ALWAYS_INLINE_
#endif
#if defined(__GNUC_GNU_INLINE__) && !defined(__cplusplus) /* in gnu89, keeps the body out of all object files */
#define KOLK_NOT_EMITTED_ extern
#else
#define KOLK_NOT_EMITTED_
#endif

/* Marks a static function that many programs do not call. */
#define KOLK_UNUSED_ __attribute__((unused))

/* Ends a macro that makes functions: C++ has empty declarations, C has them as an extension. */
#ifdef __cplusplus
#define KOLK_END_
#else
#define KOLK_END_ __extension__
#endif

/* These two enclose function bodies, which are C99: a C++ compiler might warn about their casts and about NULL, and one
 * of C about variables that are not declared at the top of a block, as programs in the style of C90 demand. */
#ifdef __cplusplus
#define KOLK_BODIES_BEGIN_                                                                                             \
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wold-style-cast\"")                              \
        _Pragma("GCC diagnostic ignored \"-Wzero-as-null-pointer-constant\"")
#else
#define KOLK_BODIES_BEGIN_                                                                                             \
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wdeclaration-after-statement\"")
#endif
#define KOLK_BODIES_END_ _Pragma("GCC diagnostic pop")

#define KOLK_UNLIKELY_(condition)  __builtin_expect(!!(condition), 0)
#define KOLK_UNREACHABLE_()        __builtin_unreachable()
#define KOLK_COPY_(to, from, size) __builtin_memcpy((to), (from), (size))

/* The index of the lowest set bit of a word of 64 bits, which must not be 0. FOLDED is for a constant: it costs no
 * instruction then. */
#define KOLK_LOWEST_BIT_(word)        ((unsigned)__builtin_ctzll(word))
#define KOLK_FOLDED_LOWEST_BIT_(word) KOLK_LOWEST_BIT_(word)

/* The highest bit of each of the 16 bytes from `at` on, as a number, where the processor has an instruction for that.
 * gcc 12 does not compile modules with a vector type that also has may_alias; one of chars needs none. */
#ifdef __SSE2__
typedef char kolk_bytes16_ __attribute__((vector_size(16), aligned(1)));
#define KOLK_HIGH_BITS_(at) ((uint32_t)__builtin_ia32_pmovmskb128(*(const kolk_bytes16_ *)(at)))
#endif

/* These read and write a number of 32 bits that other threads may read at any moment. A thread that sees the number
 * which PUBLISH has written also sees, if it loads with acquire, what this thread wrote before. */
#define KOLK_SEEN_(at)            __atomic_load_n((at), __ATOMIC_RELAXED)
#define KOLK_SET_(at, number)     __atomic_store_n((at), (number), __ATOMIC_RELAXED)
#define KOLK_PUBLISH_(at, number) __atomic_store_n((at), (number), __ATOMIC_RELEASE)

/* Only the library needs the rest. Marks a variable of which each thread has its own. NEAR makes it faster to reach,
 * but takes memory that is scarce for libraries which are loaded after the program's start. */
#define KOLK_THREAD_LOCAL_      _Thread_local
#define KOLK_NEAR_THREAD_LOCAL_ _Thread_local __attribute__((tls_model("initial-exec")))

/* Marks a type through which objects of any type may be accessed. */
#define KOLK_MAY_ALIAS_ __attribute__((may_alias))

/* Marks a function whose n-th argument is a format like printf's. The next argument is the first one that it prints. */
#define KOLK_FORMAT_(n) __attribute__((format(printf, n, n + 1)))

/* The address to which the function returns. */
#define KOLK_RETURN_ADDRESS_() __builtin_extract_return_addr(__builtin_return_address(0))

#define KOLK_IS_LITTLE_ENDIAN_ (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

#else /* ---- Microsoft's compiler: the same names ---- */

#include <intrin.h>
#include <string.h>

#define KOLK_ALWAYS_INLINE_ __forceinline
#define KOLK_NOINLINE_      __declspec(noinline)
#define KOLK_INLINE_AT_O0_  inline /* without optimisation, the compiler inlines nothing */
#define KOLK_NOT_EMITTED_
#define KOLK_UNUSED_ /* the compiler does not report unused inline functions */
#define KOLK_END_    /* the compiler accepts empty declarations in C too */
#define KOLK_BODIES_BEGIN_
#define KOLK_BODIES_END_
#define KOLK_UNLIKELY_(condition)  (condition)
#define KOLK_UNREACHABLE_()        __assume(0)
#define KOLK_COPY_(to, from, size) memcpy((to), (from), (size))

KOLK_ALWAYS_INLINE_ unsigned kolk_lowest_bit_(uint64_t word) {
    unsigned long index;
#if defined(_M_IX86)
    if (_BitScanForward(&index, (unsigned long)word)) return (unsigned)index;
    _BitScanForward(&index, (unsigned long)(word >> 32));
    return 32 + (unsigned)index;
#else
    _BitScanForward64(&index, word);
    return (unsigned)index;
#endif
}

#define KOLK_LOWEST_BIT_(word) kolk_lowest_bit_(word)

/* The compiler may not know _BitScanForward64 of a constant, but it knows the result of these operators. Each line
 * gives one bit of the index. */
KOLK_ALWAYS_INLINE_ unsigned kolk_folded_lowest_bit_(uint64_t word) {
    uint64_t bit = word & (~word + 1);
    return (unsigned)((bit & UINT64_C(0xaaaaaaaaaaaaaaaa)) != 0) |
           (unsigned)((bit & UINT64_C(0xcccccccccccccccc)) != 0) << 1 |
           (unsigned)((bit & UINT64_C(0xf0f0f0f0f0f0f0f0)) != 0) << 2 |
           (unsigned)((bit & UINT64_C(0xff00ff00ff00ff00)) != 0) << 3 |
           (unsigned)((bit & UINT64_C(0xffff0000ffff0000)) != 0) << 4 |
           (unsigned)((bit & UINT64_C(0xffffffff00000000)) != 0) << 5;
}

#define KOLK_FOLDED_LOWEST_BIT_(word) kolk_folded_lowest_bit_(word)

#if defined(_M_X64) && !defined(_M_ARM64EC)
#define KOLK_HIGH_BITS_(at) ((uint32_t)_mm_movemask_epi8(_mm_loadu_si128((const __m128i *)(at))))
#endif

/* Keeps reads and writes in order: those before it happen before those after it. The exception is a write before a read
 * on x86, where the processor may still swap the two. */
KOLK_ALWAYS_INLINE_ void kolk_fence_(void) {
#if (defined(_M_IX86) || defined(_M_X64)) && !defined(_M_ARM64EC)
#pragma warning(suppress : 4996) /* it is deprecated, but <atomic> uses it too */
    _ReadWriteBarrier();
#else
    __dmb(_ARM64_BARRIER_ISH);
#endif
}

/* Each volatile access of an aligned number is one instruction. */
KOLK_ALWAYS_INLINE_ uint32_t kolk_seen_(const uint32_t *at) {
    return *(const volatile uint32_t *)at;
}

KOLK_ALWAYS_INLINE_ void kolk_set_(uint32_t *at, uint32_t number) {
    *(volatile uint32_t *)at = number;
}

#define KOLK_SEEN_(at)            kolk_seen_(at)
#define KOLK_SET_(at, number)     kolk_set_((at), (number))
#define KOLK_PUBLISH_(at, number) (kolk_fence_(), kolk_set_((at), (number)))

#define KOLK_THREAD_LOCAL_      __declspec(thread)
#define KOLK_NEAR_THREAD_LOCAL_ __declspec(thread)
#define KOLK_MAY_ALIAS_         /* the compiler assumes this of all types */
#define KOLK_FORMAT_(n)
#define KOLK_RETURN_ADDRESS_() _ReturnAddress()
#define KOLK_IS_LITTLE_ENDIAN_ 1

#endif

/* ---- Both ---- */

#if defined(_WIN32) && defined(KOLK_BUILD) && defined(KOLK_SHARED)
#define KOLK_API_ __declspec(dllexport)
#elif !defined(_WIN32)
#define KOLK_API_ __attribute__((visibility("default")))
#else
#define KOLK_API_
#endif

/* Marks, in place of KOLK_API_, a function whose n-th argument points to a struct that must be initialised. gcc 11 and
 * later then warns where it sees that a program has forgotten to initialise it (-Wmaybe-uninitialized, part of -Wall).
 * It warns without this mark if the argument is a pointer to const, or if it has inlined the function, which it seldom
 * does in main. Older gcc and clang have no such warning. g++ would warn of each std::unique_ptr whose deleter is such
 * a function. */
#ifndef __cplusplus
#ifdef __has_attribute
#if __has_attribute(__access__)
#define KOLK_NEEDS_INIT_(n) __attribute__((__access__(__read_write__, n)))
#endif
#endif
#endif
#ifndef KOLK_NEEDS_INIT_
#define KOLK_NEEDS_INIT_(n)
#endif
#define KOLK_USES_(n) KOLK_API_ KOLK_NEEDS_INIT_(n)

#ifdef KOLK_EXTERN
#define KOLK_INLINE_ KOLK_API_
#else
#define KOLK_INLINE_ KOLK_API_ KOLK_NOT_EMITTED_ KOLK_INLINE_AT_O0_
#endif
#define KOLK_INLINE_USES_(n) KOLK_INLINE_ KOLK_NEEDS_INIT_(n)

/* Like KOLK_INLINE_, for a function that a constant argument reduces to a few instructions. It is always inlined,
 * because a call would compute at run time what the compiler knows. */
#define KOLK_FOLDED_INLINE_ KOLK_API_ KOLK_NOT_EMITTED_ KOLK_ALWAYS_INLINE_

/* For the steps of a loop. They are always inlined, unless the program is optimised for size: after a call the loop
 * would keep in memory what it counts with. */
#ifdef __OPTIMIZE_SIZE__
#define KOLK_INLINE_IN_LOOPS_ inline
#else
#define KOLK_INLINE_IN_LOOPS_ KOLK_ALWAYS_INLINE_
#endif
#define KOLK_LOOP_INLINE_ KOLK_API_ KOLK_NOT_EMITTED_ KOLK_INLINE_IN_LOOPS_

#ifdef __cplusplus
#define KOLK_ALIGNAS(n) alignas(n)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define KOLK_ALIGNAS(n) _Alignas(n)
#else
#define KOLK_ALIGNAS(n) __attribute__((aligned(n))) /* in a C99 program of gcc or clang */
#endif

#endif
