// A module of C++20 that uses kolk's macros and classes. Clang takes the suffix for a module.
module;
#include <kolk/kolk.hpp>

export module game;

// The functions of a typed pool are the module's own. What it exports may call them, unless it is inline or a template.
struct shot {
    float x, y;
};
KOLK_POOL_TYPE(shots, shot)

static shots all_shots = {};

export bool begin_shots(uint32_t capacity) {
    kolk_pool_desc desc = {};
    desc.capacity = capacity;
    return shots_init(&all_shots, &desc) == KOLK_OK;
}

export bool shoot(float x, float y) {
    shot *one = shots_alloc(&all_shots);
    if (one) *one = {x, y};
    return one != nullptr;
}

export float add_shots() {
    float sum = 0;
    KOLK_EACH(shots, one, &all_shots)
    sum += one->x + one->y;
    return sum;
}

export void end_shots() {
    shots_deinit(&all_shots);
}

// Classes and templates are exported with their inline members.
export struct enemy {
    int health;
    int *deaths;

    enemy(int health_, int *deaths_) : health(health_), deaths(deaths_) {}
    ~enemy() { ++*deaths; }
    enemy(const enemy &) = delete;
    enemy &operator=(const enemy &) = delete;
};

export class world {
    kolk::pool<enemy> enemies;

  public:
    explicit world(uint32_t capacity) : enemies({"enemies", capacity}) {}
    enemy *add(int health, int *deaths) { return enemies.emplace(health, deaths); }
    void remove(enemy *one) { enemies.erase(one); }
    uint32_t size() const { return enemies.size(); }
};

export template <typename T, typename... As> T *add_to(kolk::pool<T> &pool, As... arguments) {
    return pool.emplace(arguments...);
}
