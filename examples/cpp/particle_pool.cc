// The ParticlePool of Game Programming Patterns: create and animate. Only the pool can make a Particle. The pool knows
// which particles are in use, so a particle needs no flag, and animate visits no free one.
#include "kolk.hpp"

#include <cstdio>

class Particle {
  public:
    // Returns true at the end of its life.
    bool animate() {
        x_ += xVel_;
        y_ += yVel_;
        return --framesLeft_ == 0;
    }
    void print() const { std::printf(" (%g, %g)", x_, y_); }

  private:
    friend struct kolk::access; // nobody else constructs one
    Particle(double x, double y, double xVel, double yVel, int lifetime)
        : x_(x), y_(y), xVel_(xVel), yVel_(yVel), framesLeft_(lifetime) {}

    double x_, y_, xVel_, yVel_;
    int framesLeft_;
};

class ParticlePool {
  public:
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
        for (const Particle &each : particles_) each.print();
        std::printf("\n");
    }

  private:
    kolk::static_pool<Particle, 4> particles_; // no more memory than this
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
