/* runs: slow not:clang */
/* libkolk-tcp with threads, forks and cancelled threads, and an echo server. */
#include "tcp_test.h"

#include <sys/wait.h>

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

enum { THREADS = 16, CONNECTIONS = 8 };

/* A server that sends data back. It breaks a connection after every `breaks_after` answers, half of the time in the
 * middle of an answer. */
typedef struct echo {
    server it;
    pthread_t thread;
    unsigned answers, breaks_after;
    unsigned broken, peak;
} echo;

typedef struct message {
    uint64_t thread, number;
} message;

static void answer_one(echo *me, struct pollfd *client) {
    message text;
    if (recv(client->fd, &text, sizeof text, MSG_WAITALL) != (ssize_t)sizeof text) {
        close(client->fd);
        client->fd = -1;
        return;
    }
    bool breaks = me->breaks_after && ++me->answers % me->breaks_after == 0;
    send(client->fd, &text, breaks && me->broken % 2 ? 5 : sizeof text, MSG_NOSIGNAL);
    if (!breaks) return;
    me->broken++;
    if (me->broken % 3)
        close(client->fd);
    else
        reset_connection(client->fd);
    client->fd = -1;
}

static void *serve_echo(void *argument) {
    echo *me = (echo *)argument;
    struct pollfd all[64] = {{.fd = me->it.listener, .events = POLLIN}};
    for (size_t i = 1; i < LENGTH_OF(all); i++) all[i] = (struct pollfd){.fd = -1, .events = POLLIN};
    while (poll(all, LENGTH_OF(all), -1) > 0) {
        unsigned count = 0;
        for (size_t i = 1; i < LENGTH_OF(all); i++) {
            if (all[i].fd >= 0 && all[i].revents) answer_one(me, &all[i]);
            count += all[i].fd >= 0;
        }
        if (count > me->peak) me->peak = count;
        if (!all[0].revents) continue;
        int fd = accept4(me->it.listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0) break; /* the server is shut down */
        for (size_t i = 1; i < LENGTH_OF(all) && fd >= 0; i++) {
            if (all[i].fd >= 0) continue;
            all[i].fd = fd;
            fd = -1;
        }
        REQUIRE(fd < 0);
    }
    for (size_t i = 1; i < LENGTH_OF(all); i++)
        if (all[i].fd >= 0) close(all[i].fd);
    return NULL;
}

static void start_echo(echo *me) {
    me->it = start_server();
    REQUIRE(pthread_create(&me->thread, NULL, serve_echo, me) == 0);
}

static void stop_echo(echo *me) {
    shutdown(me->it.listener, SHUT_RDWR);
    pthread_join(me->thread, NULL);
    stop_server(&me->it);
}

typedef struct caller {
    pthread_t thread;
    kolk_tcp *tcp;
    uint64_t name, calls;
    unsigned errors;
} caller;

/* Returns true if the whole answer has come. */
static bool ask(int fd, const message *question, kolk_error *error) {
    message answer;
    if (!kolk_tcp_send_all(fd, question, sizeof *question, soon(), error)) return false;
    for (size_t got = 0, more; got < sizeof answer; got += more) {
        more = kolk_tcp_receive(fd, (char *)&answer + got, sizeof answer - got, soon(), error);
        if (more == 0) return false;
    }
    REQUIRE(memcmp(&answer, question, sizeof answer) == 0);
    return true;
}

static void *call_often(void *argument) {
    caller *me = (caller *)argument;
    for (uint64_t i = 0; i < me->calls; i++) {
        kolk_borrowed link;
        message question = {.thread = me->name, .number = i};
        REQUIRE(borrow_until(me->tcp, NULL, soon(), &link) == KOLK_OK);
        me->errors += !ask(kolk_tcp_fd(&link), &question, &link.error);
        give_back(me->tcp, &link);
    }
    return NULL;
}

/* Even though connections break, each answer must match its question, and no broken connection may be lent again. */
static void call_from_threads(unsigned breaks_after) {
    echo it = {.breaks_after = breaks_after};
    start_echo(&it);
    kolk_tcp tcp;
    make_tcp(&tcp, &(kolk_tcp_desc){.address = it.it.address, .pool = {.max = CONNECTIONS, .min_idle = 2}});
    caller callers[THREADS];
    unsigned errors = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        callers[i] = (caller){.tcp = &tcp, .name = i, .calls = does_a_part() ? 200 : 5000};
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call_often, &callers[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(callers[i].thread, NULL);
        errors += callers[i].errors;
    }
    kolk_resource_pool_stats stats = stats_of(&tcp);
    assert_int_equal(stats.borrows, THREADS * callers[0].calls);
    assert_in_range(stats.peak, 2, CONNECTIONS);
    end_tcp(&tcp);
    stop_echo(&it);
    assert_in_range(errors, 0, it.broken);
    if (breaks_after == 0) assert_in_range(stats.created, 2, CONNECTIONS);
}

