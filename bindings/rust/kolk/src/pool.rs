//! [`Pool`], its [`Options`] and iterators.

use crate::{are_disjoint, c_string, check_struct, sys, Error, Full, Handle, Layout, Raw, Snapshot, Stats};
use std::ffi::CString;
use std::fmt;
use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::mem;
use std::ops::{Index, IndexMut};
use std::ptr::{self, NonNull};

/// A pool of values of one type, which never move and whose memory is reused.
///
/// `insert`, `get` and `remove` are O(1), without a system call unless the pool grows. A value takes its size, 1 bit,
/// and 8 bytes for the order of reuse and its handle. The pool's memory comes from the system.
///
/// A `Pool<T>` may be sent to other threads if T may, and be read by several threads at a time if T may.
pub struct Pool<T> {
    raw: Raw<sys::kolk_pool>,
    values: PhantomData<T>,
}

// SAFETY: kolk's pools belong to no thread; one thread at a time may change a pool, which &mut sees to.
unsafe impl<T: Send> Send for Pool<T> {}
// SAFETY: any number of threads may call the functions that take a const pool, while no other function runs. The only
// field that these write is a counter, by relaxed atomic operations.
unsafe impl<T: Sync> Sync for Pool<T> {}

/// The order in which free slots are used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// The slot freed last: fastest, because it is probably still in the cache.
    Lifo,
    /// Slots that were never used, then the slot freed first.
    Fifo,
    /// The lowest free slot: values stay close together.
    Lowest,
}

/// The settings of a new pool: `Pool::options("bullets").capacity(16).max_capacity(1000).build()`.
pub struct Options<T> {
    desc: sys::kolk_pool_desc,
    name: CString,
    debug: Option<CString>,
    values: PhantomData<fn() -> T>,
}

impl<T> Options<T> {
    /// Slots that can be used without more memory.
    pub fn capacity(mut self, slots: u32) -> Self {
        self.desc.capacity = slots;
        self
    }

    /// The pool can grow to this many slots; values do not move when it grows. Without it, the pool does not grow.
    pub fn max_capacity(mut self, slots: u32) -> Self {
        self.desc.max_capacity = slots;
        self
    }

    /// The last slots, so many, are only for [`Pool::insert_urgent`].
    pub fn headroom(mut self, slots: u32) -> Self {
        self.desc.full.headroom = slots;
        self
    }

    /// The order in which free slots are used again; without it, [`Reuse::Lifo`].
    pub fn reuse(mut self, reuse: Reuse) -> Self {
        self.desc.reuse = match reuse {
            Reuse::Lifo => sys::KOLK_REUSE_LIFO,
            Reuse::Fifo => sys::KOLK_REUSE_FIFO,
            Reuse::Lowest => sys::KOLK_REUSE_LOWEST,
        };
        self
    }

    /// A slot that had 2^32 - 1 lives is never used again, so that no stale handle ever finds a value.
    pub fn strict(mut self) -> Self {
        self.desc.generations = sys::KOLK_GENERATIONS_STRICT;
        self
    }

    /// Distinguishes the pool's handles from those of other pools, instead of its name.
    pub fn tag(mut self, tag: u32) -> Self {
        self.desc.tag = tag;
        self
    }

    /// Settings of the debug mode for this pool, such as `"fill,sites"`.
    pub fn debug(mut self, settings: &str) -> Self {
        self.debug = Some(c_string(settings));
        self
    }

    /// Makes the pool.
    pub fn build(mut self) -> Result<Pool<T>, Error> {
        check_struct::<sys::kolk_pool>(b"kolk_pool\0")?;
        check_struct::<sys::kolk_pool_desc>(b"kolk_pool_desc\0")?;
        self.desc.name = self.name.as_ptr();
        self.desc.debug = self.debug.as_ref().map_or(ptr::null(), |debug| debug.as_ptr());
        self.desc.object_size = Layout::<T>::SIZE;
        self.desc.object_align = Layout::<T>::ALIGN;
        // SAFETY: all zero is valid for the struct. The texts live until the init returns, and `raw` keeps the name.
        let raw = unsafe { Raw::new(sys::kolk_pool_init, sys::kolk_pool_deinit, &self.desc, self.name)? };
        Ok(Pool { raw, values: PhantomData })
    }
}

