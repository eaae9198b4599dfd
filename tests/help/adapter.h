/* wraps: kolk_resource_init_abi_ */
/* adapter.h: a contract of the adapters. Each member of the resource pool's descriptor that a program sets in an
 * adapter's descriptor reaches the resource pool, or is refused: no member is ignored. A test defines init_adapter and
 * calls test_descriptor. Include test.h first. */
#ifndef TESTS_ADAPTER_H
#define TESTS_ADAPTER_H

#include <kolk/resource.h>
#include <string.h>

typedef struct pool_member {
    const char *name;
    size_t offset, size;
} pool_member;

#define MEMBER(member)                                                                                                 \
    { #member, offsetof(kolk_resource_pool_desc, member), sizeof(((kolk_resource_pool_desc *)0)->member) }

/* All members, in their order. */
static const pool_member pool_members[] = {
    MEMBER(name),
    MEMBER(context),
    MEMBER(create),
    MEMBER(destroy),
    MEMBER(validate),
    MEMBER(reset),
    MEMBER(max),
    MEMBER(min_idle),
    MEMBER(max_creating),
    MEMBER(idle_timeout_ms),
    MEMBER(max_lifetime_ms),
    MEMBER(keepalive_ms),
    MEMBER(validate_after_ms),
    MEMBER(leak_after_ms),
    MEMBER(warn_nested),
    MEMBER(strict_order),
    MEMBER(create_timeout_ms),
    MEMBER(reuse),
    MEMBER(look),
    MEMBER(no_housekeeper),
    MEMBER(log),
    MEMBER(slow_borrow_ms),
    MEMBER(debug),
};

/* The descriptor that the adapter's init gave to the resource pool; the first one, if there are two. */
static kolk_resource_pool_desc passed_on;
static unsigned inits;

kolk_status __wrap_kolk_resource_init_abi_(kolk_resource_pool *pool, const kolk_resource_pool_desc *desc,
                                           size_t pool_size, uint32_t abi);
kolk_status __wrap_kolk_resource_init_abi_(kolk_resource_pool *pool, const kolk_resource_pool_desc *desc,
                                           size_t pool_size, uint32_t abi) {
    (void)pool, (void)pool_size, (void)abi;
    if (inits++ == 0) passed_on = *desc;
    return KOLK_OK;
}

static int users_context;
static unsigned users_events;

static void users_log(void *context, const kolk_resource_event *event) {
    assert_ptr_equal(context, &users_context);
    assert_int_equal(event->ns, 7);
    users_events++;
}

/* Calls the adapter's init with this pool and whatever else it needs. */
static kolk_status init_adapter(const kolk_resource_pool_desc *pool);

static const char *refused_members;

static void test_nothing_is_ignored(void **state) {
    (void)state;
    size_t end = 0;
    for (size_t n = 0; n < LENGTH_OF(pool_members); n++) {
        const pool_member *its = &pool_members[n];
        bool follows = its->offset >= end && its->offset - end < its->size; /* with nothing but padding between */
        if (!follows) fail_msg("pool_members lacks a member before %s", its->name);
        end = its->offset + its->size;

        char word[64];
        kolk_resource_pool_desc desc = {.name = NULL};
        snprintf(word, sizeof word, " %s ", its->name);
        bool is_name = its->offset == offsetof(kolk_resource_pool_desc, name);
        if (is_name)
            desc.name = "the user's";
        else
            ((unsigned char *)&desc)[its->offset] = 1; /* the lowest byte, or the highest one */
        inits = 0;
        kolk_status status = init_adapter(&desc);
        if (strstr(refused_members, word)) {
            if (status != KOLK_SET_BY_ADAPTER) fail_msg("%s is not refused: %s", its->name, kolk_status_text(status));
            assert_int_equal(inits, 0);
            continue;
        }
        if (status != KOLK_OK) fail_msg("%s is refused: %s", its->name, kolk_status_text(status));
        bool is_relayed = strstr(" context log ", word) != NULL;
        if (is_name) assert_memory_equal(passed_on.name, desc.name, strlen(desc.name));
        if (!is_name && !is_relayed &&
            memcmp((char *)&passed_on + its->offset, (char *)&desc + its->offset, its->size) != 0)
            fail_msg("%s is ignored", its->name);
    }
    size_t rest = sizeof(kolk_resource_pool_desc) - end;
    if (rest >= _Alignof(kolk_resource_pool_desc)) fail_msg("pool_members lacks a member at its end");
}

/* The adapter's functions have a context of their own, but the user's `log` gets the user's. */
static void test_log_has_its_context(void **state) {
    (void)state;
    inits = 0;
    users_events = 0;
    assert_int_equal(init_adapter(&(kolk_resource_pool_desc){.context = &users_context, .log = users_log}), KOLK_OK);
    assert_non_null(passed_on.log);
    passed_on.log(passed_on.context, &(kolk_resource_event){.ns = 7});
    assert_int_equal(users_events, 1);
    inits = 0;
    assert_int_equal(init_adapter(&(kolk_resource_pool_desc){.context = &users_context}), KOLK_OK);
    assert_null(passed_on.log);
}

/* `refused` lists the members that must be refused as KOLK_SET_BY_ADAPTER, each with a space before and after it. */
static int test_descriptor(const char *refused) {
    refused_members = refused;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_ignored),
        cmocka_unit_test(test_log_has_its_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
