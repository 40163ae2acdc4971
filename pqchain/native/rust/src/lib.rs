//! Functions of crates for C. Buffers have the lengths of the scheme, which the caller has checked.

mod ed25519;
mod falcon;

extern "C" {
    fn pq_randombytes(buffer: *mut u8, bytes: usize);
}

/// Fill from the source of the calling thread.
fn fill(buffer: &mut [u8]) {
    // The pointer and the length are those of one slice.
    unsafe { pq_randombytes(buffer.as_mut_ptr(), buffer.len()) }
}

/// The bytes of an argument; C passes a null pointer for no bytes.
///
/// # Safety
/// `data` points to so many bytes, or there are none.
unsafe fn bytes<'a>(data: *const u8, count: usize) -> &'a [u8] {
    if count == 0 {
        return &[];
    }
    core::slice::from_raw_parts(data, count)
}
