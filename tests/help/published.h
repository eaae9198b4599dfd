/* published.h: the blocks of tests/vectors/snapshot.txt. Include test.h first, then snapshot_block.h. */
#ifndef TESTS_PUBLISHED_H
#define TESTS_PUBLISHED_H

static inline bool is_little_endian(void) {
    uint32_t one = 1;
    return *(unsigned char *)&one == 1;
}

/* Returns the block with this heading. */
static inline block published(const char *byte_order, const char *title) {
    FILE *file = fopen("tests/vectors/snapshot.txt", "r");
    assert_non_null(file);
    char line[400], heading[40];
    unsigned size = 0;
    snprintf(heading, sizeof heading, "%s %s %%u\n", byte_order, title);
    while (size == 0 && fgets(line, sizeof line, file)) sscanf(line, heading, &size);
    assert_true(size > 0);
    block read = new_block(size);
    for (size_t i = 0; i < size; i++) {
        unsigned byte;
        assert_int_equal(fscanf(file, "%2x", &byte), 1);
        read.bytes[i] = (unsigned char)byte;
    }
    fclose(file);
    return read;
}

#endif
