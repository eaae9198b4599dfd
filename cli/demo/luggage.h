/* cli/demo/luggage.h: the parts of the tour's stop about trays. */
#ifndef DEMO_LUGGAGE_H
#define DEMO_LUGGAGE_H

#include "stops.h"

enum { LEAST_SUITCASE = 3000, SUITCASE = 8192 /* the size of its tray */ };

/* Returns the size of the next thing on the belt. Of 20 things on average, 13 fit into a small tray and one is a
 * suitcase. */
size_t next_thing(uint32_t *random);

/* Half of the luggage leaves and other luggage arrives, in a kolk heap and in malloc. */
int demo_departures(cli_context *cli, cli_json *json);

/* Runs a real program under libkolk-malloc.so. */
int demo_program(cli_context *cli, cli_json *json);

#endif
