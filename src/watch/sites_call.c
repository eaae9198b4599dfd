/* sites_call.c: prints one call, with the function that contains it, and skips kolk's own. sites.c has the essay.
 *
 * dladdr finds only exported functions, and finds those of a program only if it was linked with -rdynamic. So the
 * symbols are read from the file by pread, piece by piece, without mapping or allocating anything. Numbers from a
 * damaged file do no harm: they are used only as offsets for pread, which fails beyond the file's end. */
#include "../os/system.h"

#include "kolk/base.h"

#if KOLK_HOSTED && defined(__linux__)

#include "sites_inside.h"

#include <link.h>

/* ---- The function ------------------------------------------------------------------------------------------------ */

typedef struct symbol_search {
    int file;
    ElfW(Ehdr) header;
    ElfW(Addr) address;
    ElfW(Shdr) symbols, names;
    ElfW(Sym) best; /* st_name is 0 while none is found */
} symbol_search;

static bool read_section(const symbol_search *in, size_t index, ElfW(Shdr) * section) {
    return index < in->header.e_shnum &&
           kolk_site_read_(in->file, in->header.e_shoff + (uint64_t)index * sizeof *section, section, sizeof *section);
}

static bool find_section(const symbol_search *in, unsigned type, ElfW(Shdr) * section) {
    for (size_t i = 0; read_section(in, i, section); i++)
        if (section->sh_type == type) return true;
    return false;
}

/* A stripped file has only the symbols of exported functions. */
static bool find_symbols(symbol_search *in) {
    return (find_section(in, SHT_SYMTAB, &in->symbols) || find_section(in, SHT_DYNSYM, &in->symbols)) &&
           read_section(in, in->symbols.sh_link, &in->names);
}

/* Of several functions that contain the address, takes the innermost one. Symbols without a size are labels. */
static void consider_symbol(symbol_search *in, const ElfW(Sym) * symbol) {
    unsigned type = symbol->st_info & 15;
    if (symbol->st_shndx == SHN_UNDEF || !symbol->st_name || (type != STT_FUNC && type != STT_GNU_IFUNC)) return;
    if (in->address - symbol->st_value >= symbol->st_size) return;
    if (!in->best.st_name || symbol->st_value > in->best.st_value) in->best = *symbol;
}

static bool find_function(symbol_search *in) {
    if (!kolk_site_read_(in->file, 0, &in->header, sizeof in->header) || !find_symbols(in)) return false;
    ElfW(Sym) some[64];
    uint64_t count = in->symbols.sh_size / sizeof *some;
    for (uint64_t i = 0; i < count; i += sizeof some / sizeof *some) {
        ssize_t bytes = pread(in->file, some, sizeof some, (off_t)(in->symbols.sh_offset + i * sizeof *some));
        if (bytes <= 0) break;
        for (size_t k = 0; k < (size_t)bytes / sizeof *some && i + k < count; k++) consider_symbol(in, &some[k]);
    }
    return in->best.st_name;
}

/* Adds "on_hit+0x2c". Returns false and adds nothing if no function with a name contains the address. */
static bool add_function(site_text *out, const site_module *in) {
    symbol_search of = {.file = in->file, .address = in->site - 1 - in->base};
    if (in->file < 0 || !find_function(&of)) return false;
    size_t start = out->length;
    uint64_t at = of.names.sh_offset + (uint64_t)of.best.st_name;
    for (size_t length = 1; length && out->length + 1 < out->size; at += length) {
        char part[64];
        ssize_t bytes = pread(in->file, part, sizeof part, (off_t)at);
        length = bytes > 0 ? strnlen(part, (size_t)bytes) : 0;
        add_text(out, part, length);
    }
    if (out->length == start) return false;
    add_hex(out, "+", in->site - in->base - of.best.st_value);
    return true;
}

/* Compilers write their names into the section .comment. */
bool kolk_site_is_by_clang_(const site_module *in) {
    symbol_search of = {.file = in->file};
    ElfW(Shdr) section;
    if (!kolk_site_read_(of.file, 0, &of.header, sizeof of.header)) return false;
    if (!read_section(&of, of.header.e_shstrndx, &of.names)) return false;
    for (size_t i = 0; read_section(&of, i, &section); i++) {
        char name[9], text[512];
        if (!kolk_site_read_(of.file, of.names.sh_offset + (uint64_t)section.sh_name, name, sizeof name)) continue;
        if (memcmp(name, ".comment", sizeof name) != 0) continue;
        ssize_t bytes = pread(of.file, text, sizeof text, (off_t)section.sh_offset);
        size_t size = bytes > 0 ? (size_t)bytes : 0;
        if (size > section.sh_size) size = (size_t)section.sh_size;
        return memmem(text, size, "clang", 5) != NULL;
    }
    return false;
}

