/* The functions of the C library that kolk needs on a device, as small as possible: newlib's take 470 bytes. */
#include <stddef.h>
#include <string.h>

void *memcpy(void *restrict to, const void *restrict from, size_t size) {
    return memmove(to, from, size);
}

void *memmove(void *to, const void *from, size_t size) {
    char *into = to;
    const char *of = from;
    if (into < of)
        for (size_t i = 0; i < size; i++) into[i] = of[i];
    else
        while (size-- > 0) into[size] = of[size];
    return to;
}

void *memset(void *to, int byte, size_t size) {
    char *into = to;
    while (size-- > 0) into[size] = (char)byte;
    return to;
}

int memcmp(const void *one, const void *other, size_t size) {
    const unsigned char *a = one, *b = other;
    for (size_t i = 0; i < size; i++)
        if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    return 0;
}
