//! Each line that ends with a number of an error must be refused with this error, and no other line.

use kolk::{Pool, SlotMap};

fn keeps_a_reference_across_a_removal(mut pool: Pool<String>) {
    let handle = pool.insert("a".to_string()).unwrap();
    let value = pool.get(handle).unwrap();
    pool.remove(handle); //~ E0502
    println!("{}", value);
}

fn keeps_a_mutable_reference(mut pool: Pool<String>) {
    let handle = pool.insert("a".to_string()).unwrap();
    let value = pool.get_mut(handle).unwrap();
    pool.clear(); //~ E0499
    value.push('b');
}

fn removes_during_a_walk(mut pool: Pool<u32>) {
    for (handle, _) in &pool {
        pool.remove(handle); //~ E0502
    }
}

fn lends_twice(mut pool: Pool<u32>) {
    let handle = pool.insert(1).unwrap();
    let first = &mut pool[handle];
    let second = &mut pool[handle]; //~ E0499
    std::mem::swap(first, second);
}

fn outlives_its_pool() -> usize {
    let mut kept: Vec<&u32> = Vec::new();
    {
        let pool: Pool<u32> = Pool::new("short", 1).unwrap();
        kept.extend(pool.values()); //~ E0597
    }
    kept.len()
}

fn keeps_the_slice(mut map: SlotMap<u32>) {
    let all = map.as_slice();
    map.insert(1).unwrap(); //~ E0502
    println!("{:?}", all);
}

fn keeps_a_reference_into_a_map(mut map: SlotMap<u32>) {
    let handle = map.insert(1).unwrap();
    let value = map.get(handle);
    map.remove(handle); //~ E0502
    println!("{:?}", value);
}

fn keeps_two_references(mut pool: Pool<u32>, mut map: SlotMap<u32>) {
    let (handle, other) = (pool.insert(1).unwrap(), map.insert(1).unwrap());
    let (two, one) = (pool.get_disjoint_mut([handle]), map.get_mut(other));
    pool.remove(handle); //~ E0499
    map.remove(other); //~ E0499
    println!("{:?}, {:?}", two, one);
}

fn sorts_what_it_reads(mut map: SlotMap<u32>) {
    map.sort_by(|a, b| map[map.handle_at(0)].cmp(a).then(b.cmp(a))); //~ E0502
}

fn lets_a_value_outlive_what_it_borrows(pool: &mut Pool<&'static str>, map: &mut SlotMap<&'static str>) {
    let short = String::from("short");
    for value in pool.values_mut() {
        *value = &short; //~ E0597
    }
    for (_, value) in pool.iter_mut() {
        *value = &short; //~ E0597
    }
    for value in map.as_mut_slice() {
        *value = &short; //~ E0597
    }
}

struct Reader<'a>(&'a String);

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        println!("{}", self.0);
    }
}

fn drops_what_is_borrowed_before_its_reader() {
    let mut pool = Pool::new("readers", 1).unwrap();
    let mut map = SlotMap::new("readers", 1).unwrap();
    let read = String::from("read");
    let _ = (pool.insert(Reader(&read)), map.insert(Reader(&read))); //~ E0597
}

fn drains_and_inserts(mut pool: Pool<u32>) {
    let mut values = pool.drain();
    let _ = pool.insert(1); //~ E0499
    values.next();
}

fn keeps_a_snapshot_longer_than_its_values(pool: &mut Pool<&'static str>) {
    let text = String::from("short");
    let mut short = Pool::new("readers", 1).unwrap();
    let _ = short.insert(&text[..]); //~ E0597
    pool.restore(&short.snapshot()).unwrap();
}

fn makes_a_value_of_its_pool(mut pool: Pool<usize>) {
    let _ = pool.insert_with(|_| pool.len()); //~ E0502
}

fn main() {
    keeps_a_snapshot_longer_than_its_values(&mut Pool::new("a", 1).unwrap());
    makes_a_value_of_its_pool(Pool::new("a", 1).unwrap());
    keeps_a_reference_across_a_removal(Pool::new("a", 1).unwrap());
    keeps_a_mutable_reference(Pool::new("a", 1).unwrap());
    removes_during_a_walk(Pool::new("a", 1).unwrap());
    lends_twice(Pool::new("a", 1).unwrap());
    outlives_its_pool();
    keeps_the_slice(SlotMap::new("a", 1).unwrap());
    keeps_a_reference_into_a_map(SlotMap::new("a", 1).unwrap());
    keeps_two_references(Pool::new("a", 1).unwrap(), SlotMap::new("a", 1).unwrap());
    sorts_what_it_reads(SlotMap::new("a", 1).unwrap());
    lets_a_value_outlive_what_it_borrows(&mut Pool::new("a", 1).unwrap(), &mut SlotMap::new("a", 1).unwrap());
    drops_what_is_borrowed_before_its_reader();
    drains_and_inserts(Pool::new("a", 1).unwrap());
}
