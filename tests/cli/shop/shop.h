/* Orders, which both files of the program use: see shop.c. */
#ifndef SHOP_H
#define SHOP_H
#include <stddef.h>

struct order {
    struct order *next;
    char *note;
    int number, amount;
};

struct order *order_new(int number);
void order_end(struct order *order);

#endif
