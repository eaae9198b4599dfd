//! [`SlotMap`], its [`Options`] and iterators.

use crate::{are_disjoint, c_string, check_struct, sys, Error, Full, Handle, Layout, Raw, Snapshot, Stats};
use std::any::Any;
use std::cmp::Ordering;
use std::ffi::CString;
use std::fmt;
use std::iter::{self, FusedIterator};
use std::marker::PhantomData;
use std::mem;
use std::ops::{Index, IndexMut};
use std::os::raw::{c_int, c_void};
use std::panic::{self, AssertUnwindSafe};
use std::ptr::{self, NonNull};
use std::slice;

/// Values of one type, packed in a slice. They move, and their handles follow.
///
/// `insert`, `get` and `remove` are O(1); a removal moves the last value into the gap. A value takes its size and 12
/// bytes. The map's memory comes from the system.
///
/// A `SlotMap<T>` may be sent to other threads if T may, and be read by several threads at a time if T may.
pub struct SlotMap<T> {
    raw: Raw<sys::kolk_slotmap>,
    values: PhantomData<T>,
}

// SAFETY: as for Pool.
unsafe impl<T: Send> Send for SlotMap<T> {}
// SAFETY: as for Pool.
unsafe impl<T: Sync> Sync for SlotMap<T> {}

/// The settings of a new slot map: `SlotMap::options("bodies").max_capacity(1000).build()`.
pub struct Options<T> {
    desc: sys::kolk_slotmap_desc,
    name: CString,
    debug: Option<CString>,
    values: PhantomData<fn() -> T>,
}

impl<T> Options<T> {
    /// Values that can be inserted without more memory.
    pub fn capacity(mut self, values: u32) -> Self {
        self.desc.capacity = values;
        self
    }

    /// The map can grow to this many values. Without it, the map does not grow.
    pub fn max_capacity(mut self, values: u32) -> Self {
        self.desc.max_capacity = values;
        self
    }

    /// Distinguishes the map's handles from those of other maps, instead of its name.
    pub fn tag(mut self, tag: u32) -> Self {
        self.desc.tag = tag;
        self
    }

    /// Settings of the debug mode for this map, such as `"fill,move"`.
    pub fn debug(mut self, settings: &str) -> Self {
        self.debug = Some(c_string(settings));
        self
    }

    /// Makes the map.
    pub fn build(mut self) -> Result<SlotMap<T>, Error> {
        check_struct::<sys::kolk_slotmap>(b"kolk_slotmap\0")?;
        check_struct::<sys::kolk_slotmap_desc>(b"kolk_slotmap_desc\0")?;
        self.desc.name = self.name.as_ptr();
        self.desc.debug = self.debug.as_ref().map_or(ptr::null(), |debug| debug.as_ptr());
        self.desc.object_size = Layout::<T>::SIZE;
        self.desc.object_align = Layout::<T>::ALIGN;
        // SAFETY: all zero is valid for the struct. The texts live until the init returns, and `raw` keeps the name.
        let raw = unsafe { Raw::new(sys::kolk_slotmap_init, sys::kolk_slotmap_deinit, &self.desc, self.name)? };
        Ok(SlotMap { raw, values: PhantomData })
    }
}

impl<T> SlotMap<T> {
    /// A map of this many values, which does not grow. The name is for reports, statistics and handles, and ends before
    /// its first NUL byte.
    pub fn new(name: &str, capacity: u32) -> Result<SlotMap<T>, Error> {
        SlotMap::options(name).capacity(capacity).build()
    }

    /// Begins a map with other settings.
    pub fn options(name: &str) -> Options<T> {
        // SAFETY: zero is the default of each member.
        let desc = unsafe { mem::zeroed() };
        Options { desc, name: c_string(name), debug: None, values: PhantomData }
    }

    /// Inserts a value at the end of the slice. If the map is full, the value comes back in the error.
    #[inline]
    pub fn insert(&mut self, value: T) -> Result<Handle<T>, Full<T>> {
        let mut handle = sys::kolk_handle { bits: 0 };
        // SAFETY: the map is initialised. The object is new, and has the size and alignment of T.
        unsafe {
            let object = sys::kolk_slotmap_add(self.raw.as_ptr(), &mut handle) as *mut T;
            if object.is_null() {
                return Err(Full(value));
            }
            object.write(value);
        }
        Ok(Handle::of_live(handle))
    }