impl<T> Pool<T> {
    /// A pool of this many slots, which does not grow. The name is for reports, statistics and handles, and ends before
    /// its first NUL byte.
    pub fn new(name: &str, capacity: u32) -> Result<Pool<T>, Error> {
        Pool::options(name).capacity(capacity).build()
    }

    /// Begins a pool with other settings.
    pub fn options(name: &str) -> Options<T> {
        // SAFETY: zero is the default of each member.
        let desc = unsafe { mem::zeroed() };
        Options { desc, name: c_string(name), debug: None, values: PhantomData }
    }

    /// Inserts a value. If the pool is full, the value comes back in the error.
    #[inline]
    pub fn insert(&mut self, value: T) -> Result<Handle<T>, Full<T>> {
        // SAFETY: the pool is initialised.
        let object = unsafe { sys::kolk_pool_alloc(self.raw.as_ptr()) };
        self.fill(object as *mut T, value)
    }

    /// Inserts the value that `make` returns for its own handle. If the pool is full, `make` is not called, and comes
    /// back in the error.
    pub fn insert_with<F: FnOnce(Handle<T>) -> T>(&mut self, make: F) -> Result<Handle<T>, Full<F>> {
        // Frees the slot if `make` panics.
        struct Unfilled<'a, T>(&'a mut Pool<T>, *mut T);
        impl<T> Drop for Unfilled<'_, T> {
            fn drop(&mut self) {
                // SAFETY: the object is alive, and has no value.
                unsafe { sys::kolk_pool_free(self.0.raw.as_ptr(), self.1.cast()) }
            }
        }
        // SAFETY: the pool is initialised. Nobody can look at the object before it has its value, as self is borrowed.
        unsafe {
            let object = sys::kolk_pool_alloc(self.raw.as_ptr()) as *mut T;
            if object.is_null() {
                return Err(Full(make));
            }
            let handle = self.handle_of(object);
            let unfilled = Unfilled(self, object);
            object.write(make(handle));
            mem::forget(unfilled);
            Ok(handle)
        }
    }

    /// The same as [`insert`](Pool::insert), but also uses the [`headroom`](Options::headroom).
    pub fn insert_urgent(&mut self, value: T) -> Result<Handle<T>, Full<T>> {
        // SAFETY: the pool is initialised.
        let object = unsafe { sys::kolk_pool_alloc_urgent(self.raw.as_ptr()) };
        self.fill(object as *mut T, value)
    }

    #[inline]
    fn fill(&mut self, object: *mut T, value: T) -> Result<Handle<T>, Full<T>> {
        if object.is_null() {
            return Err(Full(value));
        }
        // SAFETY: the object is new, and has the size and alignment of T.
        unsafe {
            object.write(value);
            Ok(self.handle_of(object))
        }
    }

    /// # Safety
    /// The object is alive in this pool.
    #[inline]
    unsafe fn handle_of(&self, object: *const T) -> Handle<T> {
        Handle::of_live(sys::kolk_pool_handle_of(self.raw.as_ptr(), object.cast()))
    }

    #[inline]
    fn find(&self, handle: Handle<T>) -> *mut T {
        // SAFETY: kolk takes any handle, and returns an object of the pool or NULL.
        unsafe { sys::kolk_pool_get(self.raw.as_ptr(), handle.in_c()) as *mut T }
    }

    /// The value, or None if the handle is stale.
    #[inline]
    pub fn get(&self, handle: Handle<T>) -> Option<&T> {
        // SAFETY: live objects are values, and change only by &mut self.
        unsafe { self.find(handle).as_ref() }
    }

    /// The value, or None if the handle is stale.
    #[inline]
    pub fn get_mut(&mut self, handle: Handle<T>) -> Option<&mut T> {
        // SAFETY: live objects are values, and self is borrowed for as long as the reference.
        unsafe { self.find(handle).as_mut() }
    }

    /// Several values at once, or None if a handle is stale, or if two are the same.
    pub fn get_disjoint_mut<const N: usize>(&mut self, handles: [Handle<T>; N]) -> Option<[&mut T; N]> {
        let found = handles.map(|handle| self.find(handle));
        // SAFETY: as in get_mut; no two references have the same target.
        are_disjoint(&found).then(|| found.map(|object| unsafe { &mut *object }))
    }

    /// Is the value still there?
    #[inline]
    pub fn contains(&self, handle: Handle<T>) -> bool {
        !self.find(handle).is_null()
    }

    /// Removes the value and returns it, or None if the handle is stale.
    #[inline]
    pub fn remove(&mut self, handle: Handle<T>) -> Option<T> {
        // SAFETY: a live object is a value.
        NonNull::new(self.find(handle)).map(|object| unsafe { self.take(object.as_ptr()) })
    }

    /// # Safety
    /// The object is alive in this pool.
    #[inline]
    unsafe fn take(&mut self, object: *mut T) -> T {
        let value = object.read();
        sys::kolk_pool_free(self.raw.as_ptr(), object.cast());
        value
    }

    /// Removes and drops all values. If a drop panics, the others are dropped all the same.
    pub fn clear(&mut self) {
        // Drops the rest of the values, and empties the pool.
        struct Rest<'a, T>(&'a mut Pool<T>, Walk<T>);
        impl<T> Drop for Rest<'_, T> {
            fn drop(&mut self) {
                for object in &mut self.1 {
                    // SAFETY: the walk visits each live object once.
                    unsafe { object.as_ptr().drop_in_place() }
                }
                // SAFETY: the pool is initialised, and all its values are dropped.
                unsafe { sys::kolk_pool_clear(self.0.raw.as_ptr()) }
            }
        }
        let walk = if mem::needs_drop::<T>() { self.walk() } else { Walk::nothing() };
        let mut rest = Rest(self, walk);
        for object in &mut rest.1 {
            // SAFETY: the walk visits each live object once, whether a drop panics or not.
            unsafe { object.as_ptr().drop_in_place() }
        }
    }

    /// Removes and drops all values for which `keep` returns false, in the order of slots.
    pub fn retain(&mut self, mut keep: impl FnMut(&mut T) -> bool) {
        for object in self.walk() {
            // SAFETY: the object is alive. A walk goes on when its current object is freed.
            unsafe {
                if !keep(&mut *object.as_ptr()) {
                    drop(self.take(object.as_ptr()));
                }
            }
        }
    }

    /// Removes all values and returns them one by one. Values that are not taken are dropped at the end.
    pub fn drain(&mut self) -> Drain<'_, T> {
        let walk = self.walk();
        Drain { pool: self, walk }
    }

    fn walk(&self) -> Walk<T> {
        // SAFETY: the pool is initialised.
        let cursor = unsafe { sys::kolk_pool_each(self.raw.as_ptr()) };
        Walk { cursor: Some(cursor), run: ptr::null_mut(), left: 0, left_of_all: self.len(), values: PhantomData }
    }

    /// All values with their handles, in the order of slots.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter { pool: self, walk: self.walk() }
    }

    /// All values with their handles, in the order of slots.
    pub fn iter_mut(&mut self) -> IterMut<'_, T> {
        let walk = self.walk();
        IterMut { pool: self, walk }
    }

    /// All values, in the order of slots. This is faster than [`iter`](Pool::iter), which asks for each handle.
    pub fn values(&self) -> Values<'_, T> {
        Values { walk: self.walk(), pool: PhantomData }
    }

    /// All values, in the order of slots. This is faster than [`iter_mut`](Pool::iter_mut), which asks for each handle.
    pub fn values_mut(&mut self) -> ValuesMut<'_, T> {
        ValuesMut { walk: self.walk(), pool: PhantomData }
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        // SAFETY: the pool is initialised.
        unsafe { sys::kolk_pool_count(self.raw.as_ptr()) as usize }
    }

    /// Are there no values?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Slots that can be used without more memory.
    pub fn capacity(&self) -> usize {
        // SAFETY: the pool is initialised; users of kolk may read any field.
        unsafe { (*self.raw.as_ptr()).capacity as usize }
    }

    /// Raises the capacity to this many slots, so that later inserts need not ask the system for memory.
    pub fn reserve(&mut self, capacity: u32) -> Result<(), Error> {
        // SAFETY: the pool is initialised.
        Error::check(unsafe { sys::kolk_pool_reserve(self.raw.as_ptr(), capacity) })
    }

    /// Releases whole pages without values to the system, and returns their bytes. The capacity does not change.
    pub fn trim(&mut self) -> usize {
        // SAFETY: the pool is initialised.
        unsafe { sys::kolk_pool_trim(self.raw.as_ptr()) }
    }

    /// Call it once per frame: grows the pool in advance and releases memory, by the measured demand, up to `slots` at
    /// a time. Returns the bytes that were released.
    pub fn tick(&mut self, slots: u32) -> usize {
        // SAFETY: the pool is initialised.
        unsafe { sys::kolk_pool_tick(self.raw.as_ptr(), slots) }
    }

    /// The state of the pool, for a [`restore`](Pool::restore): its values, and which handles find them.
    pub fn snapshot(&self) -> Snapshot<T>
    where
        T: Copy,
    {
        // SAFETY: the pool is initialised, and may be read; the block is as large as kolk asks. Copies of values may be
        // made, and have nothing to drop.
        unsafe { Snapshot::of(self.raw.as_ptr(), sys::kolk_pool_snapshot_size, sys::kolk_pool_snapshot) }
    }

    /// Brings the values back, and the handles of that time; later ones are stale. (Handles with the same bits will be
    /// issued again.) Any error leaves the pool as it was: it has another name, tag or settings, or no room for the
    /// values.
    pub fn restore(&mut self, snapshot: &Snapshot<T>) -> Result<(), Error>
    where
        T: Copy,
    {
        // SAFETY: the pool is initialised. All values of the block are of type T, and live as long as T does; the
        // values that they replace have nothing to drop.
        Error::check(unsafe { sys::kolk_pool_restore(self.raw.as_ptr(), snapshot.as_ptr(), snapshot.size) })
    }

    /// All counters.
    pub fn stats(&self) -> Stats {
        // SAFETY: kolk fills in the struct, which may be all zero before.
        unsafe {
            let mut stats = mem::zeroed();
            sys::kolk_pool_stats(self.raw.as_ptr(), &mut stats);
            Stats::of(&stats)
        }
    }

    /// The pool of C, for functions of [`sys`]. It must stay initialised, and have only values of T.
    pub fn as_ptr(&self) -> *mut sys::kolk_pool {
        self.raw.as_ptr()
    }
}

