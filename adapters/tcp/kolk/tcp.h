/* SPDX-License-Identifier: Zlib */
/* kolk/tcp.h: resource pools of plain connections: TCP, or Unix sockets on the same machine. A key is an address:
 * "10.0.0.7:6379", "[::1]:6379", "cache.local:6379", "unix:/run/cache.sock". The adapter needs nothing but sockets.
 *
 *     #include <kolk/tcp.h>
 *     #include <stdio.h>
 *
 *     static kolk_tcp cache;
 *
 *     kolk_status start(void) {
 *         kolk_tcp_desc desc = {.address = "127.0.0.1:6379", .pool = {.name = "cache", .max = 4}};
 *         return kolk_tcp_init(&cache, &desc);
 *     }
 *
 *     bool ping(void) {                                                   // in any thread
 *         char answer[64];
 *         kolk_borrowed borrow;
 *         kolk_borrow_desc desc = {.deadline = kolk_deadline_after(1000)}; // of all that follows
 *         bool pong = false;
 *         if (kolk_resource_borrow(&cache.pool, &desc, &borrow) == KOLK_OK) {
 *             int fd = kolk_tcp_fd(&borrow);
 *             pong = kolk_tcp_send_all(fd, "PING\r\n", 6, desc.deadline, &borrow.error) &&
 *                    kolk_tcp_receive(fd, answer, sizeof answer, desc.deadline, &borrow.error) > 0;
 *         }
 *         if (!pong) fprintf(stderr, "%s\n", borrow.error.text);          // ...: 127.0.0.1:6379: Connection refused
 *         kolk_resource_give_back(&cache.pool, &borrow);                  // does nothing, if there is nothing
 *         return pong;
 *     }
 *
 * Cost      each borrow and each give_back checks the connection (poll, 0.2 us). A new connection costs socket, connect
 *           and a round trip to the server. A name, unlike a numeric address, is resolved for each new connection by
 *           getaddrinfo, which has no deadline: while name servers are silent, it takes as long as /etc/resolv.conf
 *           allows, by default 10 seconds for each server. A borrow does not wait for this beyond its deadline, except
 *           with no_housekeeper, but close and deinit do. So use numeric addresses, or a resolver on the same machine.
 *           A name may have several addresses: if one has not answered after 250 ms, or after its share of a shorter
 *           time, the next is tried in parallel, up to 16 at a time, and the first one that answers is used (Happy
 *           Eyeballs, RFC 8305).
 * Memory    only the pool's own, plus what getaddrinfo allocates and frees.
 * Ownership the pool owns a connection, until destroy closes it. The borrower may use the descriptor, but must not
 *           close it. Changed socket options stay for the next borrower.
 * Threads   as for the resource pool. On each connection, one thread at a time may send, and one may receive.
 * Checks    a connection is lent only while it is silent. It is destroyed if the peer has closed or reset it, or if it
 *           has a byte to read, which can only belong to an earlier borrower. The same check is made at give_back.
 *           After a send or receive that failed or was too late, an answer may still arrive. So kolk_tcp_send_all and
 *           kolk_tcp_receive then shut the connection down, and give_back destroys it. No check can detect an answer
 *           that will arrive later: a borrower that does not wait for its answer must discard the connection. Nor can a
 *           check detect immediately that a peer has vanished silently, so use deadlines. The system notices it after
 *           lost_after_ms.
 * Errors    sentences that begin with the address: "127.0.0.1:1: Connection refused". The code is an errno value:
 *           ETIMEDOUT if the deadline has passed, EINVAL for an invalid address. But it is an EAI_ value if a name is
 *           not resolved, and 0 if the peer has closed the connection. A refused connection is tried again as long as a
 *           borrower waits. At the deadline the borrow returns KOLK_TIMEOUT with the code of the last failure, and its
 *           sentence after the pool's numbers. It returns KOLK_NOT_CREATED immediately if the key is not an address, or
 *           if log_in has set error->final.
 * Forks     as for the resource pool: a child can borrow nothing. It has copies of the descriptors, which exec closes
 *           (FD_CLOEXEC), and which do not keep a connection open that the parent closes.
 * Design    kolk/resource.h; docs/resource.md. Linux.
 */
#ifndef KOLK_TCP_H
#define KOLK_TCP_H