    /// Inserts the value that `make` returns for its own handle. If the map is full, `make` is not called, and comes
    /// back in the error.
    pub fn insert_with<F: FnOnce(Handle<T>) -> T>(&mut self, make: F) -> Result<Handle<T>, Full<F>> {
        // Removes the object if `make` panics.
        struct Unfilled<'a, T>(&'a mut SlotMap<T>, sys::kolk_handle);
        impl<T> Drop for Unfilled<'_, T> {
            fn drop(&mut self) {
                // SAFETY: the object is the last one of the map, and has no value.
                unsafe {
                    sys::kolk_slotmap_remove(self.0.raw.as_ptr(), self.1);
                }
            }
        }
        let mut handle = sys::kolk_handle { bits: 0 };
        // SAFETY: the map is initialised. Nobody can look at the object before it has its value, as self is borrowed.
        unsafe {
            let object = sys::kolk_slotmap_add(self.raw.as_ptr(), &mut handle) as *mut T;
            if object.is_null() {
                return Err(Full(make));
            }
            let unfilled = Unfilled(self, handle);
            object.write(make(Handle::of_live(handle)));
            mem::forget(unfilled);
        }
        Ok(Handle::of_live(handle))
    }

    #[inline]
    fn find(&self, handle: Handle<T>) -> *mut T {
        // SAFETY: kolk takes any handle, and returns an object of the map or NULL.
        unsafe { sys::kolk_slotmap_get(self.raw.as_ptr(), handle.in_c()) as *mut T }
    }

    /// The value, or None if the handle is stale.
    #[inline]
    pub fn get(&self, handle: Handle<T>) -> Option<&T> {
        // SAFETY: live objects are values, and move and change only by &mut self.
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

    /// Removes the value and returns it, or None if the handle is stale. The last value moves to its place.
    #[inline]
    pub fn remove(&mut self, handle: Handle<T>) -> Option<T> {
        let object = NonNull::new(self.find(handle))?;
        // SAFETY: a live object is a value; what kolk moves over it afterwards is another value, moved as Rust would.
        unsafe {
            let value = object.as_ptr().read();
            sys::kolk_slotmap_remove(self.raw.as_ptr(), handle.in_c());
            Some(value)
        }
    }

    /// Removes and drops all values. If a drop panics, the others are dropped all the same.
    pub fn clear(&mut self) {
        // Empties the map, even if a value's drop panics.
        struct Empty(*mut sys::kolk_slotmap);
        impl Drop for Empty {
            fn drop(&mut self) {
                // SAFETY: the map is initialised, and its values are dropped.
                unsafe { sys::kolk_slotmap_clear(self.0) }
            }
        }
        let _empty = Empty(self.raw.as_ptr());
        // SAFETY: each value is dropped once; drop_in_place goes on with the others when one panics.
        unsafe { ptr::drop_in_place(self.as_mut_slice()) }
    }

    /// Removes and drops all values for which `keep` returns false, from the last one to the first.
    pub fn retain(&mut self, mut keep: impl FnMut(&mut T) -> bool) {
        for place in (0..self.len()).rev() {
            let value = &mut self.as_mut_slice()[place];
            if !keep(value) {
                let handle = self.handle_at(place);
                drop(self.remove(handle));
            }
        }
    }

    /// The handle of the value at this place of the slice. Panics if there is none.
    pub fn handle_at(&self, place: usize) -> Handle<T> {
        assert!(place < self.len(), "there are {} values, and none at {}", self.len(), place);
        // SAFETY: there is an object at this place. (Its address is not that of the slice's element if T has no size.)
        unsafe {
            let object = sys::kolk_slotmap_at(self.raw.as_ptr(), place as u32);
            Handle::of_live(sys::kolk_slotmap_handle_of(self.raw.as_ptr(), object))
        }
    }

    /// The place of a value in the slice, or None if the handle is stale.
    pub fn place_of(&self, handle: Handle<T>) -> Option<usize> {
        // SAFETY: a live object of this map has a place.
        NonNull::new(self.find(handle))
            .map(|object| unsafe { sys::kolk_slotmap_index(self.raw.as_ptr(), object.as_ptr().cast()) as usize })
    }

    /// All values: a plain slice. A removal changes their order.
    #[inline]
    pub fn as_slice(&self) -> &[T] {
        // SAFETY: as in as_mut_slice.
        unsafe { slice::from_raw_parts(self.objects(), self.len()) }
    }

    /// All values: a plain slice. If two values are exchanged (`swap`), each handle finds the other one.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: the first `count` objects are values; their stride is the size of T.
        unsafe { slice::from_raw_parts_mut(self.objects(), self.len()) }
    }

    #[inline]
    fn objects(&self) -> *mut T {
        // SAFETY: the map is initialised, so it has a place for objects, which may be empty but is not NULL.
        unsafe { sys::kolk_slotmap_objects(self.raw.as_ptr()) as *mut T }
    }

    /// All values with their handles, in the order of the slice.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter { map: self, values: self.as_slice().iter().enumerate() }
    }

    /// Sorts the slice. Equal values keep their order, and all handles stay valid. A panic of `compare` leaves the
    /// values in any order.
    pub fn sort_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering) {
        struct By<F>(F, Option<Box<dyn Any + Send>>);
        unsafe extern "C" fn sign<T, F: FnMut(&T, &T) -> Ordering>(
            a: *const c_void,
            b: *const c_void,
            by: *mut c_void,
        ) -> c_int {
            let by = &mut *(by as *mut By<F>);
            if by.1.is_some() {
                return 0;
            }
            // A panic must not pass through C.
            let result = panic::catch_unwind(AssertUnwindSafe(|| (by.0)(&*(a as *const T), &*(b as *const T))));
            result.map_or_else(
                |panic| {
                    by.1 = Some(panic);
                    0
                },
                |order| order as c_int,
            )
        }
        fn sort<T, F: FnMut(&T, &T) -> Ordering>(map: &mut SlotMap<T>, by: &mut By<F>) {
            // SAFETY: `sign` returns, and sees the map's values only, not copies of them, so it may change what is in
            // their cells; kolk's sort keeps each of them for any results.
            unsafe { sys::kolk_slotmap_sort(map.raw.as_ptr(), Some(sign::<T, F>), by as *mut By<F> as *mut c_void) }
        }
        let mut by = By(compare, None);
        sort(self, &mut by);
        if let Some(panic) = by.1 {
            panic::resume_unwind(panic);
        }
    }

    /// The number of values.
    #[inline]
    pub fn len(&self) -> usize {
        // SAFETY: the map is initialised.
        unsafe { sys::kolk_slotmap_count(self.raw.as_ptr()) as usize }
    }

    /// Are there no values?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Values that fit without more memory.
    pub fn capacity(&self) -> usize {
        // SAFETY: the map is initialised; users of kolk may read any field.
        unsafe { (*self.raw.as_ptr()).capacity as usize }
    }

    /// Raises the capacity to this many values, so that later inserts need not ask the system for memory.
    pub fn reserve(&mut self, capacity: u32) -> Result<(), Error> {
        // SAFETY: the map is initialised.
        Error::check(unsafe { sys::kolk_slotmap_reserve(self.raw.as_ptr(), capacity) })
    }

    /// Releases the pages behind the last value to the system, and returns their bytes. The capacity does not change.
    pub fn trim(&mut self) -> usize {
        // SAFETY: the map is initialised.
        unsafe { sys::kolk_slotmap_trim(self.raw.as_ptr()) }
    }

    /// The state of the map, for a [`restore`](SlotMap::restore): its values, and which handles find them.
    pub fn snapshot(&self) -> Snapshot<T>
    where
        T: Copy,
    {
        // SAFETY: the map is initialised, and may be read; the block is as large as kolk asks. Copies of values may be
        // made, and have nothing to drop.
        unsafe { Snapshot::of(self.raw.as_ptr(), sys::kolk_slotmap_snapshot_size, sys::kolk_slotmap_snapshot) }
    }

    /// Brings the values back, and the handles of that time; later ones are stale. (Handles with the same bits will be
    /// issued again.) Any error leaves the map as it was: it has another name, tag or settings, or no room for the
    /// values.
    pub fn restore(&mut self, snapshot: &Snapshot<T>) -> Result<(), Error>
    where
        T: Copy,
    {
        // SAFETY: the map is initialised. All values of the block are of type T, and live as long as T does; the values
        // that they replace have nothing to drop.
        Error::check(unsafe { sys::kolk_slotmap_restore(self.raw.as_ptr(), snapshot.as_ptr(), snapshot.size) })
    }

    /// All counters.
    pub fn stats(&self) -> Stats {
        // SAFETY: kolk fills in the struct, which may be all zero before.
        unsafe {
            let mut stats = mem::zeroed();
            sys::kolk_slotmap_stats(self.raw.as_ptr(), &mut stats);
            Stats::of(&stats)
        }
    }

    /// The slot map of C, for functions of [`sys`]. It must stay initialised, and have only values of T.
    pub fn as_ptr(&self) -> *mut sys::kolk_slotmap {
        self.raw.as_ptr()
    }
}

