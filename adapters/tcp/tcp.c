/* tcp.c: see kolk/tcp.h. The sections, from the lowest level up: waiting, sentences, sockets, connecting, addresses,
 * the functions of the pool, and sending and receiving.
 *
 * All sockets are non-blocking, and poll waits until an absolute deadline, so repeated and interrupted waits do not
 * extend it. Functions that can fail return an errno value, or 0.
 *
 * A connection that is not lent is silent. So any event that poll reports is a reason to destroy it: an error, the end
 * of the stream, or an unexpected byte. */
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
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define HOST_BYTES 256 /* of a host's name, including the final 0 */

/* The size of a peer's name in a sentence: a numeric address with brackets and port, or "unix:" and a path. */
#define PEER_BYTES (sizeof(struct sockaddr_un) + 8)

#define UNIX       "unix:"
#define UNIX_BYTES (sizeof UNIX - 1)

#define ATTEMPTS      16 /* to connect at the same time */
#define HEAD_START_NS INT64_C(250000000)

#define PROBES 3

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */

/* No function of kolk may be a cancellation point, but socket functions are. The pool does the same around its
 * callbacks. */
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

/* Returns the time-out for poll: rounded up, and at most the largest possible value. */
static int milliseconds_until(kolk_deadline deadline) {
    int64_t now = now_ns();
    if (deadline.ns <= now) return 0;
    int64_t left = (deadline.ns - now) / 1000000 + 1;
    return left < INT_MAX ? (int)left : INT_MAX;
}

/* Waits until poll reports one of the descriptors. The array has space for one more element, for the descriptor that
 * interrupts the wait. */
static int wait_for_any(struct pollfd *all, nfds_t count, kolk_deadline deadline) {
    all[count] = (struct pollfd){.fd = kolk_resource_interrupt_fd(), .events = POLLIN};
    for (;;) {
        int timeout = milliseconds_until(deadline);
        int n = poll(all, count + 1, timeout);
        if (n > 0) return all[count].revents ? ECANCELED : 0;
        if (n < 0 && errno != EINTR) return errno;
        if (n == 0 && timeout == 0) return ETIMEDOUT;
    }
}

static int wait_for(int fd, short events, kolk_deadline deadline) {
    struct pollfd all[2] = {{.fd = fd, .events = events}};
    return wait_for_any(all, 1, deadline);
}

/* ---- Sentences --------------------------------------------------------------------------------------------------- */

static void say(kolk_error *error, int code, const char *address, const char *words) {
    error->code = code;
    snprintf(error->text, sizeof error->text, "%.160s: %s", address, words);
}

/* Finds the peer's address. After a reset, getpeername fails. SO_PEERNAME still works, but needs the exact size, which
 * is the size of our own address. */
