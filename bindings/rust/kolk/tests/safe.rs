//! The promises of `Pool` and `SlotMap`. Random tests print their seed, and take one from KOLK_SEED.

use kolk::pool::Reuse;
use kolk::{sys, Handle, Pool, SlotMap};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::env;
use std::ffi::CStr;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

/// A value that is counted while it is alive, and may panic when it is dropped.
struct Life {
    number: u32,
    panics: bool,
    _alive: Rc<()>,
}

impl Drop for Life {
    fn drop(&mut self) {
        assert!(!self.panics, "the drop of {} panics", self.number);
    }
}

struct Lives(Rc<()>);

impl Lives {
    fn new() -> Lives {
        Lives(Rc::new(()))
    }

    fn make(&self, number: u32) -> Life {
        Life { number, panics: false, _alive: self.0.clone() }
    }

    fn alive(&self) -> usize {
        Rc::strong_count(&self.0) - 1
    }
}

fn panics<R>(action: impl FnOnce() -> R) -> bool {
    catch_unwind(AssertUnwindSafe(action)).is_err()
}

fn seed() -> u64 {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    let seed = env::var("KOLK_SEED").map_or_else(|_| now(), |text| text.parse().unwrap());
    println!("KOLK_SEED={}", seed);
    seed
}

fn steps() -> u32 {
    env::var("KOLK_STEPS").map_or(20_000, |text| text.parse().unwrap())
}

/// splitmix64 (Steele, Lea, Flood, 2014)
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

fn is_valid<T>(pool: &Pool<T>) -> bool {
    unsafe { sys::kolk_pool_is_valid(pool.as_ptr()) }
}

fn is_valid_map<T>(map: &SlotMap<T>) -> bool {
    unsafe { sys::kolk_slotmap_is_valid(map.as_ptr()) }
}

unsafe fn name_of(pool: *const sys::kolk_pool) -> &'static str {
    CStr::from_ptr((*pool).name).to_str().unwrap()
}

unsafe fn name_of_map(map: *const sys::kolk_slotmap) -> &'static str {
    CStr::from_ptr((*map).name).to_str().unwrap()
}

// ---- what pools and slot maps have in common ----

