//! Verifiers of a native library of pqchain (`pq_native.h`).

use libloading::Library;
use std::{
    ffi::{CString, c_char, c_int, c_void},
    ptr,
};

const ABI: c_int = 5;

type Handle = *mut c_void;
type Verify = unsafe extern "C" fn(
    Handle, *const u8, usize, *const u8, usize, *const u8, usize, *const u8,
) -> c_int;

pub struct Native {
    scheme: Handle,
    verify: Verify,
    _library: Library,
}

// pq_native.h: a pq_scheme is immutable after pq_open, and any thread may use it.
unsafe impl Send for Native {}
unsafe impl Sync for Native {}

impl Native {
    pub fn open(path: &str, name: &str) -> Result<Self, String> {
        let c_name = CString::new(name).map_err(|_| "a scheme name has no zero bytes")?;
        unsafe {
            let library = Library::new(path).map_err(|error| error.to_string())?;
            macro_rules! function {
                ($name:literal, $type:ty) => {
                    *library.get::<$type>($name).map_err(|error| error.to_string())?
                };
            }
            let abi = function!(b"pq_abi", unsafe extern "C" fn() -> c_int)();
            if abi != ABI {
                return Err(format!("{path} has version {abi} of pq_native.h; expected {ABI}"));
            }
            let scheme =
                function!(b"pq_open", unsafe extern "C" fn(*const c_char) -> Handle)(c_name.as_ptr());
            if scheme.is_null() {
                return Err(format!("{path} does not have {name}"));
            }
            let verify = function!(b"pq_verify", Verify);
            Ok(Self { scheme, verify, _library: library })
        }
    }

    pub fn verify(&self, message: &[u8], signature: &[u8], public: &[u8]) -> bool {
        let status = unsafe {
            (self.verify)(
                self.scheme, message.as_ptr(), message.len(), signature.as_ptr(), signature.len(),
                ptr::null(), 0, public.as_ptr(),
            )
        };
        status == 0
    }
}
