/* settings.h: the settings of a pool's debug mode. */
#ifndef KOLK_SRC_SETTINGS_H
#define KOLK_SRC_SETTINGS_H

#include "../core/watch.h"

/* Returns the settings of a pool of this name: from the environment, or else from its descriptor's text `own` (may be
 * NULL); tools and profilers turn on further settings. Reports mistakes if `loud`. */
kolk_settings_ kolk_settings_read_(const char *name, const char *own, bool loud, bool is_heap);

/* At exit, reports the globs of KOLK_DEBUG and KOLK_FAIL that no pool's name matched. Not in freestanding builds. */
void kolk_settings_report_unmet_(void);

/* Should this call fail? Counts it in *asked, as other threads may. */
bool kolk_settings_fail_(const kolk_settings_ *settings, size_t *asked);

#endif
