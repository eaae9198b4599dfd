/* runs: not:clang not:qemu wraps: connect getaddrinfo poll */
/* libkolk-tcp: creating, checking, lending and closing connections; sending and receiving. */
#include "tcp_test.h"

#include "../help/child.h"

#include <sys/resource.h>

#define NONE_OF_THEM "an address is host:port, [host]:port or unix:/path"

/* ---- The system, as the tests want it ---------------------------------------------------------------------------- */

int __real_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **first);
int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **first);
int __real_connect(int fd, const struct sockaddr *address, socklen_t size);
int __wrap_connect(int fd, const struct sockaddr *address, socklen_t size);
int __real_poll(struct pollfd *all, nfds_t n, int timeout);
int __wrap_poll(struct pollfd *all, nfds_t n, int timeout);

/* The addresses of the name "many", in this order, with their ports. */
enum { MANY = 18 };
static const server *many[MANY];
static int broken_reason;          /* what getaddrinfo returns for the name "broken" */
static _Thread_local int resolved; /* how many names so far */

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

static bool from_the_same_port;      /* sockets that connect get the port that they connect to */
static const black_hole *opens_late; /* lets a client connect at the second attempt */
static int attempts;                 /* calls of connect so far */

int __wrap_connect(int fd, const struct sockaddr *address, socklen_t size) {
    int on = 1;
    if (++attempts == 2 && opens_late) open_up(opens_late);
    if (from_the_same_port) {
        REQUIRE(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0);
        REQUIRE(bind(fd, address, size) == 0);
    }
    return __real_connect(fd, address, size);
}

static _Thread_local int longest_poll; /* the longest time-out of this thread's polls, in milliseconds */
static _Thread_local int first_poll;   /* the first one since this was set to less than 0 */
static _Thread_local int pauses;       /* the sum of the time-outs of polls without descriptors */
static const server *has_room;         /* accepts one connection in the next such poll */
static _Thread_local int vain_polls;   /* this many polls from now on end immediately, as if timed out */
static _Thread_local int late_peer;    /* sends a byte in the first poll after those; 0: none */

int __wrap_poll(struct pollfd *all, nfds_t n, int timeout) {
    if (timeout > longest_poll) longest_poll = timeout;
    if (vain_polls > 0) return vain_polls--, 0;
    if (first_poll < 0) first_poll = timeout;
    if (n == 0) pauses += timeout;
    if (n == 0 && has_room) close(accept_one(has_room));
    if (n == 0) has_room = NULL;
    if (late_peer) say_to(late_peer, "!");
    late_peer = 0;
    return __real_poll(all, n, timeout);
}

/* ---- Connections ------------------------------------------------------------------------------------------------- */

