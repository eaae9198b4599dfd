/* The demo: all storages hold the same sparkles; the heap of 16 bytes refuses an allocation that the pool serves; bits,
 * holes and bytes agree with the texts; the map of the slots is right; and pictures contain what was drawn. */
#include "shown.h"

#include <png.h>
#include <unistd.h>

#include "demo/picture.h"

/* ---- The spell --------------------------------------------------------------------------------------------------- */

struct outcome {
    uint64_t checksum;
    uint32_t refused, peak;
};

static struct outcome cast(const struct storage *storage, const struct spell *spell) {
    struct outcome outcome = {0};
    struct wand wand;
    uint64_t alive = 0;
    assert_true(wand_init(&wand, spell));
    struct store *store = storage->begin(spell->sparkles);
    assert_non_null(store);
    for (uint32_t frame = 0; frame < spell->frames; frame++) {
        uint32_t births = wand_wave(&wand);
        assert_int_equal(births, spell->births[frame]);
        outcome.refused += storage->create(store, wand.births, births);
        outcome.checksum += storage->animate(store, spell->physics);
        if (storage != &storages[STORAGE_KOLK]) continue;
        assert_true(sparkles_is_valid(store_pool(store)));
        alive = sparkles_count(store_pool(store));
    }
    outcome.checksum += storage->alive(store);
    if (storage == &storages[STORAGE_KOLK]) {
        kolk_stats stats;
        sparkles_stats(store_pool(store), &stats);
        outcome.peak = stats.peak;
        assert_int_equal(stats.count, alive);
        assert_int_equal(stats.failed, outcome.refused);
    }
    storage->end(store);
    wand_deinit(&wand);
    return outcome;
}

static struct outcome cast_kolk(uint32_t most, uint32_t frames, uint64_t seed, bool physics) {
    struct spell spell = {.sparkles = most, .frames = frames, .seed = seed, .physics = physics};
    assert_true(spell_init(&spell));
    struct outcome outcome = cast(&storages[STORAGE_KOLK], &spell);
    spell_deinit(&spell);
    return outcome;
}

static void all_store_the_same(void **state) {
    static const uint32_t sizes[] = {1, 2, 64, 500, 3000};
    (void)state;
    for (size_t n = 0; n < LENGTH_OF(sizes); n++) {
        struct spell spell = {.sparkles = sizes[n], .frames = 230, .seed = n, .physics = n % 2 != 0};
        assert_true(spell_init(&spell));
        struct outcome kolk = cast(&storages[STORAGE_KOLK], &spell);
        for (int at = 0; at < STORAGES; at++) {
            struct outcome outcome = cast(&storages[at], &spell);
            assert_int_equal(outcome.checksum, kolk.checksum);
            assert_int_equal(outcome.refused, kolk.refused);
        }
        spell_deinit(&spell);
    }
}

static void peak_is_what_was_asked_for(void **state) {
    (void)state;
    assert_int_equal(cast_kolk(100000, 230, 1, false).peak, 100000);
    assert_in_range(cast_kolk(100000, 20, 1, false).peak, 99000, 100000); /* a spell without a whole wave */
    struct outcome one = cast_kolk(1, 1, 1, false);
    assert_int_equal(one.peak + one.refused, 1);
}

static void seed_and_physics_decide(void **state) {
    (void)state;
    uint64_t checksum = cast_kolk(1000, 100, 1, false).checksum;
    assert_int_equal(cast_kolk(1000, 100, 1, false).checksum, checksum);
    assert_int_not_equal(cast_kolk(1000, 100, 2, false).checksum, checksum);
    assert_int_not_equal(cast_kolk(1000, 100, 1, true).checksum, checksum);
}

static void checksum_has_no_order(void **state) {
    struct sparkle a = {.frames_left = 3, .x = 0.5, .y = -0.25}, b = {.frames_left = 3, .x = -0.25, .y = 0.5}, c = a;
    (void)state;
    assert_int_not_equal(sparkle_checksum(&a), sparkle_checksum(&b));
    c.frames_left = 2;
    assert_int_not_equal(sparkle_checksum(&a), sparkle_checksum(&c));
    c = a;
    c.x = 0.5000000000000001;
    assert_int_not_equal(sparkle_checksum(&a), sparkle_checksum(&c));
}

