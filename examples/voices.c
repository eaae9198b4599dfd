/* 4 voices. When all are playing, a new sound replaces the quietest one: its owner's handle goes stale, nothing else. */
#include <kolk/kolk.h>
#include <stdio.h>

struct voice {
    const char *sound;
    double volume;
};
KOLK_POOL_TYPE(voices, struct voice)

static double loudness(const void *object, void *context) {
    (void)context;
    return ((const struct voice *)object)->volume;
}

static voices_handle play(voices *mixer, const char *sound, double volume) {
    struct voice *voice = voices_alloc(mixer);
    if (!voice) return (voices_handle){.untyped = {0}}; /* cannot be: one of the others gives way */
    *voice = (struct voice){sound, volume};
    return voices_handle_of(mixer, voice);
}

int main(void) {
    voices mixer;
    kolk_pool_desc desc = {.name = "voices", .capacity = 4, .on_full = kolk_pool_evict_cheapest, .cost = loudness};
    if (voices_init(&mixer, &desc) != KOLK_OK) return 1;

    play(&mixer, "music", 0.8);
    voices_handle rain = play(&mixer, "rain", 0.1);
    play(&mixer, "footsteps", 0.3);
    play(&mixer, "wind", 0.2);
    play(&mixer, "swish of the wand", 0.9);

    KOLK_EACH(voices, voice, &mixer) printf("%.1f %s\n", voice->volume, voice->sound);
    printf("rain: %s\n", voices_get(&mixer, rain) ? "plays on" : "was the quietest");

    kolk_stats stats;
    voices_stats(&mixer, &stats);
    printf("%llu evicted, %llu failed\n", (unsigned long long)stats.evictions, (unsigned long long)stats.failed);
    voices_deinit(&mixer);
}
