/* cli/soak/letters.h: the dots of letters, for a picture. */
#ifndef SOAK_LETTERS_H
#define SOAK_LETTERS_H

#include <stdbool.h>
#include <stdint.h>

enum { LETTERS_COLUMNS = 3, LETTERS_ROWS = 5 };

bool letters_dot(char letter, uint32_t column, uint32_t row); /* lower case, digits, some signs; no dots for others */

#endif
