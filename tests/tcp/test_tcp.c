/* libkolk-tcp: connections are made, looked at, lent, sent through, received from, and closed. */
// with: tcp
// link: -Wl,--wrap=getaddrinfo,--wrap=connect,--wrap=poll
#include "tcp_test.h"

#include "../help/child.h"

#include <sys/resource.h>

/* ---- The system, as the tests want it ---------------------------------------------------------------------------- */

int __real_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **first);
int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **first);
int __real_connect(int fd, const struct sockaddr *address, socklen_t size);
int __wrap_connect(int fd, const struct sockaddr *address, socklen_t size);
int __real_poll(struct pollfd *all, nfds_t n, int timeout);
int __wrap_poll(struct pollfd *all, nfds_t n, int timeout);

/* The addresses of the name "many", in this order, with their ports. */
enum { MANY = 3 };
static const server *many[MANY];
static int broken_reason;          /* of the name "broken" */
static _Thread_local int resolved; /* names, so far */

/* glibc frees the addresses of a list one by one, so that lists can be joined. */
int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **first) {
    bool is_many = strcmp(host, "many") == 0;
    if (!(hints->ai_flags & AI_NUMERICHOST)) resolved++;
    if (strcmp(host, "broken") == 0) {
        errno = EMFILE;
        return broken_reason;
    }
    if (!is_many) return __real_getaddrinfo(host, port, hints, first);
    for (size_t i = 0; i < MANY && many[i]; i++) {
        REQUIRE(__real_getaddrinfo("127.0.0.1", port, hints, first) == 0);
        memcpy((*first)->ai_addr, &many[i]->at, many[i]->size);
        first = &(*first)->ai_next;
    }
    return 0;
}

static bool from_the_same_port; /* sockets that connect get the port that they connect to */

int __wrap_connect(int fd, const struct sockaddr *address, socklen_t size) {
    int on = 1;
    if (from_the_same_port) {
        REQUIRE(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0);
        REQUIRE(bind(fd, address, size) == 0);
    }
    return __real_connect(fd, address, size);
}

static _Thread_local int longest_poll; /* of this thread, in milliseconds */
static _Thread_local int vain_polls;   /* so many from now on end at once, as if their time had passed */
static _Thread_local int late_peer;    /* sends a byte in the first that does not; 0: none does */

int __wrap_poll(struct pollfd *all, nfds_t n, int timeout) {
    if (timeout > longest_poll) longest_poll = timeout;
    if (vain_polls > 0) return vain_polls--, 0;
    if (late_peer) say_to(late_peer, "!");
    late_peer = 0;
    return __real_poll(all, n, timeout);
}

/* ---- Connections ------------------------------------------------------------------------------------------------- */

/* A server, a pool that has one connection to it at most, and that connection, which is lent. */
typedef struct connection {
    server server;
    kolk_tcp tcp;
    kolk_borrow link;
    int fd, peer; /* its ends */
} connection;

static void connect_again(connection *it) {
    it->link = borrow(&it->tcp, NULL);
    it->fd = kolk_tcp_fd(&it->link);
    it->peer = accept_one(&it->server);
}

static void begin_connection(connection *it) {
    it->server = start_server();
    make_tcp_to(&it->tcp, it->server.address, 1);
    connect_again(it);
}

/* It may have been given back already; `peer` < 0: that end is closed. */
static void end_connection(connection *it) {
    if (it->link.resource) give_back(&it->tcp, &it->link);
    end_tcp(&it->tcp);
    if (it->peer >= 0) close(it->peer);
    stop_server(&it->server);
}

static bool says(connection *it, const char *text) {
    return kolk_tcp_send_all(it->fd, text, strlen(text), soon(), &it->link.error);
}

/* Up to 8 bytes. */
static size_t hears(connection *it, char bytes[8], kolk_deadline deadline) {
    return kolk_tcp_receive(it->fd, bytes, 8, deadline, &it->link.error);
}

static int option(int fd, int level, int name) {
    int value = -1;
    socklen_t size = sizeof value;
    assert_int_equal(getsockopt(fd, level, name, &value, &size), 0);
    return value;
}

