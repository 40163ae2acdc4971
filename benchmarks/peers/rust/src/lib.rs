//! Signing and verification by crates, for C. Peers and sets are numbered as in peers.c. Key pairs are
//! those of fips204 and fips205, whose encodings are the standards'.

const FIPS204: u32 = 0;
const LIBCRUX: u32 = 1;
const ML_DSA: u32 = 2;
const AWS_LC: u32 = 3;
const FIPS205: u32 = 4;
const SLH_DSA: u32 = 5;

fn put(bytes: &[u8], to: *mut u8) {
    // The caller's buffers have the lengths of the set.
    unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) }
}

macro_rules! keypair {
    ($module:path, $public:expr, $secret:expr) => {{
        use $module as set;
        let Ok((public, secret)) = set::try_keygen() else { return false };
        put(&public.into_bytes(), $public);
        put(&secret.into_bytes(), $secret);
        true
    }};
}

/// # Safety
/// The buffers have the lengths of the set.
#[no_mangle]
pub unsafe extern "C" fn peer_keypair(set: u32, public: *mut u8, secret: *mut u8) -> bool {
    use fips204::traits::SerDes as _;
    use fips205::traits::SerDes as _;
    match set {
        44 => keypair!(fips204::ml_dsa_44, public, secret),
        65 => keypair!(fips204::ml_dsa_65, public, secret),
        128 => keypair!(fips205::slh_dsa_sha2_128s, public, secret),
        129 => keypair!(fips205::slh_dsa_sha2_128f, public, secret),
        _ => false,
    }
}

macro_rules! fips204 {
    ($set:ident, sign, $secret:expr, $message:expr, $to:expr) => {{
        use fips204::traits::{SerDes, Signer};
        let key = core::slice::from_raw_parts($secret, fips204::$set::SK_LEN).try_into().unwrap();
        let Ok(key) = fips204::$set::PrivateKey::try_from_bytes(key) else { return false };
        let Ok(signature) = key.try_sign($message, b"") else { return false };
        put(&signature, $to);
        true
    }};
    ($set:ident, verify, $public:expr, $message:expr, $signature:expr) => {{
        use fips204::traits::{SerDes, Verifier};
        let key = core::slice::from_raw_parts($public, fips204::$set::PK_LEN).try_into().unwrap();
        let Ok(key) = fips204::$set::PublicKey::try_from_bytes(key) else { return false };
        let signature = core::slice::from_raw_parts($signature, fips204::$set::SIG_LEN);
        key.verify($message, signature.try_into().unwrap(), b"")
    }};
}

macro_rules! fips205 {
    ($set:ident, sign, $secret:expr, $message:expr, $to:expr) => {{
        use fips205::traits::{SerDes, Signer};
        let key = core::slice::from_raw_parts($secret, fips205::$set::SK_LEN).try_into().unwrap();
        let Ok(key) = fips205::$set::PrivateKey::try_from_bytes(key) else { return false };
        let Ok(signature) = key.try_sign($message, b"", true) else { return false };
        put(&signature, $to);
        true
    }};
    ($set:ident, verify, $public:expr, $message:expr, $signature:expr) => {{
        use fips205::traits::{SerDes, Verifier};
        let key = core::slice::from_raw_parts($public, fips205::$set::PK_LEN).try_into().unwrap();
        let Ok(key) = fips205::$set::PublicKey::try_from_bytes(key) else { return false };
        let signature = core::slice::from_raw_parts($signature, fips205::$set::SIG_LEN);
        key.verify($message, signature.try_into().unwrap(), b"")
    }};
}

macro_rules! libcrux {
    ($set:ident, $key:ident, sign, $secret:expr, $message:expr, $to:expr) => {{
        let key = &*($secret as *const [u8; fips204::$set::SK_LEN]);
        let key = libcrux_ml_dsa::$set::$key::new(*key);
        let Ok(signature) = libcrux_ml_dsa::$set::avx2::sign(&key, $message, b"", randomness()) else {
            return false;
        };
        put(signature.as_ref(), $to);
        true
    }};
    ($set:ident, $key:ident, $signature:ident, verify, $public:expr, $message:expr, $from:expr) => {{
        let key = &*($public as *const [u8; fips204::$set::PK_LEN]);
        let signature = &*($from as *const [u8; fips204::$set::SIG_LEN]);
        let key = libcrux_ml_dsa::$set::$key::new(*key);
        let signature = libcrux_ml_dsa::$set::$signature::new(*signature);
        libcrux_ml_dsa::$set::avx2::verify(&key, $message, b"", &signature).is_ok()
    }};
}

extern "C" {
    fn pq_randombytes(buffer: *mut u8, bytes: usize);
}

fn randomness() -> [u8; 32] {
    let mut bytes = [0; 32];
    unsafe { pq_randombytes(bytes.as_mut_ptr(), 32) };
    bytes
}

unsafe fn rustcrypto_sign<P: ml_dsa::MlDsaParams>(secret: &[u8], message: &[u8], to: *mut u8) -> bool {
    let Ok(key) = ml_dsa::ExpandedSigningKeyBytes::<P>::try_from(secret) else { return false };
    #[allow(deprecated)]
    let key = ml_dsa::ExpandedSigningKey::<P>::from_expanded(&key);
    let Ok(signature) = key.sign_deterministic(message, b"") else { return false };
    put(&signature.encode(), to);
    true
}