/* promise: "thread at a time may send, and one may receive" */
static void test_threads(void **state) {
    call_from_threads(0);
}

static void test_threads_and_broken_connections(void **state) {
    call_from_threads(7);
}

/* ---- Forks ------------------------------------------------------------------------------------------------------- */

typedef struct family {
    kolk_tcp *tcp;
    kolk_borrowed *link;
    int until; /* the child stays until this pipe ends */
} family;

static void be_a_child(void *context) {
    family *it = (family *)context;
    kolk_borrowed own;
    char byte;
    REQUIRE(borrow_until(it->tcp, NULL, soon(), &own) == KOLK_FORKED);
    REQUIRE(kolk_tcp_fd(&own) == -1);
    give_back(it->tcp, it->link);
    kolk_tcp_deinit(it->tcp);
    fprintf(stderr, "done");
    fclose(stderr);
    REQUIRE(read(it->until, &byte, 1) == 0);
}

/* A child has no connections. Its calls leave its parent's connections open. Its copies of descriptors do not keep a
 * connection open that the parent closes. promise: "a child can ... parent closes" */
static void test_forks(void **state) {
    echo it = {.breaks_after = 0};
    start_echo(&it);
    server other = start_server();
    kolk_tcp tcp;
    make_tcp(&tcp, &(kolk_tcp_desc){.address = it.it.address, .pool = {.max = 3}});
    kolk_borrowed idle = borrow(&tcp, NULL), link = borrow(&tcp, NULL), to_other = borrow(&tcp, other.address);
    int peer = accept_one(&other), ends[2], done[2];
    give_back(&tcp, &idle);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(pipe(done), 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        dup2(done[1], STDERR_FILENO);
        close(ends[1]);
        close(peer);
        be_a_child(&(family){.tcp = &tcp, .link = &link, .until = ends[0]});
        _exit(0);
    }
    close(done[1]);
    char bytes[400] = "";
    ssize_t length = read(done[0], bytes, sizeof bytes - 1);
    assert_true(length > 0);
    assert_string_equal(bytes, "done");
    kolk_resource_discard(&tcp.pool, &to_other);
    struct pollfd end = {.fd = peer, .events = POLLIN};
    assert_int_equal(poll(&end, 1, 120000), 1); /* the child still has its copy */
    message question = {.thread = 1};
    assert_true(ask(kolk_tcp_fd(&link), &question, &link.error));
    give_back(&tcp, &link);
    link = borrow(&tcp, NULL);
    idle = borrow(&tcp, NULL);
    assert_int_equal(stats_of(&tcp).created, 3);
    assert_true(ask(kolk_tcp_fd(&idle), &question, &idle.error));
    give_back(&tcp, &link);
    give_back(&tcp, &idle);
    close(ends[1]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close(ends[0]);
    close(done[0]);
    close(peer);
    end_tcp(&tcp);
    stop_server(&other);
    stop_echo(&it);
}

/* ---- Cancellation ------------------------------------------------------------------------------------------------ */

static void *work_though_cancelled(void *argument) {
    caller *me = (caller *)argument;
    kolk_borrowed link;
    message question = {.thread = 1};
    char byte;
    pthread_cancel(pthread_self());
    REQUIRE(borrow_until(me->tcp, NULL, soon(), &link) == KOLK_OK);
    REQUIRE(ask(kolk_tcp_fd(&link), &question, &link.error));
    give_back(me->tcp, &link);
    REQUIRE(borrow_until(me->tcp, NULL, soon(), &link) == KOLK_OK);
    REQUIRE(kolk_tcp_receive(kolk_tcp_fd(&link), &byte, 1, kolk_deadline_after(1), &link.error) == 0);
    give_back(me->tcp, &link);
    me->calls = 1;
    pthread_testcancel();
    me->calls = 2;
    return NULL;
}

static void test_a_cancelled_thread(void **state) {
    echo it = {.breaks_after = 0};
    start_echo(&it);
    kolk_tcp tcp;
    make_tcp_to(&tcp, it.it.address, 1);
    caller me = {.tcp = &tcp};
    run_thread(work_though_cancelled, &me);
    assert_int_equal(me.calls, 1);
    end_tcp(&tcp);
    stop_echo(&it);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, count_descriptors, compare_descriptors)

int main(void) {
    END_IF_IT_HANGS();
    const struct CMUnitTest tests[] = {
        TEST(test_threads),
        TEST(test_threads_and_broken_connections),
        TEST(test_forks),
        TEST(test_a_cancelled_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
