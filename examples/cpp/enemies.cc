// The program of kolk.hpp: a pool of C++ objects. A walk visits only what is alive, and an old handle finds nothing.
#include "kolk.hpp"

#include <cstdio>
#include <string>
#include <utility>

struct enemy {
    std::string name;
    int health = 100;
    explicit enemy(std::string name_) : name(std::move(name_)) {}
};

int main() {
    kolk::pool<enemy> enemies({"enemies", 256}); // in C++20 also {{.name = "enemies", .capacity = 256}}

    enemy *boss = enemies.emplace("the dragon, whose name is longer than a short string");
    if (!boss) return 1; // all 256 are alive
    enemies.emplace("a wolf");
    enemies.emplace("a rat");
    kolk::handle<enemy> target = enemies.handle_of(boss);

    for (enemy &each : enemies) each.health -= 60;
    for (enemy &each : enemies)
        if (each.name == "a rat") enemies.erase(&each); // the current object may go
    for (const enemy &each : enemies) std::printf("%s: %d\n", each.name.c_str(), each.health);

    enemies.erase(boss); // runs the destructor
    std::printf("the target is %s, %u alive\n", enemies.get(target) ? "still there" : "gone", enemies.size());
} // destroys what is left
