// GameObjects and their components. Transforms are packed: a slot map keeps them side by side, and a kolk::ref is the
// article's StablePtr, which follows them. Scripts stay where they are: a pool with holes, so plain pointers do.
#include "kolk.hpp"

#include <cstdio>
#include <string>
#include <utility>

struct Transform {
    float x = 0, dx = 1;
    std::string name; // moves with it
};

struct Script {
    int ticks = 0;
    kolk::ref<Transform> transform;
};

class Scene {
  public:
    Script *AddObject(std::string name) {
        Transform *transform = transforms_.emplace(Transform{0, 1, std::move(name)}).object;
        return scripts_.emplace(Script{0, kolk::ref(transforms_, transform)});
    }
    void RemoveObject(Script *object) {
        transforms_.erase(object->transform.get()); // the last Transform moves to its place
        scripts_.erase(object);
    }

    void Update() {
        for (Transform &each : transforms_) each.x += each.dx; // a plain array
        for (Script &each : scripts_) each.ticks++;            // skips the holes
    }
    void Print() {
        for (const Transform &each : transforms_)
            std::printf(" %s at %g", each.name.c_str(), static_cast<double>(each.x));
        std::printf("; scripts in slots");
        for (const Script &each : scripts_) std::printf(" %u", scripts_.index_of(&each));
        std::printf("\n");
    }

  private:
    kolk::slot_map<Transform> transforms_{{"transforms", 1000}};
    kolk::pool<Script> scripts_{{"scripts", 1000, 1000, KOLK_REUSE_LOWEST}};
};

int main() {
    Scene scene;
    Script *ship = scene.AddObject("ship"), *rock = scene.AddObject("rock");
    scene.AddObject("star");
    scene.Update();
    scene.Print();
    scene.RemoveObject(rock);
    ship->transform->dx = 5;
    scene.Update();
    scene.Print();
    scene.AddObject("moon"); // the lowest hole first
    scene.Update();
    scene.Print();
    std::printf("the ship's script has run %d times\n", ship->ticks);
}
