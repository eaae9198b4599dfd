/* resource.c: a resource pool under load. Its resources are elements of an array. One in 32 cannot be created, and one
 * in 64 goes bad. */
#include "services.h"

#include <inttypes.h>

static bool make(void *context, const char *key, kolk_deadline deadline, void **resource, kolk_error *error) {
    struct soak_resource *its = context;
    (void)key, (void)deadline;
    if (soak_below(its->random, 32) == 0) {
        snprintf(error->text, sizeof error->text, "by chance");
        return false;
    }
    its->created++;
    *resource = its;
    return true;
}

static void destroy(void *context, void *resource) {
    struct soak_resource *its = context;
    (void)resource;
    its->destroyed++;
}

static bool validate(void *context, void *resource, kolk_deadline deadline) {
    struct soak_resource *its = context;
    (void)resource, (void)deadline;
    bool good = soak_below(its->random, 64) != 0;
    its->invalid += !good;
    return good;
}

bool soak_resource_begin(struct soak_resource *resource) {
    *resource = (struct soak_resource){0};
    kolk_resource_pool_desc desc = {.name = "soak.resource",
                                    .context = resource,
                                    .create = make,
                                    .destroy = destroy,
                                    .validate = validate,
                                    .validate_after_ms = -1,
                                    .max = SOAK_BORROWS - 2,
                                    .no_housekeeper = true};
    kolk_status status = kolk_resource_init(&resource->pool, &desc);
    return status == KOLK_OK ||
           soak_wrong(&resource->problem, SOAK_SYSTEM, "soak.resource: %s", kolk_status_text(status));
}

static void borrow(struct soak_resource *resource, struct soak_random *random) {
    static const char *const keys[] = {"", "north", "south"};
    kolk_borrow_desc desc = {.key = keys[soak_below(random, 3)], .deadline = KOLK_NOW, .who = "the soak test"};
    kolk_borrowed *out = &resource->borrows[resource->held];
    kolk_status status = kolk_resource_borrow(&resource->pool, &desc, out);
    resource->lent += status == KOLK_OK;
    resource->full += status == KOLK_FULL;
    resource->failed += status == KOLK_NOT_CREATED;
    resource->held += status == KOLK_OK;
    if (status == KOLK_OK && resource->held > SOAK_BORROWS - 2)
        soak_wrong(&resource->problem, SOAK_ROOM, "soak.resource: %u are lent, and %d is its max", resource->held,
                   SOAK_BORROWS - 2);
    if (status != KOLK_OK && status != KOLK_FULL && status != KOLK_NOT_CREATED)
        soak_wrong(&resource->problem, SOAK_WHOLE, "soak.resource: a borrow failed: %s", kolk_status_text(status));
}

void soak_resource_turn(struct soak_resource *resource, struct soak_random *random) {
    resource->random = random;
    if (soak_below(random, 64) == 0) kolk_resource_tick(&resource->pool, KOLK_NOW);
    if (resource->held == 0 || (resource->held < SOAK_BORROWS && soak_below(random, 2) == 0)) {
        borrow(resource, random);
        return;
    }
    kolk_borrowed *place = &resource->borrows[soak_below(random, resource->held)], taken = *place;
    *place = resource->borrows[--resource->held];
    if (soak_below(random, 16) != 0) {
        kolk_resource_give_back(&resource->pool, &taken);
        return;
    }
    kolk_resource_discard(&resource->pool, &taken);
    resource->discarded++;
}

bool soak_resource_check(struct soak_resource *resource) {
    kolk_resource_pool_stats stats;
    kolk_resource_stats(&resource->pool, &stats);
    const struct {
        const char *what;
        uint64_t counted, known;
    } rows[] = {{"borrows", stats.borrows, resource->lent},
                {"borrows that found it full", stats.full, resource->full},
                {"borrows that failed", stats.failed, resource->failed},
                {"creations", stats.created, resource->created},
                {"discards", stats.discarded, resource->discarded},
                {"that went bad", stats.invalid, resource->invalid},
                {"resources in use", stats.in_use, resource->held},
                {"resources in all", stats.in_use + (uint64_t)stats.idle, resource->created - resource->destroyed}};
    if (!kolk_resource_is_valid(&resource->pool))
        soak_wrong(&resource->problem, SOAK_VALID, "soak.resource: its is_valid says no");
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++)
        if (rows[n].counted != rows[n].known)
            soak_wrong(&resource->problem, SOAK_COUNTS,
                       "soak.resource: %s: it counts %" PRIu64 ", and the load %" PRIu64, rows[n].what, rows[n].counted,
                       rows[n].known);
    return !resource->problem.text[0];
}

void soak_resource_end(struct soak_resource *resource) {
    if (!resource->pool.inside) return;
    while (resource->held > 0) kolk_resource_give_back(&resource->pool, &resource->borrows[--resource->held]);
    kolk_resource_deinit(&resource->pool);
}