/* ---- What is shown ----------------------------------------------------------------------------------------------- */

static void heap_refuses_and_pool_serves(void **state) {
    char *text = shown(demo_fragments, false);
    (void)state;
    assert_fits(text);
    assert_has(text, "  C takes 7  AAAAAAABBCCCCCCC         [AAAAAAA.....][BB..........][CCCCCCC.....]\n");
    assert_has(text, "  D takes 12 .......BB....... refused [............][BB..........][DDDDDDDDDDDD]\n");
    assert_has(text, "14 of 16 bytes are free, in holes of at most 7: D's 12 are refused.\n");
    assert_has(text, "  C takes 6  AAAAAAAABBCCCCCC         [AAAAAAAA....][BB..........][CCCCCC......]\n");
    assert_has(text, "  D takes 12 ........BB...... refused [............][BB..........][DDDDDDDDDDDD]\n");
    assert_has(text, "14 of 16 bytes are free, in holes of at most 8: D's 12 are refused.\n");
    assert_has(text, "1 of 3 are still free");
    free(text);
}

static void bits_are_those_of_bitpool(void **state) {
    static const char *const lines[] = {
        "  a new pool            11111111 01111111          15\n",
        "  GetObject         0   11111110 01111111          14\n",
        "  ... and 13 more  14   00000000 00000000           0\n",
        "  GetObject      none   00000000 00000000           0\n",
        "  ReturnObject      9   00000000 00000010           1\n",
        "  ReturnObject      2   00000100 00000010           2\n",
        "  GetObject         2   00000000 00000010           1\n",
        "with only slot 999,999 free:\n",
    };
    char *text = shown(demo_bitpool, false), *json = shown(demo_bitpool, true);
    (void)state;
    assert_fits(text);
    for (size_t n = 0; n < LENGTH_OF(lines); n++) assert_has(text, lines[n]);
    assert_has(json, "\"free_bits\": \"1111111101111111\",\n      \"available\": 15\n");
    assert_has(json, "\"call\": \"GetObject\",\n      \"free_bits\": \"0000000000000000\""); /* no slot */
    assert_has(json, "\"found_bit_by_bit\": 999999,\n  \"found_by_kolk\": 999999,\n");
    free(text);
    free(json);
}

static double mean_run_of(const char *json, const char *order) {
    const char *at = strstr(json, order);
    assert_non_null(at);
    at = strstr(at, "\"mean_run\": ");
    assert_non_null(at);
    return strtod(at + strlen("\"mean_run\": "), NULL);
}

static void holes_are_those_of_the_article(void **state) {
    static const char *const lines[] = {
        "  full       xxxxxxxxxx                         xxxxxxxxxx\n",
        "  remove(3)  xxx^xxxxxx                         xxx^xxxxxx\n",
        "  remove(8)  xxx-xxxx^x                         xxx^xxxx-x\n",
        "  remove(5)  xxx-x^xx-x                         xxx^x-xx-x\n",
        "  remove(4)  xxx-^-xx-x                         xxx^--xx-x\n",
        "  add()      xxx-o^xx-x                         xxxo^-xx-x\n",
        "  add()      xxx-ooxx^x                         xxxoo^xx-x\n",
        "  add()      xxx^ooxxox                         xxxoooxx^x\n",
        "  add()      xxxoooxxox                         xxxoooxxox\n",
    };
    char *text = shown(demo_components, false), *json = shown(demo_components, true);
    (void)state;
    assert_fits(text);
    for (size_t n = 0; n < LENGTH_OF(lines); n++) assert_has(text, lines[n]);
    assert_has(json,
               "\"LIFO\": {\n    \"maps\": [\n      \"xxxxxxxxxx\",\n      \"xxx^xxxxxx\",\n      \"xxx-xxxx^x\",");
    assert_has(json, "\"xxxoooxx^x\",\n      \"xxxoooxxox\"\n    ],\n    \"slots\": 100000,\n");
    double lifo = mean_run_of(json, "\"LIFO\""), lowest = mean_run_of(json, "\"LOWEST\"");
    assert_true(lifo > 1.9 && lifo < 2.1); /* each slot is alive with probability 1/2 */
    assert_true(lowest > 50);
    free(text);
    free(json);
}

