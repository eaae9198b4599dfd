/* See shop.c. */
#include "shop.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct order *order_new(int number) {
    struct order *order = calloc(1, sizeof *order);
    char text[32];
    if (!order) return NULL;
    snprintf(text, sizeof text, "order %d of many", number);
    order->note = malloc(strlen(text) + 1);
    if (!order->note) {
        free(order); /* no run comes here */
        return NULL;
    }
    strcpy(order->note, text); /* NOLINT */
    order->number = number;
    return order;
}

void order_end(struct order *order) {
    free(order->note);
    free(order);
}
