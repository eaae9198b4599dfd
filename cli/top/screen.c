/* screen.c: see screen.h. Drawn by ncurses, with the keys of htop. */
#include "screen.h"

#include "../measure.h"
#include "../print.h"
#include "columns.h"

#include <ctype.h>
#include <curses.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#define SECOND 1e9
#define SHARE  20 /* of the time, looks take at most one part in so many: they are rarer where pools are large */

enum { HEAD = 3, FOOT = 1, CONTROL_L = 12, ESCAPE = 27 };
enum { CREEPS = 1, HEADING, ALERT }; /* pairs of colors */

typedef struct table {
    const top_screen_desc *desc;
    top_view view;
    double cost;       /* seconds that the last look took */
    const char *ended; /* why there are no more looks; NULL: there are */
    const top_pool **order;
    size_t room, count; /* of order */
    size_t lines;       /* the rows, and those of draw_holders */
    size_t first;       /* the row at the top of the screen */
    int column;         /* sorted by it */
    int widths[TOP_COLUMNS];
    bool reverse, typing, help, stop;
    char filter[TOP_TEXT];
} table;

/* ---- Drawing ----------------------------------------------------------------------------------------------------- */

static size_t rows_of(void) {
    return LINES > HEAD + FOOT ? (size_t)(LINES - HEAD - FOOT) : 0;
}

/* Widens the columns to what they have. They don't become narrower again, so that the table is steady. */
static void widen(table *it) {
    char cell[TOP_TEXT];
    for (int n = 0; n < TOP_COLUMNS; n++) {
        int width = (int)strlen(top_columns[n].title);
        if (it->widths[n] < width) it->widths[n] = width;
        for (size_t row = 0; row < it->count; row++) {
            top_columns[n].put(it->order[row], cell);
            width = (int)cli_width(cell, strlen(cell));
            if (it->widths[n] < width) it->widths[n] = width;
        }
    }
}

static void draw_cell(const table *it, int row, int *at, int n, const char *text) {
    int spaces = it->widths[n] - (int)cli_width(text, strlen(text));
    if (*at < COLS) mvaddstr(row, *at + (top_columns[n].side == 'r' ? spaces : 0), text);
    *at += it->widths[n] + 2;
}

static void draw_head(const table *it) {
    uint64_t creeping = 0;
    for (size_t n = 0; n < it->view.count; n++) creeping += it->view.pools[n].creeps;
    mvprintw(0, 0, "%s, process %lld: %zu pools, %s", it->desc->program, (long long)it->desc->process, it->view.count,
             cli_bytes(it->view.memory).text);
    if (creeping) {
        attron(COLOR_PAIR(CREEPS) | A_BOLD);
        printw(", %s creeping", cli_count(creeping).text);
        attroff(COLOR_PAIR(CREEPS) | A_BOLD);
    }
    if (it->ended) {
        attron(COLOR_PAIR(ALERT) | A_BOLD);
        mvprintw(1, 0, "The last look: %s. Press q.", it->ended);
        attroff(COLOR_PAIR(ALERT) | A_BOLD);
    } else if (it->typing || *it->filter) {
        mvprintw(1, 0, "Filter: %s%s", it->filter, it->typing ? "_" : "");
    }
    attron(COLOR_PAIR(HEADING) | A_REVERSE);
    mvhline(2, 0, ' ', COLS);
    for (int n = 0, at = 0; n < TOP_COLUMNS; n++) {
        if (n == it->column) attron(A_BOLD | A_UNDERLINE);
        draw_cell(it, 2, &at, n, top_columns[n].title);
        attroff(A_BOLD | A_UNDERLINE);
    }
    attroff(COLOR_PAIR(HEADING) | A_REVERSE);
}

static const char *const help[] = {
    "F4 /      filter by name or kind: type, Enter keeps it, Esc ends it",
    "F6 > <    sort by the next or the last column",
    "I         the other way round",
    "Up Down PgUp PgDn Home End   move",
    "Ctrl-L    draw the screen anew",
    "q F10     quit",
    "",
    "PEAK      the most slots that were ever needed",
    "ALLOCS/S  since the last look; heaps do not count their lives",
    "WAITING   threads that wait for an object, and since when",
    "MEMORY    committed bytes; IDLE: those without an object",
    "RESIDENT  bytes of slots that are in memory; WASTED: less those of the live objects; -: not known",
    "TREND     of the last five minutes' minima, and how sure it is; from 99.9 % on, the pool creeps",
};

/* After the last row, a line for each pool whose greatest holder is known. */
static void draw_holders(const table *it) {
    size_t line = it->count;
    for (size_t n = 0; n < it->count; n++) {
        char text[4 * TOP_TEXT];
        if (!*it->order[n]->held_by) continue;
        snprintf(text, sizeof text, "%s: %s", it->order[n]->name, it->order[n]->held_by);
        if (line >= it->first && line - it->first < rows_of()) mvaddnstr(HEAD + (int)(line - it->first), 0, text, COLS);
        line++;
    }
}

static void draw_rows(const table *it) {
    if (it->help) {
        for (size_t n = 0; n < sizeof help / sizeof *help && n < rows_of(); n++)
            mvprintw(HEAD + (int)n, 0, "%s", help[n]);
        return;
    }
    for (size_t n = 0; n < rows_of() && it->first + n < it->count; n++) {
        const top_pool *pool = it->order[it->first + n];
        char cell[TOP_TEXT];
        if (pool->creeps) attron(COLOR_PAIR(CREEPS) | A_BOLD);
        for (int column = 0, at = 0; column < TOP_COLUMNS; column++) {
            top_columns[column].put(pool, cell);
            draw_cell(it, HEAD + (int)n, &at, column, cell);
        }
        attroff(COLOR_PAIR(CREEPS) | A_BOLD);
    }
    draw_holders(it);
}

