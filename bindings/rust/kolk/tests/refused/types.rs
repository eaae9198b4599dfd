//! Each line that ends with a number of an error must be refused with this error, and no other line.

use kolk::{Handle, Pool, SlotMap};
use std::cell::Cell;
use std::rc::Rc;

struct Apple;
struct Pear;

fn uses_a_handle_of_another_type(apples: &Pool<Apple>, pear: Handle<Pear>) {
    apples.get(pear); //~ E0308
}

fn uses_a_handle_of_another_type_in_a_map(apples: &SlotMap<Apple>, pear: Handle<Pear>) {
    apples.get(pear); //~ E0308
}

fn inserts_another_type(apples: &mut Pool<Apple>) {
    let _ = apples.insert(Pear); //~ E0308
}

fn is_send<T: Send>(_: T) {}
fn is_sync<T: Sync>(_: T) {}

fn leaves_its_thread(pool: Pool<Rc<u32>>, map: SlotMap<Rc<u32>>, handle: Handle<Rc<u32>>) {
    is_send(handle);
    is_send(pool); //~ E0277
    is_send(map); //~ E0277
}

fn is_shared(pool: Pool<Cell<u32>>, map: SlotMap<Cell<u32>>, handle: Handle<Cell<u32>>) {
    is_sync(handle);
    is_sync(pool); //~ E0277
    is_sync(map); //~ E0277
}

fn walks_in_another_thread(pool: &mut Pool<Cell<u32>>, others: &mut Pool<Rc<u32>>) {
    is_send(pool.values()); //~ E0277
    is_send(pool.iter()); //~ E0277
    is_send(pool.values_mut());
    is_sync(pool.values_mut()); //~ E0277
    is_send(others.values_mut()); //~ E0277
    is_send(others.iter_mut()); //~ E0277
    is_send(others.drain()); //~ E0277
}

fn copies_what_may_not_be_copied(pool: &Pool<String>, map: &mut SlotMap<Box<u32>>, numbers: &Pool<u32>) {
    pool.snapshot(); //~ E0277
    map.snapshot(); //~ E0277
    Pool::<i32>::new("a", 1).unwrap().restore(&numbers.snapshot()).unwrap(); //~ E0308
}

fn main() {
    walks_in_another_thread(&mut Pool::new("a", 1).unwrap(), &mut Pool::new("a", 1).unwrap());
    copies_what_may_not_be_copied(
        &Pool::new("a", 1).unwrap(),
        &mut SlotMap::new("a", 1).unwrap(),
        &Pool::new("a", 1).unwrap(),
    );
    uses_a_handle_of_another_type(&Pool::new("a", 1).unwrap(), Handle::from_bits(1).unwrap());
    uses_a_handle_of_another_type_in_a_map(&SlotMap::new("a", 1).unwrap(), Handle::from_bits(1).unwrap());
    inserts_another_type(&mut Pool::new("a", 1).unwrap());
    leaves_its_thread(Pool::new("a", 1).unwrap(), SlotMap::new("a", 1).unwrap(), Handle::from_bits(1).unwrap());
    is_shared(Pool::new("a", 1).unwrap(), SlotMap::new("a", 1).unwrap(), Handle::from_bits(1).unwrap());
}