impl<T> Drop for Pool<T> {
    fn drop(&mut self) {
        // If a value's drop panics, the fields are dropped all the same.
        self.clear();
    }
}

impl<T> Index<Handle<T>> for Pool<T> {
    type Output = T;
    /// Panics if the handle is stale.
    fn index(&self, handle: Handle<T>) -> &T {
        self.get(handle).expect("the handle is stale")
    }
}

impl<T> IndexMut<Handle<T>> for Pool<T> {
    fn index_mut(&mut self, handle: Handle<T>) -> &mut T {
        self.get_mut(handle).expect("the handle is stale")
    }
}

impl<T: fmt::Debug> fmt::Debug for Pool<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_map().entries(self).finish()
    }
}

/// A walk over live objects, run by run. Whoever has it states what it borrows.
struct Walk<T> {
    cursor: Option<sys::kolk_cursor>,
    run: *mut u8,
    left: u32,
    left_of_all: usize,
    values: PhantomData<*mut T>,
}

impl<T> Walk<T> {
    fn nothing() -> Walk<T> {
        Walk { cursor: None, run: ptr::null_mut(), left: 0, left_of_all: 0, values: PhantomData }
    }

    fn next_run(&mut self) -> bool {
        if let Some(cursor) = &mut self.cursor {
            // SAFETY: whoever has the walk has the pool borrowed. The objects of a run are a stride apart, which is
            // Layout::SIZE; if the debug mode puts more between them, a run is one object.
            self.run = unsafe { sys::kolk_cursor_next_run(cursor, &mut self.left) as *mut u8 };
        }
        self.left > 0
    }
}

