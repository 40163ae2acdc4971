//! Signature schemes: of a native library of pqchain (`pq_native.h`), or commonware's Ed25519.

use bytes::Bytes;
use commonware_codec::DecodeExt as _;
use commonware_cryptography::{Hasher as _, Sha256, Signer as _, Verifier as _, ed25519};
use libloading::Library;
use std::{
    ffi::{CString, c_char, c_int, c_void},
    ptr,
};

const ABI: c_int = 5;

/// `pq_sizes_t` of pq_native.h.
#[repr(C)]
#[derive(Default)]
struct Sizes {
    kind: u64,
    nist_level: u64,
    public_key: u64,
    secret_key: u64,
    signature_max: u64,
    ciphertext: u64,
    shared_secret: u64,
    context: u64,
}

/// `pq_random_source` of pq_native.h, which belongs to the calling thread.
#[repr(C)]
struct RandomSource {
    draw: extern "C" fn(*mut c_void, *mut u8, usize),
    context: *mut c_void,
}

type Handle = *mut c_void;
type Keypair = unsafe extern "C" fn(Handle, *mut u8, *mut u8) -> c_int;
type Sign = unsafe extern "C" fn(
    Handle, *mut u8, *mut usize, *const u8, usize, *const u8, usize, *const u8,
) -> c_int;
type Verify = unsafe extern "C" fn(
    Handle, *const u8, usize, *const u8, usize, *const u8, usize, *const u8,
) -> c_int;

struct Functions {
    scheme: Handle,
    keypair: Keypair,
    sign: Sign,
    verify: Verify,
    random: unsafe extern "C" fn(*mut RandomSource),
    sizes: Sizes,
    _library: Library,
}

// pq_native.h: a pq_scheme is immutable after pq_open, and any thread may use it.
unsafe impl Send for Functions {}
unsafe impl Sync for Functions {}

/// A scheme of a library, or commonware's Ed25519 without a library.
pub struct Native(Option<Functions>);

pub enum Secret {
    Packed(Vec<u8>),
    Ed25519(Box<ed25519::PrivateKey>),
}

/// A stream of SHA-256 in counter mode, from which the library draws during one call. The engine
/// requires deterministic signatures (simplex/config.rs), so key and message are the seed.
struct Stream {
    seed: Vec<u8>,
    count: u64,
}

extern "C" fn draw(context: *mut c_void, buffer: *mut u8, bytes: usize) {
    let stream = unsafe { &mut *context.cast::<Stream>() };
    let out = unsafe { std::slice::from_raw_parts_mut(buffer, bytes) };
    for chunk in out.chunks_mut(32) {
        let block = Sha256::hash(&[&stream.seed, &stream.count.to_be_bytes()]);
        chunk.copy_from_slice(&block.as_ref()[..chunk.len()]);
        stream.count += 1;
    }
}

impl Functions {
    /// Calls the library with randomness from a seed.
    fn seeded(&self, parts: &[&[u8]], call: impl FnOnce() -> c_int) -> c_int {
        let mut stream = Stream { seed: Sha256::hash(parts).as_ref().to_vec(), count: 0 };
        let context = (&raw mut stream).cast();
        let mut source = RandomSource { draw, context };
        unsafe { (self.random)(&mut source) };
        let status = call();
        // The second call restores the thread's source.
        unsafe { (self.random)(&mut source) };
        status
    }
}

impl Native {
    pub fn ed25519() -> Self {
        Self(None)
    }

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
            let open = function!(b"pq_open", unsafe extern "C" fn(*const c_char) -> Handle);
            let measure = function!(b"pq_sizes", unsafe extern "C" fn(Handle, *mut Sizes));
            let scheme = open(c_name.as_ptr());
            if scheme.is_null() {
                return Err(format!("{path} does not have {name}"));
            }
            let mut sizes = Sizes::default();
            measure(scheme, &mut sizes);
            Ok(Self(Some(Functions {
                scheme,
                keypair: function!(b"pq_keypair", Keypair),
                sign: function!(b"pq_sign", Sign),
                verify: function!(b"pq_verify", Verify),
                random: function!(b"pq_random", unsafe extern "C" fn(*mut RandomSource)),
                sizes,
                _library: library,
            })))
        }
    }

    pub fn signature_bytes(&self) -> usize {
        self.0.as_ref().map_or(64, |functions| functions.sizes.signature_max as usize)
    }

    /// Returns the key pair of a seed.
    pub fn keypair(&self, number: u64) -> (Vec<u8>, Secret) {
        let Some(functions) = &self.0 else {
            let key = ed25519::PrivateKey::from_seed(1 << 32 | number);
            return (key.public_key().as_ref().to_vec(), Secret::Ed25519(Box::new(key)));
        };
        let mut public = vec![0; functions.sizes.public_key as usize];
        let mut secret = vec![0; functions.sizes.secret_key as usize];
        let status = functions.seeded(&[b"key", &number.to_be_bytes()], || unsafe {
            (functions.keypair)(functions.scheme, public.as_mut_ptr(), secret.as_mut_ptr())
        });
        assert_eq!(status, 0, "pq_keypair failed");
        (public, Secret::Packed(secret))
    }

    pub fn sign(&self, message: &[u8], secret: &Secret) -> Option<Vec<u8>> {
        match (&self.0, secret) {
            (None, Secret::Ed25519(key)) => Some(key.sign(b"", message).as_ref().to_vec()),
            (Some(functions), Secret::Packed(secret)) => {
                let mut signature = vec![0; functions.sizes.signature_max as usize];
                let mut bytes = signature.len();
                let status = functions.seeded(&[b"sign", secret, message], || unsafe {
                    (functions.sign)(
                        functions.scheme, signature.as_mut_ptr(), &mut bytes, message.as_ptr(),
                        message.len(), ptr::null(), 0, secret.as_ptr(),
                    )
                });
                (status == 0 && bytes == signature.len()).then_some(signature)
            }
            _ => None,
        }
    }

    pub fn verify(&self, message: &[u8], signature: &[u8], public: &[u8]) -> bool {
        let Some(functions) = &self.0 else {
            let key = ed25519::PublicKey::decode(Bytes::copy_from_slice(public));
            let signature = ed25519::Signature::decode(Bytes::copy_from_slice(signature));
            let (Ok(key), Ok(signature)) = (key, signature) else { return false };
            return key.verify(b"", message, &signature);
        };
        let status = unsafe {
            (functions.verify)(
                functions.scheme, message.as_ptr(), message.len(), signature.as_ptr(),
                signature.len(), ptr::null(), 0, public.as_ptr(),
            )
        };
        status == 0
    }
}
