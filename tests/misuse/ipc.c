/* The mistakes that only exist with pools between processes. */
#define _GNU_SOURCE 1
#define IPC         1
#include "misuse.h"

#include <errno.h>
#include <fcntl.h>

static void push(void *item) {
    stage("push");
    __asm__ volatile("" : "+r"(item));
    kolk_ipc_push(&items, 0, item, KOLK_NOW);
}

static void *pop(void) {
    stage("pop");
    void *item = kolk_ipc_pop(&items, 0, KOLK_NOW);
    __asm__ volatile("" : "+r"(item));
    if (!item) fputs("answer: NULL\n", stderr);
    return item;
}

MISTAKE(ipc_queued_free, "free of an object that is in a queue", "ipc") {
    void *item = take(&items);
    push(item);
    WRONG(give_back(&items, item));
    give_back(&items, pop());
}

MISTAKE(ipc_queued_push, "push of an object that is in a queue", "ipc") {
    void *item = take(&items);
    push(item);
    WRONG(push(item));
    give_back(&items, pop());
}

MISTAKE(ipc_queued_write, "write to an object that is in a queue", "ipc") {
    void *item = take(&items);
    RIGHT(write_bytes(item, SIZE));
    push(item);
    WRONG(write_bytes(item, SIZE));
    give_back(&items, pop());
}

MISTAKE(ipc_queue_missing, "push to a queue that does not exist", "ipc") {
    void *item = take(&items);
    WRONG(kolk_ipc_push(&items, 1, item, KOLK_NOW));
    give_back(&items, item);
}

WHOLE_MISTAKE(ipc_fork_free, "free of the parent's object by a fork's child", "ipc") {
    program_invocation_short_name = (char *)"server"; /* the report has it */
    open_pool(&items, "items");
    void *item = take(&items);
    pid_t child = fork();
    if (child == 0) {
        RIGHT(give_back(&items, take(&items)));
        WRONG(give_back(&items, item));
        _exit(0);
    }
    waitpid(child, NULL, 0);
    give_back(&items, item);
    close_pool(&items);
}

/* Attaches as a process does that got the file, which is open for reading only or not. */
static void attach(pool *pool, int flags) {
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", kolk_ipc_fd(&items));
    int file = open(path, flags | O_CLOEXEC);
    if (kolk_ipc_attach(pool, file, &(kolk_ipc_desc){.name = "items"}) != KOLK_OK) exit(1);
    close(file);
}

MISTAKE(ipc_address_written, "free by an address that another process has written", "ipc") {
    attach(&others, O_RDWR);
    void **item = take(&others);
    *item = item;
    kolk_ipc_push(&others, 0, item, KOLK_NOW);
    item = pop();
    WRONG(give_back(&items, *item));
    give_back(&items, item);
    close_pool(&others);
}

MISTAKE(ipc_reader_alloc, "alloc in a pool that may only be read", "ipc") {
    attach(&others, O_RDONLY);
    RIGHT(give_back(&items, take(&items)));
    WRONG(take(&others));
    close_pool(&others);
}

MISTAKE(ipc_reader_write, "write to an object in a pool that may only be read", "ipc") {
    attach(&others, O_RDONLY);
    void *item = take(&items);
    RIGHT(write_bytes(item, SIZE));
    WRONG(write_bytes(kolk_ipc_get(&others, handle_of(&items, item)), SIZE));
    give_back(&items, item);
    close_pool(&others);
}
