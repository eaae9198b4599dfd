/* game.c: a small game whose objects live in four pools. The page draws what it finds in them, and passes the keys on.
 *
 *     fired    bullets: a pool. The slot that was freed last is used next.
 *     belt     rocks: a slot map. The last rock moves into the hole that a removed one leaves.
 *     lit      sparks and the parts of the boss: a pool with headroom, the lowest free slot first. Sparks never take
 *              the slots that are reserved for the boss, so the boss always comes whole.
 *     mixer    voices: a pool of a few sounds. If all play, the quietest one is evicted.
 *
 *     the page calls    make, begin, step
 *     and then reads    figures()   the struct below
 *                       things()    what is to be drawn, as rows of numbers
 *                       cells(n)    a byte for each slot of the nth pool
 *                       sounds()    what each voice plays
 *
 * A moment is the struct `game` and a snapshot of each pool. Moments are kept in a ring. As long as R is held, they are
 * restored one by one, the latest first; handles that were valid then are valid again. Random numbers belong to the
 * game: after a rewind, the same keys give the same game.
 *
 * After each frame, `check` asks all pools whether they are valid. When nobody plays, the game plays itself: that is
 * the page's soak test.
 *
 * The sky is HIGH high and `wide` wide, y points down. Speeds are per frame, of which there are 60 in a second. */
#include "page.h"
#include <math.h>
#include <string.h>

enum { BULLETS = 32, ROCKS = 24, LIGHTS = 96, VOICES = 6, PLATES = 4, PARTS = 1 + PLATES };
enum { EVERY = 3, MOMENTS = 200, MOMENT_BYTES = 8192 };
enum { HIGH = 160, SHIPS = 3, FIRST_BOSS = 600, NEXT_BOSS = 1200, FLASH = 8, STOLEN_FOR = 24 };
enum { UP = 1, DOWN = 2, LEFT = 4, RIGHT = 8, FIRE = 16, REWIND = 32, POINT = 64 }; /* keys; POINT: fly to a point */
enum { SPARK, CORE, PLATE, BULLET, ENEMY, ROCK };                                   /* kinds of things */
enum { SHOT, HIT, CRACK, BLAST, BOSS };                                             /* sounds */
enum { FIRED, BELT, LIT, MIXED, POOLS };

struct bullet {
    float x, y, dx, dy;
    uint8_t kind;
};

struct rock {
    float x, y, dx, dy, angle, spin;
    uint32_t size, health; /* 3: the largest ones, which break in two */
};

struct light {
    float x, y, dx, dy;
    uint16_t frames_left, lifetime;
    uint16_t kind, health; /* of a part of the boss */
};

struct voice {
    uint16_t sound, frames_left;
};

KOLK_POOL_TYPE(bullets, struct bullet)
KOLK_SLOTMAP_TYPE(rocks, struct rock)
KOLK_POOL_TYPE(lights, struct light)
KOLK_POOL_TYPE(voices, struct voice)

static bullets fired;
static rocks belt;
static lights lit;
static voices mixer;
static kolk_pool *const pools[POOLS] = {[FIRED] = &fired.pool, [LIT] = &lit.pool, [MIXED] = &mixer.pool};

static struct game {
    uint64_t seed;
    uint32_t frame, score, ships, reload, shield, next_rock, next_boss;
    uint32_t over; /* frames since the last ship was lost; 0: the game goes on */
    float x, y;    /* of the ship */
    rocks_handle target;
    lights_handle parts[PARTS]; /* of the boss: the core, then the plates */
} game;

static struct moment {
    struct game game;
    uint32_t sizes[POOLS];
    _Alignas(8) unsigned char bytes[MOMENT_BYTES];
} moments[MOMENTS];

static uint32_t newest, kept;       /* of the moments */
static uint32_t losses, going_back; /* ships that the autopilot has lost; how many moments it still goes back */
static const float middle = HIGH / 2.0f;
static float wide = 2 * HIGH;
static uint8_t just_used[POOLS][LIGHTS], stolen[VOICES]; /* by slot, for how many frames it is shown as this */

