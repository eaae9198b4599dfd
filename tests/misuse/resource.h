/* resource.h: misuse.h for resource pools. These programs exist for kolk only, because malloc has nothing similar. */
#ifndef KOLK_TESTS_MISUSE_RESOURCE_H
#define KOLK_TESTS_MISUSE_RESOURCE_H

#include "misuse.h"

#include <kolk/resource.h>

static bool create(void *context, const char *key, kolk_deadline deadline, void **resource, kolk_error *error) {
    (void)context, (void)key, (void)deadline, (void)error;
    *resource = malloc(SIZE);
    return *resource;
}

static void destroy(void *context, void *resource) {
    (void)context;
    free(resource);
}

static inline void open_links(kolk_resource_pool *links, kolk_resource_pool_desc desc) {
    if (!desc.name) desc.name = "links";
    if (!desc.create) desc.create = create;
    desc.destroy = destroy;
    desc.no_housekeeper = true;
    if (kolk_resource_init(links, &desc) != KOLK_OK) exit(1);
}

static inline void close_links(kolk_resource_pool *links) {
    stage("deinit");
    kolk_resource_deinit(links);
}

/* Borrows a resource; on failure prints the failure's sentence, up to the numbers. */
static inline kolk_borrowed borrow(kolk_resource_pool *links) {
    kolk_borrowed one;
    kolk_borrow_desc desc = {.deadline = kolk_deadline_after(50), .who = "a thread"};
    stage("borrow");
    if (kolk_resource_borrow(links, &desc, &one) != KOLK_OK) fprintf(stderr, "answer: %s\n", one.error.text);
    return one;
}

static inline void give(kolk_resource_pool *links, kolk_borrowed *one) {
    stage("give_back");
    kolk_resource_give_back(links, one);
}

#endif
