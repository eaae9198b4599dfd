/* 32 voices. When all are playing, a new sound replaces the quietest one: the handle of the replaced sound goes stale,
 * and nothing else changes. A sound that is quieter than all playing ones is not started at all. A sound may also take
 * the voice of a certain other one. */
#include "kolk.h"
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
    struct voice *voice = voices_alloc_over(mixer, volume);
    if (!voice) return (voices_handle){.untyped = {0}}; /* it would not be heard */
    *voice = (struct voice){sound, volume};
    return voices_handle_of(mixer, voice);
}

/* If the other sound has ended, `get` and `renew` return NULL. */
static voices_handle play_instead(voices *mixer, voices_handle other, const char *sound, double volume) {
    struct voice *voice = voices_renew(mixer, voices_get(mixer, other));
    if (!voice) return play(mixer, sound, volume);
    *voice = (struct voice){sound, volume};
    return voices_handle_of(mixer, voice);
}

int main(void) {
    enum { VOICES = 32 };
    voices mixer;
    kolk_pool_desc desc = {.name = "voices", .capacity = VOICES, .full.cost = loudness};
    if (voices_init(&mixer, &desc) != KOLK_OK) return 1;

    voices_handle music = play(&mixer, "music", 0.8);
    voices_handle wind = play(&mixer, "wind", 0.1);
    voices_handle footsteps = play(&mixer, "footsteps", 0.3);
    for (int n = 3; n < VOICES; n++) play(&mixer, "a drop of rain", 0.2);
    printf("%u of %u voices play\n", voices_count(&mixer), mixer.pool.capacity);

    play(&mixer, "swish of the wand", 0.9);
    play(&mixer, "thunder", 1.0);
    voices_handle whisper = play(&mixer, "whisper", 0.1);
    play_instead(&mixer, music, "music of the dragon", 0.8);
    printf("wind: %s\n", voices_get(&mixer, wind) ? "plays on" : "was the quietest, and gave way");
    printf("whisper: %s\n",
           voices_get(&mixer, whisper) ? "plays" : "is quieter than all the others, and is not started");
    printf("footsteps: %s\n", voices_get(&mixer, footsteps) ? "play on" : "gave way");
    printf("music: %s\n", voices_get(&mixer, music) ? "plays on" : "its voice plays other music");

    uint32_t drops = 0;
    KOLK_EACH(voices, voice, &mixer) {
        if (voice->volume > 0.25)
            printf("%.1f %s\n", voice->volume, voice->sound);
        else
            drops++;
    }
    kolk_stats stats;
    voices_stats(&mixer, &stats);
    printf("and %u drops of rain; %llu evicted, %llu failed\n", drops, (unsigned long long)stats.evictions,
           (unsigned long long)stats.failed);
    voices_deinit(&mixer);
}