static void test_a_connection(void **state) {
    (void)state;
    server it = start_server();
    for (int keep_alive = 0; keep_alive <= 1; keep_alive++) {
        kolk_tcp tcp;
        make_tcp(&tcp, &(kolk_tcp_desc){.address = it.address, .keep_alive = keep_alive});
        kolk_borrow link = borrow(&tcp, NULL);
        int fd = kolk_tcp_fd(&link), peer = accept_one(&it);
        assert_true(fd > STDERR_FILENO);
        assert_ptr_equal(link.resource, (void *)(intptr_t)fd);
        assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
        assert_int_equal(option(fd, IPPROTO_TCP, TCP_NODELAY), 1);
        assert_int_equal(option(fd, SOL_SOCKET, SO_KEEPALIVE), keep_alive);
        char bytes[8];
        assert_true(kolk_tcp_send_all(fd, "ping", 4, soon(), &link.error));
        assert_int_equal(recv(peer, bytes, sizeof bytes, 0), 4);
        say_to(peer, "pong!");
        assert_int_equal(kolk_tcp_receive(fd, bytes, sizeof bytes, soon(), &link.error), 5);
        assert_memory_equal(bytes, "pong!", 5);
        give_back(&tcp, &link);
        assert_int_equal(kolk_tcp_fd(&link), -1);
        kolk_borrow again = borrow(&tcp, "");
        assert_int_equal(kolk_tcp_fd(&again), fd);
        assert_int_equal(stats_of(&tcp).created, 1);
        give_back(&tcp, &again);
        end_tcp(&tcp);
        assert_int_equal(recv(peer, bytes, sizeof bytes, 0), 0);
        close(peer);
    }
    stop_server(&it);
}

static void test_a_bad_descriptor(void **state) {
    (void)state;
    kolk_tcp tcp;
    assert_int_equal(kolk_tcp_init(&tcp, NULL), KOLK_NO_DESCRIPTOR);
    assert_null(tcp.pool.inside);
    kolk_tcp_desc desc = {.address = "127.0.0.1:1", .pool = {.max = 1, .min_idle = 2}};
    assert_int_equal(kolk_tcp_init(&tcp, &desc), KOLK_BAD_MIN_IDLE);
    assert_null(tcp.pool.inside);
    kolk_tcp_deinit(&tcp);
    static const char *const none[] = {NULL, "", "localhost", "localhost:", ":6379", "localhost:http", "::1:6379"};
    for (size_t i = 0; i < LENGTH_OF(none); i++) {
        desc = (kolk_tcp_desc){.address = none[i], .pool = {.max = 1, .min_idle = none[i] ? 0 : 1}};
        memset(&tcp, 1, sizeof tcp);
        assert_int_equal(kolk_tcp_init(&tcp, &desc), KOLK_BAD_ADDRESS);
        assert_null(tcp.pool.inside);
    }
    assert_int_equal(kolk_tcp_init(&tcp, &(kolk_tcp_desc){.pool = {.max = 1}}), KOLK_OK); /* keys will say it */
    kolk_tcp_deinit(&tcp);
}

static void test_ipv6(void **state) {
    (void)state;
    server it = bind_server("::1");
    if (it.listener < 0) {
        print_message("left out: this machine has no ::1\n");
        skip();
    }
    assert_int_equal(listen(it.listener, 1), 0);
    kolk_tcp tcp;
    make_tcp_to(&tcp, NULL, 1);
    kolk_borrow link = borrow(&tcp, it.address);
    close(accept_one(&it));
    char byte;
    assert_int_equal(kolk_tcp_receive(kolk_tcp_fd(&link), &byte, 1, soon(), &link.error), 0);
    if (!emulator()) assert_error(&link.error, 0, it.address, "closed by the peer");
    give_back(&tcp, &link);
    stop_server(&it);
    assert_int_equal(borrow_until(&tcp, it.address, soon(), &link), KOLK_NOT_CREATED);
    assert_error(&link.error, ECONNREFUSED, it.address, "Connection refused");
    end_tcp(&tcp);
}

