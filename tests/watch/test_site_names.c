/* The short names of functions in C++, and names that stay as they are. */
#include "../help/test.h"

#ifdef __linux__

#include "watch/sites_inside.h"

static const char *const names[][2] = {
    {"_Z4firei", "fire"},
    {"_ZL4firev", "fire"},
    {"_Z3subv", "sub"},
    {"_ZN4game5enemy3hitEi", "game::enemy::hit"},
    {"_ZNK4game5enemy3hitEv", "game::enemy::hit"},
    {"_ZN5enemyC1Ev", "enemy::enemy"},
    {"_ZN4game5enemyD2Ev", "game::enemy::~enemy"},
    {"_ZN4poolI5enemyEC2ERKS0_", "pool<...>::pool"},
    {"_ZN12_GLOBAL__N_14loadEv", "(anonymous namespace)::load"},
    {"_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<...>::push_back"},
    {"_ZSt4moveIRiEOT_S1_", "std::move<...>"},
    {"_Z3fooI3barEvT_", "foo<...>"},
    {"_ZN1aI1bLj16EE1cEv", "a<...>::c"},
    {"_ZN3mapINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEiE4findERKS6_", "map<...>::find"},
    {"_ZN4listIJidEE3addIS0_EEvT_", "list<...>::add<...>"},
    {"_ZN5outerINS_5innerIiE4listEE3addEv", "outer<...>::add"},
    {"_ZN3foopLEv", "foo::operator+="},
    {"_ZZ4mainENKUlvE_clEv", "main::{lambda}::operator()"},
    {"_ZN1aIXadL_Z1bEEE1cEv", "a<...>::c"},
    {"_Znwm", "operator new"},
    {"_ZnamRKSt9nothrow_t", "operator new[]"},
    {"_ZdlPv", "operator delete"},
    {"_ZN4shop5storeC2ERKS0_", "shop::store::store"},
    {"_ZN4shop5storeD0Ev", "shop::store::~store"},
    {"_ZNSt15__new_allocatorISt10_List_nodeIiEE8allocateEmPKv", "std::__new_allocator<...>::allocate"},
    {"_ZNSt16allocator_traitsISaISt13_Rb_tree_nodeISt4pairIKiNSt7__cxx1112basic_stringIcSt11char_"
     "traitsIcESaIcEEEEEEE8allocateERSB_m",
     "std::allocator_traits<...>::allocate"},
    {"_ZNSs6appendEPKcm", "std::string::append"},
    {"_ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE5c_strEv", "std::__cxx11::basic_string<...>::c_str"},
    {"_ZN4pool3getB5cxx11Ev", "pool::get"},
    {"_ZN3boxILm16ELb1ELN4shop4kindE2EE4takeEv", "box<...>::take"},
    {"_ZN3boxILi16EE4takeILN4shop4kindE2EEEvv", "box<...>::take<...>"},
    {"_Z4makeIJidEEvDpT_", "make<...>"},
    {"_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_c", "std::operator<<<...>"},
    {"_ZN4shopL3addEv.isra.0", "shop::add.isra.0"},
    /* not understood */
    {"_ZN4shop9toolarge", NULL},
    {"_ZN4shop", NULL},
    {"_ZNI", NULL},
    {"_ZC1", NULL},
    {"_ZThn16_N4shop3addEv", NULL},
    {"_Zebra", NULL},
    {"_ZN3fooC", NULL},
    {"_ZNC1Ev", NULL},
    {"_ZNE", NULL},
    {"_ZSt", NULL},
    {"_Z", NULL},
    {"_ZN99999999999999999999a", NULL},
    {"_ZN4gam", NULL},
    {"main", NULL},
    {"", NULL},
};

static void shorten_to(const char *name, const char *distance, const char *expected, const char *tail) {
    char text[800], whole[800];
    snprintf(text, sizeof text, "by %s%s", name, distance);
    snprintf(whole, sizeof whole, "by %s%s", expected, tail);
    site_text out = {text, sizeof text, strlen(text)};
    kolk_site_shorten_(&out, 3);
    assert_string_equal(text, whole);
    assert_int_equal(out.length, strlen(text));
}

static void test_names(void **state) {
    for (size_t n = 0; n < LENGTH_OF(names); n++) {
        const char *expected = names[n][1] ? names[n][1] : names[n][0];
        shorten_to(names[n][0], "", expected, "");
        shorten_to(names[n][0], "+0x2c", expected, "+0x2c");
    }
}

/* A name that was cut, or a buffer that is just as long as the text. */
static void test_cut_names(void **state) {
    for (size_t n = 0; n < LENGTH_OF(names); n++) {
        for (size_t length = 0; length <= strlen(names[n][0]); length++) {
            char *exact = (char *)malloc(length + 1);
            assert_non_null(exact);
            memcpy(exact, names[n][0], length);
            exact[length] = 0;
            site_text out = {exact, length + 1, length};
            kolk_site_shorten_(&out, 0);
            assert_true(out.length <= length && exact[out.length] == 0 && strlen(exact) == out.length);
            free(exact);
        }
    }
}

static void test_a_long_name(void **state) {
    char name[800] = "_ZN", expected[800] = "";
    for (int n = 0; n < 80; n++) strcat(name, "7enemies");
    strcat(name, "Ev");
    snprintf(expected, sizeof expected, "%s", name);
    shorten_to(name, "", expected, ""); /* it would have more than KOLK_CXX_NAME_ROOM_ bytes */

    /* A constructor repeats the name of its class: it must not do so without end. */
    snprintf(name, sizeof name, "_ZN50%050d", 0);
    for (int n = 0; n < 50; n++) strcat(name, "C1");
    strcat(name, "Ev");
    shorten_to(name, "", name, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_cut_names),
        cmocka_unit_test(test_a_long_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void) {
    puts("skipped: kolk finds names of functions only on Linux");
    return 0;
}

#endif