macro_rules! common {
    ($module:ident, $Kind:ident, $is_valid:ident, $name_of:ident) => {
        mod $module {
            use super::*;

            #[test]
            fn finds_and_removes() {
                let mut kind = $Kind::new("common", 2).unwrap();
                assert!(kind.is_empty() && kind.capacity() == 2);
                let a = kind.insert("a".to_string()).unwrap();
                let b = kind.insert("b".to_string()).unwrap();
                assert!(a != b && kind.contains(a) && kind.len() == 2);
                assert_eq!((kind.get(a).unwrap().as_str(), kind[b].as_str()), ("a", "b"));
                kind.get_mut(a).unwrap().push('!');
                kind[b].push('?');
                let full = kind.insert("c".to_string()).unwrap_err();
                assert_eq!((full.to_string().as_str(), full.0.as_str()), ("it is full", "c"));
                assert_eq!(kind.remove(a).as_deref(), Some("a!"));
                assert!(kind.remove(a).is_none() && kind.get(a).is_none() && kind.get_mut(a).is_none());
                assert!(!kind.contains(a) && panics(|| kind[a].len()));
                let c = kind.insert("c".to_string()).unwrap();
                assert!(c != a && kind.get(a).is_none() && kind[c] == "c" && kind[b] == "b?");
                assert_eq!((kind.stats().count, kind.stats().peak, kind.stats().failed), (2, 2, 1));
                assert!($is_valid(&kind));
            }

            #[test]
            fn drops_each_value_once() {
                let lives = Lives::new();
                let mut kind = $Kind::new("drops", 200).unwrap();
                let handles: Vec<_> = (0..150).map(|i| kind.insert(lives.make(i)).unwrap()).collect();
                assert_eq!(lives.alive(), 150);
                drop(kind.remove(handles[70]));
                assert_eq!(lives.alive(), 149);
                kind.retain(|life| life.number % 3 == 0);
                assert_eq!((lives.alive(), kind.len()), (50, 50));
                assert!(handles.iter().enumerate().all(|(i, &handle)| kind.contains(handle) == (i % 3 == 0)));
                kind.clear();
                assert!(lives.alive() == 0 && kind.is_empty() && $is_valid(&kind));
                (0..200).for_each(|i| {
                    kind.insert(lives.make(i)).unwrap();
                });
                assert!(kind.insert(lives.make(0)).is_err());
                assert_eq!(lives.alive(), 200);
                drop(kind);
                assert_eq!(lives.alive(), 0);
            }

            #[test]
            fn drops_the_others_when_one_panics() {
                let lives = Lives::new();
                let mut kind = $Kind::new("panics", 100).unwrap();
                let fill = |kind: &mut $Kind<Life>| {
                    for i in 0..100 {
                        let mut life = lives.make(i);
                        life.panics = i == 40;
                        kind.insert(life).unwrap();
                    }
                };
                fill(&mut kind);
                assert!(panics(|| kind.clear()));
                assert!(lives.alive() == 0 && kind.is_empty() && $is_valid(&kind));
                fill(&mut kind);
                assert!(panics(|| kind.retain(|life| life.number != 40)));
                assert!(lives.alive() == 99 && kind.len() == 99 && $is_valid(&kind));
                assert!(panics(|| kind.retain(|life| life.number != 50 || panic!("asked of 50"))));
                assert!(lives.alive() == 99 && kind.len() == 99 && $is_valid(&kind));
                kind.clear();
                fill(&mut kind);
                assert!(panics(move || drop(kind)));
                assert_eq!(lives.alive(), 0);
            }

            #[test]
            fn aligns_values() {
                #[repr(align(64))]
                struct Line(u8);
                #[repr(align(4096))]
                struct Page(u8);
                #[repr(align(8192))]
                struct Large(u8);
                let mut lines = $Kind::new("lines", 10).unwrap();
                let mut pages = $Kind::new("pages", 10).unwrap();
                for i in 0..10 {
                    let (line, page) = (lines.insert(Line(i)).unwrap(), pages.insert(Page(i)).unwrap());
                    assert_eq!(&lines[line] as *const Line as usize % 64, 0);
                    assert_eq!(&pages[page] as *const Page as usize % 4096, 0);
                }
                assert!(lines.iter().enumerate().all(|(i, (_, line))| line.0 == i as u8));
                assert!(pages.iter().enumerate().all(|(i, (_, page))| page.0 == i as u8));
                let error = $Kind::<Large>::new("large", 10).err().unwrap();
                assert_eq!(error.status(), sys::KOLK_ALIGN_TOO_LARGE);
                assert_eq!(error.to_string(), "object_align is above 4096");
                assert_eq!(format!("{:?}", error), "Error(104: object_align is above 4096)");
                let _ = Large(0).0;
            }

            #[test]
            fn takes_values_without_a_size() {
                static DROPS: AtomicU32 = AtomicU32::new(0);
                #[derive(Debug)]
                struct Nothing([u64; 0]);
                impl Drop for Nothing {
                    fn drop(&mut self) {
                        DROPS.fetch_add(1, Ordering::Relaxed);
                    }
                }
                let mut kind = $Kind::new("nothing", 100).unwrap();
                let handles: Vec<_> = (0..100).map(|_| kind.insert(Nothing([])).unwrap()).collect();
                assert!(kind.insert(Nothing([])).is_err() && kind.len() == 100);
                assert!(kind.iter().map(|(handle, _)| handle).eq(handles.iter().copied()));
                assert!(kind.get_disjoint_mut([handles[0], handles[1]]).is_some());
                assert!(kind.remove(handles[3]).is_some() && !kind.contains(handles[3]));
                drop(kind);
                assert_eq!(DROPS.load(Ordering::Relaxed), 101);
            }

            #[test]
            fn takes_handles_of_any_bits() {
                let mut random = Random(seed());
                let mut kind = $Kind::new("any bits", 50).unwrap();
                let mut other = $Kind::options("any bits").capacity(50).tag(7).build().unwrap();
                assert!(Handle::<u32>::from_bits(0).is_none());
                let theirs = other.insert(5).unwrap();
                let handles: Vec<Handle<u32>> = (0..30).map(|i| kind.insert(i).unwrap()).collect();
                assert!(!kind.contains(theirs) && kind.stats().wrong_pool == 1);
                for (i, &handle) in handles.iter().enumerate() {
                    assert_eq!(Handle::from_bits(handle.to_bits()), Some(handle));
                    if i % 2 == 0 {
                        kind.remove(handle);
                    }
                }
                for _ in 0..steps() {
                    let bits = handles[random.below(30)].to_bits() ^ 1 << random.below(64);
                    for bits in [bits, random.next()] {
                        if let Some(handle) = Handle::from_bits(bits) {
                            // A bit of the slot may lead to another value in the same generation.
                            assert!(kind.get(handle).map_or(true, |&value| handles[value as usize] == handle));
                            assert!(kind.contains(handle) || kind.remove(handle).is_none());
                        }
                    }
                }
                assert!(kind.len() == 15 && $is_valid(&kind));
            }

            #[test]
            fn makes_values_in_place() {
                struct Known {
                    own: Handle<Known>,
                    life: Life,
                }
                let lives = Lives::new();
                let known = |own, number| Known { own, life: lives.make(number) };
                let mut kind = $Kind::new("made", 2).unwrap();
                let a = kind.insert_with(|own| known(own, 1)).unwrap();
                assert!(kind[a].own == a && lives.alive() == 1);
                assert!(panics(|| kind.insert_with(|_| panic!("no value"))));
                assert!(kind.len() == 1 && $is_valid(&kind) && lives.alive() == 1);
                let b = kind.insert_with(|own| known(own, 2)).unwrap();
                let full = kind.insert_with(|own| known(own, 3)).unwrap_err();
                assert_eq!((kind[b].life.number, lives.alive()), (2, 2));
                kind.remove(a);
                let c = kind.insert_with(full.0).unwrap();
                assert!(kind[c].own == c && kind[c].life.number == 3 && !kind.contains(a));
                drop(kind);
                assert_eq!(lives.alive(), 0);
            }

            #[test]
            fn goes_back_to_a_snapshot() {
                let text = String::from("a text");
                let mut kind = $Kind::options("snapshot").capacity(10).max_capacity(1000).build().unwrap();
                let handles: Vec<_> = (0..10).map(|i| kind.insert((&text[..i % 5], i)).unwrap()).collect();
                kind.remove(handles[4]);
                let empty = $Kind::options("snapshot").max_capacity(1000).build().unwrap().snapshot();
                let before: HashMap<_, _> = kind.iter().map(|(handle, value)| (handle, *value)).collect();
                let snapshot = kind.snapshot();
                let copy = snapshot.clone();
                assert!(format!("{:?}", copy).starts_with("Snapshot("));
                for round in 0..3 {
                    kind[handles[0]].1 = 1000;
                    kind.remove(handles[round]);
                    let later: Vec<_> = (0..200).map(|i| kind.insert((&text, i)).unwrap()).collect();
                    kind.restore(if round == 1 { &copy } else { &snapshot }).unwrap();
                    assert!($is_valid(&kind));
                    assert_eq!(kind.iter().map(|(handle, value)| (handle, *value)).collect::<HashMap<_, _>>(), before);
                    assert!(kind.len() == 9 && later.iter().all(|&handle| !kind.contains(handle)));
                }
                // Another one of the same name takes it, one of another name refuses it, and so does one without room.
                let mut twin = $Kind::options("snapshot").max_capacity(1000).build().unwrap();
                twin.restore(&snapshot).unwrap();
                assert!(handles.iter().all(|&handle| twin.get(handle) == before.get(&handle)));
                let mut other = $Kind::options("another").max_capacity(1000).build().unwrap();
                let kept = other.insert(("", 7)).unwrap();
                assert_eq!(other.restore(&snapshot).unwrap_err().status(), sys::KOLK_OTHER_POOL);
                assert_eq!(other[kept], ("", 7));
                let mut small = $Kind::options("snapshot").capacity(5).build().unwrap();
                assert_eq!(small.restore(&snapshot).unwrap_err().status(), sys::KOLK_ABOVE_MAX);
                twin.restore(&empty).unwrap();
                assert!(twin.is_empty() && $is_valid(&twin));
            }

            #[test]
            fn clones_and_sends_walks() {
                fn is_send<T: Send + Sync>(_: &T) {}
                let mut kind = $Kind::new("walks", 200).unwrap();
                let handles: Vec<_> = (0..200).map(|i| kind.insert(i).unwrap()).collect();
                kind.retain(|value| *value % 3 != 0);
                let mut walk = kind.iter();
                is_send(&walk);
                walk.next();
                let rest = walk.clone();
                assert!(walk.len() == rest.len() && walk.eq(rest.clone()));
                let sum: usize =
                    thread::scope(|scope| scope.spawn(move || rest.map(|(_, value)| value).sum()).join()).unwrap();
                assert_eq!(sum, kind.iter().skip(1).map(|(_, value)| value).sum::<usize>());
                assert!(kind.contains(handles[1]));
            }

            #[test]
            fn lends_several_at_once() {
                let mut kind = $Kind::new("several", 3).unwrap();
                let handles = [1, 2, 3].map(|i| kind.insert(i).unwrap());
                let [a, c] = kind.get_disjoint_mut([handles[0], handles[2]]).unwrap();
                std::mem::swap(a, c);
                assert_eq!(handles.map(|handle| kind[handle]), [3, 2, 1]);
                assert!(kind.get_disjoint_mut([handles[0], handles[1], handles[0]]).is_none());
                kind.remove(handles[1]);
                assert!(kind.get_disjoint_mut([handles[0], handles[1]]).is_none());
            }

            #[test]
            fn grows() {
                let mut kind = $Kind::options("grows").max_capacity(100_000).build().unwrap();
                let first = kind.insert(0).unwrap();
                let at = &kind[first] as *const i32;
                assert!(kind.capacity() < 50_000);
                kind.reserve(50_000).unwrap();
                assert!((50_000..100_000).contains(&kind.capacity()));
                assert_eq!(kind.reserve(100_001).unwrap_err().status(), sys::KOLK_ABOVE_MAX);
                (1..100_000).for_each(|i| {
                    kind.insert(i).unwrap();
                });
                assert!(kind.insert(0).is_err() && &kind[first] as *const i32 == at);
                kind.clear();
                assert!(kind.trim() > 0 && kind.stats().max_capacity == 100_000);
                assert_eq!($Kind::<u8>::new("none", 0).err().unwrap().status(), sys::KOLK_ZERO_CAPACITY);
                let error = $Kind::<u8>::options("shrinks").capacity(2).max_capacity(1).build().err().unwrap();
                assert_eq!(error.status(), sys::KOLK_MAX_BELOW_CAPACITY);
            }

            #[test]
            fn goes_from_thread_to_thread() {
                let mut kind = $Kind::new("threads", 100).unwrap();
                let handles: Vec<_> = (0..100).map(|i| kind.insert(i).unwrap()).collect();
                kind.remove(handles[50]);
                let strange = Handle::from_bits(handles[0].to_bits() ^ 1 << 30).unwrap();
                let look = || {
                    assert_eq!(kind.iter().map(|(_, value)| value).sum::<usize>(), 4950 - 50);
                    assert!((0..1000).all(|_| kind.get(handles[50]).is_none() && kind.get(strange).is_none()));
                };
                thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(look))));
                let kind = thread::spawn(move || {
                    kind.insert(7).unwrap();
                    kind
                });
                assert_eq!(kind.join().unwrap().len(), 100);
            }

            #[test]
            fn ends_names_at_nul() {
                let kind = $Kind::<u32>::options("na\0me").capacity(1).debug("fill\0,nonsense").build().unwrap();
                assert_eq!(unsafe { $name_of(kind.as_ptr()) }, "na");
                assert_eq!(format!("{:?}", kind), "{}");
            }

            /// Random operations, compared with a HashMap.
            #[test]
            fn model() {
                let mut random = Random(seed());
                let lives = Lives::new();
                for capacity in [1, 63, 300] {
                    let mut kind =
                        $Kind::options("model").capacity(capacity / 3).max_capacity(capacity).build().unwrap();
                    let mut model = HashMap::new();
                    let mut dead = Vec::new();
                    for number in 0..steps() {
                        let any = model.keys().next().copied();
                        match random.below(1000) {
                            0..=499 => match kind.insert(lives.make(number)) {
                                Ok(handle) => assert!(model.insert(handle, number).is_none()),
                                Err(full) => assert!(full.0.number == number && model.len() == capacity as usize),
                            },
                            500..=899 => {
                                if let Some(handle) = any {
                                    assert_eq!(kind.remove(handle).map(|life| life.number), model.remove(&handle));
                                    dead.push(handle);
                                }
                            }
                            900..=979 => {
                                if let Some(handle) = any {
                                    kind[handle].number += 7;
                                    *model.get_mut(&handle).unwrap() += 7;
                                }
                            }
                            980..=989 => {
                                let bit = 1 << random.below(4);
                                kind.retain(|life| life.number & bit != 0);
                                dead.extend(
                                    model.iter().filter(|(_, &number)| number & bit == 0).map(|(&handle, _)| handle),
                                );
                                model.retain(|_, number| *number & bit != 0);
                            }
                            990..=991 => {
                                kind.clear();
                                dead.extend(model.drain().map(|(handle, _)| handle));
                            }
                            _ => {
                                let found: HashMap<_, _> =
                                    kind.iter().map(|(handle, life)| (handle, life.number)).collect();
                                assert_eq!(found, model);
                                assert!($is_valid(&kind));
                            }
                        }
                        assert!(kind.len() == model.len() && lives.alive() == model.len());
                        if !dead.is_empty() {
                            assert!(!kind.contains(dead[random.below(dead.len())]));
                        }
                    }
                }
                assert_eq!(lives.alive(), 0);
            }
        }
    };
}