static void test_refused(void **state) {
    (void)state;
    server it = bind_server("127.0.0.1");
    kolk_tcp tcp;
    make_tcp_to(&tcp, it.address, 1);
    for (int i = 0; i < 3; i++) {
        kolk_borrow link;
        assert_int_equal(borrow_until(&tcp, NULL, soon(), &link), KOLK_NOT_CREATED);
        assert_error(&link.error, ECONNREFUSED, it.address, "Connection refused");
        assert_int_equal(kolk_tcp_fd(&link), -1);
    }
    kolk_borrow link;
    assert_int_equal(borrow_until(&tcp, "255.255.255.255:80", soon(), &link), KOLK_NOT_CREATED);
    assert_error(&link.error, ENETUNREACH, "255.255.255.255:80", "Network is unreachable");
    assert_int_equal(listen(it.listener, 1), 0);
    link = borrow(&tcp, NULL);
    give_back(&tcp, &link);
    end_tcp(&tcp);
    stop_server(&it);
}

static void test_no_addresses(void **state) {
    (void)state;
    static const char *const none[] = {"localhost",
                                       "localhost:",
                                       ":80",
                                       "[]:80",
                                       "::1:80",
                                       "127.0.0.1:0",
                                       "127.0.0.1:65536",
                                       "1.2.3.4:80x",
                                       "1.2.3.4:-1",
                                       "1.2.3.4: 80",
                                       "1.2.3.4:9999999999999999999999",
                                       "[::1:80",
                                       "[::1]80"};
    kolk_tcp tcp;
    make_tcp_to(&tcp, NULL, 1);
    kolk_borrow link;
    for (size_t i = 0; i < LENGTH_OF(none); i++) {
        assert_int_equal(borrow_until(&tcp, none[i], soon(), &link), KOLK_NOT_CREATED);
        assert_error(&link.error, EINVAL, none[i], "an address is host:port, or [host]:port");
    }
    assert_int_equal(borrow_until(&tcp, NULL, soon(), &link), KOLK_NOT_CREATED);
    assert_error(&link.error, EINVAL, "no key and no default address", "an address is host:port, or [host]:port");
    end_tcp(&tcp);
    char longer[300];
    snprintf(longer, sizeof longer, "%0260d:80", 0);
    assert_int_equal(kolk_tcp_init(&tcp, &(kolk_tcp_desc){.address = longer}), KOLK_BAD_ADDRESS);
}

static void test_names(void **state) {
    (void)state;
    server it = start_server();
    kolk_tcp tcp;
    make_tcp_to(&tcp, NULL, 2);
    char name[32];
    snprintf(name, sizeof name, "localhost%s", strrchr(it.address, ':'));
    resolved = 0;
    kolk_borrow link;
    assert_int_equal(borrow_until(&tcp, name, KOLK_NOW, &link), KOLK_NOT_CREATED);
    assert_error(&link.error, EAI_NONAME, name, "a name is not resolved without waiting");
    assert_int_equal(resolved, 0);
    link = borrow(&tcp, name);
    assert_int_equal(resolved, 1);
    give_back(&tcp, &link);
    broken_reason = EAI_AGAIN;
    assert_int_equal(borrow_until(&tcp, "broken:80", soon(), &link), KOLK_NOT_CREATED);
    assert_error(&link.error, EAI_AGAIN, "broken:80", gai_strerror(EAI_AGAIN));
    broken_reason = EAI_NONAME;
    assert_int_equal(borrow_until(&tcp, "broken:80", soon(), &link), KOLK_NOT_CREATED);
    assert_error(&link.error, EAI_NONAME, "broken:80", gai_strerror(EAI_NONAME));
    broken_reason = EAI_SYSTEM;
    assert_int_equal(borrow_until(&tcp, "broken:80", soon(), &link), KOLK_NOT_CREATED);
    assert_error(&link.error, EMFILE, "broken:80", "Too many open files");
    end_tcp(&tcp);
    stop_server(&it);
}

