//! Pools and slot maps with checked handles: [kolk](https://docs.rs/kolk), the object-pool library for C, in Rust.
//!
//! - A [`Pool`] has values that never move. Inserting and removing take a few nanoseconds, and a walk visits only live
//!   values.
//! - A [`SlotMap`] has values that are packed in a slice. They move, and their handles follow.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use kolk::Pool;
//!
//! struct Bullet {
//!     x: f32,
//!     dx: f32,
//! }
//!
//! let mut bullets = Pool::new("bullets", 256)?;
//! let handle = bullets.insert(Bullet { x: 0.0, dx: 1.0 })?; // an error if all 256 fly
//! for bullet in bullets.values_mut() {
//!     bullet.x += bullet.dx;
//! }
//! assert_eq!(bullets[handle].x, 1.0);
//! bullets.remove(handle);
//! assert!(bullets.get(handle).is_none()); // the handle is stale
//! # Ok(())
//! # }
//! ```
//!
//! No call of this crate can break a rule of kolk's, whatever handle it is given, so kolk's failure handler is not
//! called. There is one exception: if the debug mode is on (`KOLK_DEBUG` in the environment), a lookup with a handle of
//! another pool is reported, and aborts the program. Statistics (`KOLK_STATS`), capacities (`KOLK_SIZES`), forced
//! failures (`KOLK_FAIL`) and Valgrind's checks work as in C.
//!
//! What this crate does not cover is in [`sys`], which declares all of kolk.

#![warn(missing_docs)]

use std::ffi::{CStr, CString};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::mem;
use std::num::NonZeroU64;
use std::os::raw::{c_char, c_void};
use std::ptr::NonNull;

pub use kolk_sys as sys;

pub mod pool;
pub mod slot_map;

pub use pool::Pool;
pub use slot_map::SlotMap;

/// A broken rule of a descriptor, or a lack of memory. It prints kolk's sentence for it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Error(sys::kolk_status);

impl Error {
    /// The status, such as [`sys::KOLK_NO_MEMORY`].
    pub fn status(self) -> sys::kolk_status {
        self.0
    }

    fn check(status: sys::kolk_status) -> Result<(), Error> {
        if status == sys::KOLK_OK {
            Ok(())
        } else {
            Err(Error(status))
        }
    }

    fn text(&self) -> &'static str {
        // SAFETY: kolk returns a sentence in static storage for any number.
        unsafe { CStr::from_ptr(sys::kolk_status_text(self.0)) }.to_str().unwrap_or("?")
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.text())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Error({}: {})", self.0 .0, self.text())
    }
}

impl std::error::Error for Error {}

/// There is no room for a value, which comes back in it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Full<T>(pub T);

impl<T> fmt::Display for Full<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(Error(sys::KOLK_FULL).text())
    }
}

impl<T> fmt::Debug for Full<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Full(..)")
    }
}

impl<T> std::error::Error for Full<T> {}

/// Names one life of one value of a [`Pool<T>`] or [`SlotMap<T>`]. After the value is removed, the handle is stale: it
/// finds nothing, although the slot may have another value. (A slot's handles repeat after 2^32 - 1 lives; with
/// [`strict`](pool::Options::strict) they never do.)
///
/// A handle has 64 bits, and so has `Option<Handle<T>>`. They are the same in every run of the program, and may be sent
/// to others. Any bits are safe: a handle that the pool did not issue finds nothing, or some other `T`.
///
/// A handle of another pool of the same type finds nothing, except for about one pair of pool names in 4 million (in
/// pools of 1,000 slots), because each handle carries bits that are hashed from the pool's name. Pools with the same
/// name cannot tell their handles apart, unless each has its own [`tag`](pool::Options::tag).
pub struct Handle<T> {
    bits: NonZeroU64,
    of: PhantomData<fn() -> T>,
}

impl<T> Handle<T> {
    /// The bits, which are never 0.
    pub fn to_bits(self) -> u64 {
        self.bits.get()
    }

    /// The handle with these bits, which may come from anywhere. 0 is no handle.
    pub fn from_bits(bits: u64) -> Option<Handle<T>> {
        NonZeroU64::new(bits).map(|bits| Handle { bits, of: PhantomData })
    }

    /// The generation is in the upper half of the bits and begins with 1, so a live object's handle is not 0.
    fn of_live(handle: sys::kolk_handle) -> Handle<T> {
        debug_assert!(handle.bits >> 32 != 0);
        Handle { bits: NonZeroU64::new(handle.bits).expect("a live object has a handle"), of: PhantomData }
    }

    fn in_c(self) -> sys::kolk_handle {
        sys::kolk_handle { bits: self.bits.get() }
    }
}

impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Handle<T> {}

impl<T> PartialEq for Handle<T> {
    fn eq(&self, other: &Self) -> bool {
        self.bits == other.bits
    }
}

impl<T> Eq for Handle<T> {}

impl<T> Hash for Handle<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bits.hash(state)
    }
}

impl<T> fmt::Debug for Handle<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Handle({:#x})", self.bits)
    }
}