common!(pool, Pool, is_valid, name_of);
common!(slot_map, SlotMap, is_valid_map, name_of_map);

// ---- pools only ----

#[test]
fn pool_walks_in_the_order_of_slots() {
    let mut pool = Pool::new("walks", 300).unwrap();
    let handles: Vec<_> = (0..300).map(|i| pool.insert(i).unwrap()).collect();
    (0..300).filter(|i| i % 7 == 0 || (64..192).contains(i)).for_each(|i| {
        pool.remove(handles[i]);
    });
    let left: Vec<_> = (0..300).filter(|i| i % 7 != 0 && !(64..192).contains(i)).collect();
    assert_eq!(pool.values().copied().collect::<Vec<_>>(), left);
    assert_eq!(pool.values().len(), left.len());
    for value in pool.values_mut() {
        *value += 1000;
    }
    for (handle, value) in &mut pool {
        *value -= 1000;
        assert_eq!(handles[*value], handle);
    }
    let mut iter = pool.iter();
    assert_eq!((iter.next(), iter.len()), (Some((handles[1], &1)), left.len() - 1));
    assert_eq!((&pool).into_iter().count(), left.len());
    let mut values = pool.values();
    assert!(values.by_ref().count() == left.len() && values.next().is_none());
    // All references of one walk may be alive at the same time.
    let all: Vec<&mut usize> = pool.values_mut().collect();
    assert_eq!(all.iter().map(|value| *value as *const usize).collect::<HashSet<_>>().len(), left.len());
}

