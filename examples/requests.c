/* A server for a few commands of Redis's protocol (RESP), with heaps inside heaps: the store's lives as long as the
 * server, each connection has one inside it, and each request has one inside its connection's, with a limit. All that a
 * request needs is in its heap. So nothing must be freed after an error, and no request can use up the memory. The
 * program is its own client, over sockets, and prints the conversation. */
#define _POSIX_C_SOURCE 200809L
#include "kolk.h"
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { CONNECTIONS = 8, MOST_WORDS = 1000, LONGEST_WORD = 1 << 20, LIMIT_KIB = 64 };

typedef struct streams {
    FILE *in, *out; /* NULL: there is no connection */
} streams;

typedef struct connection {
    kolk_heap heap;
    streams with; /* the client */
} connection;

typedef struct entry {
    struct entry *next;
    char *value, key[]; /* the value is behind the key */
} entry;

static kolk_heap store;
static entry *entries; /* a list in the store; with many entries, a hash table would be faster */
static connection connections[CONNECTIONS];
static int closed;

/* ---- Requests ---------------------------------------------------------------------------------------------------- */

/* Reads a line with this character and a number. */
static bool read_number(FILE *in, char kind, unsigned most, unsigned *number) {
    char first, ends[2];
    return fscanf(in, "%c%7u%c%c", &first, number, &ends[0], &ends[1]) == 4 && first == kind && *number <= most &&
           ends[0] == '\r' && ends[1] == '\n';
}

/* Reads the bytes of a word and a line end. If there is no memory for the word (NULL), skips it. */
static bool read_word(FILE *in, char *word, size_t length) {
    char skipped[1024];
    for (size_t some; !word && length > 0; length -= some) {
        some = length < sizeof skipped ? length : sizeof skipped;
        if (fread(skipped, 1, some, in) != some) return false;
    }
    return (!word || fread(word, 1, length, in) == length) && getc(in) == '\r' && getc(in) == '\n';
}

/* Reads *2 $3 GET $4 city, each on a line of its own, and returns its words. If the heap has no room for them, returns
 * NULL, but reads all the same, so that the next request is found. Sets *n to 0 if this is not a request. */
static char **read_request(FILE *in, kolk_heap *heap, unsigned *n) {
    unsigned count, length;
    *n = 0;
    if (!read_number(in, '*', MOST_WORDS, &count)) return NULL;
    char **words = kolk_heap_alloc(heap, count * sizeof *words);
    for (unsigned i = 0; i < count; i++) {
        if (!read_number(in, '$', LONGEST_WORD, &length)) return NULL;
        char *word = words ? kolk_heap_alloc_zeroed(heap, length + 1) : NULL;
        if (!read_word(in, word, length)) return NULL;
        if (word) words[i] = word; /* a string: if it has a zero byte, it ends there */
        if (!word) words = NULL;   /* there is no room; what was read so far ends with the heap */
    }
    *n = count;
    return words;
}

/* ---- Commands ---------------------------------------------------------------------------------------------------- */

/* Returns the place of the pointer to the entry with this key, or to NULL. */
static entry **find(const char *key) {
    entry **at = &entries;
    while (*at && strcmp((*at)->key, key) != 0) at = &(*at)->next;
    return at;
}

static int erase(const char *key) {
    entry **at = find(key), *old = *at;
    if (old) *at = old->next;
    kolk_heap_free(&store, old);
    return old != NULL;
}

static bool set(const char *key, const char *value) {
    entry *fresh = kolk_heap_alloc(&store, sizeof *fresh + strlen(key) + strlen(value) + 2);
    if (!fresh) return false;
    erase(key);
    fresh->next = entries;
    fresh->value = strcpy(fresh->key, key) + strlen(key) + 1;
    strcpy(fresh->value, value);
    entries = fresh;
    return true;
}

static void get(FILE *out, const char *key) {
    const entry *found = *find(key);
    if (found)
        fprintf(out, "$%zu\r\n%s\r\n", strlen(found->value), found->value);
    else
        fprintf(out, "$-1\r\n");
}

/* Returns false if the server is to end. */
static bool run(FILE *out, char **words, unsigned n) {
    int erased = 0;
    if (strcasecmp(words[0], "PING") == 0 && n == 1) {
        fprintf(out, "+PONG\r\n");
    } else if (strcasecmp(words[0], "SET") == 0 && n == 3) {
        fprintf(out, set(words[1], words[2]) ? "+OK\r\n" : "-ERR the store is full\r\n");
    } else if (strcasecmp(words[0], "GET") == 0 && n == 2) {
        get(out, words[1]);
    } else if (strcasecmp(words[0], "MGET") == 0 && n > 1) {
        fprintf(out, "*%u\r\n", n - 1);
        for (unsigned i = 1; i < n; i++) get(out, words[i]);
    } else if (strcasecmp(words[0], "DEL") == 0 && n > 1) {
        for (unsigned i = 1; i < n; i++) erased += erase(words[i]);
        fprintf(out, ":%d\r\n", erased);
    } else if (strcasecmp(words[0], "SHUTDOWN") == 0 && n == 1) {
        fprintf(out, "+OK\r\n");
        return false;
    } else {
        fprintf(out, "-ERR the commands are PING, SET key value, GET key, MGET key..., DEL key... and SHUTDOWN\r\n");
    }
    return true;
}

/* ---- The server -------------------------------------------------------------------------------------------------- */

/* Reads without a buffer, so that poll sees all that is still to be read. */
static bool open_streams(streams *its, int fd) {
    *its = (streams){fdopen(fd, "r"), fdopen(dup(fd), "w")};
    if (!its->in) close(fd);
    return its->in && its->out && setvbuf(its->in, NULL, _IONBF, 0) == 0;
}

