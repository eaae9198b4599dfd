/* cli/replay/mangled.h: the names of C++'s functions as people read them.
 *
 *     _ZN4shop5store3addEi              shop::store::add
 *     _ZNSt6vectorIiSaIiEE8pop_backEv   std::vector<...>::pop_back
 *
 * Parameters and the arguments of templates are left out: they are long, and the line of source tells overloads apart.
 * So a name gets shorter, and its text needs no library and little time, whatever a file has in it. */
#ifndef CLI_MANGLED_H
#define CLI_MANGLED_H

#include <stddef.h>

enum { MANGLED_ROOM = 1024 };

struct readable {
    char text[MANGLED_ROOM]; /* without a final 0 */
    size_t length;
};

/* If `text` begins with a name as compilers write it (Itanium C++ ABI, 5.1), makes it readable. Returns the length of
 * what that replaces, or 0 if the name is none, unusual or long. */
size_t mangled_read(const char *text, size_t length, struct readable *readable);

#endif