#[test]
fn pool_walks_go_to_other_threads() {
    fn is_send<T: Send + Sync>(walk: T) -> T {
        walk
    }
    let mut pool = Pool::new("sent", 100).unwrap();
    (0..100).for_each(|i| {
        pool.insert(i).unwrap();
    });
    let values = is_send(pool.values());
    assert!(values.clone().copied().eq(0..100) && values.len() == 100);
    thread::scope(|scope| {
        let walk = is_send(pool.values_mut());
        scope.spawn(move || walk.for_each(|value| *value += 1000));
    });
    thread::scope(|scope| drop(scope.spawn(|| is_send(pool.iter_mut()).for_each(|(_, value)| *value -= 1000))));
    let drain = is_send(pool.drain());
    assert!(thread::scope(|scope| scope.spawn(move || drain.eq(0..100)).join()).unwrap());
}

#[test]
fn pool_walks_where_objects_have_no_neighbours() {
    let mut pool = Pool::options("guarded").capacity(100).debug("guard").build().unwrap();
    (0..100).for_each(|i| {
        pool.insert(i).unwrap();
    });
    assert!(pool.values().copied().eq(0..100));
    pool.retain(|value| *value % 2 == 0);
    assert!(pool.drain().eq((0..100).step_by(2)));
}

#[test]
fn pool_drains() {
    let lives = Lives::new();
    let mut pool = Pool::new("drains", 100).unwrap();
    let handles: Vec<_> = (0..100).map(|i| pool.insert(lives.make(i)).unwrap()).collect();
    let mut drain = pool.drain();
    let some: Vec<Life> = drain.by_ref().take(10).collect();
    assert!(drain.len() == 90 && lives.alive() == 100);
    drop(drain);
    assert!(pool.is_empty() && lives.alive() == 10 && some[9].number == 9 && !pool.contains(handles[0]));
    drop(some);
    (0..100).for_each(|i| {
        pool.insert(lives.make(i)).unwrap();
    });
    let mut drain = pool.drain();
    drain.next();
    std::mem::forget(drain); // leaves the others in the pool
    assert!(pool.len() == 99 && lives.alive() == 99 && is_valid(&pool));
    drop(pool);
    assert_eq!(lives.alive(), 0);
}

