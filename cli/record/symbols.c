/* symbols.c: see symbols.h. libdw from elfutils does the work. It also finds separate debug information (in
 * /usr/lib/debug) by the build ID. */
#define _GNU_SOURCE
#include "symbols.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

#ifdef KOLK_LIBDW
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

static void open_module(struct module *module) {
    static char *debug_path;
    static const Dwfl_Callbacks callbacks = {
        .find_elf = dwfl_build_id_find_elf,
        .find_debuginfo = dwfl_standard_find_debuginfo,
        .debuginfo_path = &debug_path,
    };
    if (module->is_opened) return;
    module->is_opened = true;
    module->dwfl = dwfl_begin(&callbacks);
    if (!module->dwfl) return;
    dwfl_report_begin(module->dwfl);
    module->dwfl_module = dwfl_report_elf(module->dwfl, module->path, module->path, -1, module->bias, true);
    dwfl_report_end(module->dwfl, NULL, NULL);
}

void symbols_close(struct module *module) {
    if (module->dwfl) dwfl_end(module->dwfl);
    free(module->path);
}

/* Prints the name without its version, so memcpy for memcpy@@GLIBC_2.14. */
static void print_function(FILE *words, const char *function) {
    fprintf(words, "%.*s", (int)strcspn(function, "@"), function);
}

static void print_place(FILE *words, const char *function, const char *file, int line) {
    print_function(words, function);
    fprintf(words, " (%s:%d)", last_part(file), line);
}

/* Returns the function's name. For C++ this is the mangled name, which c++filt can read. */
static const char *name_of(Dwarf_Die *function) {
    Dwarf_Attribute attribute;
    const char *name = dwarf_formstring(dwarf_attr_integrate(function, DW_AT_linkage_name, &attribute));
    return name ? name : dwarf_diename(function);
}

static uint64_t number_of(Dwarf_Die *scope, unsigned attribute_name) {
    Dwarf_Attribute attribute;
    Dwarf_Word number = 0;
    dwarf_formudata(dwarf_attr(scope, attribute_name, &attribute), &number);
    return number;
}

enum { NEST_MOST = 32 };

/* The functions that are inlined at a place, from the outermost to the innermost. */
struct nest {
    Dwarf_Die functions[NEST_MOST];
    int count;
};

/* Searches the children of `around` for the place. Returns true if it was found. */
static bool find_nest(Dwarf_Die *around, uint64_t at, struct nest *nest) {
    Dwarf_Die die;
    if (dwarf_child(around, &die) != 0) return false;
    do {
        int tag = dwarf_tag(&die);
        bool is_function = tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
        if (tag == DW_TAG_namespace && find_nest(&die, at, nest)) return true;
        if ((!is_function && tag != DW_TAG_lexical_block) || dwarf_haspc(&die, at) <= 0) continue;
        if (is_function && nest->count < NEST_MOST) nest->functions[nest->count++] = die;
        find_nest(&die, at, nest);
        return true;
    } while (dwarf_siblingof(&die, &die) == 0);
    return false;
}

/* Prints the functions at this place, the innermost first, each with its line. */
static bool print_functions(FILE *words, Dwarf_Die *unit, uint64_t at, const char *file, int line) {
    struct nest nest = {.count = 0};
    Dwarf_Files *files = NULL;
    if (!find_nest(unit, at, &nest) || dwarf_getsrcfiles(unit, &files, NULL) != 0) return false;
    for (int i = nest.count; i-- > 0;) {
        Dwarf_Die *function = &nest.functions[i];
        const char *name = name_of(function);
        print_place(words, name ? name : "?", file, line);
        if (i == 0) break;
        fputs(" < ", words);
        line = (int)number_of(function, DW_AT_call_line);
        file = dwarf_filesrc(files, number_of(function, DW_AT_call_file), NULL, NULL);
        if (!file) file = "?";
    }
    return nest.count > 0;
}

/* gcc writes a table that finds a unit by address. clang does not, so the units are searched one by one. */
static Dwarf_Die *find_unit(const struct module *module, uint64_t address, Dwarf_Addr *bias) {
    Dwarf_Die *unit = dwfl_module_addrdie(module->dwfl_module, address, bias);
    if (unit) return unit;
    while ((unit = dwfl_module_nextcu(module->dwfl_module, unit, bias)))
        if (dwarf_haspc(unit, address - *bias) > 0) break;
    return unit;
}

static bool print_by_debug_info(FILE *words, const struct module *module, uint64_t address) {
    int line = 0;
    Dwarf_Addr bias = 0;
    Dwarf_Die *unit = find_unit(module, address, &bias);
    Dwarf_Line *source = unit ? dwarf_getsrc_die(unit, address - bias) : NULL;
    const char *file = source ? dwarf_linesrc(source, NULL, NULL) : NULL;
    if (!file || dwarf_lineno(source, &line) != 0) return false;
    return print_functions(words, unit, address - bias, file, line);
}

/* Returns true if the line was printed as well, so that nothing is missing. */
static bool print_known(FILE *words, struct module *module, uint64_t address, bool *named) {
    *named = false;
    open_module(module);
    if (!module->dwfl_module) return false;
    if (print_by_debug_info(words, module, address)) return true;
    const char *function = dwfl_module_addrname(module->dwfl_module, address);
    if (function) print_function(words, function);
    *named = function;
    return false;
}
#else
static bool print_known(FILE *words, struct module *module, uint64_t address, bool *named) {
    (void)words, (void)module, (void)address;
    return *named = false;
}

void symbols_close(struct module *module) {
    free(module->path);
}
#endif

/* A function without line numbers may call malloc in several places, so its address is printed to distinguish them. */
void symbols_print(FILE *words, struct module *module, uint64_t address) {
    bool named;
    if (print_known(words, module, address - 1, &named)) return;
    fprintf(words, named ? " (%s+0x%" PRIx64 ")" : "%s+0x%" PRIx64, last_part(module->path), address - module->bias);
}
