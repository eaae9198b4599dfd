/* operators.c: C++'s operators new and delete.
 *
 * The operators of C++'s own library call malloc and free. These here save up to three jumps and a frame, and a report
 * names the caller of new and not new itself. All of them are here, because new and delete must fit together: another
 * library of the program may have its own ones, and malloc too.
 *
 * If the program itself replaces some of them, the others must call these: new[] calls new, for example. Then, and if
 * there is no memory, each function calls its original in C++'s library, which knows what to do: it calls the program's
 * operators, runs the handler of std::set_new_handler, and throws. The originals call malloc and free, too. The same
 * happens before the library has found out whether the program replaces some. */
#include "calls.h"

#include <dlfcn.h>
#include <stdlib.h>

/* Each row has what a function returns, its name, the operator's symbol, its parameters, and the call in it. */
#define OPERATOR_LIST(X)                                                                                               \
    X(void *, new_one, "_Znwm", (size_t size), return new_for, size, 0)                                                \
    X(void *, new_array, "_Znam", (size_t size), return new_for, size, 0)                                              \
    X(void *, new_or_null, "_ZnwmRKSt9nothrow_t", (size_t size, uintptr_t tag), return new_for, size, tag)             \
    X(void *, new_array_or_null, "_ZnamRKSt9nothrow_t", (size_t size, uintptr_t tag), return new_for, size, tag)       \
    X(void *, new_aligned, "_ZnwmSt11align_val_t", (size_t size, size_t align), return new_aligned_for, size, align,   \
      0)                                                                                                               \
    X(void *, new_aligned_array, "_ZnamSt11align_val_t", (size_t size, size_t align), return new_aligned_for, size,    \
      align, 0)                                                                                                        \
    X(void *, new_aligned_or_null, "_ZnwmSt11align_val_tRKSt9nothrow_t", (size_t size, size_t align, uintptr_t tag),   \
      return new_aligned_for, size, align, tag)                                                                        \
    X(void *, new_aligned_array_or_null, "_ZnamSt11align_val_tRKSt9nothrow_t",                                         \
      (size_t size, size_t align, uintptr_t tag), return new_aligned_for, size, align, tag)                            \
    X(void, delete_one, "_ZdlPv", (void *block), delete_for, block, 0, 0)                                              \
    X(void, delete_array, "_ZdaPv", (void *block), delete_for, block, 0, 0)                                            \
    X(void, delete_sized, "_ZdlPvm", (void *block, size_t size), delete_for, block, size, 0)                           \
    X(void, delete_sized_array, "_ZdaPvm", (void *block, size_t size), delete_for, block, size, 0)                     \
    X(void, delete_or_null, "_ZdlPvRKSt9nothrow_t", (void *block, uintptr_t tag), delete_for, block, tag, 0)           \
    X(void, delete_array_or_null, "_ZdaPvRKSt9nothrow_t", (void *block, uintptr_t tag), delete_for, block, tag, 0)     \
    X(void, delete_aligned, "_ZdlPvSt11align_val_t", (void *block, size_t align), delete_for, block, align, 0)         \
    X(void, delete_aligned_array, "_ZdaPvSt11align_val_t", (void *block, size_t align), delete_for, block, align, 0)   \
    X(void, delete_sized_aligned, "_ZdlPvmSt11align_val_t", (void *block, size_t size, size_t align), delete_for,      \
      block, size, align)                                                                                              \
    X(void, delete_sized_aligned_array, "_ZdaPvmSt11align_val_t", (void *block, size_t size, size_t align),            \
      delete_for, block, size, align)                                                                                  \
    X(void, delete_aligned_or_null, "_ZdlPvSt11align_val_tRKSt9nothrow_t", (void *block, size_t align, uintptr_t tag), \
      delete_for, block, align, tag)                                                                                   \
    X(void, delete_aligned_array_or_null, "_ZdaPvSt11align_val_tRKSt9nothrow_t",                                       \
      (void *block, size_t align, uintptr_t tag), delete_for, block, align, tag)