static void bytes_are_those_of_the_games(void **state) {
    static const char *const lines[] = {
        "  Initialise(4)                   80 80 80 80           -1   0 / 4   NULL\n",
        "  New                       257   01 01 80 80            1   2 / 4   object 2\n",
        "  Delete                    257   01 81 01 80            1   2 / 4   NULL\n",
        "  New                       769   01 81 01 01            3   3 / 4   NULL\n", /* slot 1 is skipped */
        "  New                       258   01 02 01 01            1   4 / 4   NULL\n",
        "  New                      none   01 02 01 01           -1   4 / 4   NULL\n",
        "  ... life 129 of slot 1    257   01 01 01 01            1   4 / 4   object 132\n",
        "Handle 257 comes again after 128 lives of its slot,",
        "kolk_handle after 4,294,967,295. At 60 a second: 2.1 seconds, and 828 days.\n",
        "peds       60 / 140   68 / 140     9     1         3\n",
        "vehicles  108 / 110  109 / 110     2     1         2\n",
        "  slot   0 died      handle     1, now    -1\n",
        "  slot  36 replaced  handle  9217, now  9218\n",
        "  slot 109 born      handle    -1, now 27906\n",
    };
    char *text = shown(demo_gta, false), *json = shown(demo_gta, true);
    (void)state;
    assert_fits(text);
    for (size_t n = 0; n < LENGTH_OF(lines); n++) assert_has(text, lines[n]);
    assert_has(json, "\"call\": \"Initialise\",\n      \"byte_map\": [\n        128,"); /* no handle */
    assert_has(json, "\"first_free\": -1,\n      \"used\": 4\n");                       /* and 257 finds nothing */
    assert_has(json, "\"used\": 4,\n      \"object_of_257\": 132\n");
    assert_has(json,
               "\"lives_until_257_again\": 128,\n  \"lives_until_kolk_handle_again\": 4294967295,\n  \"peds\": {");
    assert_has(json, "\"vehicles\": {\n    \"count\": 110,\n    \"used_before\": 108,\n    \"used\": 109,\n");
    assert_has(json, "\"slot\": 0,\n        \"change\": \"died\",\n        \"before\": 1\n      }");
    assert_has(json, "\"slot\": 109,\n        \"change\": \"born\",\n        \"after\": 27906\n      }");
    free(text);
    free(json);
}

static void queue_blocks_as_the_texts(void **state) {
    static const char *const lines[] = {
        "  a new queue                                       . . . .\n",
        "  Add 1 to 4                                        1 2 3 4\n",
        "  Add 5, at once            it is full              1 2 3 4\n",
        "  Add 5, 10 ms              the deadline has passed 1 2 3 4\n",
        "  Add 5 waits; Remove       1                       2 3 4 5\n",
        "  Clear                     4 dropped               . . . .\n",
        "  Remove waits; Shutdown    it is shut down         . . . .\n",
        "  Add 6                     it is shut down         . . . .\n",
        "  Add 6                                             6 . . .\n",
        "  Remove                    6                       . . . .\n",
        "2 readers pass 200,000 numbers through a queue of 1,024:\n",
    };
    char *text = shown(demo_queue, false), *json = shown(demo_queue, true);
    (void)state;
    assert_fits(text);
    for (size_t n = 0; n < LENGTH_OF(lines); n++) assert_has(text, lines[n]);
    assert_has(json, "\"call\": \"Add 5 waits; Remove\",\n      \"status\": \"done\",\n      \"number\": 1,\n");
    assert_has(json, "\"inside\": [\n        2,\n        3,\n        4,\n        5\n      ]");
    assert_has(json,
               "\"call\": \"Remove waits; Shutdown\",\n      \"status\": \"it is shut down\",\n      \"inside\": []\n");
    assert_has(json, "\"items\": 200000,\n  \"lock_ns\": ");
    free(text);
    free(json);
}

