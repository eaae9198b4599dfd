/* cli/top/screen.h: the live table on the terminal. */
#ifndef TOP_SCREEN_H
#define TOP_SCREEN_H

#include <stdbool.h>
#include <stdint.h>

typedef struct top_screen_desc {
    int64_t process;
    const char *program, *filter;
    uint64_t delay; /* from look to look, in milliseconds */
    int column;     /* to sort by */
    bool color;
} top_screen_desc;

/* Shows the table until the user quits. If the process ends, the last table stays, and a line says so. Returns NULL, or
 * why the table cannot be shown, as a clause. */
const char *top_screen(const top_screen_desc *desc);

#endif