/* A server, a pool with at most one connection to it, and that connection, which is lent. */
typedef struct connection {
    server server;
    kolk_tcp tcp;
    kolk_borrowed link;
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

/* The connection may have been given back already; `peer` < 0: the peer's end is closed. */
static void end_connection(connection *it) {
    if (it->link.resource) give_back(&it->tcp, &it->link);
    end_tcp(&it->tcp);
    if (it->peer >= 0) close(it->peer);
    stop_server(&it->server);
}

static bool says(connection *it, const char *text) {
    return kolk_tcp_send_all(it->fd, text, strlen(text), soon(), &it->link.error);
}

/* Receives up to 8 bytes. */
static size_t hears(connection *it, char bytes[8], kolk_deadline deadline) {
    return kolk_tcp_receive(it->fd, bytes, 8, deadline, &it->link.error);
}

static int option(int fd, int level, int name) {
    int value = -1;
    socklen_t size = sizeof value;
    assert_int_equal(getsockopt(fd, level, name, &value, &size), 0);
    return value;
}

/* promise: "does not connect ... and leaves the struct all zero", "never 0, 1 or 2; -1 if nothing is borrowed" */
static void test_a_connection(void **state) {
    server it = start_server();
    for (int round = 0; round <= 1; round++) {
        kolk_tcp tcp;
        make_tcp(&tcp, &(kolk_tcp_desc){.address = it.address});
        kolk_borrowed link = borrow(&tcp, NULL);
        int fd = kolk_tcp_fd(&link), peer = accept_one(&it);
        assert_true(fd > STDERR_FILENO);
        assert_ptr_equal(link.resource, (void *)(intptr_t)fd);
        assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
        assert_int_equal(option(fd, IPPROTO_TCP, TCP_NODELAY), 1);
        char bytes[8];
        assert_true(kolk_tcp_send_all(fd, "ping", 4, soon(), &link.error));
        assert_int_equal(recv(peer, bytes, sizeof bytes, 0), 4);
        say_to(peer, "pong!");
        assert_int_equal(kolk_tcp_receive(fd, bytes, sizeof bytes, soon(), &link.error), 5);
        assert_memory_equal(bytes, "pong!", 5);
        give_back(&tcp, &link);
        assert_int_equal(kolk_tcp_fd(&link), -1);
        kolk_borrowed again = borrow(&tcp, "");
        assert_int_equal(kolk_tcp_fd(&again), fd);
        assert_int_equal(stats_of(&tcp).created, 1);
        give_back(&tcp, &again);
        end_tcp(&tcp);
        assert_true(all_bytes_are(&tcp, sizeof tcp, 0));
        assert_int_equal(recv(peer, bytes, sizeof bytes, 0), 0);
        close(peer);
    }
    stop_server(&it);
}

static void test_patience(void **state) {
    static const struct {
        int64_t probe, lost;
        int asks, idle, interval, limit;
    } all[] = {
        {0, 0, 1, 30, 10, 60000},
        {-1, 0, 0, 0, 0, 60000},
        {0, -1, 1, 30, 10, 0},
        {2500, 20500, 1, 3, 6, 20500},
        {10, 20, 1, 1, 1, 20},
        {90000, 9000, 1, 90, 30, 9000},
        {INT64_MAX, INT64_MAX, 1, 32767, 32767, INT_MAX},
    };
    server it = start_server();
    for (size_t i = 0; i < LENGTH_OF(all); i++) {
        kolk_tcp tcp;
        make_tcp(&tcp,
                 &(kolk_tcp_desc){.address = it.address, .probe_after_ms = all[i].probe, .lost_after_ms = all[i].lost});
        kolk_borrowed link = borrow(&tcp, NULL);
        int fd = kolk_tcp_fd(&link);
        assert_int_equal(option(fd, SOL_SOCKET, SO_KEEPALIVE), all[i].asks);
        if (all[i].asks) {
            assert_int_equal(option(fd, IPPROTO_TCP, TCP_KEEPIDLE), all[i].idle);
            assert_int_equal(option(fd, IPPROTO_TCP, TCP_KEEPINTVL), all[i].interval);
            assert_int_equal(option(fd, IPPROTO_TCP, TCP_KEEPCNT), 3);
        }
        if (!emulator()) assert_int_equal(option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), all[i].limit);
        give_back(&tcp, &link);
        end_tcp(&tcp);
    }
    kolk_tcp none;
    assert_int_equal(kolk_tcp_init(&none, &(kolk_tcp_desc){.probe_after_ms = -2}), KOLK_BAD_TIME);
    assert_int_equal(kolk_tcp_init(&none, &(kolk_tcp_desc){.lost_after_ms = -2}), KOLK_BAD_TIME);
    stop_server(&it);
}

/* promise: "The system probes ... values are KOLK_BAD_TIME", "does not connect ... and leaves the struct all zero" */
static void test_a_bad_descriptor(void **state) {
    kolk_tcp tcp;
    assert_int_equal(kolk_tcp_init(&tcp, NULL), KOLK_NO_DESCRIPTOR);
    assert_null(tcp.pool.inside);
    kolk_tcp_desc desc = {.address = "127.0.0.1:1", .pool = {.max = 1, .min_idle = 2}};
    assert_int_equal(kolk_tcp_init(&tcp, &desc), KOLK_BAD_MIN_IDLE);
    assert_null(tcp.pool.inside);
    assert_true(all_bytes_are(&tcp, sizeof tcp, 0));
    kolk_tcp_deinit(&tcp);
    assert_int_equal(kolk_tcp_begin_(&tcp, &desc, sizeof tcp, KOLK_ABI + 1), KOLK_WRONG_ABI);
    desc.address = NULL;
    desc.pool.max = 2;
    assert_int_equal(kolk_tcp_init(&tcp, &desc), KOLK_BAD_ADDRESS);
    assert_int_equal(kolk_tcp_init(&tcp, &(kolk_tcp_desc){.pool = {.max = 1}}), KOLK_OK); /* keys give the address */
    kolk_tcp_deinit(&tcp);
}

