/* A program whose objects have known lives. record.sh contains the advice that kolk advise must give for it. Each size
 * occurs only once, and each function allocates through `get`.
 * Usage: advised */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline, noclone))

enum { COUNT = 2000, TOKENS = 100, MAILS = 16, NAMES = 50 };

struct item {
    struct item *next;
    char rest[32];
};

struct leaf {
    struct leaf *left, *right;
    unsigned key;
    char rest[40];
};

struct token {
    int kind, line;
    char rest[16];
};

struct message {
    int number;
    char rest[76];
};

static volatile int steps; /* changed after a call, so that this is not a tail call */

APART static void *get(size_t size) {
    void *block = malloc(size);
    steps++;
    return block ? block : (abort(), NULL);
}

/* Two of every three items are freed right away, in a different order. */
APART static void list(void) {
    struct item *first = NULL;
    for (int i = 0; i < COUNT; i++) {
        struct item *item = get(sizeof *item);
        item->next = first;
        first = item;
        for (int gone = 0; i % 3 == 2 && gone < 2; gone++) {
            struct item *second = first->next;
            first->next = second->next;
            free(second);
        }
    }
    while (first) {
        struct item *next = first->next;
        free(first);
        first = next;
    }
}

/* No leaf is ever freed. */
APART static struct leaf *tree_add(struct leaf *tree, unsigned key) {
    if (!tree) {
        tree = get(sizeof *tree);
        *tree = (struct leaf){.key = key};
    } else if (key < tree->key) {
        tree->left = tree_add(tree->left, key);
    } else {
        tree->right = tree_add(tree->right, key);
    }
    steps++;
    return tree;
}

APART static void tree(void) {
    static struct leaf *all;
    for (unsigned i = 0; i < COUNT; i++) all = tree_add(all, i * 2654435761u);
}

APART static void parse(void) {
    struct token *tokens[TOKENS];
    for (int i = 0; i < TOKENS; i++) tokens[i] = get(sizeof *tokens[i]);
    for (int i = 0; i < TOKENS; i++) free(tokens[i]);
}

APART static void names(void) {
    char *all[NAMES] = {NULL}, text[64];
    for (int i = 0; i < COUNT; i++) {
        snprintf(text, sizeof text, "%0*d", 1 + i % 30, i);
        free(all[i % NAMES]);
        all[i % NAMES] = get(strlen(text) + 1);
        strcpy(all[i % NAMES], text); /* NOLINT */
    }
    for (int i = 0; i < NAMES; i++) free(all[i]);
}

/* ---- Messages from one thread to another ------------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct message *mails[MAILS];
static int sent, read_by_now;

static void *read_all(void *unused) {
    for (int i = 0; i < COUNT; i++) {
        pthread_mutex_lock(&lock);
        while (sent == read_by_now) pthread_cond_wait(&changed, &lock);
        struct message *message = mails[read_by_now++ % MAILS];
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&lock);
        free(message);
    }
    return unused;
}

APART static void post(void) {
    pthread_t reader;
    pthread_create(&reader, NULL, read_all, NULL);
    for (int i = 0; i < COUNT; i++) {
        struct message *message = get(sizeof *message);
        message->number = i;
        pthread_mutex_lock(&lock);
        while (sent - read_by_now == MAILS) pthread_cond_wait(&changed, &lock);
        mails[sent++ % MAILS] = message;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&lock);
    }
    pthread_join(reader, NULL);
}

int main(void) {
    list();
    tree();
    for (int i = 0; i < COUNT / TOKENS; i++) parse();
    names();
    post();
    return 0;
}
