/* letters.c: see letters.h. A letter is five octal digits, one for each row of three dots, from the top. */
#include "letters.h"

#include <string.h>

static const char known[] = "0123456789abcdefghijklmnopqrstuvwxyz.,_-/";
static const uint16_t dots[] = {
    075557, 026227, 071747, 071717, 055711, 074717, 074757, 071111, 075757, 075717,                 /* digits */
    025755, 065656, 034443, 065556, 074647, 074644, 034553, 055755, 072227, 011152, 055655, 044447, /* a to l */
    057755, 065555, 025552, 065644, 025573, 065655, 034216, 072222, 055557, 055552, 055775, 055255, /* m to x */
    055222, 071247, 000002, 000024, 000007, 000700, 011244,
};

bool letters_dot(char letter, uint32_t column, uint32_t row) {
    const char *found = letter ? strchr(known, letter) : NULL;
    if (!found) return false;
    uint32_t bit = 3 * (LETTERS_ROWS - 1 - row) + (LETTERS_COLUMNS - 1 - column);
    return dots[found - known] >> bit & 1;
}