impl<T> Clone for Walk<T> {
    fn clone(&self) -> Self {
        Walk { ..*self }
    }
}

impl<T> Iterator for Walk<T> {
    type Item = NonNull<T>;

    #[inline]
    fn next(&mut self) -> Option<NonNull<T>> {
        if self.left == 0 && !self.next_run() {
            return None;
        }
        let object = self.run;
        self.run = object.wrapping_add(Layout::<T>::SIZE);
        self.left -= 1;
        self.left_of_all -= 1;
        NonNull::new(object as *mut T)
    }
}

macro_rules! iterator {
    ($name:ident gives $item:ty, is sent if $send:path, shared if $sync:path) => {
        // SAFETY: the walk is a position in the pool, and belongs to no thread. What it gives may be used where a
        // reference of this kind to T may.
        unsafe impl<T: $send> Send for $name<'_, T> {}
        // SAFETY: a shared iterator gives nothing but its length.
        unsafe impl<T: $sync> Sync for $name<'_, T> {}

        impl<'a, T> Iterator for $name<'a, T> {
            type Item = $item;

            #[inline]
            fn next(&mut self) -> Option<$item> {
                // SAFETY: the objects are alive for 'a, and the walk visits each once.
                self.walk.next().map(|object| unsafe { self.item(object) })
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                (self.walk.left_of_all, Some(self.walk.left_of_all))
            }
        }

        impl<T> ExactSizeIterator for $name<'_, T> {}
        impl<T> FusedIterator for $name<'_, T> {}
    };
}