static void draw(table *it) {
    size_t rows = rows_of();
    if (it->room < it->view.count) {
        size_t size = it->view.count * sizeof(const top_pool *);
        const top_pool **order = (const top_pool **)realloc((void *)it->order, size);
        if (!order) return;
        it->order = order;
        it->room = it->view.count;
    }
    it->count = it->order ? top_order(&it->view, it->filter, it->column, it->reverse, it->order) : 0;
    it->lines = it->count;
    for (size_t n = 0; n < it->count; n++) it->lines += *it->order[n]->held_by != 0;
    widen(it);
    if (it->first + rows > it->lines) it->first = it->lines > rows ? it->lines - rows : 0;
    erase();
    draw_head(it);
    draw_rows(it);
    if (LINES > HEAD) mvprintw(LINES - 1, 0, "F1 Help  F4 Filter  F6 Sort  I Invert  F10 Quit");
    refresh();
}

/* ---- Keys -------------------------------------------------------------------------------------------------------- */

static void type(table *it, int key) {
    size_t length = strlen(it->filter);
    if (key == '\n' || key == KEY_ENTER) {
        it->typing = false;
    } else if (key == ESCAPE) {
        it->typing = false;
        *it->filter = 0;
    } else if ((key == KEY_BACKSPACE || key == '\b' || key == 0x7f) && length) {
        it->filter[length - 1] = 0;
    } else if (key < 0x100 && isprint(key) && length + 1 < sizeof it->filter) {
        it->filter[length] = (char)key;
        it->filter[length + 1] = 0;
    }
}

static void move_by(table *it, long rows) {
    long first = (long)it->first + rows;
    it->first = first < 0 ? 0 : (size_t)first; /* draw keeps it within the table */
}

static void obey(table *it, int key) {
    long page = (long)rows_of();
    if (key == CONTROL_L) {
        clearok(curscr, TRUE);
        return;
    }
    if (it->typing) {
        type(it, key);
        return;
    }
    it->help = !it->help && (key == KEY_F(1) || key == '?' || key == 'h');
    switch (key) {
    case 'q':
    case KEY_F(10):
        it->stop = true;
        break;
    case '/':
    case '\\':
    case KEY_F(4):
        it->typing = true;
        break;
    case ESCAPE:
        *it->filter = 0;
        break;
    case '>':
    case '.':
    case KEY_F(6):
    case KEY_RIGHT:
        it->column = (it->column + 1) % TOP_COLUMNS;
        break;
    case '<':
    case ',':
    case KEY_LEFT:
        it->column = (it->column + TOP_COLUMNS - 1) % TOP_COLUMNS;
        break;
    case 'I':
        it->reverse = !it->reverse;
        break;
    case KEY_UP:
        move_by(it, -1);
        break;
    case KEY_DOWN:
        move_by(it, 1);
        break;
    case KEY_PPAGE:
        move_by(it, -page);
        break;
    case KEY_NPAGE:
        move_by(it, page);
        break;
    case KEY_HOME:
        it->first = 0;
        break;
    case KEY_END:
        it->first = it->lines;
        break;
    default:
        break;
    }
}

/* ---- The screen -------------------------------------------------------------------------------------------------- */

static void look(table *it) {
    double start = (double)cli_now() / SECOND;
    if (!it->ended) it->ended = top_look(&it->view, it->desc->process, start);
    it->cost = (double)cli_now() / SECOND - start;
}

/* Obeys keys until it is time for the next look. */
static void wait_for_keys(table *it) {
    double delay = (double)it->desc->delay / 1000, least = it->cost * SHARE;
    double end = it->view.now + (delay > least ? delay : least);
    for (double now; !it->stop && ((now = (double)cli_now() / SECOND) < end || it->ended);) {
        timeout(it->ended ? -1 : (int)((end - now) * 1000) + 1);
        int key = getch();
        if (key == ERR && it->ended) it->stop = true; /* the terminal is gone */
        if (key == ERR) continue;
        obey(it, key);
        draw(it);
    }
}

static void begin(bool color) {
    set_escdelay(25);
    cbreak();
    noecho();
    keypad(stdscr, TRUE);
    curs_set(0);
    if (color && has_colors()) {
        start_color();
        use_default_colors();
        init_pair(CREEPS, COLOR_YELLOW, -1);
        init_pair(HEADING, COLOR_CYAN, -1);
        init_pair(ALERT, COLOR_RED, -1);
    }
}

const char *top_screen(const top_screen_desc *desc) {
    table it = {.desc = desc, .column = desc->column};
    snprintf(it.filter, sizeof it.filter, "%s", desc->filter);
    look(&it);
    if (it.ended) return it.ended;
    setlocale(LC_CTYPE, "");
    SCREEN *screen = newterm(NULL, stdout, stdin);
    if (screen) {
        begin(desc->color);
        for (draw(&it); !it.stop; draw(&it)) {
            wait_for_keys(&it);
            if (!it.stop) look(&it);
        }
        endwin();
        delscreen(screen);
    }
    free((void *)it.order);
    top_end(&it.view);
    return screen ? NULL : "the terminal is of a type that ncurses does not know (TERM); --once needs none";
}
