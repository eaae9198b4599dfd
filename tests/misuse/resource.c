/* The mistakes with resource pools. They exist for kolk only, because malloc has nothing similar. */
#define _DEFAULT_SOURCE 1
#define RESOURCE        1
#include "misuse.h"

#include <sys/wait.h>
#include <unistd.h>

/* Borrows a resource; on failure prints the failure's sentence, up to the numbers. */
static kolk_borrowed borrow(pool *links) {
    kolk_borrowed one;
    kolk_borrow_desc desc = {.deadline = kolk_deadline_after(50), .who = "a thread"};
    stage("borrow");
    if (kolk_resource_borrow(links, &desc, &one) != KOLK_OK) fprintf(stderr, "answer: %s\n", one.error.text);
    return one;
}

static void give(pool *links, kolk_borrowed *one) {
    stage("give_back");
    kolk_resource_give_back(links, one);
}

static bool create_and_borrow(void *context, const char *key, kolk_deadline deadline, void **resource,
                              kolk_error *error) {
    kolk_borrowed other = {.resource = NULL};
    WRONG(other = borrow(&items));
    kolk_resource_give_back(&items, &other);
    return create(context, key, deadline, resource, error);
}

WHOLE_MISTAKE(resource_borrow_in_create, "borrow in create, of the same pool", "resource") {
    open_desc(&items, (kolk_resource_pool_desc){.name = "items", .max = 1, .create = create_and_borrow});
    kolk_borrowed one = borrow(&items);
    give(&items, &one);
    close_pool(&items);
}

static bool create_and_end(void *context, const char *key, kolk_deadline deadline, void **resource, kolk_error *error) {
    stage("deinit");
    WRONG(kolk_resource_deinit(&items));
    return create(context, key, deadline, resource, error);
}

WHOLE_MISTAKE(resource_deinit_in_create, "deinit in create, of the same pool", "resource") {
    open_desc(&items, (kolk_resource_pool_desc){.name = "items", .max = 1, .create = create_and_end});
    kolk_borrowed one = borrow(&items);
    give(&items, &one);
    close_pool(&items);
}

MISTAKE(resource_fork, "borrow in a fork's child", "resource") {
    kolk_borrowed one;
    pid_t child = fork();
    if (child == 0) {
        WRONG(one = borrow(&items));
        _exit(0);
    }
    RIGHT(one = borrow(&items));
    RIGHT(give(&items, &one));
    waitpid(child, NULL, 0);
}

WHOLE_MISTAKE(resource_give_back_deinit, "give_back after deinit", "resource") {
    open_pool(&items, "items");
    kolk_borrowed one = borrow(&items);
    RIGHT(give(&items, &one));
    close_pool(&items);
    WRONG(give(&items, &one));
}

MISTAKE(resource_give_back_twice, "second give_back, at once", "resource") {
    kolk_borrowed one = borrow(&items);
    give(&items, &one);
    WRONG(give(&items, &one));
}

MISTAKE(resource_give_back_twice_reused, "second give_back, another borrow in between", "resource") {
    kolk_borrowed one = borrow(&items);
    give(&items, &one);
    kolk_borrowed other = borrow(&items);
    WRONG(give(&items, &one));
    give(&items, &other);
}

MISTAKE(resource_give_back_wrong_pool, "give_back to another pool", "resource") {
    open_pool(&others, "others");
    kolk_borrowed one = borrow(&items);
    WRONG(give(&others, &one));
    give(&items, &one);
    close_pool(&others);
}

MISTAKE(resource_kept_discarded, "use of a resource after its discard", "resource") {
    kolk_borrowed one = borrow(&items);
    unsigned char *resource = one.resource;
    __asm__ volatile("" : "+r"(resource));
    RIGHT(write_bytes(resource, SIZE));
    kolk_resource_discard(&items, &one);
    WRONG(write_bytes(resource, SIZE));
}

MISTAKE(resource_kept_given_back, "use of a resource after its give_back", "resource") {
    kolk_borrowed one = borrow(&items);
    void *resource = one.resource;
    RIGHT(write_bytes(resource, SIZE));
    give(&items, &one);
    WRONG(write_bytes(resource, SIZE));
}

WHOLE_MISTAKE(resource_leak_after, "not given back for longer than leak_after_ms", "resource") {
    open_desc(&items, (kolk_resource_pool_desc){.name = "items", .max = 2, .leak_after_ms = 10});
    kolk_borrowed one = borrow(&items);
    RIGHT(give(&items, &one));
    WRONG(usleep(20000));
    stage("tick");
    kolk_resource_tick(&items, KOLK_FOREVER);
    WRONG(give(&items, &one));
    close_pool(&items);
}

MISTAKE(resource_leak_deinit, "never given back, up to deinit", "resource") {
    static kolk_borrowed one;
    one = borrow(&items);
    RIGHT(give(&items, &one));
    WRONG((void)one);
}

WHOLE_MISTAKE(resource_leak_exit, "never given back, up to exit", "resource") {
    static kolk_borrowed one;
    open_pool(&items, "items");
    one = borrow(&items);
    RIGHT(give(&items, &one));
    RIGHT(close_pool(&items));
    WRONG((void)one);
}
