/* sites_function.c: finds the function that contains an address of code.
 *
 * dladdr finds only exported functions, and finds those of a program only if it was linked with -rdynamic. So the
 * symbols are read from the file by pread, piece by piece, without mapping or allocating anything. Numbers from a
 * damaged file do no harm: they are used only as offsets for pread, which fails beyond the file's end. */
#include "../os/system.h"

#include "kolk/base.h"

#if KOLK_HOSTED && defined(__linux__)

#include "sites_inside.h"

#include <link.h>

typedef struct symbol_search {
    int file;
    ElfW(Ehdr) header;
    ElfW(Addr) address;
    ElfW(Shdr) symbols;
    ElfW(Shdr) names;
    ElfW(Sym) best;     /* st_name is 0 while none is found */
    ElfW(Addr) nearest; /* start of the last function before the address, even if it ends before the address */
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

static unsigned binding_of(const ElfW(Sym) * symbol) {
    return symbol->st_info >> 4;
}

/* Symbols of assembly code have neither type nor size by default. A global symbol without a type may be a function; a
 * local one is a label. */
static bool may_be_function(const ElfW(Sym) * symbol) {
    unsigned type = symbol->st_info & 15;
    if (symbol->st_shndx == SHN_UNDEF || !symbol->st_name) return false;
    return type == STT_FUNC || type == STT_GNU_IFUNC || (type == STT_NOTYPE && binding_of(symbol) != STB_LOCAL);
}

/* Ranks several names of one function: names that are not reserved come first, then global ones. (Linkers make hidden
 * names local.) */
static int niceness(const symbol_search *in, const ElfW(Sym) * symbol) {
    char first = '_';
    kolk_site_read_(in->file, in->names.sh_offset + (uint64_t)symbol->st_name, &first, 1);
    return (first != '_' ? 2 : 0) + (binding_of(symbol) != STB_LOCAL ? 1 : 0);
}

static bool is_better(const symbol_search *in, const ElfW(Sym) * symbol, const ElfW(Sym) * best) {
    if (!best->st_name) return true;
    if (!symbol->st_size != !best->st_size) return symbol->st_size != 0;
    if (symbol->st_value != best->st_value) return symbol->st_value > best->st_value;
    return niceness(in, symbol) > niceness(in, best);
}

static void consider_symbol(symbol_search *in, const ElfW(Sym) * symbol) {
    if (!may_be_function(symbol) || symbol->st_value > in->address) return;
    if (symbol->st_value > in->nearest) in->nearest = symbol->st_value;
    if (symbol->st_size && in->address - symbol->st_value >= symbol->st_size) return;
    if (is_better(in, symbol, &in->best)) in->best = *symbol;
}

/* Does the symbol contain the address? A symbol without a size extends to the next function, or to the end of its
 * section, which must hold code. */
static bool symbol_reaches(const symbol_search *in, const ElfW(Sym) * symbol) {
    if (symbol->st_size) return true;
    ElfW(Shdr) section;
    return symbol->st_value == in->nearest && read_section(in, symbol->st_shndx, &section) &&
           (section.sh_flags & SHF_EXECINSTR) && in->address - section.sh_addr < section.sh_size;
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
    return in->best.st_name && symbol_reaches(in, &in->best);
}

bool kolk_site_add_function_(site_text *out, const site_module *in) {
    KOLK_ASSERT_(in->file >= 0);
    symbol_search of = {.file = in->file, .address = in->site - 1 - in->base};
    if (!find_function(&of)) return false;
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

#endif
