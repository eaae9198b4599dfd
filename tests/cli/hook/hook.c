/* A program whose blocks all come from one function, as those of Lua and Wren. tests/cli/advise_patch.sh records it:
 * the nodes are objects, and the array grows. */
#include <stdio.h>
#include <stdlib.h>

struct node {
    struct node *left, *right;
    double value[4];
};

static void *hook(void *user, void *block, size_t size) {
    (void)user;
    if (size > 0) return realloc(block, size);
    free(block);
    return NULL;
}

static void *(*const reallocate)(void *user, void *block, size_t size) = hook;

static struct node *node_new(int depth) {
    struct node *node = reallocate(NULL, NULL, sizeof *node);
    *node = (struct node){.value = {depth}};
    if (depth > 0) node->left = node_new(depth - 1);
    if (depth > 0) node->right = node_new(depth - 1);
    return node;
}

static double node_end(struct node *node) {
    if (!node) return 0;
    double sum = node->value[0] + node_end(node->left) + node_end(node->right);
    reallocate(NULL, node, 0);
    return sum;
}

int main(void) {
    double sum = 0;
    for (int round = 0; round < 100; round++) {
        struct node *first = node_new(4), *second = node_new(3);
        double *all = NULL;
        for (size_t length = 1; length <= 64; length++) {
            all = reallocate(NULL, all, length * sizeof *all);
            all[length - 1] = (double)length;
        }
        sum += all[63] + node_end(first) + node_end(second);
        reallocate(NULL, all, 0);
    }
    printf("%.0f\n", sum);
    return 0;
}