#include <kolk/resource.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A descriptor that is all zero is enough if each borrow has a key. */
typedef struct kolk_tcp_desc {
    /* The address for the key "": host:port with a numeric port, or unix:/path with up to 107 bytes after the colon.
     * NULL: none; then each borrow needs a key, and min_idle must be 0. Must outlive the pool. */
    const char *address KOLK_OR_0_;

    /* These two times detect peers that vanish. The system probes a peer that has been silent for probe_after_ms
     * (SO_KEEPALIVE, in whole seconds), three times until lost_after_ms. If data or a probe was sent and nothing came
     * back for lost_after_ms, not even an acknowledgement, the connection breaks (TCP_USER_TIMEOUT): waiting calls get
     * ETIMEDOUT, and an idle connection is not lent any more. 0 means 30,000 and 60,000, respectively. -1 means no
     * probes, or for lost_after_ms the system's own time-out of some 15 minutes. Other negative values are
     * KOLK_BAD_TIME. */
    int64_t probe_after_ms KOLK_OR_0_, lost_after_ms KOLK_OR_0_;

    /* Called with each new connection, to read a greeting or log in. It gets the context of `pool`, the key (or the
     * address if the key is "") and the deadline of the creation. If it returns false, with the reason in *error, the
     * connection is closed; log_in is called again with another connection, unless error->final is set. NULL: nothing
     * to do. Within log_in, the two functions below give up with ECANCELED if the pool is closed or evicted
     * meanwhile. */
    bool (*log_in)(void *context, int fd, const char *address, kolk_deadline deadline, kolk_error *error) KOLK_OR_0_;

    /* create, destroy, validate and reset are the adapter's: to set one is KOLK_SET_BY_ADAPTER. Each connection is
     * checked before every borrow, whatever `look` and validate_after_ms are */
    kolk_resource_pool_desc pool KOLK_OR_0_;
} kolk_tcp_desc;

/* A zero-initialised pool is closed. It must not move while it is in use. */
typedef struct kolk_tcp {
    kolk_resource_pool pool; /* for kolk/resource.h: borrow, give_back, evict, stats ... */
    const char *address;
    int64_t probe_after_ms, lost_after_ms;
    bool (*log_in)(void *context, int fd, const char *address, kolk_deadline deadline, kolk_error *error);
    void (*log)(void *context, const kolk_resource_event *event);
    void *context; /* for log_in and log */
} kolk_tcp;

/* Works like kolk_resource_init: does not connect yet. On failure leaves the struct all zero. KOLK_BAD_ADDRESS:
 * `address` is invalid, or is NULL while min_idle needs one. KOLK_SET_BY_ADAPTER: `pool` has a function. */
static inline kolk_status kolk_tcp_init(kolk_tcp *tcp, const kolk_tcp_desc *desc);

/* Works like kolk_resource_deinit: closes all connections that are not lent, and leaves the struct all zero. */
KOLK_USES_(1) void kolk_tcp_deinit(kolk_tcp *tcp);

KOLK_BODIES_BEGIN_
/* Returns the borrowed descriptor: a non-blocking socket, with TCP_NODELAY for TCP, never 0, 1 or 2; -1 if nothing is
 * borrowed. A borrow's `resource` is the same number, as (void *)(intptr_t)fd. */
static inline int kolk_tcp_fd(const kolk_borrowed *borrow) {
    return borrow->resource ? (int)(intptr_t)borrow->resource : -1;
}
KOLK_BODIES_END_

/* Sends all bytes. If the connection has ended or the deadline has passed, shuts it down and returns false, with the
 * reason in *error. Never raises SIGPIPE. */
KOLK_API_ bool kolk_tcp_send_all(int fd, const void *bytes, size_t size, kolk_deadline deadline, kolk_error *error);

/* Waits for bytes, and returns how many were received: 1 to size, which must not be 0. If the connection has ended or
 * the deadline has passed, shuts it down and returns 0, with the reason in *error. */
KOLK_API_ size_t kolk_tcp_receive(int fd, void *bytes, size_t size, kolk_deadline deadline, kolk_error *error);

/* ---- Inside ------------------------------------------------------------------------------------------------------ */

KOLK_API_ kolk_status kolk_tcp_begin_(kolk_tcp *tcp, const kolk_tcp_desc *desc, size_t tcp_size, uint32_t abi);

KOLK_BODIES_BEGIN_
static inline kolk_status kolk_tcp_init(kolk_tcp *tcp, const kolk_tcp_desc *desc) {
    return kolk_tcp_begin_(tcp, desc, sizeof *tcp, KOLK_ABI);
}
KOLK_BODIES_END_

#ifdef __cplusplus
}
#endif
#endif