static void add_module_name(site_text *out, const char *path) {
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    add_text(out, name, strlen(name));
}

/* Adds "on_hit+0x2c"; if there is no symbol, adds `otherwise`, or "module+0x11f3" if that is unknown, too. */
static void add_address(site_text *out, const site_module *in, const char *otherwise) {
    if (add_function(out, in)) return;
    if (otherwise && *otherwise && *otherwise != '?') {
        add_text(out, otherwise, strlen(otherwise));
        return;
    }
    add_module_name(out, in->path);
    add_hex(out, *in->path ? "+" : "", *in->path ? in->site - in->base : in->site);
}

/* ---- The call ---------------------------------------------------------------------------------------------------- */

#define SIZED "_sized_"

/* Records the verb if this function of kolk's is one that only typed functions call, such as
 * "kolk_pool_free_sized_+0x2c" or "kolk_pool_free_sized_.part.0". Its typed caller has the same verb:
 * "bullets_free". */
static void note_typed(site_calls *calls, const char *name) {
    const char *end = strstr(name, SIZED), *verb = end;
    calls->typed_verb[0] = 0;
    if (!end || !strchr(".+", end[sizeof SIZED - 1])) return; /* strchr also finds the final 0 */
    while (verb > name && *--verb != '_') {}
    size_t length = (size_t)(end - verb);
    if (length >= sizeof calls->typed_verb) return;
    memcpy(calls->typed_verb, verb, length);
    calls->typed_verb[length] = 0;
}

/* Does the name end in the verb? A C++ name also contains its parameters, so the verb may be anywhere in it. */
static bool has_verb(const char *name, const char *verb) {
    size_t length = strcspn(name, ".+"), end = strlen(verb);
    if (strncmp(name, "_Z", 2) == 0) return strstr(name, verb) != NULL;
    return length > end && memcmp(name + length - end, verb, end) == 0;
}

/* If it has not the typed verb, the compiler has merged the typed function into one of the program's. */
static bool is_typed(const site_calls *calls, const char *name) {
    return calls->typed_verb[0] && has_verb(name, calls->typed_verb);
}

/* Is this one of the typed functions that call the library? A stack begins with the call into the library, so no callee
 * shows that the function is typed, only its name does. (A function of the program's own may have such a name: then its
 * callers are named.) Without debug information, it may be merged into the function that has the name. */
static bool calls_library(const site_call *call, const char *name) {
    static const char *const verbs[] = {
        "_alloc_zeroed",   "_alloc_urgent", "_alloc_over", "_alloc_n",    "_alloc_run",   "_alloc_at",
        "_alloc_at_index", "_alloc_in",     "_unpin",      "_alloc_wait", "_free_handle", "_free_at",
        "_free_n",         "_free_later",   "_borrow",     "_give_back",  "_discard",
    };
    for (size_t i = 0; *call->source && i < sizeof verbs / sizeof *verbs; i++)
        if (has_verb(name, verbs[i])) return true;
    return false;
}

/* A member of the classes of kolk.hpp has the second or the third beginning. */
static bool is_named_by_kolk(const char *name) {
    return strncmp(name, "kolk_", 5) == 0 || strncmp(name, "_ZN4kolk", 8) == 0 || strncmp(name, "_ZNK4kolk", 9) == 0;
}

/* Is the call to this function, which was just added to the text, one of kolk's own? */
static bool is_call_of_kolk(site_calls *calls, const site_call *call, const char *name) {
    bool typed = is_typed(calls, name) || (!calls->begun && calls_library(call, name));
    bool is_ours = is_named_by_kolk(name);
    calls->begun = true;
    calls->typed_verb[0] = 0;
    if (is_ours) note_typed(calls, name);
    return is_ours || typed;
}

void kolk_site_add_call_(site_calls *calls, const site_module *in, const site_call *call) {
    if (!calls->left) return;
    site_text *out = calls->out;
    size_t before = out->length;
    if (calls->named) add_text(out, " < ", 3);
    size_t start = out->length;
    if (call->is_merged)
        add_text(out, call->function, strlen(call->function));
    else
        add_address(out, in,
                    *call->source ? call->function : NULL); /* without a source line, the function may be a guess */
    if (is_call_of_kolk(calls, call, out->text + start) && !calls->any) {
        out->length = before;
        out->text[before] = 0;
        return;
    }
    kolk_site_shorten_(out, start);
    if (strcmp(call->function, "main") == 0 || strncmp(out->text + start, "main+", 5) == 0) calls->left = 1;
    if (*call->source) {
        add_text(out, " (", 2);
        add_text(out, call->source, strlen(call->source));
        add_text(out, ")", 1);
    }
    calls->left--;
    calls->named = calls->at + 1;
}

#endif