static void slot_map_counts(void **state) {
    sparkles pool;
    struct sparkle *objects[100];
    float densities[100];
    (void)state;
    assert_int_equal(sparkles_init(&pool, &(kolk_pool_desc){.name = "map", .capacity = 100}), KOLK_OK);
    slot_densities(&pool, densities, 3);
    for (int n = 0; n < 3; n++) assert_true(densities[n] == 0);
    assert_int_equal(sparkles_alloc_n(&pool, objects, 100), 100);
    for (int n = 0; n < 50; n += 2) sparkles_free(&pool, objects[n]);
    slot_densities(&pool, densities, 4);
    assert_true(densities[0] == 0.48f); /* 12 of the slots 0 to 24 */
    assert_true(densities[1] == 0.52f);
    assert_true(densities[2] == 1);
    assert_true(densities[3] == 1);
    slot_densities(&pool, densities, 100);
    for (int n = 0; n < 100; n++) assert_true(densities[n] == (n < 50 && n % 2 == 0 ? 0 : 1));
    sparkles_deinit(&pool);
}

static void pictures_are_what_was_drawn(void **state) {
    enum { SIDE = 40 };
    static struct light light[SIDE * SIDE];
    static unsigned char bytes[SIDE * SIDE * 3];
    char path[] = "/tmp/kolk-test-demo-XXXXXX";
    struct picture picture = {SIDE, SIDE, light};
    (void)state;
    for (int n = 0; n < SIDE * SIDE; n++) { /* more than 256 colors */
        float part = (float)n / (SIDE * SIDE);
        light[n] = (struct light){3 * part, 2 * (1 - part), (float)(n % SIDE) / SIDE};
    }
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    assert_true(picture_write(&picture, path));
    png_image image = {.version = PNG_IMAGE_VERSION};
    assert_true(png_image_begin_read_from_file(&image, path));
    assert_int_equal(image.width, SIDE);
    assert_int_equal(image.height, SIDE);
    image.format = PNG_FORMAT_RGB;
    assert_true(png_image_finish_read(&image, NULL, bytes, 0, NULL));
    unlink(path);
    for (int n = 0; n < SIDE * SIDE; n++) {
        assert_in_range(255 * exposed(light[n].red) + 24, bytes[3 * n], bytes[3 * n] + 48);
        assert_in_range(255 * exposed(light[n].green) + 24, bytes[3 * n + 1], bytes[3 * n + 1] + 48);
        assert_in_range(255 * exposed(light[n].blue) + 24, bytes[3 * n + 2], bytes[3 * n + 2] + 48);
    }
    assert_false(picture_write(&picture, "/nonexistent/kolk.png"));
}

static void one_color_is_a_picture(void **state) {
    static struct light light[4];
    char path[] = "/tmp/kolk-test-demo-XXXXXX";
    struct picture picture = {2, 2, light};
    (void)state;
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    assert_true(picture_write(&picture, path));
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_store_the_same),
        cmocka_unit_test(peak_is_what_was_asked_for),
        cmocka_unit_test(seed_and_physics_decide),
        cmocka_unit_test(checksum_has_no_order),
        cmocka_unit_test(heap_refuses_and_pool_serves),
        cmocka_unit_test(bits_are_those_of_bitpool),
        cmocka_unit_test(holes_are_those_of_the_article),
        cmocka_unit_test(bytes_are_those_of_the_games),
        cmocka_unit_test(queue_blocks_as_the_texts),
        cmocka_unit_test(slot_map_counts),
        cmocka_unit_test(pictures_are_what_was_drawn),
        cmocka_unit_test(one_color_is_a_picture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
