/* page.h: what the two parts of the page's C have in common. */
#include <kolk.h>

#define EXPORT(name) __attribute__((export_name(#name)))

/* Counts a mistake of kolk, unless it holds. */
void expect(bool holds);

/* Makes the small pools below the game. */
kolk_status classics_init(void);
bool classics_are_valid(void);
