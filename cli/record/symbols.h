/* cli/record/symbols.h: describes places in programs and their libraries as text: "insert (tree.c:27) < main
 * (tree.c:60)" if insert is inlined in main; "inflate (libz.so.1+0x2a40)" without debug information; "libz.so.1+0x2a40"
 * without a symbol. */
#ifndef CLI_SYMBOLS_H
#define CLI_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A mapped file. An address in memory is larger by `bias` than the same address in the file. */
struct module {
    char *path;
    uint64_t bias, begin, end;
    bool is_there;  /* it is in the latest list of modules */
    bool is_opened; /* this and the next members belong to symbols.c */
    void *dwfl, *dwfl_module;
};

/* Prints the words for the call that returns to this address. */
void symbols_print(FILE *words, struct module *module, uint64_t address);

void symbols_close(struct module *module);

#endif