#[test]
fn pool_reuses_slots_in_order() {
    let used = |reuse| {
        let mut pool = Pool::options("order").capacity(4).reuse(reuse).build().unwrap();
        let handles = [0, 1, 2].map(|i| pool.insert(i).unwrap());
        handles.iter().rev().take(2).for_each(|&handle| {
            pool.remove(handle);
        }); // slot 2, then slot 1
        let handle = pool.insert(3).unwrap();
        handle.to_bits() as u32 ^ handles[0].to_bits() as u32
    };
    assert_eq!([Reuse::Lifo, Reuse::Fifo, Reuse::Lowest].map(used), [1, 3, 1]);
    let pool = Pool::<u32>::options("strict").capacity(1).strict().build().unwrap();
    assert_eq!(unsafe { (*pool.as_ptr()).generations }, sys::KOLK_GENERATIONS_STRICT);
    let mut pool = Pool::options("lowest").capacity(4).reuse(Reuse::Lowest).build().unwrap();
    let handles = [0, 1, 2].map(|i| pool.insert(i).unwrap());
    pool.remove(handles[0]);
    pool.remove(handles[2]);
    assert_eq!(pool.insert(3).unwrap().to_bits() as u32, handles[0].to_bits() as u32);
}

#[test]
fn pool_keeps_its_headroom() {
    let mut pool = Pool::options("headroom").capacity(3).headroom(1).build().unwrap();
    assert!(pool.insert(1).is_ok() && pool.insert(2).is_ok() && pool.insert(3).is_err());
    assert!(pool.insert_urgent(3).is_ok() && pool.insert_urgent(4).is_err());
}

