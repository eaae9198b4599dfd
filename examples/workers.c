/* One pool for many threads: writers make letters, and readers take them out of a queue, read them and free them. Only
 * pointers go through the queue: no letter is copied, and none has to return to the thread that made it.
 *
 * The pool keeps the writers from running ahead: when all letters are in use, alloc_wait waits until a reader frees
 * one. The writer that has waited longest gets it. */
#include "kolk.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WRITERS = 3, READERS = 2, LETTERS = 2000, CAPACITY = 8 };

struct letter {
    int from, number;
    char text[56];
};
KOLK_SHARED_TYPE(letters, struct letter)
KOLK_QUEUE_TYPE(mail, struct letter *)

static letters pool;
static mail post;

struct person {
    pthread_t thread;
    int name, count;
    size_t length; /* total length of the texts */
};

static void *write_letters(void *argument) {
    struct person *me = argument;
    letters_local local; /* this thread's access to the pool */
    if (letters_local_init(&local, &pool) != KOLK_OK) exit(1);
    for (; me->count < LETTERS; me->count++) {
        struct letter *letter = letters_alloc_wait(&local, KOLK_FOREVER);
        *letter = (struct letter){.from = me->name, .number = me->count};
        snprintf(letter->text, sizeof letter->text, "letter %d of writer %d", me->count, me->name);
        mail_push(&post, &letter, KOLK_FOREVER); /* from now on the reader owns it */
    }
    letters_local_deinit(&local);
    return NULL;
}

static void *read_letters(void *argument) {
    struct person *me = argument;
    letters_local local;
    if (letters_local_init(&local, &pool) != KOLK_OK) exit(1);
    for (struct letter *letter; mail_pop(&post, &letter, KOLK_FOREVER) == KOLK_OK; me->count++) {
        char expected[56];
        snprintf(expected, sizeof expected, "letter %d of writer %d", letter->number, letter->from);
        if (strcmp(letter->text, expected) != 0) exit(1);
        me->length += strlen(letter->text);
        letters_free(&local, letter);
    }
    letters_local_deinit(&local);
    return NULL;
}

int main(void) {
    struct person people[WRITERS + READERS] = {{0}};
    if (letters_init(&pool, &(kolk_shared_desc){.name = "letters", .capacity = CAPACITY}) != KOLK_OK) return 1;
    if (mail_init(&post, &(kolk_queue_desc){.name = "post", .capacity = CAPACITY}) != KOLK_OK) return 1;
    for (int n = 0; n < WRITERS + READERS; n++) {
        people[n].name = n;
        void *(*work)(void *) = n < WRITERS ? write_letters : read_letters;
        if (pthread_create(&people[n].thread, NULL, work, &people[n]) != 0) return 1;
    }
    for (int n = 0; n < WRITERS; n++) pthread_join(people[n].thread, NULL);
    mail_close(&post); /* readers read the remaining letters, and then stop */
    for (int n = WRITERS; n < WRITERS + READERS; n++) pthread_join(people[n].thread, NULL);
    printf("%d writers wrote %d letters\n", WRITERS, people[0].count + people[1].count + people[2].count);
    printf("%d readers read and freed %d, %zu characters, none was copied\n", READERS,
           people[3].count + people[4].count, people[3].length + people[4].length);
    printf("%u letters are alive\n", letters_count(&pool));
    mail_deinit(&post);
    letters_deinit(&pool);
}
