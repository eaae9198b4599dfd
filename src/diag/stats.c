/* stats.c: kolk_stats_write.
 *
 * The pools' numbers and names are copied first, then written. So no lock is held while `put` runs, pools may come and
 * go meanwhile, and a table can be as wide as it needs to be. */
#include "kolk/base.h"

#if KOLK_DIAGNOSTICS

#include "registry.h"
#include "stats_format.h"

void kolk_stats_write(kolk_stats_format format, void (*put)(const char *text, size_t length, void *context),
                      void *context) {
    kolk_records records = {0};
    kolk_registry_collect(&records);
    kolk_records_write(&records, format, put, context);
    kolk_records_release(&records);
}

#else

#define PUT(text) put(text, sizeof(text) - 1, context)

void kolk_stats_write(kolk_stats_format format, void (*put)(const char *text, size_t length, void *context),
                      void *context) {
    if (format == KOLK_STATS_JSON)
        PUT("{\"pools\": []}\n");
    else if (format == KOLK_STATS_OPENMETRICS)
        PUT("# EOF\n");
    else
        PUT("no pool is listed: kolk was compiled without diagnostics\n");
}

#endif
