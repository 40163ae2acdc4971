//! Ed25519 of ed25519-dalek. Verification is `VerifyingKey::verify`, which compares the encoding of R.

use ed25519_dalek::{Signature, Signer, SigningKey, Verifier, VerifyingKey};

/// # Safety
/// Both keys have 32 bytes.
#[no_mangle]
pub unsafe extern "C" fn ed25519_keypair(public_key: *mut u8, secret_key: *mut u8) {
    let mut seed = [0u8; 32];
    crate::fill(&mut seed);
    let public = SigningKey::from_bytes(&seed).verifying_key();
    core::ptr::copy_nonoverlapping(public.as_bytes().as_ptr(), public_key, 32);
    core::ptr::copy_nonoverlapping(seed.as_ptr(), secret_key, 32);
}

/// # Safety
/// The signature has 64 bytes, the message as many as stated, the key 32.
#[no_mangle]
pub unsafe extern "C" fn ed25519_sign(
    signature: *mut u8,
    message: *const u8,
    message_bytes: usize,
    secret_key: *const [u8; 32],
) {
    let made = SigningKey::from_bytes(&*secret_key).sign(crate::bytes(message, message_bytes));
    core::ptr::copy_nonoverlapping(made.to_bytes().as_ptr(), signature, 64);
}

/// The length of a decoded key.
#[no_mangle]
pub extern "C" fn ed25519_decoded_bytes() -> usize {
    core::mem::size_of::<VerifyingKey>()
}

/// # Safety
/// The key has 32 bytes; `decoded` takes `ed25519_decoded_bytes()`.
#[no_mangle]
pub unsafe extern "C" fn ed25519_decode(decoded: *mut VerifyingKey, public_key: *const [u8; 32]) -> bool {
    VerifyingKey::from_bytes(&*public_key).map(|key| decoded.write_unaligned(key)).is_ok()
}

/// # Safety
/// The message has as many bytes as stated, the signature 64; `decoded` is of `ed25519_decode`.
#[no_mangle]
pub unsafe extern "C" fn ed25519_verify(
    message: *const u8,
    message_bytes: usize,
    signature: *const [u8; 64],
    decoded: *const VerifyingKey,
) -> bool {
    let signature = Signature::from_bytes(&*signature);
    let key = decoded.read_unaligned();
    key.verify(crate::bytes(message, message_bytes), &signature).is_ok()
}
