/* cxx_name.h: the names of C++'s functions as people read them, for reports and for the kolk command.
 *
 *     _ZN4shop5store3addEi              shop::store::add
 *     _ZNSt6vectorIiSaIiEE8pop_backEv   std::vector<...>::pop_back
 *
 * Parameters and the arguments of templates are left out: they are long, and the line of source tells overloads apart.
 */
#ifndef KOLK_SRC_CXX_NAME_H
#define KOLK_SRC_CXX_NAME_H

#include <stddef.h>

#define KOLK_CXX_NAME_ROOM_ 400u

typedef struct kolk_cxx_name_ {
    char text[KOLK_CXX_NAME_ROOM_]; /* without a final 0 */
    size_t length;
} kolk_cxx_name_;

/* If `text` begins with a name as compilers write it (Itanium C++ ABI, 5.1), makes it readable. Returns the length of
 * what that replaces, or 0 if the name is none, unusual or long. O(length). Linux only. */
size_t kolk_cxx_name_read_(const char *text, size_t length, kolk_cxx_name_ *name);

#endif
