/* tcp_test.h: shared by the tests of libkolk-tcp: pools and servers. Most servers are only a listener, because the
 * system connects clients before accept is called. */
#ifndef TESTS_TCP_TEST_H
#define TESTS_TCP_TEST_H

#include "../help/threads.h"

#include "kolk/tcp.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

static inline kolk_deadline soon(void) {
    return kolk_deadline_after(120000);
}

/* Checks that the deadline passed within the last minute: the system alone would give up after two. */
static inline void assert_just_passed(kolk_deadline deadline) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t late = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - deadline.ns;
    if (late < 0 || late > 60000000000) fail_msg("%" PRId64 " ns after the deadline", late);
}

/* ---- Descriptors ------------------------------------------------------------------------------------------------- */

static inline unsigned open_descriptors(void) {
    DIR *folder = opendir("/proc/self/fd");
    REQUIRE(folder);
    unsigned n = 0;
    for (const struct dirent *each; (each = readdir(folder));) n += each->d_name[0] != '.';
    closedir(folder);
    return n;
}

static unsigned descriptors_before;

static inline int count_descriptors(void **state) {
    descriptors_before = open_descriptors();
    return 0;
}

/* Checks that the test left no descriptor open. */
static inline int compare_descriptors(void **state) {
    unsigned after = open_descriptors();
    if (after != descriptors_before) print_message("%u descriptors before, %u after\n", descriptors_before, after);
    return abort_on_failure(state) || after != descriptors_before;
}

/* ---- Servers ----------------------------------------------------------------------------------------------------- */

typedef struct server {
    int listener; /* -1: the server could not be bound */
    struct sockaddr_storage at;
    socklen_t size;
    char address[64];
} server;

/* Returns a server bound to a free port of this address. It refuses connections until listen is called. */
static inline server bind_server(const char *host) {
    server it = {.listener = -1};
    struct addrinfo *found, hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST};
    REQUIRE(getaddrinfo(host, "0", &hints, &found) == 0);
    it.listener = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    it.size = sizeof it.at;
    if (it.listener >= 0 && bind(it.listener, found->ai_addr, found->ai_addrlen) == 0) {
        REQUIRE(getsockname(it.listener, (struct sockaddr *)&it.at, &it.size) == 0);
        bool six = found->ai_family == AF_INET6;
        uint16_t port = six ? ((struct sockaddr_in6 *)&it.at)->sin6_port : ((struct sockaddr_in *)&it.at)->sin_port;
        snprintf(it.address, sizeof it.address, six ? "[%s]:%u" : "%s:%u", host, ntohs(port));
    } else if (it.listener >= 0) {
        close(it.listener);
        it.listener = -1;
    }
    freeaddrinfo(found);
    return it;
}

static inline server start_server(void) {
    server it = bind_server("127.0.0.1");
    REQUIRE(it.listener >= 0 && listen(it.listener, 64) == 0);
    return it;
}

static inline void stop_server(const server *it) {
    close(it->listener);
}

/* Returns the server's end of the next connection. */
static inline int accept_one(const server *it) {
    int fd = accept4(it->listener, NULL, NULL, SOCK_CLOEXEC);
    REQUIRE(fd >= 0);
    return fd;
}

/* Returns true if a connection waits to be accepted. */
static inline bool has_caller(const server *it) {
    struct pollfd listener = {.fd = it->listener, .events = POLLIN};
    return poll(&listener, 1, 0) == 1;
}

/* Ends a connection by a reset. */
static inline void reset_connection(int fd) {
    struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    REQUIRE(setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) == 0);
    close(fd);
}

static inline void say_to(int fd, const char *text) {
    REQUIRE(send(fd, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text));
}

/* A server that accepts no connection: its queue is full, and the system ignores clients. */
typedef struct black_hole {
    server it;
    int callers[8];
} black_hole;

static inline black_hole open_black_hole(void) {
    black_hole hole = {.it = bind_server("127.0.0.1")};
    REQUIRE(listen(hole.it.listener, 0) == 0);
    for (size_t i = 0; i < LENGTH_OF(hole.callers); i++) {
        hole.callers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        REQUIRE(hole.callers[i] >= 0);
        int result = connect(hole.callers[i], (const struct sockaddr *)&hole.it.at, hole.it.size);
        REQUIRE(result == 0 || errno == EINPROGRESS);
    }
    return hole;
}

/* Lets one client connect from now on, and ends those that waited in the queue. */
static inline void open_up(const black_hole *hole) {
    for (size_t i = 0; i < LENGTH_OF(hole->callers); i++) shutdown(hole->callers[i], SHUT_RDWR);
    for (int fd; fcntl(hole->it.listener, F_SETFL, O_NONBLOCK) == 0 &&
                 (fd = accept4(hole->it.listener, NULL, NULL, SOCK_CLOEXEC)) >= 0;)
        close(fd);
}

static inline void close_black_hole(const black_hole *hole) {
    for (size_t i = 0; i < LENGTH_OF(hole->callers); i++) close(hole->callers[i]);
    stop_server(&hole->it);
}

/* ---- Pools ------------------------------------------------------------------------------------------------------- */

static inline void make_tcp(kolk_tcp *tcp, const kolk_tcp_desc *desc) {
    kolk_status status = kolk_tcp_init(tcp, desc);
    if (status != KOLK_OK) fail_msg("init: %s", kolk_status_text(status));
}

/* Makes a pool of at most this many connections to this server, without a housekeeper. */
static inline void make_tcp_to(kolk_tcp *tcp, const char *address, uint32_t max) {
    make_tcp(tcp, &(kolk_tcp_desc){.address = address, .pool = {.name = "links", .max = max, .no_housekeeper = true}});
}

static inline void end_tcp(kolk_tcp *tcp) {
    assert_true(kolk_resource_is_valid(&tcp->pool));
    assert_int_equal(kolk_resource_close(&tcp->pool, soon()), KOLK_OK); /* a maker may be creating */
    kolk_tcp_deinit(tcp);
}

static inline kolk_status borrow_until(kolk_tcp *tcp, const char *key, kolk_deadline deadline, kolk_borrowed *out) {
    return kolk_resource_borrow(&tcp->pool, &(kolk_borrow_desc){.key = key, .deadline = deadline}, out);
}

static inline kolk_borrowed borrow(kolk_tcp *tcp, const char *key) {
    kolk_borrowed it;
    kolk_status status = borrow_until(tcp, key, soon(), &it);
    if (status != KOLK_OK) fail_msg("borrow: %s: %s", kolk_status_text(status), it.error.text);
    return it;
}

static inline void give_back(kolk_tcp *tcp, kolk_borrowed *it) {
    kolk_resource_give_back(&tcp->pool, it);
}

static inline kolk_resource_pool_stats stats_of(const kolk_tcp *tcp) {
    kolk_resource_pool_stats stats;
    kolk_resource_stats(&tcp->pool, &stats);
    return stats;
}

/* Checks that the error's text is "ADDRESS: WORDS", and its code this one. */
static inline void assert_error(const kolk_error *error, int code, const char *address, const char *words) {
    char expected[300];
    snprintf(expected, sizeof expected, "%s: %s", address, words);
    assert_string_equal(error->text, expected);
    assert_int_equal(error->code, code);
}

#endif
