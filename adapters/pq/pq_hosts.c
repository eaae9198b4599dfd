/* pq_hosts.c: the hosts for libpq to try, without those that were silent. A host name may have several addresses, which
 * libpq tries one by one. When one of them is silent, the name stays in the list once for each of its other addresses,
 * now with that address in hostaddr. The name is still needed to check certificates. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* getaddrinfo, open_memstream */
#endif

#include "pq_inside.h"

#include <limits.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* ---- Lists with commas ------------------------------------------------------------------------------------------- */

static int count_items(const char *list) {
    int count = list != NULL;
    for (; list && *list; list++) count += *list == ',';
    return count;
}

/* Where the item begins, or NULL. */
static const char *item_of(const char *list, int index) {
    for (; list && index > 0; index--) {
        list = strchr(list, ',');
        if (list) list++;
    }
    return list;
}

static bool item_is(const char *list, int index, const char *text) {
    const char *item = item_of(list, index);
    size_t length = item ? strcspn(item, ",") : 0;
    return length > 0 && strlen(text) == length && strncmp(item, text, length) == 0;
}

static bool has_item(const char *list, int index) {
    const char *item = item_of(list, index);
    return item && *item && *item != ',';
}

/* Replaces the item by `items`, a list of `times` items, or, if `items` is NULL, by `times` copies of itself. Returns
 * false if memory runs out. */
static bool replace_item(char **list, int index, int times, const char *items) {
    char *made = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&made, &size);
    if (!out) return false;
    const char *comma = "";
    for (int i = 0, count = count_items(*list); i < count; i++) {
        const char *item = item_of(*list, i);
        bool is_it = i == index;
        if (is_it && items && times > 0) {
            fprintf(out, "%s%s", comma, items);
            comma = ",";
            continue;
        }
        for (int copies = is_it ? times : 1; copies > 0; copies--, comma = ",")
            fprintf(out, "%s%.*s", comma, (int)strcspn(item, ","), item);
    }
    if (fclose(out) != 0) {
        free(made);
        return false;
    }
    free(*list);
    *list = made;
    return true;
}

/* ---- Hosts ------------------------------------------------------------------------------------------------------- */

static char *copy_of(const char *text) {
    return text ? strdup(text) : NULL;
}

void kolk_pq_find_hosts_(pq_hosts *hosts, PGconn *conn) {
    PQconninfoOption *options = PQconninfo(conn);
    hosts->names = copy_of(kolk_pq_option_(options, "host"));
    hosts->addresses = copy_of(kolk_pq_option_(options, "hostaddr"));
    hosts->ports = copy_of(kolk_pq_option_(options, "port"));
    hosts->count = count_items(hosts->addresses ? hosts->addresses : hosts->names);
    const char *seconds = kolk_pq_option_(options, "connect_timeout");
    int64_t patience = seconds ? strtol(seconds, NULL, 10) : 0;
    hosts->patience = patience > 0 && patience < INT_MAX ? patience * 1000 * PQ_MS : 0;
    kolk_pq_free_options_(options);
}

void kolk_pq_free_hosts_(pq_hosts *hosts) {
    free(hosts->names);
    free(hosts->addresses);
    free(hosts->ports);
    *hosts = (pq_hosts){0};
}

/* Is libpq trying this host? Hosts for which all of these values are equal are interchangeable. */
static bool is_at(const pq_hosts *hosts, int index, PGconn *conn, bool by_address) {
    bool same_host = item_is(hosts->names, index, PQhost(conn)) || item_is(hosts->addresses, index, PQhost(conn));
    bool same_port = count_items(hosts->ports) < 2 || item_is(hosts->ports, index, PQport(conn));
    bool same_address = !has_item(hosts->addresses, index) || item_is(hosts->addresses, index, PQhostaddr(conn));
    return same_host && same_port && (same_address || !by_address);
}

/* An address has several spellings. If conninfo has a different one from libpq, the name and port must match. */
static int index_of(const pq_hosts *hosts, PGconn *conn) {
    for (int by_address = 1; by_address >= 0; by_address--)
        for (int i = 0; i < hosts->count; i++)
            if (is_at(hosts, i, conn, by_address)) return i;
    return hosts->count - 1;
}

/* Lists the other addresses of the host that libpq is trying, and returns their number; 0 if the host is not a name. */
static int other_addresses(const pq_hosts *hosts, int index, PGconn *conn, char *list, size_t size) {
    const char *name = PQhost(conn);
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *all = NULL;
    int count = 0;
    *list = 0;
    if (has_item(hosts->addresses, index) || !has_item(hosts->names, index) || strchr("/@", *name)) return 0;
    if (getaddrinfo(name, NULL, &hints, &all) != 0) return 0;
    for (const struct addrinfo *at = all; at; at = at->ai_next) {
        char address[NI_MAXHOST];
        size_t used = strlen(list);
        if (getnameinfo(at->ai_addr, at->ai_addrlen, address, sizeof address, NULL, 0, NI_NUMERICHOST) != 0) continue;
        if (strcmp(address, PQhostaddr(conn)) == 0 || used + strlen(address) + 2 > size) continue;
        snprintf(list + used, size - used, "%s%s", count > 0 ? "," : "", address);
        count++;
    }
    freeaddrinfo(all);
    return count;
}

#define ADDRESSES_SIZE 2048 /* of a list in text: some 40 IPv6 addresses */

int kolk_pq_count_addresses_(const pq_hosts *hosts, PGconn *conn) {
    char list[ADDRESSES_SIZE];
    if (hosts->count < 1) return 1;
    return hosts->count + other_addresses(hosts, index_of(hosts, conn), conn, list, sizeof list);
}

bool kolk_pq_pass_over_(pq_hosts *hosts, PGconn *conn) {
    char others[ADDRESSES_SIZE];
    if (hosts->count < 1) return false;
    int index = index_of(hosts, conn), count = other_addresses(hosts, index, conn, others, sizeof others);
    if (hosts->count + count < 2) return false;
    if (count > 0 && !hosts->addresses) {
        hosts->addresses = calloc(1, (size_t)hosts->count); /* a list of empty items */
        if (!hosts->addresses) return false;
        memset(hosts->addresses, ',', (size_t)hosts->count - 1);
    }
    bool replaced = (!hosts->names || replace_item(&hosts->names, index, count, NULL)) &&
                    (!hosts->addresses || replace_item(&hosts->addresses, index, count, others)) &&
                    (count_items(hosts->ports) < 2 || replace_item(&hosts->ports, index, count, NULL));
    hosts->count += count - 1;
    return replaced;
}
