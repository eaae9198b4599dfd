/* The demo's stop about trays: each way of packing wastes as much as in examples/trays.c, departures leave space for
 * other luggage, and the picture shows both. tests/preload/preload.sh tests the real program. */
#include "shown.h"

#include <png.h>
#include <unistd.h>

static bool has_trays(void) {
    kolk_heap heap = {0};
    bool made = kolk_heap_init(&heap, &(kolk_heap_desc){.name = "trays"}) == KOLK_OK && heap.n_classes > 0;
    kolk_heap_deinit(&heap);
    return made;
}

static void trays_waste_as_the_example(void **state) {
    static const char *const lines[] = {
        "        one size for all        the airport's sizes     kolk's own sizes\n",
        " 8,192  ::::::::::::::::::::::                       :                       :\n",
        "   512  ::::::::::::::::::::##                      ##                      ##\n",
        "    64  :::::::::::::::#######                :#######                :#######\n",
        "    16  ::####################  ::####################  ::####################\n",
        "one size for all                1  16,384,000  96.2 %\n",
        "the airport's sizes             4     955,488  34.8 %\n",
        "kolk's own sizes               24     682,576   8.7 %\n",
        "\nthe things  32.4 MiB  15.7 MiB  15.7 MiB   31.8 MiB   32.4 MiB\n",
    };
    char *text = shown(demo_luggage, false), *json = shown(demo_luggage, true);
    (void)state;
    assert_fits(text);
    if (has_trays()) {
        for (size_t n = 0; n < LENGTH_OF(lines); n++) assert_has(text, lines[n]);
        assert_has(json, "\"things\": 2000,\n  \"bytes\": 623381,\n");
        assert_has(json, "\"name\": \"kolk's own sizes\",\n      \"sizes\": 24,\n      \"bytes\": 682576,\n");
    } else {
        assert_has(text, "Trays are left out: ");
        assert_has(json, "\"left_out\": ");
    }
    assert_has(text, "A real program"); /* on a heap, or left out: preload.sh tests the first case */
    assert_has(json, "\"program");
    free(text);
    free(json);
}

/* Returns the number that follows this key, after the name of a side. */
static double number_of(const char *json, const char *name, const char *key) {
    const char *at = strstr(json, name);
    assert_non_null(at);
    at = strstr(at, key);
    assert_non_null(at);
    return strtod(strchr(at, ':') + 1, NULL);
}

static void departures_leave_room(void **state) {
    static const char *const sides[] = {"\"kolk_heap\"", "\"malloc\""};
    (void)state;
    if (!has_trays() || SLOW) skip(); /* a sanitizer's malloc keeps freed blocks */
    char *json = shown(demo_luggage, true);
    for (size_t n = 0; n < LENGTH_OF(sides); n++) {
        double all = number_of(json, sides[n], "\"all_resident\""),
               again = number_of(json, sides[n], "\"again_resident\"");
        double half = number_of(json, sides[n], "\"half_bytes\""), least = number_of(json, sides[n], "\"all_bytes\"");
        double trimmed = number_of(json, sides[n], "\"trimmed_resident\"");
        assert_true(all > least && all < 1.3 * least);
        assert_true(trimmed > half && trimmed < all);
        assert_true(again < 1.05 * all); /* the new blocks went into the gaps */
        assert_true(number_of(json, sides[n], "\"suitcases_resident\"") >
                    number_of(json, sides[n], "\"suitcases_bytes\""));
    }
    double heap = number_of(json, sides[0], "\"trimmed_resident\"");
    assert_true(heap < 0.75 * number_of(json, sides[0], "\"all_resident\""));
    free(json);
}

static void trays_are_a_picture(void **state) {
    char directory[] = "/tmp/kolk-test-demo-XXXXXX", path[64], *text = NULL;
    size_t length = 0;
    (void)state;
    if (!has_trays()) skip();
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/kolk-demo-trays.png", directory);
    struct demo demo = {.pictures = true, .directory = directory};
    cli_context cli = {.out = open_memstream(&text, &length), .seed = 1};
    assert_int_equal(demo_luggage(&cli, &demo, NULL), CLI_OK);
    fclose(cli.out);
    assert_has(text, "\npicture: /tmp/kolk-test-demo-");
    free(text);

    static unsigned char bytes[360 * 1080 * 3]; /* of three panels */
    png_image image = {.version = PNG_IMAGE_VERSION};
    assert_true(png_image_begin_read_from_file(&image, path));
    assert_int_equal(image.width, 1080);
    assert_int_equal(image.height, 360);
    image.format = PNG_FORMAT_RGB;
    assert_true(png_image_finish_read(&image, NULL, bytes, 0, NULL));
    unlink(path);
    rmdir(directory);
    const unsigned char *waste = bytes, *nothing = bytes + 3 * 400, *suitcase = bytes + 3 * (360 * 1080 - 1);
    assert_true(waste[2] > 60 && nothing[2] < 40); /* above a key: its tray, if there is one size */
    assert_true(suitcase[0] > 150);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trays_waste_as_the_example),
        cmocka_unit_test(departures_leave_room),
        cmocka_unit_test(trays_are_a_picture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