/* A socket that got the port that it connects to, where nobody listens, would talk to itself. */
static void test_itself(void **state) {
    (void)state;
    server it = bind_server("127.0.0.1");
    stop_server(&it);
    kolk_tcp tcp;
    make_tcp_to(&tcp, it.address, 1);
    from_the_same_port = true;
    kolk_borrow link;
    kolk_status status = borrow_until(&tcp, NULL, soon(), &link);
    from_the_same_port = false;
    assert_int_equal(status, KOLK_NOT_CREATED);
    assert_error(&link.error, ECONNREFUSED, it.address, "Connection refused");
    end_tcp(&tcp);
}

static void be_without_standard_descriptors(void *context) {
    kolk_tcp *tcp = (kolk_tcp *)context;
    kolk_tcp own;
    kolk_borrow links[4];
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    REQUIRE(kolk_tcp_init(&own, &tcp->desc) == KOLK_OK);
    for (size_t i = 0; i < LENGTH_OF(links); i++) {
        REQUIRE(borrow_until(&own, NULL, soon(), &links[i]) == KOLK_OK);
        REQUIRE(kolk_tcp_fd(&links[i]) > STDERR_FILENO && links[i].resource);
        REQUIRE(fcntl(kolk_tcp_fd(&links[i]), F_GETFD) & FD_CLOEXEC);
    }
    REQUIRE(fcntl(STDIN_FILENO, F_GETFD) < 0 && fcntl(STDOUT_FILENO, F_GETFD) < 0);
    for (size_t i = 0; i < LENGTH_OF(links); i++) give_back(&own, &links[i]);
    kolk_tcp_deinit(&own);
    struct rlimit limit = {.rlim_cur = 3, .rlim_max = 3};
    REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0 && kolk_tcp_init(&own, &tcp->desc) == KOLK_OK);
    REQUIRE(borrow_until(&own, NULL, soon(), &links[0]) == KOLK_NOT_CREATED);
    REQUIRE(strstr(links[0].error.text, ": Too many open files") || strstr(links[0].error.text, ": Invalid argument"));
    REQUIRE(fcntl(STDIN_FILENO, F_GETFD) < 0);
    limit.rlim_cur = 0;
    REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0 && borrow_until(&own, NULL, soon(), &links[0]) == KOLK_NOT_CREATED);
    REQUIRE(links[0].error.code == EMFILE && strstr(links[0].error.text, ": Too many open files"));
    kolk_tcp_deinit(&own);
}

static void test_without_standard_descriptors(void **state) {
    (void)state;
    skip_if_emulated();
    server it = start_server();
    kolk_tcp tcp;
    make_tcp_to(&tcp, it.address, 4);
    char said[400];
    int status = run_child(be_without_standard_descriptors, &tcp, said, sizeof said);
    assert_string_equal(said, "");
    assert_int_equal(status, 0);
    end_tcp(&tcp);
    stop_server(&it);
}

/* ---- Deadlines --------------------------------------------------------------------------------------------------- */

static void test_a_black_hole(void **state) {
    (void)state;
    black_hole hole = open_black_hole();
    kolk_tcp tcp;
    make_tcp_to(&tcp, hole.it.address, 2);
    static const kolk_deadline past[] = {{0}, {1}, {-1}};
    kolk_borrow link;
    for (size_t i = 0; i < LENGTH_OF(past); i++) {
        assert_int_not_equal(borrow_until(&tcp, NULL, past[i], &link), KOLK_OK);
        assert_error(&link.error, ETIMEDOUT, hole.it.address, "Connection timed out");
    }
    kolk_deadline deadline = kolk_deadline_after(100);
    assert_int_equal(borrow_until(&tcp, NULL, deadline, &link), KOLK_NOT_CREATED);
    assert_just_passed(deadline);
    assert_error(&link.error, ETIMEDOUT, hole.it.address, "Connection timed out");
    assert_int_equal(stats_of(&tcp).create_failures, 4);
    end_tcp(&tcp);
    close_black_hole(&hole);
}

