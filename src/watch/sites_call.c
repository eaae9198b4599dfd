/* sites_call.c: prints one call, skips kolk's own, and recovers tail calls from the caller's machine code. sites.c has
 * the essay. */
#include "../os/system.h"

#include "kolk/base.h"

#if KOLK_HOSTED && defined(__linux__)

#include "sites_inside.h"

#include <stdlib.h>

/* Returns NULL if the address is not in this module. */
const ElfW(Phdr) * kolk_site_part_(const struct dl_phdr_info *loaded, uintptr_t address) {
    for (size_t i = 0; i < loaded->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &loaded->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && address - loaded->dlpi_addr - part->p_vaddr < part->p_memsz) return part;
    }
    return NULL;
}

static void add_module_name(site_text *out, const char *path) {
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    add_text(out, name, strlen(name));
}

/* Adds "on_hit+0x2c"; if there is no symbol, adds `otherwise`, or "module+0x11f3" if that is unknown, too. */
static void add_address(site_text *out, const site_module *in, const char *otherwise) {
    if (in->file >= 0 && kolk_site_add_function_(out, in)) return;
    if (otherwise && *otherwise && *otherwise != '?') {
        add_text(out, otherwise, strlen(otherwise));
        return;
    }
    add_module_name(out, in->path);
    add_hex(out, *in->path ? "+" : "", *in->path ? in->site - in->base : in->site);
}

/* Returns the start of the function that the instruction before a return address calls; 0 if that is not a direct
 * call. */
static uintptr_t called_before(const struct dl_phdr_info *loaded, uintptr_t site) {
    const ElfW(Phdr) *part = kolk_site_part_(loaded, site - 1);
    if (!part || ~part->p_flags & (PF_R | PF_X) || kolk_site_part_(loaded, site - 5) != part) return 0;
#if defined(__i386__) || defined(__x86_64__)
    const unsigned char *call = (const unsigned char *)site - 5;
    int32_t distance;
    memcpy(&distance, call + 1, sizeof distance);
    return *call == 0xe8 ? site + (uintptr_t)(intptr_t)distance : 0;
#elif defined(__aarch64__)
    uint32_t call;
    memcpy(&call, (const void *)(site - 4), sizeof call);
    int32_t distance = (int32_t)(call << 6) >> 4; /* 26 bits, which count instructions */
    return call >> 26 == 0x25 ? site - 4 + (uintptr_t)(intptr_t)distance : 0;
#else
    return 0;
#endif
}

static int find_name(struct dl_phdr_info *loaded, size_t size, void *context) {
    (void)size;
    module_name *in = (module_name *)context;
    if (!kolk_site_part_(loaded, in->site - 1)) return 0;
    in->base = loaded->dlpi_addr;
    in->called = called_before(loaded, in->site);
    in->is_libc = strstr(loaded->dlpi_name, "/libc.so") != NULL;
    in->found = true;
    return 1;
}

module_name kolk_site_module_name_(const void *site) {
    module_name in = {.site = (uintptr_t)site};
    dl_iterate_phdr(find_name, &in);
    return in;
}

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

/* Does the name end in the typed verb? If not, the compiler has merged the typed function into one of the program's. A
 * C++ name also contains its parameters, so the verb may be anywhere in it. */
static bool is_typed(const site_calls *calls, const char *name) {
    size_t length = strcspn(name, ".+"), verb = strlen(calls->typed_verb);
    if (!verb) return false;
    if (strncmp(name, "_Z", 2) == 0) return strstr(name, calls->typed_verb) != NULL;
    return length > verb && memcmp(name + length - verb, calls->typed_verb, verb) == 0;
}

/* A member of the classes of kolk.hpp has the second or the third beginning. */
static bool is_named_by_kolk(const char *name) {
    return strncmp(name, "kolk_", 5) == 0 || strncmp(name, "_ZN4kolk", 8) == 0 || strncmp(name, "_ZNK4kolk", 9) == 0;
}

/* Is the call to this function, which was just added to the text, one of kolk's own? */
static bool is_call_of_kolk(site_calls *calls, const char *name) {
    bool typed = is_typed(calls, name), is_ours = is_named_by_kolk(name);
    calls->typed_verb[0] = 0;
    if (is_ours) note_typed(calls, name);
    return is_ours || typed;
}

/* Finds the symbol that contains the address. Sets its name, without compiler suffixes (.cold, .part.0), and the
 * distance of the address from its start. Returns false if there is none. */
static bool find_symbol(const site_module *in, uintptr_t address, char *name, size_t size, uintptr_t *behind) {
    site_module at = *in;
    site_text out = {name, size, 0};
    name[0] = 0;
    at.site = address + 1;
    if (in->file < 0 || !kolk_site_add_function_(&out, &at)) return false;
    char *plus = strrchr(name, '+');
    if (!plus) return false; /* the name was cut */
    *behind = (uintptr_t)strtoull(plus, NULL, 16) - 1;
    name[strcspn(name, ".+")] = 0;
    return true;
}

/* A function whose last action is a call may jump instead (a tail call), and is then no longer on the stack. But its
 * caller's call instruction still names it. So if that instruction calls neither the function of the next inner call
 * nor one of kolk's, the called function is added. Its source line is unknown. */
static void add_jumped_over(site_calls *calls, const site_module *in) {
    char called[128];
    uintptr_t start = kolk_site_module_name_((const void *)in->site).called, behind;
    bool known = calls->is_stack && start && find_symbol(in, start, called, sizeof called, &behind) && behind == 0;
    bool is_first = calls->looked_at == 0, is_ours = known && is_named_by_kolk(called);
    calls->looked_at = calls->at + 1;
    if (is_ours && is_first) note_typed(calls, called);
    if (known && !is_ours && strcmp(called, calls->inside) != 0)
        kolk_site_add_call_(calls, in, &(site_call){.function = called, .source = "", .is_merged = true});
    if (!find_symbol(in, in->site - 1, calls->inside, sizeof calls->inside, &behind)) calls->inside[0] = 0;
}

void kolk_site_add_call_(site_calls *calls, const site_module *in, const site_call *call) {
    if (calls->left && calls->looked_at <= calls->at) add_jumped_over(calls, in);
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
    if (is_call_of_kolk(calls, out->text + start) && !calls->any) {
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
