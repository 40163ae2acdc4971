//! Falcon (round 3) with the arithmetic of fn-dsa 0.3: keys, signing, and verification from its parts,
//! because its own verifier takes signatures of the padded length only.

use fn_dsa_comm::{codec, hash_to_point, DOMAIN_NONE, HASH_ID_ORIGINAL_FALCON};
use fn_dsa_comm::{sign_key_size, signature_size, vrfy_key_size, CryptoRng, RngCore, RngError};
use fn_dsa_kgen::{KeyPairGenerator, KeyPairGeneratorStandard};
use fn_dsa_sign::{SigningKey, SigningKeyStandard};

const N_MAX: usize = 1024;
const NONCE_END: usize = 41;
/// What original Falcon hashes instead of the hash of the key: nothing, but the length is checked.
const NO_KEY: [u8; 64] = [0; 64];

struct Source;

impl CryptoRng for Source {}
impl RngCore for Source {
    fn next_u32(&mut self) -> u32 {
        let mut word = [0; 4];
        crate::fill(&mut word);
        u32::from_le_bytes(word)
    }
    fn next_u64(&mut self) -> u64 {
        let mut word = [0; 8];
        crate::fill(&mut word);
        u64::from_le_bytes(word)
    }
    fn fill_bytes(&mut self, buffer: &mut [u8]) {
        crate::fill(buffer);
    }
    fn try_fill_bytes(&mut self, buffer: &mut [u8]) -> Result<(), RngError> {
        crate::fill(buffer);
        Ok(())
    }
}

/// # Safety
/// The keys have the lengths of Falcon of degree 2^logn, 9 or 10.
#[no_mangle]
pub unsafe extern "C" fn falcon_rs_keypair(logn: u32, public_key: *mut u8, secret_key: *mut u8) {
    let public = core::slice::from_raw_parts_mut(public_key, vrfy_key_size(logn));
    let secret = core::slice::from_raw_parts_mut(secret_key, sign_key_size(logn));
    KeyPairGeneratorStandard::default().keygen(logn, &mut Source, secret, public);
}

/// Write a padded signature; false if the key cannot be decoded.
///
/// # Safety
/// The signature and the key have the lengths of padded Falcon of degree 2^logn, 9 or 10.
#[no_mangle]
pub unsafe extern "C" fn falcon_rs_sign(
    logn: u32,
    signature: *mut u8,
    message: *const u8,
    message_bytes: usize,
    secret_key: *const u8,
) -> bool {
    let secret = core::slice::from_raw_parts(secret_key, sign_key_size(logn));
    let out = core::slice::from_raw_parts_mut(signature, signature_size(logn));
    let Some(mut key) = SigningKeyStandard::decode(secret) else { return false };
    let message = crate::bytes(message, message_bytes);
    key.sign(&mut Source, &DOMAIN_NONE, &HASH_ID_ORIGINAL_FALCON, message, out);
    true
}

/// The transform of a public key, n numbers; false if the encoding is wrong.
///
/// # Safety
/// The key has the length of degree 2^logn, 9 or 10; `decoded` takes 2^logn numbers.
#[no_mangle]
pub unsafe extern "C" fn falcon_rs_decode(logn: u32, decoded: *mut u16, public_key: *const u8) -> bool {
    let public = core::slice::from_raw_parts(public_key, vrfy_key_size(logn));
    let h = core::slice::from_raw_parts_mut(decoded, 1 << logn);
    if public[0] != logn as u8 || codec::modq_decode(&public[1..], h).is_none() {
        return false;
    }
    transform(logn, h);
    true
}

/// Whether a signature, nonce and compressed s2 with any zeros after it, is valid. The point to which
/// nonce and message are hashed is computed unless it is given.
///
/// # Safety
/// Message and signature have as many bytes as stated; `decoded` is of `falcon_rs_decode`; `hashed` is
/// null or has 2^logn numbers below 12289.
#[no_mangle]
pub unsafe extern "C" fn falcon_rs_verify(
    logn: u32,
    message: *const u8,
    message_bytes: usize,
    signature: *const u8,
    signature_bytes: usize,
    decoded: *const u16,
    hashed: *const u16,
) -> bool {
    let message = crate::bytes(message, message_bytes);
    let signature = crate::bytes(signature, signature_bytes);
    let h = core::slice::from_raw_parts(decoded, 1 << logn);
    let mut s2 = [0i16; N_MAX];
    let mut point = [0u16; N_MAX];
    let (s2, point) = (&mut s2[..1 << logn], &mut point[..1 << logn]);
    if signature_bytes < NONCE_END || !codec::comp_decode(&signature[NONCE_END..], s2) {
        return false;
    }
    if hashed.is_null() {
        let (nonce, original) = (&signature[1..NONCE_END], &HASH_ID_ORIGINAL_FALCON);
        hash_to_point(nonce, &NO_KEY, &DOMAIN_NONE, original, message, point);
    } else {
        point.copy_from_slice(core::slice::from_raw_parts(hashed, 1 << logn));
    }
    is_short(logn, point, s2, h)
}

/// Replace a public key by its transform.
unsafe fn transform(logn: u32, h: &mut [u16]) {
    #[cfg(all(target_arch = "x86_64", not(feature = "portable")))]
    if fn_dsa_comm::has_avx2() {
        return avx2::transform(logn, h);
    }
    portable::transform(logn, h)
}

/// Whether point - s2 h and s2 are short together.
unsafe fn is_short(logn: u32, point: &mut [u16], s2: &[i16], h: &[u16]) -> bool {
    #[cfg(all(target_arch = "x86_64", not(feature = "portable")))]
    if fn_dsa_comm::has_avx2() {
        return avx2::is_short(logn, point, s2, h);
    }
    portable::is_short(logn, point, s2, h)
}

macro_rules! arithmetic {
    ($part:path $(, $attribute:meta)?) => {
        use $part as part;

        $(#[$attribute])?
        pub unsafe fn transform(logn: u32, h: &mut [u16]) {
            part::mqpoly_ext_to_int(logn, h);
            part::mqpoly_int_to_NTT(logn, h);
        }

        $(#[$attribute])?
        pub unsafe fn is_short(logn: u32, point: &mut [u16], s2: &[i16], h: &[u16]) -> bool {
            let mut product = [0u16; super::N_MAX];
            let product = &mut product[..1 << logn];
            part::mqpoly_ext_to_int(logn, point);
            part::mqpoly_signed_to_ext(logn, s2, product);
            part::mqpoly_ext_to_int(logn, product);
            part::mqpoly_int_to_NTT(logn, product);
            part::mqpoly_mul_ntt(logn, product, h);
            part::mqpoly_NTT_to_int(logn, product);
            part::mqpoly_sub_int(logn, point, product);
            part::mqpoly_int_to_ext(logn, point);
            // The first norm is 2^32 - 1 if it is too large.
            part::mqpoly_sqnorm(logn, point)
                .checked_add(part::signed_poly_sqnorm(logn, s2))
                .is_some_and(|norm| norm <= part::SQBETA[logn as usize])
        }
    };
}

mod portable {
    arithmetic!(fn_dsa_comm::mq);
}

#[cfg(all(target_arch = "x86_64", not(feature = "portable")))]
mod avx2 {
    arithmetic!(fn_dsa_comm::mq_avx2, target_feature(enable = "avx2"));
}
