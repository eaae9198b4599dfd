/* sites.c: turns addresses of code into text.
 *
 *     site 0x55d0c1a2f1f3    a return address
 *      |  dl_iterate_phdr    the module that contains it, and the module's base
 *     module + 0x11f3        the address in the module's file
 *      |  .symtab            the function that contains it
 *     explode + 0x2c
 *      |  addr2line          the source lines: the compiler has merged on_hit into explode
 *     on_hit (collide.c:63) < explode+0x2c (collide.c:80)
 *
 * A return address points just behind its call, which may be the last instruction of a function or a line. So the
 * function and the source line are looked up for the byte before it.
 *
 * A stack is printed outwards, beginning with its innermost call outside kolk. Functions of kolk's headers are skipped,
 * and so are the typed functions that typed.h makes from them. The former have the prefix kolk_. A typed function is
 * recognised by its callee, whose name ends in the same verb and _sized, or by its own verb, if it
 * calls the library as alloc_zeroed does. Calls outside main, and calls in libc at the outer
 * end of a stack, are not printed.
 *
 * A file may be rebuilt while it is in use. So its program headers and notes are compared with those in memory. The
 * program's own file can be opened even after it has been replaced.
 *
 * sites_call.c finds the function, sites_source.c the source lines. Apart from the files of src/os, only sites*.c
 * depend on the operating system. They need Linux. On Windows only the module and the address in it are printed,
 * elsewhere only the address. */
#include "../os/system.h"

#include "kolk/base.h"

#if KOLK_HOSTED

#include "../core/fail.h"
#include "../core/tools.h"
#include "../os/cancel.h"
#include "../os/environment.h"
#include "sites_inside.h"

#ifdef __linux__

#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>

#define PROGRAM "/proc/self/exe"

static bool is_in_module(const struct dl_phdr_info *loaded, uintptr_t address) {
    for (size_t i = 0; i < loaded->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &loaded->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && address - loaded->dlpi_addr - part->p_vaddr < part->p_memsz) return true;
    }
    return false;
}

/* Compares a note, such as the build ID, as far as it fits into the buffer. */
static bool has_note(int file, const struct dl_phdr_info *loaded, const ElfW(Phdr) * part) {
    char note[128];
    size_t size = part->p_filesz < sizeof note ? (size_t)part->p_filesz : sizeof note;
    uintptr_t start = loaded->dlpi_addr + part->p_vaddr;
    return !is_in_module(loaded, start) || !is_in_module(loaded, start + size - 1) ||
           (kolk_site_read_(file, part->p_offset, note, size) && memcmp(note, (const void *)start, size) == 0);
}

/* Is this the file that was loaded? If so, its ELF class and byte order are also the program's. */
static bool is_file_of(int file, const struct dl_phdr_info *loaded) {
    ElfW(Ehdr) header;
    if (!kolk_site_read_(file, 0, &header, sizeof header) || header.e_phnum != loaded->dlpi_phnum) return false;
    for (size_t i = 0; i < header.e_phnum; i++) {
        ElfW(Phdr) part;
        if (!kolk_site_read_(file, header.e_phoff + (uint64_t)i * sizeof part, &part, sizeof part)) return false;
        if (memcmp(&part, &loaded->dlpi_phdr[i], sizeof part) != 0) return false;
        if (part.p_type == PT_NOTE && !has_note(file, loaded, &part)) return false;
    }
    return true;
}

static int open_file_of(const struct dl_phdr_info *loaded, const char *path) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || is_file_of(file, loaded)) return file;
    close(file);
    return -1;
}

/* For the program itself, a C library may report "", the program's first argument, or PROGRAM, which in addr2line's
 * process would mean addr2line itself. */
static const char *module_name_of(const struct dl_phdr_info *loaded) {
    if ((uintptr_t)loaded->dlpi_phdr != getauxval(AT_PHDR)) return loaded->dlpi_name;
    const char *name = (const char *)getauxval(AT_EXECFN);
    return name ? name : "";
}

/* Opens the file here, because the module may be unloaded as soon as this returns. */
static int find_module(struct dl_phdr_info *loaded, size_t size, void *context) {
    (void)size;
    site_module *in = (site_module *)context;
    if (!is_in_module(loaded, in->site - 1)) return 0;
    in->base = loaded->dlpi_addr;
    snprintf(in->path, sizeof in->path, "%s", module_name_of(loaded));
    in->file = open_file_of(loaded, PROGRAM);
    if (in->file < 0) in->file = open_file_of(loaded, in->path);
    return 1;
}