static void test_ipv6(void **state) {
    server it = bind_server("::1");
    if (it.listener < 0) {
        print_message("left out: this machine has no ::1\n");
        skip();
    }
    assert_int_equal(listen(it.listener, 1), 0);
    kolk_tcp tcp;
    make_tcp_to(&tcp, NULL, 1);
    kolk_borrowed link = borrow(&tcp, it.address);
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

/* promise: "sentences that begin ... set error->final" */
static void test_refused(void **state) {
    server it = bind_server("127.0.0.1");
    kolk_tcp tcp;
    make_tcp_to(&tcp, it.address, 1);
    for (int i = 0; i < 3; i++) {
        kolk_borrowed link;
        assert_int_equal(borrow_until(&tcp, NULL, soon(), &link), KOLK_NOT_CREATED);
        assert_error(&link.error, ECONNREFUSED, it.address, "Connection refused");
        assert_int_equal(kolk_tcp_fd(&link), -1);
    }
    kolk_borrowed link;
    assert_int_equal(borrow_until(&tcp, "255.255.255.255:80", soon(), &link), KOLK_NOT_CREATED);
    assert_error(&link.error, ENETUNREACH, "255.255.255.255:80", "Network is unreachable");
    assert_int_equal(listen(it.listener, 1), 0);
    link = borrow(&tcp, NULL);
    give_back(&tcp, &link);
    end_tcp(&tcp);
    stop_server(&it);
}

/* With makers, the borrower waits until a server listens. Before that, its error gives the reason. */
static void test_refused_for_a_while(void **state) {
    server it = bind_server("127.0.0.1");
    kolk_tcp tcp;
    kolk_borrowed link;
    char reason[100];
    snprintf(reason, sizeof reason, "%s: Connection refused", it.address);
    make_tcp(&tcp, &(kolk_tcp_desc){.address = it.address});
    do assert_int_equal(borrow_until(&tcp, NULL, kolk_deadline_after(20), &link), KOLK_TIMEOUT);
    while (link.error.code == 0); /* no attempt has failed so far */
    assert_int_equal(link.error.code, ECONNREFUSED);
    assert_non_null(strstr(link.error.text, reason));
    assert_int_equal(listen(it.listener, 1), 0);
    link = borrow(&tcp, NULL);
    give_back(&tcp, &link);
    end_tcp(&tcp);
    stop_server(&it);
}

/* Ending the pool, or evicting, does not wait for a peer. */
static void end_while_creating(const char *address) {
    kolk_tcp tcp;
    make_tcp(&tcp, &(kolk_tcp_desc){.address = address, .pool = {.min_idle = 1, .max = 1, .create_timeout_ms = -1}});
    EVENTUALLY(stats_of(&tcp).creating == 1);
    kolk_resource_evict(&tcp.pool);
    EVENTUALLY(stats_of(&tcp).create_failures == 1 && stats_of(&tcp).creating == 1); /* a second create */
    end_tcp(&tcp);
}

static void test_an_end_while_connecting(void **state) {
    black_hole hole = open_black_hole();
    end_while_creating(hole.it.address);
    close_black_hole(&hole);
}

/* promise: "A borrow does not wait for this beyond", "host:port with a numeric ... must be 0" */
static void test_no_addresses(void **state) {
    static const char *const none[] = {"localhost",      "localhost:",
                                       "localhost:http", "unix:",
                                       "unix:path",      ":80",
                                       "[]:80",          "::1:80",
                                       "127.0.0.1:0",    "127.0.0.1:65536",
                                       "1.2.3.4:80x",    "1.2.3.4:-1",
                                       "1.2.3.4: 80",    "1.2.3.4:9999999999999999999999",
                                       "[::1:80",        "[::1]80"};
    kolk_tcp tcp;
    make_tcp_to(&tcp, NULL, 1);
    kolk_borrowed link;
    for (size_t i = 0; i < LENGTH_OF(none); i++) {
        assert_int_equal(borrow_until(&tcp, none[i], soon(), &link), KOLK_NOT_CREATED);
        assert_error(&link.error, EINVAL, none[i], NONE_OF_THEM);
    }
    assert_int_equal(borrow_until(&tcp, NULL, soon(), &link), KOLK_NOT_CREATED);
    assert_error(&link.error, EINVAL, "no key and no default address", NONE_OF_THEM);
    end_tcp(&tcp);
    char longer[300];
    snprintf(longer, sizeof longer, "%0260d:80", 0);
    for (size_t i = 0; i <= LENGTH_OF(none); i++) {
        memset(&tcp, 1, sizeof tcp);
        kolk_tcp_desc desc = {.address = i < LENGTH_OF(none) ? none[i] : longer};
        assert_int_equal(kolk_tcp_init(&tcp, &desc), KOLK_BAD_ADDRESS);
        assert_true(all_bytes_are(&tcp, sizeof tcp, 0));
    }
}

static void test_names(void **state) {
    server it = start_server();
    kolk_tcp tcp;
    make_tcp_to(&tcp, NULL, 2);
    char name[32];
    snprintf(name, sizeof name, "localhost%s", strrchr(it.address, ':'));
    resolved = 0;
    kolk_borrowed link;
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

/* A socket that gets the very port that it connects to would be connected to itself, if no server listens there. */
static void test_itself(void **state) {
    server it = bind_server("127.0.0.1");
    stop_server(&it);
    kolk_tcp tcp;
    make_tcp_to(&tcp, it.address, 1);
    from_the_same_port = true;
    kolk_borrowed link;
    kolk_status status = borrow_until(&tcp, NULL, soon(), &link);
    from_the_same_port = false;
    assert_int_equal(status, KOLK_NOT_CREATED);
    assert_error(&link.error, ECONNREFUSED, it.address, "Connection refused");
    end_tcp(&tcp);
}

static void be_without_standard_descriptors(void *context) {
    const kolk_tcp *tcp = (const kolk_tcp *)context;
    kolk_tcp_desc desc = {.address = tcp->address, .pool = {.max = 4, .no_housekeeper = true}};
    kolk_tcp own;
    kolk_borrowed links[4];
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    REQUIRE(kolk_tcp_init(&own, &desc) == KOLK_OK);
    for (size_t i = 0; i < LENGTH_OF(links); i++) {
        REQUIRE(borrow_until(&own, NULL, soon(), &links[i]) == KOLK_OK);
        REQUIRE(kolk_tcp_fd(&links[i]) > STDERR_FILENO && links[i].resource);
        REQUIRE(fcntl(kolk_tcp_fd(&links[i]), F_GETFD) & FD_CLOEXEC);
    }
    REQUIRE(fcntl(STDIN_FILENO, F_GETFD) < 0 && fcntl(STDOUT_FILENO, F_GETFD) < 0);
    for (size_t i = 0; i < LENGTH_OF(links); i++) give_back(&own, &links[i]);
    kolk_tcp_deinit(&own);
    struct rlimit limit = {.rlim_cur = 3, .rlim_max = 3};
    REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0 && kolk_tcp_init(&own, &desc) == KOLK_OK);
    REQUIRE(borrow_until(&own, NULL, soon(), &links[0]) == KOLK_NOT_CREATED);
    REQUIRE(strstr(links[0].error.text, ": Too many open files") || strstr(links[0].error.text, ": Invalid argument"));
    REQUIRE(fcntl(STDIN_FILENO, F_GETFD) < 0);
    limit.rlim_cur = 0;
    REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0 && borrow_until(&own, NULL, soon(), &links[0]) == KOLK_NOT_CREATED);
    REQUIRE(links[0].error.code == EMFILE && strstr(links[0].error.text, ": Too many open files"));
    kolk_tcp_deinit(&own);
}