/* Each address has its part of the time; the first that answers is taken. */
static void test_several_addresses(void **state) {
    (void)state;
    black_hole hole = open_black_hole();
    server refuses = bind_server("127.0.0.1"), it = start_server(), second = start_server();
    kolk_tcp tcp;
    make_tcp_to(&tcp, "many:80", 4);
    many[0] = &hole.it, many[1] = &refuses, many[2] = &it;
    kolk_borrow link;
    longest_poll = 0;
    assert_int_equal(borrow_until(&tcp, NULL, kolk_deadline_after(900), &link), KOLK_OK);
    assert_in_range(longest_poll, 1, 601);
    assert_true(has_caller(&it));
    close(accept_one(&it));
    give_back(&tcp, &link);
    many[0] = &refuses, many[1] = &it, many[2] = &second;
    link = borrow(&tcp, NULL);
    assert_true(has_caller(&it));
    assert_false(has_caller(&second));
    give_back(&tcp, &link);
    kolk_resource_pool_evict(&tcp.pool);
    many[0] = &hole.it, many[1] = &refuses, many[2] = NULL;
    assert_int_equal(borrow_until(&tcp, NULL, kolk_deadline_after(100), &link), KOLK_NOT_CREATED);
    assert_error(&link.error, ECONNREFUSED, "many:80", "Connection refused");
    many[0] = &refuses, many[1] = &hole.it;
    kolk_deadline deadline = kolk_deadline_after(50);
    assert_int_equal(borrow_until(&tcp, NULL, deadline, &link), KOLK_NOT_CREATED);
    assert_just_passed(deadline);
    assert_error(&link.error, ETIMEDOUT, "many:80", "Connection timed out");
    end_tcp(&tcp);
    stop_server(&it);
    stop_server(&second);
    stop_server(&refuses);
    close_black_hole(&hole);
}

/* A wait without an end goes on when the system's longest one, of 24 days, is over. */
static void test_no_deadline(void **state) {
    (void)state;
    server it = start_server();
    kolk_tcp tcp;
    make_tcp_to(&tcp, it.address, 1);
    kolk_borrow link;
    vain_polls = 2;
    assert_int_equal(borrow_until(&tcp, NULL, KOLK_FOREVER, &link), KOLK_OK);
    int peer = accept_one(&it);
    char byte = 0;
    longest_poll = 0;
    vain_polls = 3;
    late_peer = peer;
    assert_int_equal(kolk_tcp_receive(kolk_tcp_fd(&link), &byte, 1, KOLK_FOREVER, &link.error), 1);
    assert_int_equal(byte, '!');
    assert_int_equal(longest_poll, INT_MAX);
    assert_int_equal(vain_polls, 0);
    give_back(&tcp, &link);
    end_tcp(&tcp);
    close(peer);
    stop_server(&it);
}

static void be_interrupted(int signal) {
    (void)signal;
}

typedef struct nuisance {
    pthread_t whom, self;
    bool ends;
} nuisance;

