/* A program with two types of nodes: leaves, which only this file has, and orders. tests/cli/advise_patch.sh records
 * and changes it. What it prints depends on the zeros that calloc writes. */
#include "shop.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct leaf {
    struct leaf *left, *right;
    unsigned key, count;
    char rest[24];
} leaf;

static leaf *add(leaf *tree, unsigned key) {
    if (!tree) {
        if (!(tree = malloc(sizeof(leaf)))) exit(1);
        *tree = (leaf){.key = key, .count = 1};
    } else if (key < tree->key) {
        tree->left = add(tree->left, key);
    } else {
        tree->right = add(tree->right, key);
    }
    return tree;
}

static unsigned end(leaf *tree) {
    if (!tree) return 0;
    unsigned sum = tree->key % 1000 + end(tree->left) + end(tree->right);
    free(tree);
    return sum;
}

int main(void) {
    struct order *orders = NULL;
    long sum = 0;
    for (int round = 0; round < 20; round++) {
        leaf *tree = NULL;
        for (unsigned i = 1; i < 200; i++) tree = add(tree, i * 2654435761u);
        for (int i = 0; i < 100; i++) {
            struct order *order = order_new(i);
            if (!order) return 1;
            sum += order->amount; /* calloc has made it 0 */
            order->amount = i;
            order->next = orders;
            orders = order;
            if (i % 3 == 2) {
                struct order *second = orders->next;
                orders->next = second->next;
                sum += second->number;
                order_end(second);
            }
        }
        sum += end(tree);
    }
    while (orders) {
        struct order *next = orders->next;
        sum += orders->amount;
        order_end(orders);
        orders = next;
    }
    printf("%ld\n", sum);
    return 0;
}
