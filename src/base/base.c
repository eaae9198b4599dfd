/* base.c: emits the inline functions of base.h, for programs whose compiler did not inline them, and contains the texts
 * of the statuses. */
#if __STDC_VERSION__ < 199901L
#error "kolk is C: compile its own files as C (not C++), -std=c99 or later; programs may also be gnu89 or C++17"
#endif
#undef KOLK_EXTERN /* the functions of base.inl are emitted here, even if the program defines it */
#define KOLK_BASE_INLINE KOLK_INLINE_
#include "kolk/base.h"
#include "kolk/base.inl"

extern inline uintptr_t kolk_inverse_(uintptr_t odd);
extern inline uintptr_t kolk_exact_slot_(uintptr_t offset, unsigned shift, uintptr_t inverse);
extern inline bool kolk_handle_is_null(kolk_handle handle);
extern inline bool kolk_handle_equal(kolk_handle a, kolk_handle b);
extern inline uint64_t kolk_handle_pack(kolk_handle handle);
extern inline kolk_handle kolk_handle_unpack(uint64_t bits);
extern inline kolk_handle kolk_handle_make_(uint32_t generation, uint32_t index, uint32_t tag);
extern inline uint32_t kolk_handle_generation_(kolk_handle handle);
extern inline uint32_t kolk_handle_index_(kolk_handle handle, uint32_t tag);

const char *kolk_status_text(kolk_status status) {
    switch (status) {
#define KOLK_STATUS_CASE_(name, number, sentence)                                                                      \
    case name:                                                                                                         \
        return sentence;
        KOLK_STATUS_LIST(KOLK_STATUS_CASE_)
#undef KOLK_STATUS_CASE_
    }
    return "not a status of kolk";
}
