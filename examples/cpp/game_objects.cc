// GameObjects and their components. Transforms are packed: a slot map keeps them side by side, and a handle is the
// article's StablePtr, which follows them. Scripts stay where they are: a pool with holes, so plain pointers do.
#include <kolk/kolk.hpp>

#include <cstdio>
#include <string>
#include <utility>

struct Transform {
    float x = 0, dx = 1;
    std::string name; // moves with it
};

struct Script {
    int ticks = 0;
    kolk::handle<Transform> transform;
};

class Scene {
  public:
    Scene() : transforms_(transforms()), scripts_(scripts()) {}

    Script *AddObject(std::string name) {
        kolk::handle<Transform> transform = transforms_.emplace(Transform{0, 1, std::move(name)}).handle;
        return scripts_.emplace(Script{0, transform});
    }
    void RemoveObject(Script *object) {
        transforms_.erase(object->transform); // the last Transform moves to its place
        scripts_.erase(object);
    }
    Transform *GetTransform(const Script *object) { return transforms_.get(object->transform); }

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
    static kolk::slot_map_options<Transform> transforms() {
        kolk::slot_map_options<Transform> wish;
        wish.name = "transforms";
        wish.max_capacity = 1000;
        return wish;
    }
    static kolk::options<Script> scripts() {
        kolk::options<Script> wish;
        wish.name = "scripts";
        wish.max_capacity = 1000;
        wish.reuse = KOLK_REUSE_LOWEST;
        return wish;
    }
    kolk::slot_map<Transform> transforms_;
    kolk::pool<Script> scripts_;
};

int main() {
    Scene scene;
    Script *ship = scene.AddObject("ship"), *rock = scene.AddObject("rock");
    scene.AddObject("star");
    scene.Update();
    scene.Print();
    scene.RemoveObject(rock);
    scene.GetTransform(ship)->dx = 5;
    scene.Update();
    scene.Print();
    scene.AddObject("moon"); // the lowest hole first
    scene.Update();
    scene.Print();
    std::printf("the ship's script has run %d times\n", ship->ticks);
}
