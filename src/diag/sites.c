/* sites.c: an address of code in words.
 *
 *     site 0x55d0c1a2f1f3    a return address
 *      |  dl_iterate_phdr    the module whose memory it is in, and where that begins
 *     module + 0x11f3        the address in the module's file
 *      |  .symtab            the function that it is in
 *     on_hit + 0x2c
 *      |  addr2line          the place in the source
 *     on_hit+0x2c (collide.c:63)
 *
 * A return address points behind its call, which may be the last instruction of a function or a line: function and
 * place are those of the byte before it.
 *
 * A file may be rebuilt while it is in use. Its program headers and notes, which are in memory too, tell whether it is
 * the one that was loaded. The program's own file can be opened even after it was replaced.
 *
 * The function is found by sites_function.c, the place by sites_place.c. Beside the files of src/os, these three are
 * the only ones that know the operating system: Linux. Elsewhere an address is all there is. */
#include "../os/system.h"

#include "kolk/base.h"

#include "../os/cancel.h"
#include "../os/environment.h"
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
    for (size_t i = 0; i < loaded->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &loaded->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && address - loaded->dlpi_addr - part->p_vaddr < part->p_memsz) return true;
    }
    return false;
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

static void add_module_name(site_text *out, const char *path) {
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    add_text(out, name, strlen(name));
}

static void add_site(site_text *out, const void *site, bool lines) {
    site_module in = {.site = (uintptr_t)site, .file = -1};
    dl_iterate_phdr(find_module, &in);
    if (in.file < 0 || !kolk_site_add_function(out, &in)) {
        add_module_name(out, in.path);
        add_hex(out, *in.path ? "+" : "", *in.path ? in.site - in.base : in.site);
    }
    if (in.file < 0) return;
    if (lines && !kolk_has_more_rights()) kolk_site_add_place(out, &in);
    close(in.file);
}

#elif KOLK_DIAGNOSTICS && !defined(_WIN32)

static void add_site(site_text *out, const void *site, bool lines) {
    (void)lines;
    add_hex(out, "", (uintptr_t)site);
}

#endif

const char *kolk_site_text(const void *site, bool lines, char *text, size_t size) {
    if (size == 0) return text;
    text[0] = 0;
#if KOLK_DIAGNOSTICS && !defined(_WIN32)
    site_text out = {text, size, 0};
    int cancel = kolk_cancel_off();
    kolk_tools_begin_libc();
    if (site) add_site(&out, site, lines);
    kolk_tools_end_libc();
    kolk_cancel_restore(cancel);
    kolk_tools_wrote(text, out.length + 1);
#else
    (void)site, (void)lines;
#endif
    return text;
}
