/* cli/soak/letters.h: letters for a picture, as dots. */
#ifndef SOAK_LETTERS_H
#define SOAK_LETTERS_H

#include <stdbool.h>
#include <stdint.h>

enum { LETTERS_COLUMNS = 3, LETTERS_ROWS = 5 };

bool letters_dot(char letter, uint32_t column, uint32_t row); /* lower case, digits, some signs; others: none */

#endif