/* What the page shows as numbers, in the order in which the page reads it. */
static struct figures {
    uint32_t frame, score, ships, shield, over, kept, plays_itself;
    uint32_t lives, checks, mistakes, rewinds, refused_boss, boss_parts;
    struct pool_figures {
        uint32_t count, capacity, peak, failed, evictions;
    } pools[POOLS];
    uint32_t things;
    float x, y, target_x, target_y; /* of the ship; of the rock that the autopilot has a handle of, x < 0: none */
} figures;

void expect(bool holds) {
    if (!holds) figures.mistakes++;
}

static void count_report(const kolk_failure *failure, void *context) {
    (void)failure, (void)context;
    expect(false);
}

static uint32_t random_bits(void) {
    uint64_t z = game.seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)(z >> 32);
}

static float between(float least, float most) {
    return least + (most - least) * (float)(random_bits() >> 8) * 0x1p-24f;
}

static bool is_near(float x, float y, float other_x, float other_y, float distance) {
    x -= other_x;
    y -= other_y;
    return x * x + y * y < distance * distance;
}

/* ---- Births ------------------------------------------------------------------------------------------------------ */

static void born(int pool, uint32_t slot) {
    figures.lives++;
    just_used[pool][slot] = FLASH;
}

static void play(uint16_t sound) {
    static const uint16_t frames[] = {[SHOT] = 10, [HIT] = 8, [CRACK] = 26, [BLAST] = 60, [BOSS] = 90};
    struct voice *voice = voices_alloc(&mixer);
    if (!voice) return;
    *voice = (struct voice){sound, frames[sound]};
    born(MIXED, voices_index(&mixer, voice));
}

static void fire(uint8_t kind, float x, float y, float dx, float dy) {
    struct bullet *bullet = bullets_alloc(&fired);
    if (!bullet) return;
    *bullet = (struct bullet){x, y, dx, dy, kind};
    born(FIRED, bullets_index(&fired, bullet));
}

static void add_rock(float x, float y, uint32_t size) {
    struct rock *rock = rocks_add(&belt, NULL);
    if (!rock) return;
    *rock = (struct rock){.x = x, .y = y, .dx = -between(0.5f, 1.3f), .dy = between(-0.35f, 0.35f), .size = size};
    rock->spin = between(-0.03f, 0.03f);
    rock->health = size;
    born(BELT, rocks_count(&belt) - 1);
}

static void shower(uint32_t sparks, float x, float y, float speed) {
    for (; sparks > 0; sparks--) {
        struct light *spark = lights_alloc(&lit);
        if (!spark) return; /* nobody misses it */
        float angle = between(0, 6.2832f), faster = speed * between(0.2f, 1);
        uint16_t life = (uint16_t)between(14, 50);
        *spark = (struct light){x, y, faster * cosf(angle), faster * sinf(angle), life, life, SPARK, 0};
        born(LIT, lights_index(&lit, spark));
    }
}

static void add_part(int n) {
    struct light *part = lights_alloc_urgent(&lit);
    figures.boss_parts++;
    if (!part) {
        figures.refused_boss++;
        return;
    }
    *part = (struct light){.x = wide + 30, .y = middle, .kind = n ? PLATE : CORE, .health = n ? 5 : 24};
    game.parts[n] = lights_handle_of(&lit, part);
    born(LIT, lights_index(&lit, part));
}

/* ---- Ends -------------------------------------------------------------------------------------------------------- */

static void remove_rock(struct rock *rock) {
    rocks_handle handle = rocks_handle_of(&belt, rock);
    expect(rocks_remove(&belt, handle) && !rocks_get(&belt, handle)); /* although another rock may be in its place */
}

static void hit_rock(struct rock *rock) {
    struct rock was = *rock;
    play(HIT);
    shower(3, was.x, was.y, 1);
    if (--rock->health > 0) return;
    game.score += 10 * (4 - was.size);
    remove_rock(rock);
    play(CRACK);
    shower(8 * was.size, was.x, was.y, 1.6f);
    for (int n = 0; n < 2 && was.size > 1; n++) add_rock(was.x + between(-4, 4), was.y + between(-6, 6), was.size - 1);
}

static void hit_part(struct light *part) {
    bool is_core = part->kind == CORE;
    play(HIT);
    shower(4, part->x, part->y, 1.2f);
    if (--part->health > 0) return;
    game.score += is_core ? 1000 : 50;
    play(BLAST);
    shower(is_core ? LIGHTS : 12, part->x, part->y, is_core ? 3 : 1.6f);
    if (is_core) game.next_boss = game.frame + NEXT_BOSS;
    for (int n = 0; n < PARTS && is_core; n++) lights_free_handle(&lit, game.parts[n]); /* of dead plates: stale */
    if (!is_core) lights_free(&lit, part);
}

