/* A cache in a Redis server, for 16 threads over 4 connections. If a connection breaks, one answer is lost, and the
 * request is repeated on another connection. If the server is killed, two answers may be lost for each connection:
 * the system closes its connections before its listening socket, so that a client may connect once more in vain. While
 * the server is away, threads wait and try again.
 * Usage: cache_client ADDRESS [ROUNDS] */
#define _POSIX_C_SOURCE 200809L
#include <kolk/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS = 16, CONNECTIONS = 4 };

typedef struct person {
    pthread_t thread;
    int name, rounds;
    int asked, missed, lost, away; /* numbers of requests, missing values, lost answers, and times without a server */
} person;

static kolk_tcp cache;

/* Encodes a command in the protocol RESP: "get key" is sent as *2 $3 get $3 key, each on a line of its own. */
static size_t encode(const char *command, char *out, size_t size) {
    char words[128], *rest = words;
    size_t length = 0, count = 1;
    for (const char *at = command; *at; at++) count += *at == ' ';
    length += (size_t)snprintf(out, size, "*%zu\r\n", count);
    snprintf(words, sizeof words, "%s", command);
    for (const char *word; (word = strtok_r(rest, " ", &rest));)
        length += (size_t)snprintf(out + length, size - length, "$%zu\r\n%s\r\n", strlen(word), word);
    return length;
}

/* Is the answer complete: a line "+OK", ":7" or "$-1", or a line "$3" followed by a line of 3 bytes? */
static bool is_whole(const char *text) {
    const char *end = strstr(text, "\r\n");
    return end && (text[0] != '$' || text[1] == '-' || strlen(end) == strtoul(text + 1, NULL, 10) + 4);
}

static bool receive_answer(int fd, char *answer, size_t size, kolk_deadline deadline, kolk_error *error) {
    for (size_t length = 0, more; length + 1 < size; length += more) {
        more = kolk_tcp_receive(fd, answer + length, size - 1 - length, deadline, error);
        answer[length + more] = 0;
        if (more == 0) return false;
        if (is_whole(answer)) return true;
    }
    return false;
}

static void ask(person *me, const char *command, char *answer, size_t size) {
    char question[256];
    size_t length = encode(command, question, sizeof question);
    for (bool done = false; !done;) {
        kolk_borrowed borrow;
        kolk_deadline deadline = kolk_deadline_after(10000);
        if (kolk_resource_borrow(&cache.pool, &(kolk_borrow_desc){.deadline = deadline}, &borrow) != KOLK_OK) {
            if (me->away++ == 0) fprintf(stderr, "thread %d: %s\n", me->name, borrow.error.text);
            nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
            continue;
        }
        int fd = kolk_tcp_fd(&borrow);
        done = kolk_tcp_send_all(fd, question, length, deadline, &borrow.error) &&
               receive_answer(fd, answer, size, deadline, &borrow.error);
        if (!done && me->lost++ == 0) fprintf(stderr, "thread %d: %s\n", me->name, borrow.error.text);
        kolk_resource_give_back(&cache.pool, &borrow); /* detects and destroys a broken connection */
    }
    me->asked++;
}

static void expect(const char *expected, const char *answer) {
    if (strcmp(answer, expected) == 0) return;
    fprintf(stderr, "not my answer: %s\n", answer);
    exit(1);
}

static void *use_cache(void *argument) {
    person *me = argument;
    char command[64], answer[64], expected[64];
    for (int n = 0; n < me->rounds; n++) {
        snprintf(command, sizeof command, "set person:%d %d", me->name, n * me->name);
        ask(me, command, answer, sizeof answer);
        expect("+OK\r\n", answer);
        snprintf(command, sizeof command, "get person:%d", me->name);
        ask(me, command, answer, sizeof answer);
        int digits = snprintf(command, sizeof command, "%d", n * me->name);
        snprintf(expected, sizeof expected, "$%d\r\n%d\r\n", digits, n * me->name);
        bool missed = strcmp(answer, "$-1\r\n") == 0; /* a cache may forget */
        me->missed += missed;
        if (!missed) expect(expected, answer);
        ask(me, "incr visits", answer, sizeof answer);
    }
    return NULL;
}

int main(int argc, char **argv) {
    person people[THREADS] = {{0}}, sum = {0};
    kolk_tcp_desc desc = {.address = argc > 1 ? argv[1] : "127.0.0.1:6379",
                          .pool = {.name = "cache", .max = CONNECTIONS}};
    char visits[64];
    if (kolk_tcp_init(&cache, &desc) != KOLK_OK) return 1;
    for (int i = 0; i < THREADS; i++) {
        people[i].name = i;
        people[i].rounds = argc > 2 ? atoi(argv[2]) : 50;
        if (pthread_create(&people[i].thread, NULL, use_cache, &people[i]) != 0) return 1;
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(people[i].thread, NULL);
        sum.asked += people[i].asked, sum.missed += people[i].missed;
        sum.lost += people[i].lost, sum.away += people[i].away;
    }
    ask(&sum, "get visits", visits, sizeof visits);
    printf("%d threads, %d connections: %d answers, each to its own question\n", THREADS, CONNECTIONS, sum.asked - 1);
    printf("%d values missed, %d answers lost, %d times no server\n", sum.missed, sum.lost, sum.away);
    if (strchr(visits, '\n')) printf("visits: %s\n", strtok(strchr(visits, '\n') + 1, "\r"));
    kolk_tcp_deinit(&cache);
}

/* runs: long processes not:clang */