impl<T> Drop for SlotMap<T> {
    fn drop(&mut self) {
        // If a value's drop panics, the fields are dropped all the same.
        self.clear();
    }
}

impl<T> Index<Handle<T>> for SlotMap<T> {
    type Output = T;
    /// Panics if the handle is stale.
    fn index(&self, handle: Handle<T>) -> &T {
        self.get(handle).expect("the handle is stale")
    }
}

impl<T> IndexMut<Handle<T>> for SlotMap<T> {
    fn index_mut(&mut self, handle: Handle<T>) -> &mut T {
        self.get_mut(handle).expect("the handle is stale")
    }
}

impl<T: fmt::Debug> fmt::Debug for SlotMap<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_map().entries(self).finish()
    }
}

/// Of [`SlotMap::iter`].
pub struct Iter<'a, T> {
    map: &'a SlotMap<T>,
    values: iter::Enumerate<slice::Iter<'a, T>>,
}

impl<'a, T> Iterator for Iter<'a, T> {
    type Item = (Handle<T>, &'a T);

    fn next(&mut self) -> Option<(Handle<T>, &'a T)> {
        self.values.next().map(|(place, value)| (self.map.handle_at(place), value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.values.size_hint()
    }
}

impl<T> ExactSizeIterator for Iter<'_, T> {}
impl<T> FusedIterator for Iter<'_, T> {}

impl<T> Clone for Iter<'_, T> {
    fn clone(&self) -> Self {
        Iter { map: self.map, values: self.values.clone() }
    }
}

impl<'a, T> IntoIterator for &'a SlotMap<T> {
    type Item = (Handle<T>, &'a T);
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}
