/* cli/replay/frames.h: the frames of a call, as in a trace: "inner < middle < outer". */
#ifndef CLI_FRAMES_H
#define CLI_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
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

/* A line of source. */
struct frames_line {
    const char *name; /* of the file */
    size_t length;
    uint32_t line;
};

/* Reads "function (file.c:12)", a frame of this length. Returns false if there is no line in it. */
static inline bool frames_line(const char *frame, size_t length, struct frames_line *place) {
    const char *end = frame + length, *open = end;
    if (length < 6 || end[-1] != ')') return false;
    while (open > frame && open[-1] != '(') open--;
    const char *colon = (const char *)memchr(open, ':', (size_t)(end - open));
    if (open == frame || !colon || colon == open) return false;
    *place = (struct frames_line){open, (size_t)(colon - open), 0};
    for (const char *at = colon + 1; at < end - 1; at++) {
        if (*at < '0' || *at > '9' || place->line > 10000000) return false;
        place->line = place->line * 10 + (uint32_t)(*at - '0');
    }
    return place->line > 0;
}

#endif
