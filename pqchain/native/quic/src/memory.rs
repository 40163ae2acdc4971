//! Memory of the caller: pointers of calls, and lent memory.
#![allow(clippy::missing_safety_doc)] // as described in lib.rs
use crate::fault::Fault;
use std::sync::{Arc, Mutex};

/// Tokens of lent memory that is no longer needed.
pub type Tokens = Arc<Mutex<Vec<u64>>>;

/// Memory of the caller, who keeps it until its token is returned.
pub struct Lent {
    pub at: *const u8,
    pub length: usize,
    pub token: u64,
    pub returned: Tokens,
}
// It is only read, and the caller does not change it any more.
unsafe impl Send for Lent {}
impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        // `slice` has checked pointer and length.
        unsafe { std::slice::from_raw_parts(self.at, self.length) }
    }
}
impl Drop for Lent {
    fn drop(&mut self) {
        if let Ok(mut returned) = self.returned.lock() {
            returned.push(self.token);
        }
    }
}

pub unsafe fn slice<'a, T>(at: *const T, length: usize) -> Result<&'a [T], Fault> {
    check(at, length)?;
    Ok(if length == 0 { &[] } else { unsafe { std::slice::from_raw_parts(at, length) } })
}

pub unsafe fn slice_mut<'a, T>(at: *mut T, length: usize) -> Result<&'a mut [T], Fault> {
    check(at, length)?;
    Ok(if length == 0 { &mut [] } else { unsafe { std::slice::from_raw_parts_mut(at, length) } })
}

pub fn check<T>(at: *const T, length: usize) -> Result<(), Fault> {
    if length > 0 && (at.is_null() || !at.is_aligned()) {
        return Err(Fault::argument("a pointer is null or not aligned"));
    }
    if length.checked_mul(size_of::<T>()).is_none_or(|bytes| bytes > isize::MAX as usize) {
        return Err(Fault::argument(format!("length must be at most isize::MAX; got {length}")));
    }
    Ok(())
}

/// Copy values to the caller; return their number.
pub fn fill<T: Copy>(out: &mut [T], values: &[T]) -> Result<i64, Fault> {
    if out.len() < values.len() {
        return Err(Fault::argument(format!(
            "room for {} values; give {}",
            out.len(),
            values.len()
        )));
    }
    out[..values.len()].copy_from_slice(values);
    Ok(values.len() as i64)
}