#[test]
fn pool_grows_ahead() {
    let mut pool = Pool::options("ticks").capacity(64).max_capacity(1 << 20).build().unwrap();
    (0..64).for_each(|i| {
        pool.insert([i; 100]).unwrap();
    });
    pool.tick(1000);
    assert!(pool.capacity() > 64);
    pool.clear();
    assert!((0..1000).map(|_| pool.tick(1000)).sum::<usize>() > 0);
}

// ---- slot maps only ----

#[test]
fn slot_map_is_a_slice() {
    let mut map = SlotMap::new("slice", 10).unwrap();
    let handles: Vec<_> = (0..10).map(|i| map.insert(i).unwrap()).collect();
    assert_eq!(map.remove(handles[2]), Some(2));
    assert_eq!(map.as_slice(), [0, 1, 9, 3, 4, 5, 6, 7, 8]);
    map.as_mut_slice()[2] = 90;
    assert!(map[handles[9]] == 90 && map.handle_at(2) == handles[9] && map.place_of(handles[9]) == Some(2));
    assert!(map.place_of(handles[2]).is_none() && handles.iter().filter_map(|&each| map.place_of(each)).count() == 9);
    map.as_mut_slice().swap(0, 1);
    assert_eq!((map[handles[0]], map[handles[1]]), (1, 0));
    assert!(map.iter().len() == 9 && map.iter().all(|(handle, value)| map[handle] == *value));
    assert!(panics(|| map.handle_at(9)));
    assert!(SlotMap::<u64>::options("empty").max_capacity(10).build().unwrap().as_slice().is_empty());
}

