/* kolk/tcp.h: resource pools of plain TCP connections. A key is an address: "10.0.0.7:6379", "[::1]:6379",
 * "cache.local:6379". It needs nothing but sockets.
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
 *         kolk_borrow borrow;
 *         kolk_borrow_desc desc = {.deadline = kolk_deadline_after(1000)}; // of all that follows
 *         bool pong = false;
 *         if (kolk_resource_borrow(&cache.pool, &desc, &borrow) == KOLK_OK) {
 *             int fd = kolk_tcp_fd(&borrow);
 *             pong = kolk_tcp_send_all(fd, "PING\r\n", 6, desc.deadline, &borrow.error) &&
 *                    kolk_tcp_receive(fd, answer, sizeof answer, desc.deadline, &borrow.error) > 0;
 *         }
 *         if (!pong) fprintf(stderr, "%s\n", borrow.error.text);          // 127.0.0.1:6379: Connection refused
 *         kolk_resource_give_back(&cache.pool, &borrow);                  // does nothing, if there is nothing
 *         return pong;
 *     }
 *
 * Cost      a look at the connection (poll, 0.2 us) at each borrow and at each give_back. A new connection: socket,
 *           connect, and the way to the server and back. A name, unlike a numeric address, is resolved for each new
 *           connection by getaddrinfo, which knows no deadline: while name servers are silent it takes as long as
 *           /etc/resolv.conf lets it, by default 10 seconds for each of them. Until then the borrow does not return,
 *           and its place in the pool is taken. So give numeric addresses, or a resolver on the machine, where a
 *           deadline is to be kept. With KOLK_NOW no name is resolved.
 * Memory    none, but what getaddrinfo allocates and frees, and the pool's own.
 * Ownership a connection is the pool's, until destroy closes it. The borrower has the descriptor alone; don't close it.
 * Threads   as the resource pool. One thread at a time sends, and one receives.
 * Checks    a connection is lent only while it is silent: one that the peer has closed or reset, or that has a byte to
 *           read, which can only belong to an earlier borrower, is destroyed; at give_back too. After a send or receive
 *           that failed or came too late, an answer may still be on its way. So these two shut the connection down, and
 *           it is destroyed when it comes back. No check can see an answer that is still on its way to a borrower who
 *           did not wait for it: discard the connection then. Nor can it see a peer that vanished without a word: use
 *           deadlines.
 * Errors    sentences that begin with the address: "127.0.0.1:1: Connection refused". The code is errno: ETIMEDOUT
 *           where the deadline has passed, EINVAL of an address that is none. It is an EAI_ value where a name is not
 *           resolved, and 0 where the peer has closed.
 * Forks     as the resource pool: a child borrows nothing. It has copies of the descriptors, which exec closes
 *           (FD_CLOEXEC) and which do not keep a connection open that the parent closes.
 * Design    kolk/resource.h; docs/resource.md. Linux.
 */
#ifndef KOLK_TCP_H
#define KOLK_TCP_H

#include <kolk/resource.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All zero will do, if each borrow has a key. */
typedef struct kolk_tcp_desc {
    const char *address; /* of the key "": host:port, the port a number. NULL: none, then each borrow needs a key, and
                          * min_idle is 0. Outlives the pool */
    bool keep_alive;     /* SO_KEEPALIVE: the system asks a silent peer whether it is there, by default after 2 hours */

    /* Called with each new connection, to read a greeting or log in; with the context of `pool`, the key (the address
     * where it is "") and the borrow's deadline. False: it is closed, and *error says why. NULL: nothing to do. */
    bool (*log_in)(void *context, int fd, const char *address, kolk_deadline deadline, kolk_error *error);

    kolk_resource_pool_desc pool; /* create, destroy, validate and reset are set by init; of validate_after_ms, 0 means
                                   * -1: before every borrow */
} kolk_tcp_desc;

/* All zero is a pool that is closed. Stays where it is while it is in use. */
typedef struct kolk_tcp {
    kolk_resource_pool pool; /* for kolk/resource.h: borrow, give_back, evict, stats ... */
    kolk_tcp_desc desc;
} kolk_tcp;

/* As kolk_resource_pool_init: connects to nothing yet. KOLK_BAD_ADDRESS: `address` is none, or is NULL where min_idle
 * needs one. */
KOLK_API kolk_status kolk_tcp_init(kolk_tcp *tcp, const kolk_tcp_desc *desc);

/* As kolk_resource_pool_deinit: closes all connections that are not lent. */
KOLK_API void kolk_tcp_deinit(kolk_tcp *tcp);

KOLK_BODIES_BEGIN_
/* The descriptor of what is borrowed: a non-blocking socket with TCP_NODELAY, never 0, 1 or 2. -1: nothing is. A
 * borrow's `resource` is the same number, as (void *)(intptr_t)fd. */
static inline int kolk_tcp_fd(const kolk_borrow *borrow) {
    return borrow->resource ? (int)(intptr_t)borrow->resource : -1;
}
KOLK_BODIES_END_

/* Sends all of it. False: the connection is at its end, or the deadline has passed; *error says which. It is shut down
 * then. Never raises SIGPIPE. */
KOLK_API bool kolk_tcp_send_all(int fd, const void *bytes, size_t size, kolk_deadline deadline, kolk_error *error);

/* Waits for bytes, and returns how many came: 1 to size, which is not 0. 0: the connection is at its end, or the
 * deadline has passed; *error says which. It is shut down then. */
KOLK_API size_t kolk_tcp_receive(int fd, void *bytes, size_t size, kolk_deadline deadline, kolk_error *error);

#ifdef __cplusplus
}
#endif
#endif