static site_module open_module(const void *site) {
    site_module in = {.site = (uintptr_t)site, .file = -1};
    dl_iterate_phdr(find_module, &in);
    return in;
}

typedef struct module_name {
    uintptr_t site, base;
    bool found, is_libc;
} module_name;

static int find_name(struct dl_phdr_info *loaded, size_t size, void *context) {
    (void)size;
    module_name *in = (module_name *)context;
    if (!is_in_module(loaded, in->site - 1)) return 0;
    in->base = loaded->dlpi_addr;
    in->is_libc = strstr(loaded->dlpi_name, "/libc.so") != NULL;
    in->found = true;
    return 1;
}

static module_name name_module(const void *site) {
    module_name in = {.site = (uintptr_t)site};
    dl_iterate_phdr(find_name, &in);
    return in;
}

/* Adds the call at the first address, and the calls at the following addresses for as long as these are in the same
 * module. Returns the number of these addresses. */
static size_t add_module(site_calls *calls, const void *const *stack, size_t length, bool lines) {
    site_module in = open_module(*stack);
    size_t count = 1, told = 0;
    for (; count < length; count++) {
        module_name next = name_module(stack[count]);
        if (!next.found || !*in.path || next.base != in.base) break;
    }
    size_t first = calls->at;
    if (in.file >= 0 && lines) told = kolk_site_add_sources_(calls, &in, stack, count);
    for (; told < count; told++) {
        calls->at = first + told;
        in.site = (uintptr_t)stack[told];
        kolk_site_add_call_(calls, &in, &(site_call){.function = "", .source = ""});
    }
    calls->at = first + count;
    if (in.file >= 0) close(in.file);
    return count;
}

static size_t add_calls(site_text *out, const void *const *stack, uint32_t depth, bool lines) {
    size_t length = 0;
    while (stack[length]) length++;
    while (length > 1 && name_module(stack[length - 1]).is_libc) length--;
    site_calls calls = {.out = out, .left = depth};
    lines = lines && !kolk_has_more_rights_();
    for (size_t at = 0; at < length && calls.left;) at += add_module(&calls, stack + at, length - at, lines);
    if (calls.named) return calls.named;
    calls = (site_calls){.out = out, .left = 1, .any = true};
    add_module(&calls, stack, 1, lines);
    return calls.named;
}

#else

#ifdef _WIN32
#include <windows.h>

/* Adds "game.exe+0x11f3", or only the address if it is in no module. */
static void add_place(site_text *out, const void *site) {
    const DWORD by_address = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
    HMODULE module = NULL;
    char path[MAX_PATH];
    GetModuleHandleExA(by_address, (const char *)site - 1, &module);
    size_t length = module ? GetModuleFileNameA(module, path, sizeof path) : 0, name = length;
    while (name > 0 && path[name - 1] != '\\') name--;
    add_text(out, path + name, length - name);
    add_hex(out, length ? "+" : "", length ? (uintptr_t)site - (uintptr_t)module : (uintptr_t)site);
}
#else
static void add_place(site_text *out, const void *site) {
    add_hex(out, "", (uintptr_t)site);
}
#endif

static size_t add_calls(site_text *out, const void *const *stack, uint32_t depth, bool lines) {
    (void)lines;
    size_t at = 0;
    for (; stack[at] && at < depth; at++) {
        if (at) add_text(out, " < ", 3);
        add_place(out, stack[at]);
    }
    return at;
}

#endif

static size_t put_calls(const void *const *stack, uint32_t depth, bool lines, char *text, size_t size) {
    size_t named = 0;
    if (size == 0) return named;
    text[0] = 0;
    site_text out = {text, size, 0};
    int cancel = kolk_cancel_off_();
    kolk_tools_begin_libc_();
    if (*stack) named = add_calls(&out, stack, depth, lines);
    kolk_tools_end_libc_();
    kolk_cancel_restore_(cancel);
    kolk_tools_wrote_(text, out.length + 1);
    return named;
}

size_t kolk_stack_text(const void *const *stack, uint32_t depth, bool lines, char *text, size_t size) {
    return put_calls(stack, depth ? depth : KOLK_STACK_DEPTH_, lines, text, size);
}

const char *kolk_site_text(const void *site, bool lines, char *text, size_t size) {
    const void *const stack[] = {site, NULL};
    put_calls(stack, KOLK_STACK_DEPTH_, lines, text, size);
    return text;
}

#endif