/// The counters of a pool or slot map. They start when it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Values now.
    pub count: u32,
    /// The most slots ever needed at a time: this capacity would have sufficed.
    pub peak: u32,
    /// Slots that can be used without more memory.
    pub capacity: u32,
    /// Slots that it may grow to.
    pub max_capacity: u32,
    /// Bytes from slot to slot.
    pub stride: u64,
    /// Bytes of address space, including what kolk keeps beside the values.
    pub bytes_reserved: u64,
    /// The part of it that may be accessed.
    pub bytes_committed: u64,
    /// Inserts that found no room.
    pub failed: u64,
    /// Lookups of other pools' handles; slightly too low if several threads make them.
    pub wrong_pool: u64,
    /// Free slots whose generations are used up.
    pub worn_out: u32,
    /// Worn-out slots that were used again.
    pub recycled: u32,
}

impl Stats {
    fn of(stats: &sys::kolk_stats) -> Stats {
        Stats {
            count: stats.count,
            peak: stats.peak,
            capacity: stats.capacity,
            max_capacity: stats.max_capacity,
            stride: stats.stride,
            bytes_reserved: stats.bytes_reserved,
            bytes_committed: stats.bytes_committed,
            failed: stats.failed,
            wrong_pool: stats.wrong_pool,
            worn_out: stats.worn_out,
            recycled: stats.recycled,
        }
    }
}

/// The state of a [`Pool<T>`] or [`SlotMap<T>`] at some time: its values and handles.
///
/// Any pool of the same name (or tag) and the same settings can be brought to this state. To keep a state in a file,
/// take [`sys::kolk_pool_snapshot`]: this crate cannot know which bytes are a T.
pub struct Snapshot<T> {
    block: Vec<mem::MaybeUninit<u64>>, // the values may have padding
    size: usize,
    of: PhantomData<T>,
}

impl<T> Snapshot<T> {
    /// # Safety
    /// The functions are those of the kind of `kind`, and are given what they expect.
    unsafe fn of<S>(
        kind: *const S,
        size: unsafe extern "C" fn(*const S) -> usize,
        write: unsafe extern "C" fn(*const S, *mut c_void, usize) -> usize,
    ) -> Snapshot<T> {
        let bytes = size(kind);
        let mut block = vec![mem::MaybeUninit::uninit(); (bytes + 7) / 8];
        let size = write(kind, block.as_mut_ptr() as *mut c_void, bytes);
        Snapshot { block, size, of: PhantomData }
    }

    fn as_ptr(&self) -> *const c_void {
        self.block.as_ptr() as *const c_void
    }
}

impl<T> Clone for Snapshot<T> {
    fn clone(&self) -> Self {
        Snapshot { block: self.block.clone(), size: self.size, of: PhantomData }
    }
}

impl<T> fmt::Debug for Snapshot<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Snapshot({} bytes)", self.size)
    }
}

/// What kolk is told of T. An object of C has at least one byte, so values without a size take as much as their
/// alignment.
struct Layout<T>(PhantomData<T>);

impl<T> Layout<T> {
    const ALIGN: usize = std::mem::align_of::<T>();
    const SIZE: usize = if std::mem::size_of::<T>() == 0 { Self::ALIGN } else { std::mem::size_of::<T>() };
}

/// A struct of kolk's that is initialised. Its drop ends it, but not the values in it. It is in a box, as it must not
/// move, but without Box's promise that nobody else knows the address: kolk lists its pools.
struct Raw<S> {
    at: NonNull<S>,
    deinit: unsafe extern "C" fn(*mut S),
    _name: CString, // which kolk does not copy in all cases
}

impl<S> Raw<S> {
    /// # Safety
    /// S may be all zero, and is what the two functions expect. What the descriptor points to lives until the call ends;
    /// the name, for as long as the result.
    unsafe fn new<D>(
        init: unsafe extern "C" fn(*mut S, *const D) -> sys::kolk_status,
        deinit: unsafe extern "C" fn(*mut S),
        desc: &D,
        name: CString,
    ) -> Result<Raw<S>, Error> {
        let at = Box::into_raw(Box::new(mem::zeroed::<S>()));
        let status = init(at, desc);
        if status != sys::KOLK_OK {
            drop(Box::from_raw(at)); // all zero
        }
        Error::check(status)?;
        Ok(Raw { at: NonNull::new_unchecked(at), deinit, _name: name })
    }

    #[inline]
    fn as_ptr(&self) -> *mut S {
        self.at.as_ptr()
    }
}

impl<S> Drop for Raw<S> {
    fn drop(&mut self) {
        // SAFETY: `new` made the box and initialised what is in it.
        unsafe {
            (self.deinit)(self.as_ptr());
            drop(Box::from_raw(self.as_ptr()));
        }
    }
}

/// A string for C. It ends before the first NUL byte of the text.
fn c_string(text: &str) -> CString {
    CString::new(text.split('\0').next().unwrap_or("")).unwrap_or_default()
}

/// Does the library have structs of the size that this crate was compiled with? `name` ends with a NUL byte.
fn check_struct<S>(name: &'static [u8]) -> Result<(), Error> {
    debug_assert_eq!(name.last(), Some(&0));
    // SAFETY: the name is a string of C.
    let size = unsafe { sys::kolk_size_of(name.as_ptr() as *const c_char) };
    Error::check(if size == std::mem::size_of::<S>() { sys::KOLK_OK } else { sys::KOLK_WRONG_ABI })
}

/// Are all pointers there, and different?
fn are_disjoint<T, const N: usize>(found: &[*mut T; N]) -> bool {
    found.iter().enumerate().all(|(i, object)| !object.is_null() && !found[..i].contains(object))
}
