/* proxy.h: a thread that forwards data between 127.0.0.1 and the server, and can misbehave on request. */
#ifndef TESTS_PQ_PROXY_H
#define TESTS_PQ_PROXY_H

#include "server.h"

#include <poll.h>

typedef enum proxy_way {
    PASS_ON,
    LOSE,    /* present connections lose all data, for good; later, only the server learns of their end */
    RESET,   /* every connection is reset */
    DELAY,   /* new connections are forwarded after 300 ms */
    CUT,     /* older connections are reset as soon as the client sends data; new ones are forwarded */
    HANG_UP, /* new connections are closed immediately; older ones are forwarded */
    HOLD     /* new connections stay unanswered; older ones are forwarded */
} proxy_way;

#define PROXY_PAIRS 256

static struct {
    pthread_t thread;
    int listener, port;
    proxy_way way;   /* atomic */
    bool ends;       /* atomic */
    uint32_t turns;  /* atomic: how often it has read `way` */
    uint32_t knocks; /* atomic: how many connections were not forwarded, because of HANG_UP or HOLD */
    size_t used;     /* the first so many pairs were used at some time */
    struct {
        int ends[2]; /* client, server; -1: none */
        int64_t begin;
        bool lost, cut;
    } pairs[PROXY_PAIRS];
} proxy;

static inline void close_pair(size_t i, bool with_reset) {
    for (int end = 0; end < 2; end++) {
        int *fd = &proxy.pairs[i].ends[end];
        struct linger at_once = {.l_onoff = 1};
        if (*fd >= 0 && with_reset) setsockopt(*fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        if (*fd >= 0) close(*fd);
        *fd = -1;
    }
}

static inline void accept_pair(proxy_way way) {
    int client = accept4(proxy.listener, NULL, NULL, SOCK_CLOEXEC);
    bool held = way == HOLD;
    if (held || way == HANG_UP) __atomic_add_fetch(&proxy.knocks, 1, __ATOMIC_RELEASE);
    if (way == HANG_UP) {
        char request[64]; /* if it stayed unread, close would reset the connection */
        recv(client, request, sizeof request, 0);
        close(client);
        return;
    }
    int target = held ? -1 : connect_to(server.port);
    size_t i = 0;
    while (i < PROXY_PAIRS && (proxy.pairs[i].ends[0] >= 0 || proxy.pairs[i].ends[1] >= 0)) i++;
    REQUIRE(i < PROXY_PAIRS);
    if (proxy.used == i) proxy.used++;
    proxy.pairs[i].ends[0] = client;
    proxy.pairs[i].ends[1] = target;
    proxy.pairs[i].begin = now_ms();
    proxy.pairs[i].lost = held;
    proxy.pairs[i].cut = false;
    if (client < 0 || (target < 0 && !held)) close_pair(i, true);
}

/* Forwards the data received at one end to the other. */
static inline void pass_on(size_t i, int from) {
    char bytes[16384];
    int *ends = proxy.pairs[i].ends;
    ssize_t got = recv(ends[from], bytes, sizeof bytes, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) return;
    if (from == 0 && proxy.pairs[i].cut) {
        close_pair(i, true);
        return;
    }
    if (got <= 0 || send(ends[!from], bytes, (size_t)got, MSG_NOSIGNAL) != got) close_pair(i, false);
}

static inline void *run_proxy(void *argument) {
    for (proxy_way before = PASS_ON; !__atomic_load_n(&proxy.ends, __ATOMIC_ACQUIRE);) {
        proxy_way way = __atomic_load_n(&proxy.way, __ATOMIC_ACQUIRE);
        struct pollfd at[1 + 2 * PROXY_PAIRS];
        at[0] = (struct pollfd){.fd = proxy.listener, .events = POLLIN};
        for (size_t i = 0; i < proxy.used; i++) {
            int *ends = proxy.pairs[i].ends;
            if (way == LOSE && ends[0] >= 0) proxy.pairs[i].lost = true;
            if (way == CUT && before != CUT) proxy.pairs[i].cut = true;
            if (way == RESET && ends[0] >= 0) close_pair(i, true);
            if (before == LOSE && way != LOSE && proxy.pairs[i].lost && ends[1] >= 0) {
                close(ends[1]);
                ends[1] = -1;
            }
            bool held = proxy.pairs[i].lost || (way == DELAY && now_ms() - proxy.pairs[i].begin < 300);
            for (int end = 0; end < 2; end++)
                at[1 + 2 * i + (size_t)end] = (struct pollfd){.fd = held ? -1 : ends[end], .events = POLLIN};
        }
        before = way;
        __atomic_add_fetch(&proxy.turns, 1, __ATOMIC_RELEASE);
        size_t looked_at = proxy.used;
        if (poll(at, 1 + 2 * looked_at, 5) <= 0) continue;
        if (at[0].revents) accept_pair(way);
        for (size_t i = 0; i < looked_at; i++)
            for (int end = 0; end < 2; end++)
                if (at[1 + 2 * i + (size_t)end].revents && proxy.pairs[i].ends[end] >= 0) pass_on(i, end);
    }
    return argument;
}

static inline void start_proxy(void) {
    for (size_t i = 0; i < PROXY_PAIRS; i++) proxy.pairs[i].ends[0] = proxy.pairs[i].ends[1] = -1;
    proxy.listener = listen_somewhere(100, &proxy.port);
    proxy.used = proxy.knocks = 0;
    proxy.way = PASS_ON;
    proxy.ends = false;
    REQUIRE(pthread_create(&proxy.thread, NULL, run_proxy, NULL) == 0);
}

/* Sets the proxy's way, and returns when it is in effect. */
static inline void set_proxy(proxy_way way) {
    __atomic_store_n(&proxy.way, way, __ATOMIC_RELEASE);
    uint32_t turns = __atomic_load_n(&proxy.turns, __ATOMIC_ACQUIRE);
    while (__atomic_load_n(&proxy.turns, __ATOMIC_ACQUIRE) - turns < 2) nap_ms(1);
}

static inline void stop_proxy(void) {
    __atomic_store_n(&proxy.ends, true, __ATOMIC_RELEASE);
    REQUIRE(pthread_join(proxy.thread, NULL) == 0);
    for (size_t i = 0; i < PROXY_PAIRS; i++) close_pair(i, true);
    close(proxy.listener);
}

#endif