static void test_without_standard_descriptors(void **state) {
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
    black_hole hole = open_black_hole();
    kolk_tcp tcp;
    make_tcp_to(&tcp, hole.it.address, 2);
    static const kolk_deadline past[] = {{0}, {1}, {-1}};
    kolk_borrowed link;
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

/* A silent address does not delay the next ones, however short the time; the first that answers is used.
 * promise: "if one has not answered after 250 ms" */
static void test_several_addresses(void **state) {
    black_hole hole = open_black_hole();
    server refuses = bind_server("127.0.0.1"), it = start_server(), second = start_server();
    kolk_tcp tcp;
    make_tcp_to(&tcp, "many:80", 4);
    kolk_borrowed link;
    many[0] = &hole.it, many[1] = &refuses, many[2] = &it;
    first_poll = -1;
    link = borrow(&tcp, NULL);
    assert_in_range(first_poll, 0, 251); /* the first address gets this many of 120,000 milliseconds */
    close(accept_one(&it));
    give_back(&tcp, &link);
    kolk_resource_evict(&tcp.pool);
    for (first_poll = -1; first_poll < 0;) {
        if (borrow_until(&tcp, NULL, kolk_deadline_after(90), &link) != KOLK_OK) continue;
        close(accept_one(&it));
        give_back(&tcp, &link);
    }
    assert_in_range(first_poll, 0, 31); /* of 90 milliseconds */
    while (has_caller(&it)) close(accept_one(&it));
    kolk_resource_evict(&tcp.pool);
    struct sockaddr_in nowhere = {.sin_family = AF_INET, .sin_addr.s_addr = INADDR_BROADCAST, .sin_port = 80};
    server unreachable = {.size = sizeof nowhere};
    memcpy(&unreachable.at, &nowhere, sizeof nowhere);
    many[0] = &unreachable, many[1] = &it, many[2] = NULL;
    link = borrow(&tcp, NULL);
    close(accept_one(&it));
    give_back(&tcp, &link);
    kolk_resource_evict(&tcp.pool);
    many[0] = &refuses, many[1] = &it, many[2] = &second;
    link = borrow(&tcp, NULL);
    assert_true(has_caller(&it));
    assert_false(has_caller(&second));
    give_back(&tcp, &link);
    kolk_resource_evict(&tcp.pool);
    for (int silent = 0; silent <= 1; silent++) {
        many[silent] = &hole.it, many[1 - silent] = &refuses, many[2] = NULL;
        kolk_deadline deadline = kolk_deadline_after(50);
        assert_int_equal(borrow_until(&tcp, NULL, deadline, &link), KOLK_NOT_CREATED);
        assert_just_passed(deadline);
        assert_error(&link.error, ETIMEDOUT, "many:80", "Connection timed out");
    }
    many[0] = &refuses, many[1] = NULL;
    assert_int_equal(borrow_until(&tcp, NULL, soon(), &link), KOLK_NOT_CREATED);
    assert_error(&link.error, ECONNREFUSED, "many:80", "Connection refused");
    end_tcp(&tcp);
    stop_server(&it);
    stop_server(&second);
    stop_server(&refuses);
    close_black_hole(&hole);
}

/* The first attempt goes on in parallel with the second: the system retries it after a second. */
static void test_an_address_that_is_slow(void **state) {
    skip_if_emulated();
    black_hole slow = open_black_hole(), silent = open_black_hole();
    kolk_tcp tcp;
    make_tcp_to(&tcp, "many:80", 1);
    many[0] = &slow.it, many[1] = &silent.it, many[2] = NULL;
    opens_late = &slow;
    attempts = 0;
    kolk_borrowed link = borrow(&tcp, NULL);
    opens_late = NULL;
    assert_int_equal(attempts, 2);
    struct sockaddr_storage at;
    socklen_t size = sizeof at;
    assert_int_equal(getpeername(kolk_tcp_fd(&link), (struct sockaddr *)&at, &size), 0);
    assert_memory_equal(&at, &slow.it.at, slow.it.size);
    give_back(&tcp, &link);
    end_tcp(&tcp);
    close_black_hole(&slow);
    close_black_hole(&silent);
}

/* More addresses than parallel attempts: the last one gets its turn when another fails. */
static void test_many_addresses(void **state) {
    server refuses = bind_server("127.0.0.1"), it = start_server();
    kolk_tcp tcp;
    make_tcp_to(&tcp, "many:80", 1);
    for (size_t i = 0; i < MANY; i++) many[i] = i + 1 < MANY ? &refuses : &it;
    kolk_borrowed link = borrow(&tcp, NULL);
    assert_true(has_caller(&it));
    give_back(&tcp, &link);
    kolk_resource_evict(&tcp.pool);
    black_hole hole = open_black_hole();
    for (size_t i = 0; i < MANY; i++) many[i] = &hole.it;
    attempts = 0;
    assert_int_equal(borrow_until(&tcp, NULL, (kolk_deadline){1}, &link), KOLK_NOT_CREATED);
    assert_int_equal(attempts, 16);
    assert_error(&link.error, ETIMEDOUT, "many:80", "Connection timed out");
    for (size_t i = 0; i < MANY; i++) many[i] = NULL;
    end_tcp(&tcp);
    close_black_hole(&hole);
    stop_server(&refuses);
    stop_server(&it);
}

/* ---- Sockets of this machine ------------------------------------------------------------------------------------- */

static char unix_folder[32], unix_address[160];

static int begin_unix(void **state) {
    snprintf(unix_folder, sizeof unix_folder, "/tmp/kolk-tcp.XXXXXX");
    if (!mkdtemp(unix_folder)) return -1;
    snprintf(unix_address, sizeof unix_address, "unix:%s/socket", unix_folder);
    return count_descriptors(state);
}

static int end_unix(void **state) {
    unlink(unix_address + 5);
    return rmdir(unix_folder) != 0 || compare_descriptors(state);
}

static server start_unix(int queue) {
    server it = {.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    strncpy(at.sun_path, unix_address + 5, sizeof at.sun_path - 1);
    REQUIRE(it.listener >= 0 && bind(it.listener, (struct sockaddr *)&at, sizeof at) == 0);
    REQUIRE(listen(it.listener, queue) == 0);
    return it;
}

static void test_a_unix_socket(void **state) {
    server it = start_unix(8);
    kolk_tcp tcp;
    char bytes[8];
    make_tcp_to(&tcp, unix_address, 2);
    kolk_borrowed link;
    assert_int_equal(borrow_until(&tcp, NULL, KOLK_NOW, &link), KOLK_OK);
    int fd = kolk_tcp_fd(&link), peer = accept_one(&it);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
    assert_int_equal(option(fd, SOL_SOCKET, SO_KEEPALIVE), 0); /* the system itself notices the peer's end */
    give_back(&tcp, &link);
    link = borrow(&tcp, unix_address); /* another key, so another connection */
    assert_int_equal(stats_of(&tcp).created, 2);
    close(peer);
    peer = accept_one(&it);
    close(peer);
    assert_int_equal(kolk_tcp_receive(kolk_tcp_fd(&link), bytes, 1, soon(), &link.error), 0);
    if (!emulator()) assert_error(&link.error, 0, unix_address, "closed by the peer");
    give_back(&tcp, &link);
    assert_int_equal(stats_of(&tcp).unclean, 1);
    stop_server(&it);
    assert_int_equal(borrow_until(&tcp, NULL, soon(), &link), KOLK_NOT_CREATED);
    assert_error(&link.error, ECONNREFUSED, unix_address, "Connection refused");
    unlink(unix_address + 5);
    assert_int_equal(borrow_until(&tcp, NULL, soon(), &link), KOLK_NOT_CREATED);
    assert_error(&link.error, ENOENT, unix_address, "No such file or directory");
    end_tcp(&tcp);
}

/* connect fails at once, but the call retries until the deadline. */
static void test_a_unix_socket_with_a_full_queue(void **state) {
    server it = start_unix(0);
    kolk_tcp tcp;
    make_tcp_to(&tcp, unix_address, 4);
    kolk_borrowed first = borrow(&tcp, NULL), second;
    for (int waits = 0; waits <= 1; waits++) {
        kolk_deadline deadline = waits ? kolk_deadline_after(25) : KOLK_NOW;
        pauses = 0;
        assert_int_equal(borrow_until(&tcp, NULL, deadline, &second), KOLK_NOT_CREATED);
        if (waits) assert_just_passed(deadline);
        assert_in_range(pauses, 0, waits * 26); /* no pause is longer than the time that is left */
        assert_error(&second.error, ETIMEDOUT, unix_address, "Connection timed out");
    }
    has_room = &it;
    longest_poll = 0;
    second = borrow(&tcp, NULL);
    assert_null(has_room);
    assert_in_range(longest_poll, 1, 16);
    give_back(&tcp, &first); /* closed by the peer */
    give_back(&tcp, &second);
    end_tcp(&tcp);
    stop_server(&it);
}

static void test_an_end_while_the_queue_is_full(void **state) {
    server it = start_unix(0);
    kolk_tcp tcp;
    make_tcp_to(&tcp, unix_address, 1);
    kolk_borrowed first = borrow(&tcp, NULL);
    end_while_creating(unix_address);
    give_back(&tcp, &first);
    end_tcp(&tcp);
    stop_server(&it);
}

static void test_paths(void **state) {
    kolk_tcp tcp;
    kolk_borrowed link;
    char longest[200];
    make_tcp_to(&tcp, NULL, 1);
    snprintf(longest, sizeof longest, "unix:/%0106d", 0);
    assert_int_equal(borrow_until(&tcp, longest, soon(), &link), KOLK_NOT_CREATED);
    assert_error(&link.error, ENOENT, longest, "No such file or directory");
    snprintf(longest, sizeof longest, "unix:/%0107d", 0);
    assert_int_equal(borrow_until(&tcp, longest, soon(), &link), KOLK_NOT_CREATED);
    assert_error(&link.error, EINVAL, longest, NONE_OF_THEM);
    end_tcp(&tcp);
    assert_int_equal(kolk_tcp_init(&tcp, &(kolk_tcp_desc){.address = longest}), KOLK_BAD_ADDRESS);
}

/* A wait without a deadline goes on even after the system's longest time-out, 24 days. */
static void test_no_deadline(void **state) {
    server it = start_server();
    kolk_tcp tcp;
    make_tcp_to(&tcp, it.address, 1);
    kolk_borrowed link;
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

static void be_interrupted(int signal) {}

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

/* A signal neither ends a wait nor extends it. promise: "Waits for bytes ... shuts it down and returns 0" */
static void test_signals(void **state) {
    black_hole hole = open_black_hole();
    server it = start_server();
    kolk_tcp tcp;
    make_tcp_to(&tcp, it.address, 2);
    kolk_borrowed link = borrow(&tcp, NULL), other;
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

/* An answer that comes after the deadline does not reach a later borrower.
 * promise: "shut the connection down", "Waits for bytes ... shuts it down and returns 0" */
static void test_a_late_answer(void **state) {
    connection it;
    begin_connection(&it);
    char bytes[8];
    assert_true(says(&it, "one"));
    kolk_deadline deadline = kolk_deadline_after(20);
    assert_int_equal(hears(&it, bytes, deadline), 0);
    assert_just_passed(deadline);
    if (!emulator()) assert_error(&it.link.error, ETIMEDOUT, it.server.address, "Connection timed out");
    give_back(&it.tcp, &it.link); /* not discarded, though the answer has not come yet */
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

/* Whatever a borrower has done to the socket, the deadline holds. promise: "Sends all bytes ... raises SIGPIPE" */
static void test_a_socket_that_blocks(void **state) {
    connection it;
    begin_connection(&it);
    char bytes[8];
    assert_int_equal(fcntl(it.fd, F_SETFL, 0), 0);
    assert_int_equal(hears(&it, bytes, KOLK_NOW), 0);
    assert_int_equal(it.link.error.code, ETIMEDOUT);
    give_back(&it.tcp, &it.link);
    close(it.peer);
    connect_again(&it);
    assert_int_equal(fcntl(it.fd, F_SETFL, 0), 0);
    char *much = (char *)calloc(16, MEBIBYTE);
    assert_false(kolk_tcp_send_all(it.fd, much, 16 * MEBIBYTE, KOLK_NOW, &it.link.error));
    assert_int_equal(it.link.error.code, ETIMEDOUT);
    free(much);
    end_connection(&it);
}

static void test_a_peer_that_does_not_read(void **state) {
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

/* promise: "Sends all bytes ... raises SIGPIPE" */
static void test_much(void **state) {
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

typedef enum trouble { CLOSED, RESET, HALF_CLOSED, A_BYTE, AN_URGENT_BYTE, TROUBLES } trouble;

static void make_trouble(trouble what, int *peer) {
    if (what == CLOSED) close(*peer);
    if (what == RESET) reset_connection(*peer);
    if (what == HALF_CLOSED) shutdown(*peer, SHUT_WR);
    if (what == A_BYTE) say_to(*peer, "?");
    if (what == AN_URGENT_BYTE) REQUIRE(send(*peer, "!", 1, MSG_OOB) == 1);
    if (what == CLOSED || what == RESET) *peer = -1;
}

/* In each case, the next borrower gets another connection.
 * promise: "give_back checks the connection (poll, 0.2 us)", "a connection is lent ... made at give_back" */
static void test_trouble_while_idle(void **state) {
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

/* The same while the connection is lent: it does not return to the pool. */
static void test_trouble_while_lent(void **state) {
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

/* Gives a connection back, and breaks it while it is idle. */
static void give_back_and_lose(kolk_tcp *tcp, const server *it, kolk_borrowed *link) {
    int fd = kolk_tcp_fd(link), peer = accept_one(it);
    give_back(tcp, link);
    close(peer);
    REQUIRE(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 120000) == 1);
}

/* Whatever validate_after_ms is, a connection is checked before each borrow. */
static void test_another_time_of_validation(void **state) {
    server it = start_server();
    kolk_tcp tcp;
    make_tcp(&tcp, &(kolk_tcp_desc){.address = it.address, .pool = {.validate_after_ms = 3600000}});
    kolk_borrowed link = borrow(&tcp, NULL);
    give_back_and_lose(&tcp, &it, &link);
    link = borrow(&tcp, NULL);
    assert_int_equal(stats_of(&tcp).created, 2);
    give_back_and_lose(&tcp, &it, &link);
    assert_int_equal(borrow_until(&tcp, NULL, KOLK_NOW, &link), KOLK_FULL);
    EVENTUALLY(stats_of(&tcp).idle == 1); /* a new connection */
    assert_int_equal(borrow_until(&tcp, NULL, KOLK_NOW, &link), KOLK_OK);
    assert_int_equal(stats_of(&tcp).created, 3);
    EVENTUALLY(stats_of(&tcp).invalid == 2);
    kolk_resource_discard(&tcp.pool, &link);
    end_tcp(&tcp);
    stop_server(&it);
}

static void test_the_peer_ends_in_the_middle(void **state) {
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

/* Three servers, but at most two connections: the one that was idle longest makes room. */
static void test_keys(void **state) {
    server servers[3];
    int peers[3];
    kolk_tcp tcp;
    make_tcp_to(&tcp, NULL, 2);
    for (int i = 0; i < 3; i++) servers[i] = start_server();
    for (int i = 0; i < 3; i++) {
        kolk_borrowed link = borrow(&tcp, servers[i].address);
        peers[i] = accept_one(&servers[i]);
        struct sockaddr_storage at;
        socklen_t size = sizeof at;
        assert_int_equal(getpeername(kolk_tcp_fd(&link), (struct sockaddr *)&at, &size), 0);
        assert_memory_equal(&at, &servers[i].at, servers[i].size);
        give_back(&tcp, &link);
    }
    kolk_resource_pool_stats stats = stats_of(&tcp);
    assert_int_equal(stats.replaced, 1);
    assert_int_equal(stats.idle, 2);
    char byte;
    assert_int_equal(recv(peers[0], &byte, 1, 0), 0);
    assert_int_equal(recv(peers[1], &byte, 1, MSG_DONTWAIT), -1);
    kolk_borrowed all[2] = {borrow(&tcp, servers[1].address), borrow(&tcp, servers[2].address)}, none;
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
    error->final = length == 0; /* otherwise it would be tried again */
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

static int reasons[2]; /* why the first two logins have failed */
static unsigned logins;

static bool wait_for_greeting(void *context, int fd, const char *address, kolk_deadline deadline, kolk_error *error) {
    char greeting[8];
    unsigned n = __atomic_fetch_add(&logins, 1, __ATOMIC_RELAXED);
    size_t length = kolk_tcp_receive(fd, greeting, sizeof greeting, deadline, error);
    if (n < LENGTH_OF(reasons)) reasons[n] = error->code;
    return length > 0;
}

/* The first login ends by an evict, the second by the end of the pool. */
static void test_an_end_while_logging_in(void **state) {
    server it = start_server(); /* it says nothing */
    kolk_tcp tcp;
    logins = 0;
    make_tcp(&tcp, &(kolk_tcp_desc){.address = it.address,
                                    .log_in = wait_for_greeting,
                                    .pool = {.min_idle = 1, .max = 1, .create_timeout_ms = -1}});
    EVENTUALLY(__atomic_load_n(&logins, __ATOMIC_RELAXED) == 1);
    kolk_resource_evict(&tcp.pool);
    EVENTUALLY(__atomic_load_n(&logins, __ATOMIC_RELAXED) == 2);
    end_tcp(&tcp);
    assert_int_equal(reasons[0], ECANCELED);
    assert_int_equal(reasons[1], ECANCELED);
    stop_server(&it);
}

/* promise: "sentences that begin ... set error->final", "Called with each ... evicted meanwhile" */
static void test_logging_in(void **state) {
    server it = start_server();
    kolk_tcp tcp;
    char address[64] = "";
    make_tcp(&tcp, &(kolk_tcp_desc){.address = it.address, .log_in = read_greeting, .pool = {.context = address}});
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, greet, &it), 0);
    kolk_borrowed first = borrow(&tcp, NULL), second;
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

#define UNIX_TEST(name) cmocka_unit_test_setup_teardown(name, begin_unix, end_unix)
#define TEST(name)      cmocka_unit_test_setup_teardown(name, count_descriptors, compare_descriptors)

int main(void) {
    END_IF_IT_HANGS();
    const struct CMUnitTest tests[] = {
        TEST(test_a_connection),
        TEST(test_patience),
        TEST(test_a_bad_descriptor),
        TEST(test_ipv6),
        TEST(test_refused),
        TEST(test_refused_for_a_while),
        TEST(test_an_end_while_connecting),
        TEST(test_no_addresses),
        TEST(test_names),
        TEST(test_itself),
        TEST(test_without_standard_descriptors),
        TEST(test_a_black_hole),
        TEST(test_several_addresses),
        TEST(test_an_address_that_is_slow),
        TEST(test_many_addresses),
        UNIX_TEST(test_a_unix_socket),
        UNIX_TEST(test_a_unix_socket_with_a_full_queue),
        UNIX_TEST(test_an_end_while_the_queue_is_full),
        UNIX_TEST(test_paths),
        TEST(test_no_deadline),
        TEST(test_signals),
        TEST(test_a_late_answer),
        TEST(test_a_socket_that_blocks),
        TEST(test_a_peer_that_does_not_read),
        TEST(test_much),
        TEST(test_trouble_while_idle),
        TEST(test_trouble_while_lent),
        TEST(test_another_time_of_validation),
        TEST(test_the_peer_ends_in_the_middle),
        TEST(test_keys),
        TEST(test_logging_in),
        TEST(test_an_end_while_logging_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
