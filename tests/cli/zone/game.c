/* A program that allocates through wrappers: one with a header, and one that only checks.
 * tests/cli/advise_wrapper.sh records and changes it. */
#include "zone.h"
#include <stdio.h>
#include <string.h>

enum { PU_STATIC = 1, PU_LEVEL = 50 };

typedef struct mobj {
    struct mobj *next;
    int x, y, health;
    char rest[36];
} mobj_t;

struct node {
    struct node *next;
    long fd, events;
};

static mobj_t *spawn(int x) {
    mobj_t *mobj;
    mobj = Z_Malloc(sizeof(*mobj), PU_LEVEL, NULL);
    memset(mobj, 0, sizeof *mobj);
    mobj->x = x;
    return mobj;
}

static long kill(mobj_t *mobj) {
    long x = mobj->x + mobj->health;
    Z_Free(mobj);
    return x;
}

static struct node *connect(long fd) {
    struct node *node = (struct node *)ck_calloc(1, sizeof(struct node));
    node->fd = fd;
    return node;
}

static long close_all(struct node *node) {
    long sum = 0;
    while (node) {
        struct node *next = node->next;
        sum += node->fd + node->events; /* ck_calloc has made it 0 */
        ck_free(node);
        node = next;
    }
    return sum;
}

static char *name_of(int n) {
    char *name = Z_Malloc((size_t)n % 50 + 8, PU_STATIC, NULL);
    snprintf(name, 8, "%d", n % 1000);
    return name;
}

int main(void) {
    mobj_t *mobjs = NULL;
    long sum = 0;
    for (int round = 0; round < 20; round++) {
        struct node *nodes = NULL;
        for (int i = 0; i < 100; i++) {
            mobj_t *mobj = spawn(i);
            mobj->next = mobjs;
            mobjs = mobj;
            if (i % 3 == 2) {
                mobj_t *second = mobjs->next;
                mobjs->next = second->next;
                sum += kill(second);
            }
            struct node *node = connect(i);
            node->next = nodes;
            nodes = node;
            char *name = name_of(i);
            sum += name[0];
            Z_Free(name);
        }
        sum += close_all(nodes);
    }
    while (mobjs) {
        mobj_t *next = mobjs->next;
        sum += kill(mobjs);
        mobjs = next;
    }
    printf("%ld\n", sum);
    return 0;
}