static void *interrupt(void *argument) {
    nuisance *it = (nuisance *)argument;
    while (!__atomic_load_n(&it->ends, __ATOMIC_ACQUIRE)) {
        pthread_kill(it->whom, SIGUSR1);
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    return NULL;
}

/* A signal neither ends a wait nor makes it begin anew. */
static void test_signals(void **state) {
    (void)state;
    black_hole hole = open_black_hole();
    server it = start_server();
    kolk_tcp tcp;
    make_tcp_to(&tcp, it.address, 2);
    kolk_borrow link = borrow(&tcp, NULL), other;
    struct sigaction action = {.sa_handler = be_interrupted}, before;
    assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
    nuisance signals = {.whom = pthread_self()};
    assert_int_equal(pthread_create(&signals.self, NULL, interrupt, &signals), 0);
    for (int connects = 0; connects <= 1; connects++) {
        char byte;
        kolk_deadline deadline = kolk_deadline_after(50);
        if (connects)
            assert_int_equal(borrow_until(&tcp, hole.it.address, deadline, &other), KOLK_NOT_CREATED);
        else
            assert_int_equal(kolk_tcp_receive(kolk_tcp_fd(&link), &byte, 1, deadline, &other.error), 0);
        assert_int_equal(other.error.code, ETIMEDOUT);
        assert_just_passed(deadline);
    }
    __atomic_store_n(&signals.ends, true, __ATOMIC_RELEASE);
    pthread_join(signals.self, NULL);
    sigaction(SIGUSR1, &before, NULL);
    give_back(&tcp, &link);
    end_tcp(&tcp);
    stop_server(&it);
    close_black_hole(&hole);
}

/* An answer that comes after the deadline is nobody's. */
static void test_a_late_answer(void **state) {
    (void)state;
    connection it;
    begin_connection(&it);
    char bytes[8];
    assert_true(says(&it, "one"));
    kolk_deadline deadline = kolk_deadline_after(20);
    assert_int_equal(hears(&it, bytes, deadline), 0);
    assert_just_passed(deadline);
    if (!emulator()) assert_error(&it.link.error, ETIMEDOUT, it.server.address, "Connection timed out");
    give_back(&it.tcp, &it.link); /* not discarded, and the answer is not there yet */
    assert_int_equal(stats_of(&it.tcp).unclean, 1);
    send(it.peer, "answer one", 10, MSG_NOSIGNAL);
    close(it.peer);
    connect_again(&it);
    say_to(it.peer, "two");
    assert_int_equal(hears(&it, bytes, soon()), 3);
    assert_memory_equal(bytes, "two", 3);
    assert_int_equal(hears(&it, bytes, KOLK_NOW), 0);
    assert_int_equal(it.link.error.code, ETIMEDOUT);
    end_connection(&it);
}

#define MEBIBYTE ((size_t)1 << 20)

static void test_a_peer_that_does_not_read(void **state) {
    (void)state;
    connection it;
    begin_connection(&it);
    char *bytes = (char *)calloc(16, MEBIBYTE);
    kolk_deadline deadline = kolk_deadline_after(50);
    assert_false(kolk_tcp_send_all(it.fd, bytes, 16 * MEBIBYTE, deadline, &it.link.error));
    assert_just_passed(deadline);
    if (!emulator()) assert_error(&it.link.error, ETIMEDOUT, it.server.address, "Connection timed out");
    assert_false(says(&it, "more")); /* and no SIGPIPE */
    assert_int_equal(it.link.error.code, EPIPE);
    give_back(&it.tcp, &it.link);
    assert_int_equal(stats_of(&it.tcp).unclean, 1);
    free(bytes);
    end_connection(&it);
}

typedef struct reader {
    int fd;
    unsigned char *bytes;
    size_t length;
} reader;

static void *read_all(void *argument) {
    reader *it = (reader *)argument;
    ssize_t got;
    while (it->length < 8 * MEBIBYTE && (got = recv(it->fd, it->bytes + it->length, 100000, 0)) > 0)
        it->length += (size_t)got;
    return NULL;
}

static void test_much(void **state) {
    (void)state;
    connection it;
    begin_connection(&it);
    reader peer = {.fd = it.peer, .bytes = (unsigned char *)malloc(8 * MEBIBYTE + 100000)};
    unsigned char *bytes = (unsigned char *)malloc(8 * MEBIBYTE);
    uint64_t random = 1;
    fill_random(&random, bytes, 8 * MEBIBYTE);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, read_all, &peer), 0);
    assert_true(kolk_tcp_send_all(it.fd, bytes, 8 * MEBIBYTE, soon(), &it.link.error));
    pthread_join(thread, NULL);
    assert_int_equal(peer.length, 8 * MEBIBYTE);
    assert_memory_equal(peer.bytes, bytes, 8 * MEBIBYTE);
    assert_true(kolk_tcp_send_all(it.fd, bytes, 0, KOLK_NOW, &it.link.error));
    give_back(&it.tcp, &it.link);
    assert_int_equal(stats_of(&it.tcp).idle, 1);
    free(bytes);
    free(peer.bytes);
    end_connection(&it);
}

