/* tcp.c: see kolk/tcp.h. From below: waiting, sentences, connecting, addresses, the functions of the pool, sending
 * and receiving.
 *
 * All sockets are non-blocking, and poll waits for them, until a moment and not for a time: so interrupted waits and
 * several of them in a row keep one deadline. Functions that can fail return errno, or 0.
 *
 * A connection that is not lent is silent. So whatever poll reports of one is a reason to destroy it: an error, its
 * end, or a byte that nobody has asked for. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* getaddrinfo, SOCK_CLOEXEC, SO_PEERNAME under -std=c11 */
#endif

#include <kolk/tcp.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define HOST_BYTES 256 /* of a host, with its 0 */

/* For the name of a peer in a sentence: a numeric address, brackets and port included. */
#define PEER_BYTES (INET6_ADDRSTRLEN + 32)

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */

/* No function of kolk is a cancellation point; those of sockets are. */
static int cancel_off(void) {
    int before = PTHREAD_CANCEL_ENABLE;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static void cancel_restore(int before) {
    int off;
    pthread_setcancelstate(before, &off);
}

/* The clock of kolk_deadline. */
static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* For poll: rounded up, and at most what it takes. */
static int milliseconds_until(kolk_deadline deadline) {
    int64_t now = now_ns();
    if (deadline.ns <= now) return 0;
    int64_t left = (deadline.ns - now) / 1000000 + 1;
    return left < INT_MAX ? (int)left : INT_MAX;
}

/* Waits until poll has something to say of the socket. */
static int wait_for(int fd, short events, kolk_deadline deadline) {
    struct pollfd it = {.fd = fd, .events = events};
    for (;;) {
        int timeout = milliseconds_until(deadline);
        int n = poll(&it, 1, timeout);
        if (n > 0) return 0;
        if (n < 0 && errno != EINTR) return errno;
        if (n == 0 && timeout == 0) return ETIMEDOUT;
    }
}

/* ---- Sentences --------------------------------------------------------------------------------------------------- */

static void say(kolk_error *error, int code, const char *address, const char *words) {
    error->code = code;
    snprintf(error->text, sizeof error->text, "%.160s: %s", address, words);
}

/* The address of the peer. After a reset getpeername has forgotten it. SO_PEERNAME has not, but has to be told its very
 * size: that of the own address. */
static void name_peer(int fd, char peer[PEER_BYTES]) {
    struct sockaddr_storage address;
    struct sockaddr *at = (struct sockaddr *)&address;
    socklen_t size = sizeof address;
    char host[INET6_ADDRSTRLEN + 16], port[6]; /* 16: %eth0 */
    if (getsockname(fd, at, &size) != 0 || getsockopt(fd, SOL_SOCKET, SO_PEERNAME, at, &size) != 0 ||
        getnameinfo(at, size, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        snprintf(peer, PEER_BYTES, "descriptor %d", fd);
    else
        snprintf(peer, PEER_BYTES, address.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

/* ---- Connecting -------------------------------------------------------------------------------------------------- */

/* *fd is a socket for such an address. It is none of the standard descriptors, even if those are closed: what somebody
 * prints must not reach a server, and 0 would be a NULL resource. */
static int open_socket(const struct addrinfo *address, bool keep_alive, int *fd) {
    int low = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
    if (low < 0) return errno;
    *fd = low;
    if (low <= STDERR_FILENO) {
        *fd = fcntl(low, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        int failure = errno;
        close(low);
        if (*fd < 0) return failure;
    }
    setsockopt(*fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (keep_alive) setsockopt(*fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    return 0;
}

/* Where nobody listens at a port of this machine that the system gives to clients too, a socket that got this very port
 * meets itself. */
static bool has_met_itself(int fd) {
    struct sockaddr_storage own = {0}, peer = {0};
    socklen_t own_size = sizeof own, peer_size = sizeof peer;
    return getsockname(fd, (struct sockaddr *)&own, &own_size) == 0 &&
           getpeername(fd, (struct sockaddr *)&peer, &peer_size) == 0 && own_size == peer_size &&
           memcmp(&own, &peer, own_size) == 0;
}

static int connect_socket(int fd, const struct addrinfo *address, kolk_deadline deadline) {
    if (connect(fd, address->ai_addr, address->ai_addrlen) != 0 && errno != EINPROGRESS) return errno;
    int failure = wait_for(fd, POLLOUT, deadline);
    if (failure) return failure;
    socklen_t size = sizeof failure;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size) != 0) return errno;
    return failure == 0 && has_met_itself(fd) ? ECONNREFUSED : failure;
}

static int connect_to_one(const struct addrinfo *address, bool keep_alive, kolk_deadline deadline, int *fd) {
    int failure = open_socket(address, keep_alive, fd);
    if (failure) return failure;
    failure = connect_socket(*fd, address, deadline);
    if (failure) close(*fd);
    return failure;
}

/* An equal part of the time that is left. */
static kolk_deadline part_of(kolk_deadline deadline, int64_t parts) {
    int64_t now = now_ns();
    return deadline.ns <= now ? deadline : (kolk_deadline){now + (deadline.ns - now) / parts};
}

/* To the first that can be reached, in their order. One that does not answer leaves the others their parts of the
 * time. */
static int connect_to_any(const struct addrinfo *first, bool keep_alive, kolk_deadline deadline, int *fd) {
    int64_t left = 0;
    int failure = EADDRNOTAVAIL;
    for (const struct addrinfo *each = first; each; each = each->ai_next) left++;
    for (const struct addrinfo *each = first; each && failure; each = each->ai_next)
        failure = connect_to_one(each, keep_alive, part_of(deadline, left--), fd);
    return failure;
}

/* ---- Addresses --------------------------------------------------------------------------------------------------- */

/* getaddrinfo takes any number. */
static bool is_port(const char *text) {
    unsigned number = 0;
    for (; *text >= '0' && *text <= '9' && number <= 65535; text++) number = number * 10 + (unsigned)(*text - '0');
    return *text == 0 && number > 0 && number <= 65535;
}

/* "host:port" or "[host]:port" in two. */
static bool split_address(const char *address, char host[HOST_BYTES], const char **port) {
    const char *colon = strrchr(address, ':');
    if (!colon || !is_port(colon + 1)) return false;
    size_t length = (size_t)(colon - address);
    bool bare = length < 2 || address[0] != '[' || address[length - 1] != ']';
    if (bare && memchr(address, ':', length)) return false;
    if (!bare) address++, length -= 2;
    if (length == 0 || length >= HOST_BYTES) return false;
    memcpy(host, address, length);
    host[length] = 0;
    *port = colon + 1;
    return true;
}

/* Connects to an address: -1 if it can't, and *error says why. */
static int connect_by_text(const char *address, bool keep_alive, kolk_deadline deadline, kolk_error *error) {
    char host[HOST_BYTES];
    const char *port;
    if (!split_address(address, host, &port)) {
        say(error, EINVAL, address, "an address is host:port, or [host]:port");
        return -1;
    }
    bool waits = deadline.ns > now_ns();
    struct addrinfo *first,
        hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV | (waits ? 0 : AI_NUMERICHOST)};
    int reason = getaddrinfo(host, port, &hints, &first);
    if (reason == EAI_SYSTEM) {
        say(error, errno, address, strerror(errno));
        return -1;
    }
    if (reason) {
        bool is_name = reason == EAI_NONAME && !waits;
        say(error, reason, address, is_name ? "a name is not resolved without waiting" : gai_strerror(reason));
        return -1;
    }
    int fd = -1, failure = connect_to_any(first, keep_alive, deadline, &fd);
    freeaddrinfo(first);
    if (!failure) return fd;
    say(error, failure, address, strerror(failure));
    return -1;
}

/* ---- The functions of the pool ----------------------------------------------------------------------------------- */

static bool create(void *context, const char *key, kolk_deadline deadline, void **resource, kolk_error *error) {
    const kolk_tcp_desc *desc = &((const kolk_tcp *)context)->desc;
    const char *address = *key ? key : desc->address ? desc->address : "no key and no default address";
    int cancel = cancel_off();
    int fd = connect_by_text(address, desc->keep_alive, deadline, error);
    if (fd >= 0 && desc->log_in && !desc->log_in(desc->pool.context, fd, address, deadline, error)) {
        close(fd);
        fd = -1;
    }
    cancel_restore(cancel);
    *resource = fd < 0 ? NULL : (void *)(intptr_t)fd;
    return fd >= 0;
}

/* The peer sees the end at once, even if a fork's child has a copy of the descriptor. */
static void destroy(void *context, void *resource) {
    (void)context;
    int fd = (int)(intptr_t)resource, cancel = cancel_off();
    shutdown(fd, SHUT_RDWR);
    close(fd);
    cancel_restore(cancel);
}

/* POLLIN is the end too, and poll reports errors unasked. */
static bool reset(void *context, void *resource) {
    (void)context;
    struct pollfd it = {.fd = (int)(intptr_t)resource, .events = POLLIN};
    int cancel = cancel_off(), n = poll(&it, 1, 0);
    cancel_restore(cancel);
    return n == 0;
}

static bool validate(void *context, void *resource, kolk_deadline deadline) {
    (void)deadline;
    return reset(context, resource);
}

/* False: no connection of the key "" could ever be made, though one may be asked for. */
static bool address_is_right(const kolk_tcp_desc *desc) {
    char host[HOST_BYTES];
    const char *port;
    return desc->address ? split_address(desc->address, host, &port) : desc->pool.min_idle == 0;
}

kolk_status kolk_tcp_init(kolk_tcp *tcp, const kolk_tcp_desc *desc) {
    *tcp = (kolk_tcp){0};
    if (!desc) return KOLK_NO_DESCRIPTOR;
    if (!address_is_right(desc)) return KOLK_BAD_ADDRESS;
    kolk_resource_pool_desc pool = desc->pool;
    pool.context = tcp;
    pool.create = create;
    pool.destroy = destroy;
    pool.validate = validate;
    pool.reset = reset;
    if (pool.validate_after_ms == 0) pool.validate_after_ms = -1;
    tcp->desc = *desc;
    return kolk_resource_pool_init(&tcp->pool, &pool);
}

void kolk_tcp_deinit(kolk_tcp *tcp) {
    kolk_resource_pool_deinit(&tcp->pool);
}

/* ---- Sending and receiving --------------------------------------------------------------------------------------- */

/* Says why, and shuts the connection down, so that nobody gets what may still come. */
static void fail(int fd, int code, const char *words, kolk_error *error) {
    char peer[PEER_BYTES];
    name_peer(fd, peer);
    say(error, code, peer, words);
    shutdown(fd, SHUT_RDWR);
}

/* After a call that gave less than 0: waits, if it has to be called again. */
static int wait_after(int failure, int fd, short events, kolk_deadline deadline) {
    if (failure == EINTR) return 0;
    return failure == EAGAIN || failure == EWOULDBLOCK ? wait_for(fd, events, deadline) : failure;
}

bool kolk_tcp_send_all(int fd, const void *bytes, size_t size, kolk_deadline deadline, kolk_error *error) {
    const char *at = (const char *)bytes;
    int cancel = cancel_off(), failure = 0;
    while (size > 0 && !failure) {
        ssize_t sent = send(fd, at, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0) {
            failure = wait_after(errno, fd, POLLOUT, deadline);
        } else {
            at += sent;
            size -= (size_t)sent;
        }
    }
    if (failure) fail(fd, failure, strerror(failure), error);
    cancel_restore(cancel);
    return !failure;
}

size_t kolk_tcp_receive(int fd, void *bytes, size_t size, kolk_deadline deadline, kolk_error *error) {
    int cancel = cancel_off(), failure = 0;
    ssize_t got;
    do {
        got = recv(fd, bytes, size, MSG_DONTWAIT);
        if (got < 0) failure = wait_after(errno, fd, POLLIN, deadline);
    } while (got < 0 && !failure);
    if (got <= 0) fail(fd, failure, got == 0 ? "closed by the peer" : strerror(failure), error);
    cancel_restore(cancel);
    return got > 0 ? (size_t)got : 0;
}
