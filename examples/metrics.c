/* Statistics for Prometheus and its like: GET http://127.0.0.1:PORT/metrics returns the output of kolk_stats_write for
 * every pool, as OpenMetrics to clients that accept it, and otherwise in Prometheus's own format. Usage: metrics
 * [PORT]. With a port, the program serves until it is stopped. Without one, it sends itself a request, and prints part
 * of the answer. */
#define _POSIX_C_SOURCE 200809L
#include "kolk.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void send_text(const char *text, size_t length, void *socket) {
    while (length > 0) {
        ssize_t sent = send(*(int *)socket, text, length, MSG_NOSIGNAL);
        if (sent <= 0) return;
        text += sent;
        length -= (size_t)sent;
    }
}

#define OPENMETRICS "application/openmetrics-text"

/* Answers any request with the statistics; the end of the connection marks the end of the answer. */
static void answer(int client) {
    static const char *const heads[] = {
        "HTTP/1.0 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n\r\n",
        "HTTP/1.0 200 OK\r\nContent-Type: " OPENMETRICS "; version=1.0.0; charset=utf-8\r\n\r\n"};
    char request[2048] = "";
    size_t length = 0;
    ssize_t got;
    while (!strstr(request, "\r\n\r\n") && (got = recv(client, request + length, sizeof request - 1 - length, 0)) > 0)
        request[length += (size_t)got] = 0;
    bool is_open = strstr(request, OPENMETRICS);
    send_text(heads[is_open], strlen(heads[is_open]), &client);
    kolk_stats_write(is_open ? KOLK_STATS_OPENMETRICS : KOLK_STATS_PROMETHEUS, send_text, &client);
    shutdown(client, SHUT_WR);
    close(client);
}

static void *serve(void *listener) {
    for (int client; (client = accept(*(int *)listener, NULL, NULL)) >= 0;) answer(client);
    return NULL;
}

static void ask(struct sockaddr_in address) {
    int client = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(client, (struct sockaddr *)&address, sizeof address) != 0) return;
    static const char request[] = "GET /metrics HTTP/1.0\r\nAccept: " OPENMETRICS "\r\n\r\n";
    send_text(request, sizeof request - 1, &client);
    FILE *reply = fdopen(client, "r");
    for (char line[1024]; reply && fgets(line, sizeof line, reply);)
        if (strncmp(line, "db_client_connection_count", 26) == 0 || strncmp(line, "kolk_peak{", 10) == 0)
            fputs(line, stdout);
    if (reply) fclose(reply);
}

static bool create(void *context, const char *key, kolk_deadline deadline, void **resource, kolk_error *error) {
    (void)key, (void)deadline, (void)error;
    *resource = context; /* as if it were a connection */
    return true;
}

int main(int argc, char **argv) {
    kolk_pool bullets;
    kolk_resource_pool links;
    kolk_borrowed one, other;
    kolk_resource_pool_desc desc = {.name = "links", .context = &links, .create = create, .max = 8};
    if (kolk_pool_init(&bullets, &(kolk_pool_desc){.name = "bullets", .object_size = 64, .capacity = 256}) != KOLK_OK)
        return 1;
    if (kolk_resource_init(&links, &desc) != KOLK_OK) return 1;
    if (kolk_resource_borrow(&links, NULL, &one) != KOLK_OK || kolk_resource_borrow(&links, NULL, &other) != KOLK_OK)
        return 1;
    kolk_resource_give_back(&links, &other);
    for (int i = 0; i < 17; i++) kolk_pool_alloc(&bullets);

    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (argc > 1) address.sin_port = htons((uint16_t)atoi(argv[1]));
    if (bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 8) != 0) return perror("metrics"), 1;
    if (getsockname(listener, (struct sockaddr *)&address, &size) != 0) return 1;
    if (argc > 1) {
        printf("http://127.0.0.1:%d/metrics\n", ntohs(address.sin_port));
        fflush(stdout);
        serve(&listener);
    }
    pthread_t server;
    if (pthread_create(&server, NULL, serve, &listener) != 0) return 1;
    ask(address);
    shutdown(listener, SHUT_RDWR); /* ends accept */
    pthread_join(server, NULL);
    kolk_resource_give_back(&links, &one);
    kolk_resource_deinit(&links);
    kolk_pool_deinit(&bullets);
}

/* runs: long not:wine */
