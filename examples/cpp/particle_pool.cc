// The ParticlePool of Game Programming Patterns: create and animate. Only the pool can make a Particle. The pool knows
// which particles are in use, so a particle needs no flag, and animate visits no free one.
#include <kolk/kolk.hpp>

#include <cstdio>

class ParticlePool {
  public:
    ParticlePool() : particles_(options()) {}

    // Returns false when all particles are in use: a sparkle less, which nobody notices.
    bool create(double x, double y, double xVel, double yVel, int lifetime) {
        return particles_.emplace(x, y, xVel, yVel, lifetime) != nullptr;
    }

    void animate() {
        for (Particle &each : particles_)
            if (each.animate()) particles_.erase(&each);
    }

    void print() const {
        std::printf("%u in use:", particles_.size());
        for (const Particle &each : particles_) std::printf(" (%g, %g)", each.x, each.y);
        std::printf("\n");
    }

  private:
    struct Particle {
        double x, y, xVel, yVel;
        int framesLeft;

        // Returns true at the end of its life.
        bool animate() {
            x += xVel;
            y += yVel;
            return --framesLeft == 0;
        }
    };

    static kolk::options<Particle> options() {
        kolk::options<Particle> wish;
        wish.name = "particles";
        wish.capacity = 4;
        return wish;
    }
    kolk::pool<Particle> particles_;
};

int main() {
    ParticlePool pool;
    for (int n = 1; n <= 5; n++)
        if (!pool.create(0, 0, n, 1, 2 * n)) std::printf("particle %d is not created\n", n);
    for (int frame = 0; frame < 5; frame++) {
        pool.print();
        pool.animate();
    }
}
