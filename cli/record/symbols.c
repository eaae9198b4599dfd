/* symbols.c: see symbols.h. libdw of elfutils does the work; it finds debug information that is installed apart
 * (/usr/lib/debug, by the build ID). */
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

/* Without a version: memcpy@@GLIBC_2.14. */
static void print_function(FILE *words, const char *function) {
    fprintf(words, "%.*s", (int)strcspn(function, "@"), function);
}

static void print_place(FILE *words, const char *function, const char *file, int line) {
    print_function(words, function);
    fprintf(words, " (%s:%d)", last_part(file), line);
}

/* The functions that the compiler put into others at this place, from the innermost on: each has its caller's line.
 * `file` and `line` are then those of the call in the outermost function. */
static void print_inlined(FILE *words, Dwarf_Die *unit, uint64_t at, const char **file, int *line) {
    Dwarf_Die *scopes = NULL;
    Dwarf_Files *files = NULL;
    int count = dwarf_getscopes(unit, at, &scopes);
    if (count > 0 && dwarf_getsrcfiles(unit, &files, NULL) != 0) count = 0;
    for (int i = 0; i < count; i++) {
        int tag = dwarf_tag(&scopes[i]);
        if (tag == DW_TAG_subprogram) break;
        if (tag != DW_TAG_inlined_subroutine) continue;
        Dwarf_Attribute attribute;
        Dwarf_Word call_line = 0, call_file = 0;
        const char *function = dwarf_diename(&scopes[i]);
        dwarf_formudata(dwarf_attr(&scopes[i], DW_AT_call_line, &attribute), &call_line);
        dwarf_formudata(dwarf_attr(&scopes[i], DW_AT_call_file, &attribute), &call_file);
        const char *caller = dwarf_filesrc(files, call_file, NULL, NULL);
        if (!function || !caller || !call_line) break;
        print_place(words, function, *file, *line);
        fputs(" < ", words);
        *file = caller;
        *line = (int)call_line;
    }
    free(scopes);
}

static bool print_known(FILE *words, struct module *module, uint64_t address) {
    open_module(module);
    if (!module->dwfl_module) return false;
    const char *function = dwfl_module_addrname(module->dwfl_module, address);
    if (!function) return false;
    int line = 0;
    Dwarf_Addr bias = 0;
    Dwfl_Line *source = dwfl_module_getsrc(module->dwfl_module, address);
    const char *file = source ? dwfl_lineinfo(source, NULL, &line, NULL, NULL, NULL) : NULL;
    if (!file) {
        print_function(words, function);
        return true;
    }
    Dwarf_Die *unit = dwfl_module_addrdie(module->dwfl_module, address, &bias);
    if (unit) print_inlined(words, unit, address - bias, &file, &line);
    print_place(words, function, file, line);
    return true;
}
#else
static bool print_known(FILE *words, struct module *module, uint64_t address) {
    (void)words, (void)module, (void)address;
    return false;
}

void symbols_close(struct module *module) {
    free(module->path);
}
#endif

void symbols_print(FILE *words, struct module *module, uint64_t address) {
    if (print_known(words, module, address - 1)) return;
    fprintf(words, "%s+0x%" PRIx64, last_part(module->path), address - module->bias);
}