static void name_peer(int fd, char peer[PEER_BYTES]) {
    struct sockaddr_storage address = {0};
    struct sockaddr *at = (struct sockaddr *)&address;
    socklen_t size = sizeof address;
    char host[INET6_ADDRSTRLEN + 16], port[6]; /* 16: %eth0 */
    bool known = getsockname(fd, at, &size) == 0;
    if (known && address.ss_family == AF_UNIX) {
        struct sockaddr_un its = {.sun_family = AF_UNIX};
        size = sizeof its - 1; /* leaves a 0 after the path */
        getpeername(fd, (struct sockaddr *)&its, &size);
        snprintf(peer, PEER_BYTES, UNIX "%s", its.sun_path);
        return;
    }
    if (!known || getsockopt(fd, SOL_SOCKET, SO_PEERNAME, at, &size) != 0 ||
        getnameinfo(at, size, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        snprintf(peer, PEER_BYTES, "descriptor %d", fd);
    else
        snprintf(peer, PEER_BYTES, address.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

/* ---- Sockets ----------------------------------------------------------------------------------------------------- */

static void set_number(int fd, int level, int name, int value) {
    setsockopt(fd, level, name, &value, sizeof value);
}

/* Rounds up; the result is at least 1 and at most the system's limit. */
static int in_seconds(int64_t ms) {
    int64_t most = 32767;
    return ms > 0 ? (int)(ms / 1000 < most ? (ms + 999) / 1000 : most) : 1;
}

/* Sets the times that detect vanished peers. The system counts from the last packet of the peer, even if probes are
 * lost. */
static void set_patience(int fd, const kolk_tcp *tcp) {
    int64_t probe = tcp->probe_after_ms, lost = tcp->lost_after_ms;
    if (lost > 0) set_number(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, lost < INT_MAX ? (int)lost : INT_MAX);
    if (probe < 0) return;
    set_number(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_number(fd, IPPROTO_TCP, TCP_KEEPIDLE, in_seconds(probe));
    set_number(fd, IPPROTO_TCP, TCP_KEEPINTVL, in_seconds((lost > probe ? lost - probe : probe) / PROBES));
    set_number(fd, IPPROTO_TCP, TCP_KEEPCNT, PROBES);
}

/* Opens a socket of this family. It never becomes a standard descriptor, even if those are closed: printed text must
 * not reach a server, and 0 would be a NULL resource. */
static int open_socket(int family, const kolk_tcp *tcp, int *fd) {
    int low = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (low < 0) return errno;
    *fd = low;
    if (low <= STDERR_FILENO) {
        *fd = fcntl(low, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        int failure = errno;
        close(low);
        if (*fd < 0) return failure;
    }
    if (family == AF_UNIX) return 0;
    set_number(*fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set_patience(*fd, tcp);
    return 0;
}

/* ---- Connecting -------------------------------------------------------------------------------------------------- */

/* Is the socket connected to itself? This happens if no server listens on a port and the client's socket gets that very
 * port. */
static bool has_met_itself(int fd) {
    struct sockaddr_storage own = {0}, peer = {0};
    socklen_t own_size = sizeof own, peer_size = sizeof peer;
    return getsockname(fd, (struct sockaddr *)&own, &own_size) == 0 &&
           getpeername(fd, (struct sockaddr *)&peer, &peer_size) == 0 && own_size == peer_size &&
           memcmp(&own, &peer, own_size) == 0;
}

/* Returns the outcome of an attempt that poll has reported. */
static int outcome(int fd) {
    int failure = 0;
    socklen_t size = sizeof failure;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size) != 0) return errno;
    return failure == 0 && has_met_itself(fd) ? ECONNREFUSED : failure;
}

/* Running attempts at the addresses of one name, and the error of the last failed one. */
typedef struct attempts {
    struct pollfd all[ATTEMPTS + 1];
    nfds_t count;
    int failure;
} attempts;

static bool begin_attempt(attempts *them, const struct addrinfo *address, const kolk_tcp *tcp) {
    int fd = -1, failure = open_socket(address->ai_family, tcp, &fd);
    if (!failure && connect(fd, address->ai_addr, address->ai_addrlen) != 0 && errno != EINPROGRESS) {
        failure = errno;
        close(fd);
    }
    if (failure)
        them->failure = failure;
    else
        them->all[them->count++] = (struct pollfd){.fd = fd, .events = POLLOUT};
    return !failure;
}

/* Removes and returns the connected attempt, and ends the failed ones. Returns -1 if none is connected. */
static int take_connected(attempts *them) {
    for (nfds_t n = 0; n < them->count;) {
        int fd = them->all[n].fd, failure = them->all[n].revents ? outcome(fd) : EINPROGRESS;
        if (failure == EINPROGRESS) {
            n++;
            continue;
        }
        them->all[n] = them->all[--them->count];
        if (!failure) return fd;
        them->failure = failure;
        close(fd);
    }
    return -1;
}

/* How long an attempt runs alone before the next address is tried, so that all addresses get a turn. */
static kolk_deadline end_of_head_start(kolk_deadline deadline, int64_t addresses) {
    int64_t now = now_ns();
    if (deadline.ns <= now) return deadline;
    int64_t part = (deadline.ns - now) / addresses;
    return (kolk_deadline){now + (part < HEAD_START_NS ? part : HEAD_START_NS)};
}

/* Connects to the first address that answers. The addresses are tried in their order, and a silent one does not delay
 * the others: RFC 8305, Happy Eyeballs (Schinazi and Pauly, 2017). Addresses beyond the first ATTEMPTS are tried as
 * others fail. */
static int connect_to_any(const struct addrinfo *next, const kolk_tcp *tcp, kolk_deadline deadline, int *fd) {
    attempts them = {.failure = EADDRNOTAVAIL};
    int64_t addresses = 0;
    for (const struct addrinfo *each = next; each; each = each->ai_next) addresses++;
    for (*fd = -1; *fd < 0 && (next || them.count > 0);) {
        bool begins = next && them.count < ATTEMPTS, begun = begins && begin_attempt(&them, next, tcp);
        if (begins) next = next->ai_next;
        if (begins && !begun) continue;
        bool goes_on = next && them.count < ATTEMPTS;
        int failure = wait_for_any(them.all, them.count, goes_on ? end_of_head_start(deadline, addresses) : deadline);
        if (failure) them.failure = failure;
        if (failure == ECANCELED || (failure && !goes_on)) break;
        if (!failure) *fd = take_connected(&them);
    }
    while (them.count > 0) close(them.all[--them.count].fd);
    return *fd < 0 ? them.failure : 0;
}

/* If the server's queue is full, connect fails immediately, and poll does not report when there is space. */
static int connect_to_path(const char *path, const kolk_tcp *tcp, kolk_deadline deadline, int *fd) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int failure = open_socket(AF_UNIX, tcp, fd);
    if (failure) return failure;
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    for (int pause = 1; connect(*fd, (const struct sockaddr *)&address, sizeof address) != 0; pause += pause < 16) {
        int left = milliseconds_until(deadline);
        failure = errno != EAGAIN ? errno : kolk_resource_is_interrupted() ? ECANCELED : left == 0 ? ETIMEDOUT : 0;
        if (failure) break;
        poll(NULL, 0, pause < left ? pause : left);
    }
    if (failure) close(*fd);
    return failure;
}

/* ---- Addresses --------------------------------------------------------------------------------------------------- */

/* getaddrinfo would accept any number. */
static bool is_port(const char *text) {
    unsigned number = 0;
    for (; *text >= '0' && *text <= '9' && number <= 65535; text++) number = number * 10 + (unsigned)(*text - '0');
    return *text == 0 && number > 0 && number <= 65535;
}

/* Splits "host:port" or "[host]:port". */
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

static bool is_path(const char *address) {
    return strncmp(address, UNIX "/", UNIX_BYTES + 1) == 0 &&
           strlen(address + UNIX_BYTES) < sizeof((struct sockaddr_un *)0)->sun_path;
}

static bool is_address(const char *text) {
    char host[HOST_BYTES];
    const char *port;
    return is_path(text) || split_address(text, host, &port);
}

/* Returns the addresses of a host. On failure returns NULL, with the reason in *error. */
static struct addrinfo *resolve(const char *address, kolk_deadline deadline, kolk_error *error) {
    char host[HOST_BYTES];
    const char *port = "";
    struct addrinfo *first = NULL, hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    bool waits = deadline.ns > now_ns();
    if (!waits) hints.ai_flags |= AI_NUMERICHOST;
    split_address(address, host, &port);
    int reason = getaddrinfo(host, port, &hints, &first);
    if (reason == 0) return first;
    if (reason == EAI_SYSTEM)
        say(error, errno, address, strerror(errno));
    else if (reason == EAI_NONAME && !waits)
        say(error, reason, address, "a name is not resolved without waiting");
    else
        say(error, reason, address, gai_strerror(reason));
    return NULL;
}

/* Connects to an address. On failure returns -1, with the reason in *error. */
static int connect_by_text(const char *address, const kolk_tcp *tcp, kolk_deadline deadline, kolk_error *error) {
    int fd = -1, failure;
    if (!is_address(address)) { /* it will never become valid */
        say(error, EINVAL, address, "an address is host:port, [host]:port or unix:/path");
        error->final = true;
        return -1;
    }
    if (is_path(address)) {
        failure = connect_to_path(address + UNIX_BYTES, tcp, deadline, &fd);
    } else {
        struct addrinfo *first = resolve(address, deadline, error);
        if (!first) return -1;
        failure = connect_to_any(first, tcp, deadline, &fd);
        freeaddrinfo(first);
    }
    if (!failure) return fd;
    say(error, failure, address, strerror(failure));
    return -1;
}

/* ---- The functions of the pool ----------------------------------------------------------------------------------- */

/* The peer sees the end of the stream immediately, even if a fork's child has a copy of the descriptor. */
static void destroy(void *context, void *resource) {
    (void)context;
    int fd = (int)(intptr_t)resource;
    shutdown(fd, SHUT_RDWR);
    close(fd);
}

static bool create(void *context, const char *key, kolk_deadline deadline, void **resource, kolk_error *error) {
    const kolk_tcp *tcp = (const kolk_tcp *)context;
    const char *address = *key ? key : tcp->address ? tcp->address : "no key and no default address";
    int fd = connect_by_text(address, tcp, deadline, error);
    *resource = fd < 0 ? NULL : (void *)(intptr_t)fd;
    if (fd >= 0 && tcp->log_in && !tcp->log_in(tcp->context, fd, address, deadline, error)) {
        destroy(context, *resource);
        *resource = NULL;
    }
    return *resource != NULL;
}

/* POLLIN also means the end of the stream, POLLPRI means an urgent byte, and poll reports errors unasked. */
static bool reset(void *context, void *resource) {
    (void)context;
    struct pollfd it = {.fd = (int)(intptr_t)resource, .events = POLLIN | POLLPRI};
    return poll(&it, 1, 0) == 0;
}

static bool validate(void *context, void *resource, kolk_deadline deadline) {
    (void)deadline;
    return reset(context, resource);
}

/* The pool's context is the kolk_tcp, but the user's function gets the user's. */
static void relay_event(void *context, const kolk_resource_event *event) {
    const kolk_tcp *tcp = (const kolk_tcp *)context;
    tcp->log(tcp->context, event);
}

/* Replaces a time of the descriptor by its default if it is 0. Returns false if it is invalid. */
static bool resolve_time(int64_t *ms, int64_t by_default) {
    if (*ms == 0) *ms = by_default;
    return *ms >= -1;
}

/* Checks and copies the descriptor's settings for connections. */
static kolk_status take_desc(kolk_tcp *tcp, const kolk_tcp_desc *desc) {
    const kolk_resource_pool_desc *pool = &desc->pool;
    if (pool->create || pool->destroy || pool->validate || pool->reset) return KOLK_SET_BY_ADAPTER;
    bool is_right = desc->address ? is_address(desc->address) : pool->min_idle == 0;
    if (!is_right) return KOLK_BAD_ADDRESS; /* no connection of the key "" could ever be made */
    tcp->address = desc->address;
    tcp->probe_after_ms = desc->probe_after_ms;
    tcp->lost_after_ms = desc->lost_after_ms;
    tcp->log_in = desc->log_in;
    tcp->log = pool->log;
    tcp->context = pool->context;
    bool has_times = resolve_time(&tcp->probe_after_ms, 30000) && resolve_time(&tcp->lost_after_ms, 60000);
    return has_times ? KOLK_OK : KOLK_BAD_TIME;
}

kolk_status kolk_tcp_begin_(kolk_tcp *tcp, const kolk_tcp_desc *desc, size_t tcp_size, uint32_t abi) {
    memset(tcp, 0, tcp_size);
    if (tcp_size != sizeof *tcp || abi != KOLK_ABI) return KOLK_WRONG_ABI;
    if (!desc) return KOLK_NO_DESCRIPTOR;
    kolk_resource_pool_desc pool = desc->pool;
    pool.context = tcp;
    pool.create = create;
    pool.destroy = destroy;
    pool.validate = validate;
    pool.reset = reset;
    pool.log = desc->pool.log ? relay_event : NULL;
    pool.look = true;
    if (pool.validate_after_ms == 0) pool.validate_after_ms = INT64_MAX; /* the look is enough */
    kolk_status status = take_desc(tcp, desc);
    if (status == KOLK_OK) status = kolk_resource_init(&tcp->pool, &pool);
    if (status != KOLK_OK) memset(tcp, 0, sizeof *tcp);
    return status;
}

void kolk_tcp_deinit(kolk_tcp *tcp) {
    kolk_resource_deinit(&tcp->pool);
    memset(tcp, 0, sizeof *tcp);
}

/* ---- Sending and receiving --------------------------------------------------------------------------------------- */

/* Stores the error, and shuts the connection down, so that no later borrower gets its remaining data. */
static void fail(int fd, int code, const char *words, kolk_error *error) {
    char peer[PEER_BYTES];
    name_peer(fd, peer);
    say(error, code, peer, words);
    shutdown(fd, SHUT_RDWR);
}

/* After a call that returned a negative number: waits if the call must be repeated. */
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
