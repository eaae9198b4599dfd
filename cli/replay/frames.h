/* cli/replay/frames.h: the frames of a call, as in a trace: "inner < middle < outer". */
#ifndef CLI_FRAMES_H
#define CLI_FRAMES_H

#include <stddef.h>
#include <string.h>

/* The length of the innermost frame. */
static inline size_t frames_first(const char *frames) {
    const char *end = strstr(frames, " < ");
    return end ? (size_t)(end - frames) : strlen(frames);
}

/* The frames outside of the innermost one; NULL: there are none. */
static inline const char *frames_outside(const char *frames) {
    const char *end = strstr(frames, " < ");
    return end ? end + strlen(" < ") : NULL;
}

#endif