/// Of [`Pool::iter`].
pub struct Iter<'a, T> {
    pool: &'a Pool<T>,
    walk: Walk<T>,
}

impl<'a, T> Iter<'a, T> {
    unsafe fn item(&self, object: NonNull<T>) -> (Handle<T>, &'a T) {
        (self.pool.handle_of(object.as_ptr()), &*object.as_ptr())
    }
}

/// Of [`Pool::iter_mut`].
pub struct IterMut<'a, T> {
    pool: &'a mut Pool<T>,
    walk: Walk<T>,
}

impl<'a, T> IterMut<'a, T> {
    unsafe fn item(&self, object: NonNull<T>) -> (Handle<T>, &'a mut T) {
        (self.pool.handle_of(object.as_ptr()), &mut *object.as_ptr())
    }
}

/// Of [`Pool::values`].
pub struct Values<'a, T> {
    walk: Walk<T>,
    pool: PhantomData<&'a Pool<T>>,
}

impl<'a, T> Values<'a, T> {
    #[inline]
    unsafe fn item(&self, object: NonNull<T>) -> &'a T {
        &*object.as_ptr()
    }
}

/// Of [`Pool::values_mut`].
pub struct ValuesMut<'a, T> {
    walk: Walk<T>,
    pool: PhantomData<&'a mut Pool<T>>,
}

impl<'a, T> ValuesMut<'a, T> {
    #[inline]
    unsafe fn item(&self, object: NonNull<T>) -> &'a mut T {
        &mut *object.as_ptr()
    }
}

/// Of [`Pool::drain`].
pub struct Drain<'a, T> {
    pool: &'a mut Pool<T>,
    walk: Walk<T>,
}

impl<T> Drain<'_, T> {
    unsafe fn item(&mut self, object: NonNull<T>) -> T {
        self.pool.take(object.as_ptr())
    }
}

impl<T> Drop for Drain<'_, T> {
    fn drop(&mut self) {
        self.pool.clear();
    }
}

iterator!(Iter gives (Handle<T>, &'a T), is sent if Sync, shared if Sync);
iterator!(IterMut gives (Handle<T>, &'a mut T), is sent if Send, shared if Sync);
iterator!(Values gives &'a T, is sent if Sync, shared if Sync);
iterator!(ValuesMut gives &'a mut T, is sent if Send, shared if Sync);
iterator!(Drain gives T, is sent if Send, shared if Sync);

impl<T> Clone for Iter<'_, T> {
    fn clone(&self) -> Self {
        Iter { pool: self.pool, walk: self.walk.clone() }
    }
}

impl<T> Clone for Values<'_, T> {
    fn clone(&self) -> Self {
        Values { walk: self.walk.clone(), pool: PhantomData }
    }
}

impl<'a, T> IntoIterator for &'a Pool<T> {
    type Item = (Handle<T>, &'a T);
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<'a, T> IntoIterator for &'a mut Pool<T> {
    type Item = (Handle<T>, &'a mut T);
    type IntoIter = IterMut<'a, T>;

    fn into_iter(self) -> IterMut<'a, T> {
        self.iter_mut()
    }
}
