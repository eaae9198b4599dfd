/* sites_name.c: shortens the names that C++ compilers give to functions: "_ZN4game5enemy3hitEi+0x2c" becomes
 * "game::enemy::hit+0x2c". Parameters are left out, and the arguments of a template are "...". It allocates nothing,
 * which libstdc++'s __cxa_demangle does, and a program in C has no libstdc++. A name that it does not understand stays
 * as it is: operators, conversions, and functions inside functions.
 *
 * The form of the names is that of the Itanium C++ ABI, 5.1. */
#include "../os/system.h"

#include "kolk/base.h"

#if KOLK_DIAGNOSTICS && defined(__linux__)

#include "sites_inside.h"

#define LONGEST 200 /* bytes of a shortened name */

/* What is left of a name, and what it was shortened to. */
typedef struct shortening {
    const char *at;
    char text[LONGEST];
    size_t length;
    size_t last; /* where the last part begins: the class of a constructor */
} shortening;

static bool add_part(shortening *name, const char *part, size_t size) {
    if (name->length + size + 3 > sizeof name->text) return false;
    memcpy(name->text + name->length, part, size);
    name->length += size;
    name->text[name->length] = 0;
    return true;
}

static bool begin_part(shortening *name) {
    if (name->length && !add_part(name, "::", 2)) return false;
    name->last = name->length;
    return true;
}

static size_t read_number(const char **at) {
    size_t number = 0;
    while (**at >= '0' && **at <= '9' && number < 100000) number = number * 10 + (size_t)(*(*at)++ - '0');
    return number;
}

/* Reads "5enemy". */
static bool read_source_name(shortening *name) {
    size_t size = read_number(&name->at);
    if (size == 0 || memchr(name->at, 0, size) || !begin_part(name)) return false;
    bool unnamed = size >= 10 && memcmp(name->at, "_GLOBAL__N", 10) == 0;
    if (!(unnamed ? add_part(name, "{unnamed}", 9) : add_part(name, name->at, size))) return false;
    name->at += size;
    return true;
}

/* Reads "C1" or "D2", which stand for a constructor and a destructor. */
static bool read_structor(shortening *name) {
    char last[LONGEST];
    bool ends = *name->at == 'D';
    size_t size = name->length - name->last;
    if (name->length == 0 || name->at[1] < '0' || name->at[1] > '5') return false;
    memcpy(last, name->text + name->last, size);
    last[size] = 0;
    name->at += 2;
    return begin_part(name) && (!ends || add_part(name, "~", 1)) && add_part(name, last, strcspn(last, "<"));
}

/* Passes over "I...E", the arguments of a template. */
static bool pass_arguments(shortening *name) {
    unsigned depth = 0;
    do {
        char first = *name->at;
        if (first >= '0' && first <= '9') {
            size_t size = read_number(&name->at);
            if (memchr(name->at, 0, size)) return false;
            name->at += size;
            continue;
        }
        name->at++;
        if (first == 'S' || first == 'T') { /* something that was named before: "S_", "S1_", "St", "T0_" */
            bool is_short = first == 'S' && *name->at >= 'a' && *name->at <= 'z';
            if (!is_short && !(name->at = strchr(name->at, '_'))) return false;
            name->at++;
        } else if (first == 'L') { /* a constant: "Lj16E", "Lb1E", or a name */
            if (name->at[0] < 'a' || name->at[0] > 'z' || !(name->at = strchr(name->at, 'E'))) return false;
            name->at++;
        } else if (first == 'I' || first == 'N' || first == 'J' || first == 'F') {
            depth++;
        } else if (first == 'E') {
            depth--;
        } else if (first == 'X' || first == 'U' || first == 0) { /* expressions, lambdas */
            return false;
        }
    } while (depth);
    return add_part(name, "<...>", 5);
}

static bool read_part(shortening *name) {
    if (*name->at == 'L') name->at++; /* a function that only its file sees */
    if (*name->at == 'S' && name->at[1] == 't') {
        name->at += 2;
        return begin_part(name) && add_part(name, "std", 3);
    }
    if (*name->at == 'C' || *name->at == 'D') return read_structor(name);
    if (*name->at == 'I' && name->length) return pass_arguments(name);
    return read_source_name(name);
}

static bool shorten(shortening *name) {
    if (*name->at == 'N') {
        name->at += 1 + strspn(name->at + 1, "KVrRO");
        while (*name->at != 'E')
            if (!read_part(name)) return false;
        return name->length > 0;
    }
    if (strncmp(name->at, "St", 2) == 0 && !read_part(name)) return false;
    return read_part(name) && (*name->at != 'I' || read_part(name));
}

void kolk_site_shorten_(site_text *out, size_t start) {
    char *mangled = out->text + start;
    shortening name = {.at = mangled + 2};
    if (strncmp(mangled, "_Z", 2) != 0 || !shorten(&name)) return;
    char distance[40] = "";
    const char *plus = strrchr(mangled, '+');
    if (plus) snprintf(distance, sizeof distance, "%s", plus);
    out->length = start;
    add_text(out, name.text, name.length);
    add_text(out, distance, strlen(distance));
}

#endif
