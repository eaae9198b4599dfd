/* heap.c: the checks of `kolk doctor` on a heap. */
#include "../print.h"
#include "doctor.h"

#include <string.h>

#include <kolk/kolk.h>

#define SOME  1000u
#define LARGE 1000000u /* bytes */

/* Allocates blocks of increasing size and fills each with its own byte value. Returns false if memory runs out. */
static bool take_blocks(kolk_heap *heap, unsigned char **blocks) {
    for (unsigned n = 0; n < SOME; n++) {
        blocks[n] = kolk_heap_alloc(heap, n + 1);
        if (!blocks[n]) return false;
        memset(blocks[n], (int)(n % 256), n + 1);
    }
    return true;
}

static bool are_untouched(unsigned char *const *blocks) {
    for (unsigned n = 0; n < SOME; n++)
        if (blocks[n][0] != n % 256 || blocks[n][n] != n % 256) return false;
    return true;
}

/* Checks that blocks of many sizes do not overlap, and that freed memory goes back to the system. */
void doctor_look_at_heap(doctor_finding *finding) {
    static unsigned char *blocks[SOME];
    kolk_heap heap;
    kolk_stats stats;
    kolk_status status = kolk_heap_init(&heap, &(kolk_heap_desc){.name = "doctor"});
    if (status != KOLK_OK) {
        doctor_find(finding, DOCTOR_NO, "a heap reserves addresses ('ulimit -v' shows a limit), on 64-bit machines: %s",
                    kolk_status_text(status));
        return;
    }
    kolk_heap_stats(&heap, &stats);
    unsigned char *large = kolk_heap_alloc(&heap, LARGE);
    bool given = take_blocks(&heap, blocks) && large, untouched = given && are_untouched(blocks);
    bool grown = untouched && kolk_heap_realloc(&heap, large, (size_t)2 * LARGE);
    for (unsigned n = 0; untouched && n < SOME; n++) kolk_heap_free(&heap, blocks[n]);
    size_t back = kolk_heap_trim(&heap);
    if (!given || !untouched || !grown)
        doctor_find(finding, DOCTOR_NO, "%s",
                    !given       ? "there was no memory for a few blocks"
                    : !untouched ? "blocks share bytes"
                                 : "a large block did not grow");
    else if (back == 0 && heap.n_classes)
        doctor_find(finding, DOCTOR_PARTLY, "blocks of all sizes, but memory does not go back to the system");
    else
        doctor_find(finding, DOCTOR_YES,
                    "blocks of all sizes in %s of addresses; what is freed goes back to the system",
                    cli_bytes(stats.bytes_reserved).text);
}
