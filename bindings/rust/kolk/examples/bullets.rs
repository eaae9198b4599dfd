//! Bullets that fly, hit and are gone; a missile that follows a target by its handle, and loses it.

use kolk::{Handle, Pool, SlotMap};

struct Bullet {
    x: f32,
    dx: f32,
}

struct Enemy {
    name: &'static str,
    x: f32,
}

struct Missile {
    target: Handle<Enemy>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut bullets = Pool::new("bullets", 3)?;
    let mut enemies = SlotMap::options("enemies").max_capacity(100).build()?;
    let tank = enemies.insert(Enemy { name: "tank", x: 2.0 })?;
    let jeep = enemies.insert(Enemy { name: "jeep", x: 9.0 })?;
    let missiles = [Missile { target: tank }, Missile { target: jeep }];

    for speed in 1..=4 {
        match bullets.insert(Bullet { x: 0.0, dx: speed as f32 }) {
            Ok(_) => println!("fired a bullet of speed {}", speed),
            Err(full) => println!("no room for the bullet of speed {}", full.0.dx),
        }
    }
    for frame in 1..=2 {
        for bullet in bullets.values_mut() {
            bullet.x += bullet.dx;
        }
        let hit: Vec<_> =
            enemies.iter().filter(|(_, enemy)| bullets.values().any(|bullet| bullet.x == enemy.x)).collect();
        let hit: Vec<_> = hit.into_iter().map(|(handle, _)| handle).collect();
        for enemy in hit.into_iter().filter_map(|handle| enemies.remove(handle)) {
            println!("frame {}: the {} is hit", frame, enemy.name);
        }
        bullets.retain(|bullet| bullet.x < 5.0);
        println!("frame {}: {} bullets fly", frame, bullets.len());
    }
    for missile in &missiles {
        match enemies.get(missile.target) {
            Some(enemy) => println!("the missile flies to the {} at {}", enemy.name, enemy.x),
            None => println!("the missile has lost its target"),
        }
    }
    Ok(())
}
