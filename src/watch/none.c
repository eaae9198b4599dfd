/* none.c: the public functions of this folder, in a library without an operating system. */
#include "kolk/base.h"

#if !KOLK_HOSTED

void kolk_scene(const char *name) {
    (void)name;
}

void kolk_set_profiler(const kolk_profiler *profiler) {
    (void)profiler;
}

bool kolk_stats_now(void) {
    return false;
}

#define PUT(text) put(text, sizeof(text) - 1, context)

void kolk_stats_write(kolk_stats_format format, void (*put)(const char *text, size_t length, void *context),
                      void *context) {
    if (format == KOLK_STATS_JSON)
        PUT("{\"pools\": []}\n");
    else if (format == KOLK_STATS_OPENMETRICS)
        PUT("# EOF\n");
    else if (format == KOLK_STATS_TEXT)
        PUT("no pool is listed: kolk was compiled without an operating system\n");
}

size_t kolk_stack_text(const void *const *stack, uint32_t depth, bool lines, char *text, size_t size) {
    (void)stack, (void)depth, (void)lines;
    if (size) text[0] = 0;
    return 0;
}

const char *kolk_site_text(const void *site, bool lines, char *text, size_t size) {
    (void)site, (void)lines;
    if (size) text[0] = 0;
    return text;
}

#endif