static void lose_ship(void) {
    if (game.shield > 0 || game.over > 0) return;
    play(BLAST);
    shower(40, game.x, game.y, 2.5f);
    game.shield = 120;
    if (--game.ships == 0) game.over = 1;
    if (figures.plays_itself && ++losses % 2 == 0) going_back = 40;
}

/* ---- A frame ----------------------------------------------------------------------------------------------------- */

static void fly(uint32_t keys, float x, float y) {
    const float speed = 2.2f;
    float dx = (float)((keys & RIGHT) != 0) - (float)((keys & LEFT) != 0);
    float dy = (float)((keys & DOWN) != 0) - (float)((keys & UP) != 0);
    if (keys & POINT) {
        float distance = hypotf(x - game.x, y - game.y), step = fmaxf(distance, speed);
        dx = (x - game.x) / step;
        dy = (y - game.y) / step;
    }
    game.x = fminf(fmaxf(game.x + speed * dx, 8), wide - 8);
    game.y = fminf(fmaxf(game.y + speed * dy, 6), HIGH - 6);
    game.shield -= game.shield > 0;
    game.reload -= game.reload > 0;
    if (game.frame % 2 == 0) shower(1, game.x - 6, game.y, 0.4f);
    if (!(keys & FIRE) || game.reload > 0) return;
    game.reload = 7;
    fire(BULLET, game.x + 8, game.y, 4.5f, 0);
    play(SHOT);
}

static bool hits_something(const struct bullet *bullet) {
    if (bullet->kind == ENEMY) {
        bool hits = is_near(bullet->x, bullet->y, game.x, game.y, 5) && !game.over;
        if (hits) lose_ship();
        return hits;
    }
    KOLK_EACH(rocks, rock, &belt) {
        if (!is_near(bullet->x, bullet->y, rock->x, rock->y, 2 + 4.5f * (float)rock->size)) continue;
        hit_rock(rock);
        return true;
    }
    for (int n = 0; n < PARTS; n++) {
        struct light *part = lights_get(&lit, game.parts[n]);
        if (!part || !is_near(bullet->x, bullet->y, part->x, part->y, n ? 7 : 12)) continue;
        hit_part(part);
        return true;
    }
    return false;
}

static void move_bullets(void) {
    KOLK_EACH(bullets, bullet, &fired) {
        bullet->x += bullet->dx;
        bullet->y += bullet->dy;
        bool is_out = bullet->x < -4 || bullet->x > wide + 4 || bullet->y < -4 || bullet->y > HIGH + 4;
        if (is_out || hits_something(bullet)) bullets_free(&fired, bullet);
    }
}

static void move_rocks(void) {
    if (game.frame >= game.next_rock) {
        add_rock(wide + 14, between(10, HIGH - 10), 1 + random_bits() % 3);
        game.next_rock = game.frame + (lights_get(&lit, game.parts[0]) ? 90 : 34);
    }
    KOLK_EACH(rocks, rock, &belt) {
        float radius = 4.5f * (float)rock->size;
        rock->x += rock->dx;
        rock->y += rock->dy;
        rock->angle += rock->spin;
        if (rock->y < radius || rock->y > HIGH - radius)
            rock->dy = rock->y < radius ? fabsf(rock->dy) : -fabsf(rock->dy);
        if (is_near(rock->x, rock->y, game.x, game.y, radius + 4)) lose_ship();
        if (rock->x < -15) remove_rock(rock);
    }
}

