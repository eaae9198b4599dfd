#include "kolk/base.h"
const char *kolk_site_text(const void *site, bool lines, char *text, size_t size) {
    (void)site, (void)lines;
    if (size) text[0] = 0;
    return text;
}