/* ---- Checks ------------------------------------------------------------------------------------------------------ */

typedef enum trouble { CLOSED, RESET, HALF_CLOSED, A_BYTE, TROUBLES } trouble;

static void make_trouble(trouble what, int *peer) {
    if (what == CLOSED) close(*peer);
    if (what == RESET) reset_connection(*peer);
    if (what == HALF_CLOSED) shutdown(*peer, SHUT_WR);
    if (what == A_BYTE) say_to(*peer, "?");
    if (what == CLOSED || what == RESET) *peer = -1;
}

/* The next borrower gets another one, in each case. */
static void test_trouble_while_idle(void **state) {
    (void)state;
    for (trouble what = CLOSED; what < TROUBLES; what++) {
        connection it;
        begin_connection(&it);
        give_back(&it.tcp, &it.link);
        make_trouble(what, &it.peer);
        int first = it.peer;
        connect_again(&it);
        assert_int_equal(stats_of(&it.tcp).invalid, 1);
        assert_int_equal(stats_of(&it.tcp).created, 2);
        say_to(it.peer, "fine");
        char bytes[8];
        assert_int_equal(hears(&it, bytes, soon()), 4);
        assert_memory_equal(bytes, "fine", 4);
        give_back(&it.tcp, &it.link);
        assert_int_equal(stats_of(&it.tcp).idle, 1);
        if (first >= 0) close(first);
        end_connection(&it);
    }
}

/* The same while it is lent: it does not get into the pool again. */
static void test_trouble_while_lent(void **state) {
    (void)state;
    for (trouble what = CLOSED; what < TROUBLES; what++) {
        connection it;
        begin_connection(&it);
        make_trouble(what, &it.peer);
        give_back(&it.tcp, &it.link);
        assert_int_equal(stats_of(&it.tcp).unclean, 1);
        assert_int_equal(stats_of(&it.tcp).idle, 0);
        end_connection(&it);
    }
}

/* validate_after_ms is the user's, if it is given. */
static void test_another_time_of_validation(void **state) {
    (void)state;
    server it = start_server();
    kolk_tcp tcp;
    make_tcp(&tcp, &(kolk_tcp_desc){.address = it.address, .pool = {.validate_after_ms = 3600000}});
    kolk_borrow link = borrow(&tcp, NULL);
    int peer = accept_one(&it);
    give_back(&tcp, &link);
    close(peer);
    link = borrow(&tcp, NULL);
    assert_int_equal(stats_of(&tcp).created, 1);
    kolk_resource_discard(&tcp.pool, &link);
    end_tcp(&tcp);
    stop_server(&it);
}

static void test_the_peer_ends_in_the_middle(void **state) {
    (void)state;
    for (trouble what = CLOSED; what <= RESET; what++) {
        connection it;
        begin_connection(&it);
        char bytes[8];
        assert_true(says(&it, "x"));
        assert_int_equal(recv(it.peer, bytes, 1, 0), 1);
        say_to(it.peer, "abc");
        assert_int_equal(hears(&it, bytes, soon()), 3);
        make_trouble(what, &it.peer);
        assert_int_equal(hears(&it, bytes, soon()), 0);
        if (!emulator())
            assert_error(&it.link.error, what == RESET ? ECONNRESET : 0, it.server.address,
                         what == RESET ? "Connection reset by peer" : "closed by the peer");
        assert_false(says(&it, "x"));
        if (!emulator()) assert_error(&it.link.error, EPIPE, it.server.address, "Broken pipe");
        give_back(&it.tcp, &it.link);
        assert_int_equal(stats_of(&it.tcp).unclean, 1);
        end_connection(&it);
    }
    kolk_error error;
    assert_false(kolk_tcp_send_all(-1, "x", 1, soon(), &error));
    assert_error(&error, EBADF, "descriptor -1", "Bad file descriptor");
}

/* ---- Keys -------------------------------------------------------------------------------------------------------- */