/* The sky is full of sparks when the boss comes, and whenever one of its plates grows again. */
static void move_boss(void) {
    struct light *core = lights_get(&lit, game.parts[0]);
    if (!core && game.frame < game.next_boss) return;
    if (!core) {
        shower(LIGHTS, wide - 30, middle, 3);
        play(BOSS);
        for (int n = 0; n < PARTS; n++) add_part(n);
        core = lights_get(&lit, game.parts[0]);
        if (!core) return;
    }
    float age = (float)game.frame;
    core->x += (wide - 45 - core->x) * 0.02f;
    core->y = middle + 45 * sinf(age / 80);
    shower(3, core->x, core->y, 1.4f);
    for (int n = 1; n < PARTS; n++) {
        struct light *plate = lights_get(&lit, game.parts[n]);
        if (!plate && game.frame % 240 == 0) add_part(n), plate = lights_get(&lit, game.parts[n]);
        if (!plate) continue;
        plate->x = core->x + 24 * cosf(age * 0.03f + 1.5708f * (float)n);
        plate->y = core->y + 24 * sinf(age * 0.03f + 1.5708f * (float)n);
    }
    if (is_near(core->x, core->y, game.x, game.y, 16)) lose_ship();
    if (game.frame % 100 == 0) play(BOSS);
    if (game.frame % 50 > 0) return;
    for (int n = -1; n <= 1; n++) fire(ENEMY, core->x - 10, core->y, -1.6f, 0.4f * (float)n + (game.y - core->y) / 200);
}

static void fade(void) {
    KOLK_EACH(lights, light, &lit) {
        if (light->kind != SPARK) continue;
        light->x += light->dx;
        light->y += light->dy;
        light->dx *= 0.97f;
        light->dy *= 0.97f;
        if (--light->frames_left == 0) lights_free(&lit, light);
    }
    KOLK_EACH(voices, voice, &mixer)
        if (--voice->frames_left == 0) voices_free(&mixer, voice);
}

/* ---- Moments ----------------------------------------------------------------------------------------------------- */

static void keep_moment(void) {
    newest = (newest + 1) % MOMENTS;
    kept += kept < MOMENTS;
    struct moment *moment = &moments[newest];
    moment->game = game;
    size_t used = 0;
    for (int n = 0; n < POOLS; n++) {
        unsigned char *at = moment->bytes + used;
        size_t left = sizeof moment->bytes - used;
        size_t size = n == BELT ? rocks_snapshot(&belt, at, left) : kolk_pool_snapshot(pools[n], at, left);
        expect(size > 0);
        moment->sizes[n] = (uint32_t)size;
        used += (size + 7) / 8 * 8;
    }
}

/* Restores the newest moment, and forgets it unless it is the only one. */
static void go_back(void) {
    const struct moment *moment = &moments[newest];
    const unsigned char *at = moment->bytes;
    game = moment->game;
    for (int n = 0; n < POOLS; n++) {
        size_t size = moment->sizes[n];
        kolk_status status = n == BELT ? rocks_restore(&belt, at, size) : kolk_pool_restore(pools[n], at, size);
        expect(status == KOLK_OK);
        at += (size + 7) / 8 * 8;
    }
    figures.rewinds++;
    if (kept == 1) return;
    kept--;
    newest = (newest + MOMENTS - 1) % MOMENTS;
}

static void check(void) {
    bool valid = rocks_is_valid(&belt) && classics_are_valid();
    for (int n = 0; n < POOLS; n++) valid = valid && (n == BELT || kolk_pool_is_valid(pools[n]));
    expect(valid);
    figures.checks++;
}

/* ---- The game plays itself --------------------------------------------------------------------------------------- */

/* Returns where this thing will be when it reaches the ship, or a place outside if it does not come near soon. */
static float meets_at(float x, float y, float dx, float dy) {
    float frames = dx < 0 ? (x + 6 - game.x) / -dx : -1;
    return frames >= -8 && frames < 40 ? y + dy * frames : -1000;
}

/* Returns keys that lead away from what would hit the ship; 0: nothing would. */
static uint32_t dodge(void) {
    float above = 0, below = 0; /* how much is in the way there */
    KOLK_EACH(rocks, rock, &belt) {
        float off = meets_at(rock->x, rock->y, rock->dx, rock->dy) - game.y;
        if (fabsf(off) < 9 + 4.5f * (float)rock->size) *(off < 0 ? &above : &below) += 1;
    }
    KOLK_EACH(bullets, bullet, &fired) {
        float off = meets_at(bullet->x, bullet->y, bullet->dx, bullet->dy) - game.y;
        if (bullet->kind == ENEMY && fabsf(off) < 10) *(off < 0 ? &above : &below) += 1;
    }
    if (above + below == 0) return 0;
    if (game.y < 20 || game.y > HIGH - 20) return game.y < 20 ? DOWN : UP;
    return above > below ? DOWN : UP;
}