#define DECLARE_OPERATOR(result, function, symbol, parameters, ...) EXPORT result function parameters __asm__(symbol);
OPERATOR_LIST(DECLARE_OPERATOR)

#define NUMBER_OPERATOR(result, function, ...) AT_##function,
enum { OPERATOR_LIST(NUMBER_OPERATOR) OPERATORS };

typedef void any_operator(void);

static const struct {
    const char *name;
    any_operator *volatile visible; /* the one that the program calls; volatile, because it need not be the one below */
} operators[] = {
#define NAME_OPERATOR(result, function, symbol, ...) {symbol, (any_operator *)function},
    OPERATOR_LIST(NAME_OPERATOR)};

static bool replaces_none; /* the program has no operators of its own */

extern const char library_start[] __asm__("__ehdr_start") __attribute__((visibility("hidden")));
extern const char library_end[] __asm__("_end") __attribute__((visibility("hidden")));

void kolk_note_operators_(void) {
    for (unsigned n = 0; n < OPERATORS; n++) {
        uintptr_t visible = (uintptr_t)operators[n].visible;
        if (visible < (uintptr_t)library_start || visible >= (uintptr_t)library_end) return;
    }
    replaces_none = true;
}

/* C++'s own operator. It is in a library that was loaded with the program or, if only a plugin uses C++, later. */
static any_operator *original(unsigned n) {
    static const char *const libraries[] = {"libstdc++.so.6", "libc++.so.1"};
    static uintptr_t found[OPERATORS];
    uintptr_t it = kolk_load_(&found[n], KOLK_RELAXED_);
    if (!it) it = (uintptr_t)dlsym(RTLD_NEXT, operators[n].name);
    for (unsigned i = 0; i < 2 && !it; i++) {
        void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
        if (library) it = (uintptr_t)dlsym(library, operators[n].name);
    }
    if (!it) abort(); /* whoever calls the operator was linked with such a library */
    kolk_store_(&found[n], it, KOLK_RELAXED_);
    return (any_operator *)it;
}

/* Functions that take fewer arguments ignore the others, because all of them are in registers. */
typedef void *any_new(size_t size, uintptr_t second, uintptr_t third);
typedef void any_delete(void *block, uintptr_t second, uintptr_t third);

KOLK_NOINLINE_ static void *new_original(unsigned n, size_t size, uintptr_t second, uintptr_t third) {
    return ((any_new *)original(n))(size, second, third);
}

KOLK_NOINLINE_ static void delete_original(unsigned n, void *block, uintptr_t second, uintptr_t third) {
    ((any_delete *)original(n))(block, second, third);
}

KOLK_NOINLINE_ static void *new_slow(unsigned n, size_t size, uintptr_t second, const void *site) {
    void *block = replaces_none ? alloc_slow(1, size, site) : NULL;
    return block ? block : new_original(n, size, second, 0);
}

KOLK_ALWAYS_INLINE_ static void *new_for(unsigned n, size_t size, uintptr_t second, const void *site) {
    void *block = KOLK_UNLIKELY_(!replaces_none) ? NULL : take_at_hand(&malloc_heap, malloc_thread(), size);
    return KOLK_UNLIKELY_(!block) ? new_slow(n, size, second, site) : block;
}

static inline void *new_aligned_for(unsigned n, size_t size, size_t align, uintptr_t third, const void *site) {
    void *block = replaces_none && is_power_of_two(align) ? alloc_aligned_for(align, size, site) : NULL;
    return block ? block : new_original(n, size, align, third);
}

KOLK_ALWAYS_INLINE_ static void delete_for(unsigned n, void *block, uintptr_t second, uintptr_t third,
                                           const void *site) {
    if (KOLK_UNLIKELY_(!replaces_none))
        delete_original(n, block, second, third);
    else
        free_for(block, site);
}

#define DEFINE_OPERATOR(result, function, symbol, parameters, call, ...)                                               \
    result function parameters {                                                                                       \
        call(AT_##function, __VA_ARGS__, SITE);                                                                        \
    }
OPERATOR_LIST(DEFINE_OPERATOR)