#[test]
fn slot_map_sorts() {
    let mut random = Random(seed());
    let lives = Lives::new();
    let mut map = SlotMap::options("sorts").capacity(100).debug("move").build().unwrap();
    let handles: Vec<_> = (0..100).map(|i| map.insert(lives.make(i * 37 % 101)).unwrap()).collect();
    map.sort_by(|a, b| a.number.cmp(&b.number));
    assert!(map.as_slice().windows(2).all(|pair| pair[0].number < pair[1].number));
    assert!(handles.iter().enumerate().all(|(i, &handle)| map[handle].number == i as u32 * 37 % 101));
    let mut left = 50;
    let explode = |_: &Life, _: &Life| {
        left -= 1;
        assert!(left > 0, "the comparison panics");
        [std::cmp::Ordering::Less, std::cmp::Ordering::Greater][random.below(2)]
    };
    assert!(panics(|| map.sort_by(explode)));
    assert_eq!(left, 0); // it was not called again
    map.sort_by(|_, _| [std::cmp::Ordering::Less, std::cmp::Ordering::Greater][random.below(2)]); // an order that is none
    assert!(handles.iter().enumerate().all(|(i, &handle)| map[handle].number == i as u32 * 37 % 101));
    assert!(is_valid_map(&map) && lives.alive() == 100);
    // A comparison sees the values themselves: what it changes inside of them stays, and memcheck finds no double free.
    let mut map = SlotMap::new("cells", 50).unwrap();
    (0..50).for_each(|i| {
        map.insert(RefCell::new(vec![i * 37 % 101])).unwrap();
    });
    let mut calls = 0;
    map.sort_by(|a, b| {
        calls += 2;
        for cell in [a, b] {
            let longer = cell.borrow().iter().copied().chain([1]).collect();
            cell.replace(longer);
        }
        a.borrow()[0].cmp(&b.borrow()[0])
    });
    assert_eq!(map.as_slice().iter().map(|cell| cell.borrow().len() - 1).sum::<usize>(), calls);
}