/* Its target is a handle. When the rock is gone, the handle is stale, and the next rock is chosen. */
static uint32_t pilot(void) {
    if (going_back > 0) {
        if (--going_back > 0) return REWIND;
        game.seed++; /* another game follows */
        game.shield = 90;
    }
    struct rock *target = rocks_get(&belt, game.target);
    if (!target || target->x < game.x + 20) {
        float nearest = wide;
        KOLK_EACH(rocks, rock, &belt) {
            if (rock->x >= nearest || rock->x < game.x + 30) continue;
            nearest = rock->x;
            target = rock;
        }
        game.target = target ? rocks_handle_of(&belt, target) : (rocks_handle){.untyped = {0}};
    }
    const struct light *core = lights_get(&lit, game.parts[0]);
    float y = core ? core->y : target ? target->y : middle;
    uint32_t keys = dodge(), fires = fabsf(y - game.y) < 16 && (core || target) ? FIRE : 0;
    if (keys == 0 && fabsf(y - game.y) > 3) keys = y < game.y ? UP : DOWN;
    return keys | fires | (game.x < 40 ? RIGHT : 0);
}

/* ---- What the page calls ----------------------------------------------------------------------------------------- */

static void show_move(void *rock, uint32_t from, uint32_t to, void *context) {
    (void)rock, (void)context;
    if (from != to) just_used[BELT][to] = FLASH;
}

static void show_theft(void *voice, void *context) {
    (void)context;
    stolen[voices_index(&mixer, voice)] = STOLEN_FOR;
}

/* What would be missed: loud sounds, most of all at their beginning. */
static double loudness(const void *object, void *context) {
    static const double volumes[] = {[SHOT] = 1, [HIT] = 0.5, [CRACK] = 2, [BLAST] = 6, [BOSS] = 5};
    const struct voice *voice = object;
    (void)context;
    return volumes[voice->sound] * voice->frames_left;
}

/* Makes the pools. */
EXPORT(make) kolk_status make(void) {
    const kolk_pool_desc desc[POOLS] = {
        [FIRED] = {.capacity = BULLETS},
        [LIT] = {.capacity = LIGHTS, .reuse = KOLK_REUSE_LOWEST, .full.headroom = PARTS},
        [MIXED] = {.capacity = VOICES,
                   .full = {.on_full = kolk_pool_evict_cheapest, .cost = loudness, .on_evict = show_theft}}};
    kolk_set_failure_handler(count_report, NULL);
    kolk_status status = bullets_init(&fired, &desc[FIRED]);
    if (status == KOLK_OK) status = rocks_init(&belt, &(kolk_slotmap_desc){.capacity = ROCKS, .on_move = show_move});
    if (status == KOLK_OK) status = lights_init(&lit, &desc[LIT]);
    if (status == KOLK_OK) status = voices_init(&mixer, &desc[MIXED]);
    return status == KOLK_OK ? classics_init() : status;
}

/* Begins a new game, which plays itself or not. */
EXPORT(begin) void begin(bool plays_itself) {
    static uint64_t games;
    figures.plays_itself = plays_itself;
    going_back = kept = 0;
    for (int n = 0; n < POOLS; n++)
        if (n != BELT) kolk_pool_clear(pools[n]);
    rocks_clear(&belt);
    game = (struct game){.seed = ++games, .ships = SHIPS, .shield = 90, .next_boss = FIRST_BOSS, .x = 40, .y = middle};
    keep_moment();
}

static void pass(uint32_t keys, float x, float y) {
    for (int pool = 0; pool < POOLS; pool++)
        for (int n = 0; n < LIGHTS; n++) just_used[pool][n] -= just_used[pool][n] > 0;
    for (int n = 0; n < VOICES; n++) stolen[n] -= stolen[n] > 0;
    if (keys & REWIND) {
        go_back();
        return;
    }
    if (game.over == 0) fly(keys, x, y);
    move_bullets();
    move_rocks();
    move_boss();
    fade();
    game.frame++;
    game.over += game.over > 0;
    if (game.over > 150 && figures.plays_itself) begin(true);
    if (game.over == 0 && game.frame % EVERY == 0) keep_moment();
}