static void close_streams(void *of) {
    streams *its = of;
    if (its->in) fclose(its->in);
    if (its->out) fclose(its->out);
    *its = (streams){NULL, NULL};
    closed++;
}

/* If there is no memory for the connection, disconnects the client. */
static void welcome(connection *its, int fd) {
    const struct timeval second = {.tv_sec = 1}; /* a client that stops amid a request delays others no longer */
    if (fd < 0) return;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof second);
    kolk_heap_desc desc = {.name = "connection", .parent = &store};
    bool is_open = open_streams(&its->with, fd) && kolk_heap_init(&its->heap, &desc) == KOLK_OK;
    if (is_open && kolk_heap_on_end(&its->heap, close_streams, &its->with)) return;
    close_streams(&its->with);
    kolk_heap_deinit(&its->heap);
}

/* Answers one request. Returns false if the connection is to end. */
static bool serve_one(connection *its, bool *is_running) {
    streams with = its->with;
    kolk_heap heap;
    unsigned n;
    kolk_heap_desc desc = {.name = "request", .parent = &its->heap, .limit = LIMIT_KIB << 10};
    kolk_heap_init(&heap, &desc); /* a heap that could not be made has no memory either */
    char **words = read_request(with.in, &heap, &n);
    if (words)
        *is_running = run(with.out, words, n);
    else if (n > 0)
        fprintf(with.out, "-ERR there is no memory for this request: it may take %d KiB\r\n", LIMIT_KIB);
    else if (!feof(with.in))
        fprintf(with.out,
                "-ERR a request is a line *COUNT, and for each word a line $LENGTH and a line with the word\r\n");
    kolk_heap_deinit(&heap);
    return fflush(with.out) == 0 && n > 0;
}

static void *serve(void *listener) {
    bool is_running = true;
    while (is_running) {
        struct pollfd waits[CONNECTIONS + 1] = {{*(int *)listener, POLLIN, 0}};
        connection *unused = NULL;
        for (int n = 0; n < CONNECTIONS; n++) {
            connection *its = &connections[n];
            waits[n + 1] = (struct pollfd){its->with.in ? fileno(its->with.in) : -1, POLLIN, 0};
            if (!its->with.in) unused = its;
        }
        if (!unused) waits[0].fd = -1; /* more clients have to wait */
        poll(waits, CONNECTIONS + 1, -1);
        for (int n = 0; n < CONNECTIONS; n++)
            if (waits[n + 1].revents && !serve_one(&connections[n], &is_running))
                kolk_heap_deinit(&connections[n].heap);
        if (waits[0].revents) welcome(unused, accept(waits[0].fd, NULL, NULL));
    }
    kolk_heap_deinit(&store); /* the connections end first, and their sockets are closed */
    return NULL;
}

/* ---- The client -------------------------------------------------------------------------------------------------- */

static void hear(streams with) {
    char line[128];
    const char *got = fgets(line, sizeof line, with.in);
    int values = got && line[0] == '*' ? atoi(line + 1) : 0;
    if (got && line[0] == '$' && line[1] != '-') got = fgets(line, sizeof line, with.in); /* the value follows */
    if (got)
        printf("   %.*s\n", (int)strcspn(line, "\r"), line);
    else
        printf("   (the connection is closed)\n");
    while (values-- > 0) hear(with);
}

static void ask(const char *who, streams with, const char *command) {
    size_t n = 1, length;
    printf("%s> %.40s%s\n", who, command, strlen(command) > 40 ? "..." : "");
    for (const char *at = command; *at; at++) n += *at == ' ';
    fprintf(with.out, "*%zu\r\n", n);
    for (const char *word = command; n > 0; n--, word += length + 1) {
        length = strcspn(word, " ");
        fprintf(with.out, "$%zu\r\n%.*s\r\n", length, (int)length, word);
    }
    fflush(with.out);
    hear(with);
}

static streams connect_to(const struct sockaddr_in *address) {
    streams with;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (const struct sockaddr *)address, sizeof *address) == 0 && open_streams(&with, fd)) return with;
    perror("requests: cannot connect to the server");
    exit(1);
}

int main(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    struct sockaddr *bound = (struct sockaddr *)&address;
    pthread_t server;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    signal(SIGPIPE, SIG_IGN); /* a client may leave at any time */
    if (bind(listener, bound, length) != 0 || listen(listener, 8) != 0 || getsockname(listener, bound, &length) != 0 ||
        kolk_heap_init(&store, &(kolk_heap_desc){.name = "store", .limit = 16 << 20}) != KOLK_OK ||
        pthread_create(&server, NULL, serve, &listener) != 0) {
        perror("requests: cannot start the server");
        return 1;
    }
    static char large[100000] = "SET map ";
    memset(large + 8, 'x', sizeof large - 9);
    streams ada = connect_to(&address), ben = connect_to(&address), cat = connect_to(&address);
    ask("Ada", ada, "PING");
    ask("Ada", ada, "SET city Riga");
    ask("Ben", ben, "SET river Daugava");
    ask("Ada", ada, "MGET city river sea");
    ask("Ben", ben, "DEL city sea");
    ask("Ada", ada, "GET city");
    ask("Ada", ada, "GET");
    ask("Ada", ada, large);
    ask("Ada", ada, "GET river");
    printf("Cat> GET river, not in the protocol\n");
    fprintf(cat.out, "GET river\r\n");
    fflush(cat.out);
    hear(cat);
    hear(cat);
    ask("Ben", ben, "SHUTDOWN");
    hear(ada);
    pthread_join(server, NULL);
    printf("%d connections are closed\n", closed);
}

/* runs: 64-bits not:qemu not:wine */