/* Three servers under a cap of two: the connection that was idle longest makes room. */
static void test_keys(void **state) {
    (void)state;
    server servers[3];
    int peers[3];
    kolk_tcp tcp;
    make_tcp_to(&tcp, NULL, 2);
    for (int i = 0; i < 3; i++) servers[i] = start_server();
    for (int i = 0; i < 3; i++) {
        kolk_borrow link = borrow(&tcp, servers[i].address);
        peers[i] = accept_one(&servers[i]);
        struct sockaddr_storage at;
        socklen_t size = sizeof at;
        assert_int_equal(getpeername(kolk_tcp_fd(&link), (struct sockaddr *)&at, &size), 0);
        assert_memory_equal(&at, &servers[i].at, servers[i].size);
        give_back(&tcp, &link);
    }
    kolk_resource_stats stats = stats_of(&tcp);
    assert_int_equal(stats.replaced, 1);
    assert_int_equal(stats.idle, 2);
    char byte;
    assert_int_equal(recv(peers[0], &byte, 1, 0), 0);
    assert_int_equal(recv(peers[1], &byte, 1, MSG_DONTWAIT), -1);
    kolk_borrow all[2] = {borrow(&tcp, servers[1].address), borrow(&tcp, servers[2].address)}, none;
    assert_int_equal(stats_of(&tcp).created, 3);
    assert_int_equal(borrow_until(&tcp, servers[0].address, kolk_deadline_after(20), &none), KOLK_TIMEOUT);
    for (int i = 0; i < 2; i++) give_back(&tcp, &all[i]);
    end_tcp(&tcp);
    for (int i = 0; i < 3; i++) {
        close(peers[i]);
        stop_server(&servers[i]);
    }
}

/* ---- Logging in -------------------------------------------------------------------------------------------------- */

static bool read_greeting(void *context, int fd, const char *address, kolk_deadline deadline, kolk_error *error) {
    char greeting[8];
    snprintf((char *)context, 64, "%s", address);
    size_t length = kolk_tcp_receive(fd, greeting, sizeof greeting, deadline, error);
    return length == 5 && memcmp(greeting, "hello", 5) == 0;
}

static void *greet(void *argument) {
    const server *it = (const server *)argument;
    int peer = accept_one(it);
    say_to(peer, "hello");
    int second = accept_one(it);
    close(second);
    return (void *)(intptr_t)peer;
}

static void test_logging_in(void **state) {
    (void)state;
    server it = start_server();
    kolk_tcp tcp;
    char address[64] = "";
    make_tcp(&tcp, &(kolk_tcp_desc){.address = it.address, .log_in = read_greeting, .pool = {.context = address}});
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, greet, &it), 0);
    kolk_borrow first = borrow(&tcp, NULL), second;
    assert_string_equal(address, it.address);
    assert_int_equal(borrow_until(&tcp, it.address, soon(), &second), KOLK_NOT_CREATED);
    if (!emulator()) assert_error(&second.error, 0, it.address, "closed by the peer");
    void *peer;
    pthread_join(thread, &peer);
    close((int)(intptr_t)peer);
    give_back(&tcp, &first);
    end_tcp(&tcp);
    stop_server(&it);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, count_descriptors, compare_descriptors)

int main(void) {
    END_IF_IT_HANGS();
    const struct CMUnitTest tests[] = {
        TEST(test_a_connection),
        TEST(test_a_bad_descriptor),
        TEST(test_ipv6),
        TEST(test_refused),
        TEST(test_no_addresses),
        TEST(test_names),
        TEST(test_itself),
        TEST(test_without_standard_descriptors),
        TEST(test_a_black_hole),
        TEST(test_several_addresses),
        TEST(test_no_deadline),
        TEST(test_signals),
        TEST(test_a_late_answer),
        TEST(test_a_peer_that_does_not_read),
        TEST(test_much),
        TEST(test_trouble_while_idle),
        TEST(test_trouble_while_lent),
        TEST(test_another_time_of_validation),
        TEST(test_the_peer_ends_in_the_middle),
        TEST(test_keys),
        TEST(test_logging_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