/* Lets frames pass in a sky of this width, with these keys; x and y are for POINT. */
EXPORT(step) void step(uint32_t frames, uint32_t keys, float x, float y, float new_wide) {
    wide = new_wide;
    for (; frames > 0; frames--) {
        pass(figures.plays_itself && !(keys & REWIND) ? pilot() : keys, x, y);
        check();
    }
}

/* ---- What the page reads ----------------------------------------------------------------------------------------- */

static struct thing {
    float kind, x, y, size, angle, light; /* light: from 0 to 1; of a rock, its slot */
} things[BULLETS + ROCKS + LIGHTS];

static void show(struct thing thing) {
    things[figures.things++] = thing;
}

static void show_things(void) {
    figures.things = 0;
    KOLK_EACH(lights, it, &lit) {
        float part = it->kind == SPARK ? (float)it->frames_left / (float)it->lifetime
                                       : (float)it->health / (it->kind == CORE ? 24 : 5);
        show((struct thing){it->kind, it->x, it->y, it->lifetime, atan2f(it->dy, it->dx), part});
    }
    KOLK_EACH(rocks, it, &belt) {
        float slot = (float)rocks_slot(&belt, rocks_handle_of(&belt, it));
        show((struct thing){ROCK, it->x, it->y, (float)it->size, it->angle, slot});
    }
    KOLK_EACH(bullets, it, &fired) show((struct thing){it->kind, it->x, it->y, 1, atan2f(it->dy, it->dx), 1});
}

/* Brings all that the page reads up to date. */
EXPORT(figures) const struct figures *show_figures(void) {
    const struct rock *target = rocks_get(&belt, game.target);
    figures.frame = game.frame;
    figures.score = game.score;
    figures.ships = game.ships;
    figures.shield = game.shield;
    figures.over = game.over;
    figures.kept = kept;
    for (int n = 0; n < POOLS; n++) {
        kolk_stats stats;
        if (n == BELT)
            rocks_stats(&belt, &stats);
        else
            kolk_pool_stats(pools[n], &stats);
        figures.pools[n] = (struct pool_figures){stats.count, stats.capacity, stats.peak, (uint32_t)stats.failed,
                                                 (uint32_t)stats.evictions};
    }
    figures.x = game.x;
    figures.y = game.y;
    figures.target_x = target && figures.plays_itself ? target->x : -1;
    figures.target_y = target ? target->y : 0;
    show_things();
    return &figures;
}

EXPORT(things) const struct thing *drawn(void) {
    return things;
}

enum { NEVER, EMPTY, RESERVED, LIVE, JUST, STOLEN };

/* A byte for each slot of a pool, or each place of the belt: its state, and above it a tint. */
EXPORT(cells) const uint8_t *cells(int pool) {
    static uint8_t bytes[LIGHTS];
    uint32_t headroom = pool == LIT ? lit.pool.headroom : 0;
    for (uint32_t n = figures.pools[pool].capacity; n-- > 0;) {
        const void *object = pool == BELT ? rocks_at(&belt, n) : kolk_pool_at(pools[pool], n);
        uint32_t state = pool == MIXED && stolen[n] ? STOLEN : just_used[pool][n] ? JUST : LIVE, tint = 0;
        if (!object)
            state = headroom > 0 ? RESERVED : n < (pool == BELT ? belt.map.fresh : pools[pool]->fresh) ? EMPTY : NEVER;
        else if (pool == FIRED)
            tint = ((const struct bullet *)object)->kind;
        else if (pool == BELT)
            tint = rocks_slot(&belt, rocks_handle_of(&belt, object));
        else
            tint = pool == LIT ? ((const struct light *)object)->kind : ((const struct voice *)object)->sound;
        if (state == RESERVED) headroom--;
        bytes[n] = (uint8_t)(state | tint << 3);
    }
    return bytes;
}

/* For each voice: the life of its slot, 0 if it is silent; and its sound. */
EXPORT(sounds) const uint32_t *sounds(void) {
    static uint32_t all[2 * VOICES];
    memset(all, 0, sizeof all);
    KOLK_EACH(voices, voice, &mixer) {
        uint32_t slot = voices_index(&mixer, voice);
        all[2 * slot] = (uint32_t)(voices_handle_of(&mixer, voice).untyped.bits >> 32);
        all[2 * slot + 1] = voice->sound;
    }
    return all;
}
