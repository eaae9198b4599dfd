//! Nanoseconds for operations of Pool, of an arena in Rust alone, and of Box, as a table: the best of some interleaved
//! rounds, which other programs disturb least.
//! Usage: bench [ROUNDS]

use kolk::{Handle, Pool};
use std::time::Instant;

type Value = [u64; 8];

/// splitmix64 (Steele, Lea, Flood, 2014)
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }
}

/// A Vec of options with a free list and generations.
struct Arena {
    slots: Vec<(u32, Option<Value>)>,
    free: Vec<u32>,
}

trait Store {
    type Key: Copy;
    fn make(capacity: usize) -> Self;
    fn insert(&mut self, value: Value) -> Self::Key;
    fn remove(&mut self, key: Self::Key) -> Option<Value>;
    fn get(&self, key: Self::Key) -> Option<&Value>;
    fn sum(&self) -> u64;
}

impl Store for Pool<Value> {
    type Key = Handle<Value>;

    fn make(capacity: usize) -> Self {
        Pool::new("bench", capacity as u32).unwrap()
    }

    fn insert(&mut self, value: Value) -> Self::Key {
        Pool::insert(self, value).unwrap()
    }

    fn remove(&mut self, key: Self::Key) -> Option<Value> {
        Pool::remove(self, key)
    }

    fn get(&self, key: Self::Key) -> Option<&Value> {
        Pool::get(self, key)
    }

    fn sum(&self) -> u64 {
        self.values().fold(0, |sum, value| sum.wrapping_add(value[0]))
    }
}

impl Store for Arena {
    type Key = (u32, u32);

    fn make(capacity: usize) -> Self {
        Arena { slots: Vec::with_capacity(capacity), free: Vec::with_capacity(capacity) }
    }

    fn insert(&mut self, value: Value) -> Self::Key {
        match self.free.pop() {
            Some(index) => {
                let slot = &mut self.slots[index as usize];
                slot.1 = Some(value);
                (index, slot.0)
            }
            None => {
                self.slots.push((1, Some(value)));
                (self.slots.len() as u32 - 1, 1)
            }
        }
    }

    fn remove(&mut self, (index, generation): Self::Key) -> Option<Value> {
        let slot = self.slots.get_mut(index as usize).filter(|slot| slot.0 == generation)?;
        slot.0 += 1;
        self.free.push(index);
        slot.1.take()
    }

    fn get(&self, (index, generation): Self::Key) -> Option<&Value> {
        self.slots.get(index as usize).filter(|slot| slot.0 == generation)?.1.as_ref()
    }

    fn sum(&self) -> u64 {
        self.slots.iter().filter_map(|slot| slot.1.as_ref()).fold(0, |sum, value| sum.wrapping_add(value[0]))
    }
}

/// What has no handles: each value is in a Box of its own, and whoever has the index has the Box.
struct Boxes(Vec<Option<Box<Value>>>, Vec<u32>);

impl Store for Boxes {
    type Key = u32;

    fn make(capacity: usize) -> Self {
        Boxes((0..capacity).map(|_| None).collect(), (0..capacity as u32).rev().collect())
    }

    fn insert(&mut self, value: Value) -> Self::Key {
        let index = self.1.pop().unwrap();
        self.0[index as usize] = Some(Box::new(value));
        index
    }

    fn remove(&mut self, index: Self::Key) -> Option<Value> {
        self.1.push(index);
        self.0[index as usize].take().map(|value| *value)
    }

    fn get(&self, index: Self::Key) -> Option<&Value> {
        self.0[index as usize].as_deref()
    }

    fn sum(&self) -> u64 {
        self.0.iter().flatten().fold(0, |sum, value| sum.wrapping_add(value[0]))
    }
}

/// Nanoseconds for a removal and an insertion, for a lookup, and for a step of a walk, with `alive` values in a store that
/// had twice as many.
fn measure<S: Store>(alive: usize, sum: &mut u64) -> [f64; 3] {
    let mut random = Random(alive as u64);
    let mut store = S::make(2 * alive);
    let mut keys: Vec<S::Key> = (0..2 * alive as u64).map(|i| store.insert([i; 8])).collect();
    for left in (alive..2 * alive).rev() {
        store.remove(keys.swap_remove(random.next() as usize % (left + 1)));
    }
    let steps = 200_000;
    let time = |action: &mut dyn FnMut()| {
        let start = Instant::now();
        action();
        start.elapsed().as_nanos() as f64
    };
    let change = time(&mut || {
        for i in 0..steps {
            let key = &mut keys[random.next() as usize % alive];
            *sum = sum.wrapping_add(store.remove(*key).unwrap()[0]);
            *key = store.insert([i; 8]);
        }
    });
    let get = time(&mut || {
        for _ in 0..steps {
            *sum = sum.wrapping_add(store.get(keys[random.next() as usize % alive]).unwrap()[0]);
        }
    });
    let walks = (steps as usize / alive).max(1);
    let walk = time(&mut || (0..walks).for_each(|_| *sum = sum.wrapping_add(store.sum())));
    [change / steps as f64, get / steps as f64, walk / (walks * alive) as f64]
}

fn main() {
    let rounds: usize = std::env::args().nth(1).map_or(9, |text| text.parse().expect("a number of rounds"));
    let mut sum = 0;
    println!("| alive | operation | Pool | Vec of options | Box |");
    println!("|---|---|---:|---:|---:|");
    for alive in [100, 10_000, 1_000_000] {
        let runs: Vec<[[f64; 3]; 3]> = (0..rounds)
            .map(|_| {
                [
                    measure::<Pool<Value>>(alive, &mut sum),
                    measure::<Arena>(alive, &mut sum),
                    measure::<Boxes>(alive, &mut sum),
                ]
            })
            .collect();
        for (operation, name) in ["remove and insert", "get", "step of a walk"].iter().enumerate() {
            let best = |store: usize| runs.iter().map(|run| run[store][operation]).fold(f64::INFINITY, f64::min);
            println!("| {} | {} | {:.1} | {:.1} | {:.1} |", alive, name, best(0), best(1), best(2));
        }
    }
    assert!(sum != 0);
}
