/* cli/top/columns.h: the columns of the table of pools, and its order. */
#ifndef TOP_COLUMNS_H
#define TOP_COLUMNS_H

#include "view.h"

typedef struct top_column {
    const char *key; /* for --sort */
    const char *title;
    char side; /* 'l' or 'r' */
    void (*put)(const top_pool *pool, char out[TOP_TEXT]);
    double (*value)(const top_pool *pool); /* NULL: sorted by text */
} top_column;

enum { TOP_COLUMNS = 13, TOP_BY_MEMORY = 8 };

extern const top_column top_columns[TOP_COLUMNS];

/* Returns the number of the column with this key; -1 if there is none. */
int top_column_of(const char *key);

/* Fills `order` with the pools whose name or kind contains the text of the filter, and sorts them by a column: the
 * largest number first, or the first text; the other way round if `reverse`. Returns their number. */
size_t top_order(const top_view *view, const char *filter, int column, bool reverse, const top_pool **order);

#endif