fn rustcrypto_verify<P: ml_dsa::MlDsaParams>(public: &[u8], message: &[u8], signature: &[u8]) -> bool {
    let Ok(key) = ml_dsa::EncodedVerifyingKey::<P>::try_from(public) else { return false };
    let Ok(bytes) = ml_dsa::EncodedSignature::<P>::try_from(signature) else { return false };
    let Some(signature) = ml_dsa::Signature::<P>::decode(&bytes) else { return false };
    ml_dsa::VerifyingKey::<P>::decode(&key).verify_with_context(message, b"", &signature)
}

fn slh_sign<P: slh_dsa::ParameterSet>(secret: &[u8], message: &[u8], to: *mut u8) -> bool {
    let Ok(key) = slh_dsa::SigningKey::<P>::try_from(secret) else { return false };
    let Ok(signature) = key.try_sign_with_context(message, b"", None) else { return false };
    put(&signature.to_vec(), to);
    true
}

fn slh_verify<P: slh_dsa::ParameterSet>(public: &[u8], message: &[u8], signature: &[u8]) -> bool {
    let Ok(key) = slh_dsa::VerifyingKey::<P>::try_from(public) else { return false };
    let Ok(signature) = slh_dsa::Signature::<P>::try_from(signature) else { return false };
    key.try_verify_with_context(message, b"", &signature).is_ok()
}

#[cfg(feature = "aws-lc")]
fn aws_lc(set: u32, public: &[u8], message: &[u8], signature: &[u8]) -> bool {
    use aws_lc_rs::signature::{ParsedPublicKey, ML_DSA_44, ML_DSA_65};
    let algorithm = if set == 44 { &ML_DSA_44 } else { &ML_DSA_65 };
    let Ok(key) = ParsedPublicKey::new(algorithm, public) else { return false };
    key.verify_sig(message, signature).is_ok()
}

#[cfg(not(feature = "aws-lc"))]
fn aws_lc(_: u32, _: &[u8], _: &[u8], _: &[u8]) -> bool {
    false
}

/// # Safety
/// The buffers have the lengths of the set, the message as many bytes as stated.
#[no_mangle]
pub unsafe extern "C" fn peer_sign(
    peer: u32,
    set: u32,
    to: *mut u8,
    message: *const u8,
    message_bytes: usize,
    secret: *const u8,
    secret_bytes: usize,
) -> bool {
    let message = core::slice::from_raw_parts(message, message_bytes);
    let key = core::slice::from_raw_parts(secret, secret_bytes);
    match (peer, set) {
        (LIBCRUX, 44) => libcrux!(ml_dsa_44, MLDSA44SigningKey, sign, secret, message, to),
        (LIBCRUX, 65) => libcrux!(ml_dsa_65, MLDSA65SigningKey, sign, secret, message, to),
        (ML_DSA, 44) => rustcrypto_sign::<ml_dsa::MlDsa44>(key, message, to),
        (ML_DSA, 65) => rustcrypto_sign::<ml_dsa::MlDsa65>(key, message, to),
        (FIPS204 | AWS_LC, 44) => fips204!(ml_dsa_44, sign, secret, message, to),
        (FIPS204 | AWS_LC, 65) => fips204!(ml_dsa_65, sign, secret, message, to),
        (FIPS205, 128) => fips205!(slh_dsa_sha2_128s, sign, secret, message, to),
        (FIPS205, 129) => fips205!(slh_dsa_sha2_128f, sign, secret, message, to),
        (SLH_DSA, 128) => slh_sign::<slh_dsa::Sha2_128s>(key, message, to),
        (SLH_DSA, 129) => slh_sign::<slh_dsa::Sha2_128f>(key, message, to),
        _ => false,
    }
}

/// # Safety
/// The buffers have as many bytes as stated, and the lengths of the set.
#[no_mangle]
pub unsafe extern "C" fn peer_verify(
    peer: u32,
    set: u32,
    message: *const u8,
    message_bytes: usize,
    signature: *const u8,
    signature_bytes: usize,
    public: *const u8,
    public_bytes: usize,
) -> bool {
    let message = core::slice::from_raw_parts(message, message_bytes);
    let (key, from) = (
        core::slice::from_raw_parts(public, public_bytes),
        core::slice::from_raw_parts(signature, signature_bytes),
    );
    match (peer, set) {
        (LIBCRUX, 44) => {
            libcrux!(ml_dsa_44, MLDSA44VerificationKey, MLDSA44Signature, verify, public, message, signature)
        }
        (LIBCRUX, 65) => {
            libcrux!(ml_dsa_65, MLDSA65VerificationKey, MLDSA65Signature, verify, public, message, signature)
        }
        (ML_DSA, 44) => rustcrypto_verify::<ml_dsa::MlDsa44>(key, message, from),
        (ML_DSA, 65) => rustcrypto_verify::<ml_dsa::MlDsa65>(key, message, from),
        (AWS_LC, _) => aws_lc(set, key, message, from),
        (FIPS204, 44) => fips204!(ml_dsa_44, verify, public, message, signature),
        (FIPS204, 65) => fips204!(ml_dsa_65, verify, public, message, signature),
        (FIPS205, 128) => fips205!(slh_dsa_sha2_128s, verify, public, message, signature),
        (FIPS205, 129) => fips205!(slh_dsa_sha2_128f, verify, public, message, signature),
        (SLH_DSA, 128) => slh_verify::<slh_dsa::Sha2_128s>(key, message, from),
        (SLH_DSA, 129) => slh_verify::<slh_dsa::Sha2_128f>(key, message, from),
        _ => false,
    }
}
