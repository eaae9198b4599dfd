/* sites.c: addresses of code in words.
 *
 *     site 0x55d0c1a2f1f3    a return address
 *      |  dl_iterate_phdr    the module whose memory it is in, and where that begins
 *     module + 0x11f3        the address in the module's file
 *      |  .symtab            the function that it is in
 *     explode + 0x2c
 *      |  addr2line          the places in the source: the compiler has merged on_hit into explode
 *     on_hit (collide.c:63) < explode+0x2c (collide.c:80)
 *
 * A return address points behind its call, which may be the last instruction of a function or a line: function and
 * place are those of the byte before it.
 *
 * Of a stack, the innermost calls outside of kolk are named: not those in functions of kolk's headers, nor those that
 * typed.h makes from them. The former are known by their names, the latter as callers of the same verb of functions
 * whose names end in _sized. (Where a typed function calls the library, as alloc_n does, it is named: it is on the line
 * of the macro.) Behind main, and in libc at the end of a stack, there are no calls of the program.
 *
 * A file may be rebuilt while it is in use. Its program headers and notes, which are in memory too, tell whether it is
 * the one that was loaded. The program's own file can be opened even after it was replaced.
 *
 * The function is found by sites_function.c, the places by sites_place.c. Beside the files of src/os, these three are
 * the only ones that know the operating system: Linux. Elsewhere an address is all there is. */
#include "../os/system.h"

#include "kolk/base.h"

#include "../os/cancel.h"
#include "../os/environment.h"
#include "../core/fail.h"
#include "../core/tools.h"

#if KOLK_DIAGNOSTICS && !defined(_WIN32)
#include "sites_inside.h"
#endif

#if KOLK_DIAGNOSTICS && defined(__linux__)

#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>

#define PROGRAM "/proc/self/exe"

static bool is_in_module(const struct dl_phdr_info *loaded, uintptr_t address) {
    return kolk_site_part(loaded, address) != NULL;
}

/* A note, such as the build ID, as far as it fits. */
static bool has_note(int file, const struct dl_phdr_info *loaded, const ElfW(Phdr) * part) {
    char note[128];
    size_t size = part->p_filesz < sizeof note ? (size_t)part->p_filesz : sizeof note;
    uintptr_t start = loaded->dlpi_addr + part->p_vaddr;
    return !is_in_module(loaded, start) || !is_in_module(loaded, start + size - 1) ||
           (kolk_site_read(file, part->p_offset, note, size) && memcmp(note, (const void *)start, size) == 0);
}

/* Is this the file that was loaded? Then it also has our class and byte order. */
static bool is_file_of(int file, const struct dl_phdr_info *loaded) {
    ElfW(Ehdr) header;
    if (!kolk_site_read(file, 0, &header, sizeof header) || header.e_phnum != loaded->dlpi_phnum) return false;
    for (size_t i = 0; i < header.e_phnum; i++) {
        ElfW(Phdr) part;
        if (!kolk_site_read(file, header.e_phoff + (uint64_t)i * sizeof part, &part, sizeof part)) return false;
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

/* For the program itself, C libraries give "", its first argument, or PROGRAM, which addr2line would take for
 * itself. */
static const char *module_name_of(const struct dl_phdr_info *loaded) {
    if ((uintptr_t)loaded->dlpi_phdr != getauxval(AT_PHDR)) return loaded->dlpi_name;
    const char *name = (const char *)getauxval(AT_EXECFN);
    return name ? name : "";
}

/* The file is opened here, since the module may be unloaded as soon as this returns. */
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

/* Adds the calls of the first of these addresses, and of those behind it that are in the same module; how many. */
static size_t add_module(site_calls *calls, const void *const *stack, size_t length, bool lines) {
    site_module in = open_module(*stack);
    size_t count = 1, told = 0;
    for (; count < length; count++) {
        module_name next = kolk_site_module_name(stack[count]);
        if (!next.found || !*in.path || next.base != in.base) break;
    }
    size_t first = calls->at;
    if (in.file >= 0 && lines) told = kolk_site_add_places(calls, &in, stack, count);
    for (; told < count; told++) {
        calls->at = first + told;
        in.site = (uintptr_t)stack[told];
        kolk_site_add_call(calls, &in, &(site_call){.function = "", .place = ""});
    }
    calls->at = first + count;
    if (in.file >= 0) close(in.file);
    return count;
}

static size_t add_calls(site_text *out, const void *const *stack, uint32_t depth, bool lines, bool is_stack) {
    size_t length = 0;
    while (stack[length]) length++;
    while (length > 1 && kolk_site_module_name(stack[length - 1]).is_libc) length--;
    site_calls calls = {.out = out, .left = depth, .is_stack = is_stack};
    lines = lines && !kolk_has_more_rights();
    for (size_t at = 0; at < length && calls.left;) at += add_module(&calls, stack + at, length - at, lines);
    if (calls.named) return calls.named;
    calls = (site_calls){.out = out, .left = 1, .any = true};
    add_module(&calls, stack, 1, lines);
    return calls.named;
}

#elif KOLK_DIAGNOSTICS && !defined(_WIN32)

static size_t add_calls(site_text *out, const void *const *stack, uint32_t depth, bool lines, bool is_stack) {
    (void)lines, (void)is_stack;
    size_t at = 0;
    for (; stack[at] && at < depth; at++) add_hex(out, at ? " < " : "", (uintptr_t)stack[at]);
    return at;
}

#endif

/* `is_stack`: the first call is one of a function of kolk's. */
static size_t put_calls(const void *const *stack, uint32_t depth, bool lines, bool is_stack, char *text, size_t size) {
    size_t named = 0;
    if (size == 0) return named;
    text[0] = 0;
#if KOLK_DIAGNOSTICS && !defined(_WIN32)
    site_text out = {text, size, 0};
    int cancel = kolk_cancel_off();
    kolk_tools_begin_libc();
    if (*stack) named = add_calls(&out, stack, depth, lines, is_stack);
    kolk_tools_end_libc();
    kolk_cancel_restore(cancel);
    kolk_tools_wrote(text, out.length + 1);
#else
    (void)stack, (void)depth, (void)lines, (void)is_stack;
#endif
    return named;
}

size_t kolk_stack_text(const void *const *stack, uint32_t depth, bool lines, char *text, size_t size) {
    return put_calls(stack, depth ? depth : KOLK_STACK_DEPTH, lines, true, text, size);
}

const char *kolk_site_text(const void *site, bool lines, char *text, size_t size) {
    const void *const stack[] = {site, NULL};
    put_calls(stack, KOLK_STACK_DEPTH, lines, false, text, size);
    return text;
}
