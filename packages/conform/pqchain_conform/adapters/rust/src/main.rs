//! `conform-rust NAME` is the adapter of one crate; NAME is its name in `adapters.toml`.

mod kem;
mod protocol;
mod slh;

use std::sync::OnceLock;

use protocol::{judge, serve, Case, Verdict, Output};
use Verdict::{Reject, Refuse, Unsupported};

fn rustcrypto<P: ml_dsa::MlDsaParams>(case: &Case, out: &mut Output) -> Verdict {
    let Ok(key) = ml_dsa::EncodedVerifyingKey::<P>::try_from(&case.public_key[..]) else {
        return Refuse;
    };
    let Ok(bytes) = ml_dsa::EncodedSignature::<P>::try_from(&case.signature[..]) else {
        return Refuse;
    };
    let Some(signature) = ml_dsa::Signature::<P>::decode(&bytes) else { return Reject };
    out.lap("decode_signature");
    let key = ml_dsa::VerifyingKey::<P>::decode(&key);
    out.lap("decode_key");
    judge(key.verify_with_context(&case.message, &case.context, &signature))
}

macro_rules! fips204 {
    ($set:ident, $case:expr, $out:expr) => {{
        use fips204::traits::{SerDes, Verifier};
        let Ok(key) = <[u8; fips204::$set::PK_LEN]>::try_from(&$case.public_key[..]) else {
            return Refuse;
        };
        let Ok(signature) = <[u8; fips204::$set::SIG_LEN]>::try_from(&$case.signature[..]) else {
            return Refuse;
        };
        let Ok(key) = fips204::$set::PublicKey::try_from_bytes(key) else { return Refuse };
        $out.lap("decode_key");
        judge(key.verify(&$case.message, &signature, &$case.context))
    }};
}

macro_rules! libcrux {
    ($set:ident :: $variant:ident, $key:ident, $signature:ident, $case:expr) => {{
        let Ok(key) = $case.public_key[..].try_into() else { return Refuse };
        let Ok(signature) = $case.signature[..].try_into() else { return Refuse };
        let key = libcrux_ml_dsa::$set::$key::new(key);
        let signature = libcrux_ml_dsa::$set::$signature::new(signature);
        let said =
            libcrux_ml_dsa::$set::$variant::verify(&key, &$case.message, &$case.context, &signature);
        judge(said.is_ok())
    }};
}

macro_rules! pqclean {
    ($module:path, $verify:ident($($context:expr)?), $case:expr) => {{
        use pqcrypto_traits::sign::{DetachedSignature as _, PublicKey as _};
        use $module as set;
        let Ok(key) = set::PublicKey::from_bytes(&$case.public_key) else { return Refuse };
        let Ok(signature) = set::DetachedSignature::from_bytes(&$case.signature) else {
            return Refuse;
        };
        judge(set::$verify(&signature, &$case.message, $($context,)? &key).is_ok())
    }};
}

/// PQClean's portable code, which the crate exposes only through its C functions.
macro_rules! pqclean_portable {
    ($verify:ident, $key_bytes:expr, $case:expr) => {{
        if $case.public_key.len() != $key_bytes {
            return Refuse;
        }
        let c = $case;
        // The lengths are those of the slices, and the length of the key has been checked.
        let said = unsafe {
            pqcrypto_mldsa::ffi::$verify(
                c.signature.as_ptr(), c.signature.len(), c.message.as_ptr(), c.message.len(),
                c.context.as_ptr(), c.context.len(), c.public_key.as_ptr(),
            )
        };
        judge(said == 0)
    }};
}

fn aws_lc(
    set: &'static aws_lc_rs::signature::PqdsaVerificationAlgorithm,
    case: &Case,
    out: &mut Output,
) -> Verdict {
    if !case.context.is_empty() {
        return Unsupported; // the interface of the crate has no context
    }
    let Ok(key) = aws_lc_rs::signature::ParsedPublicKey::new(set, &case.public_key) else {
        return Refuse;
    };
    out.lap("decode_key");
    judge(key.verify_sig(&case.message, &case.signature).is_ok())
}

fn fn_dsa(case: &Case, out: &mut Output) -> Verdict {
    use fn_dsa::{VerifyingKey, VerifyingKeyStandard, DOMAIN_NONE, HASH_ID_ORIGINAL_FALCON};
    let Some(key) = VerifyingKeyStandard::decode(&case.public_key) else { return Refuse };
    out.lap("decode_key");
    judge(key.verify(&case.signature, &DOMAIN_NONE, &HASH_ID_ORIGINAL_FALCON, &case.message))
}

fn ed25519(case: &Case, out: &mut Output) -> Verdict {
    use ed25519_dalek::{Signature, Verifier, VerifyingKey};
    let Ok(key) = case.public_key[..].try_into() else { return Refuse };
    let Ok(key) = VerifyingKey::from_bytes(key) else { return Refuse };
    out.lap("decode_key");
    let Ok(signature) = Signature::from_slice(&case.signature) else { return Refuse };
    judge(key.verify(&case.message, &signature).is_ok())
}

/// Recover the key from r, s, the recovery id, and a digest as the message, as the precompile does.
fn ecrecover(case: &Case) -> Verdict {
    use secp256k1::ecdsa::{RecoverableSignature, RecoveryId};
    use secp256k1::{Message, Secp256k1, VerifyOnly};
    static CONTEXT: OnceLock<Secp256k1<VerifyOnly>> = OnceLock::new();
    let (Ok(digest), 65) = (case.message[..].try_into(), case.signature.len()) else {
        return Refuse;
    };
    let Ok(parity) = RecoveryId::try_from(i32::from(case.signature[64])) else { return Refuse };
    let Ok(signature) = RecoverableSignature::from_compact(&case.signature[..64], parity) else {
        return Reject;
    };
    let context = CONTEXT.get_or_init(Secp256k1::verification_only);
    match context.recover_ecdsa(Message::from_digest(digest), &signature) {
        Ok(key) => judge(key.serialize()[..] == case.public_key[..]),
        Err(_) => Reject,
    }
}

fn verify(name: &str, c: &Case, out: &mut Output) -> Verdict {
    if c.algorithm.starts_with("SLH-DSA") {
        return slh::answer(name, c, out);
    }
    if c.operation != "verify" {
        return kem::answer(name, c, out);
    }
    match (name, c.algorithm.as_str()) {
        ("rustcrypto", "ML-DSA-44") => rustcrypto::<ml_dsa::MlDsa44>(c, out),
        ("rustcrypto", "ML-DSA-65") => rustcrypto::<ml_dsa::MlDsa65>(c, out),
        ("rustcrypto", "ML-DSA-87") => rustcrypto::<ml_dsa::MlDsa87>(c, out),
        ("fips204", "ML-DSA-44") => fips204!(ml_dsa_44, c, out),
        ("fips204", "ML-DSA-65") => fips204!(ml_dsa_65, c, out),
        ("fips204", "ML-DSA-87") => fips204!(ml_dsa_87, c, out),
        ("libcrux/portable", "ML-DSA-44") => libcrux!(ml_dsa_44::portable, MLDSA44VerificationKey, MLDSA44Signature, c),
        ("libcrux/portable", "ML-DSA-65") => libcrux!(ml_dsa_65::portable, MLDSA65VerificationKey, MLDSA65Signature, c),
        ("libcrux/portable", "ML-DSA-87") => libcrux!(ml_dsa_87::portable, MLDSA87VerificationKey, MLDSA87Signature, c),
        ("libcrux/avx2", "ML-DSA-44") => libcrux!(ml_dsa_44::avx2, MLDSA44VerificationKey, MLDSA44Signature, c),
        ("libcrux/avx2", "ML-DSA-65") => libcrux!(ml_dsa_65::avx2, MLDSA65VerificationKey, MLDSA65Signature, c),
        ("libcrux/avx2", "ML-DSA-87") => libcrux!(ml_dsa_87::avx2, MLDSA87VerificationKey, MLDSA87Signature, c),
        ("aws-lc", "ML-DSA-44") => aws_lc(&aws_lc_rs::signature::ML_DSA_44, c, out),
        ("aws-lc", "ML-DSA-65") => aws_lc(&aws_lc_rs::signature::ML_DSA_65, c, out),
        ("aws-lc", "ML-DSA-87") => aws_lc(&aws_lc_rs::signature::ML_DSA_87, c, out),
        ("pqclean/avx2", "ML-DSA-44") => pqclean!(pqcrypto_mldsa::mldsa44, verify_detached_signature_ctx(&c.context), c),
        ("pqclean/avx2", "ML-DSA-65") => pqclean!(pqcrypto_mldsa::mldsa65, verify_detached_signature_ctx(&c.context), c),
        ("pqclean/avx2", "ML-DSA-87") => pqclean!(pqcrypto_mldsa::mldsa87, verify_detached_signature_ctx(&c.context), c),
        ("pqclean/portable", "ML-DSA-44") => pqclean_portable!(PQCLEAN_MLDSA44_CLEAN_crypto_sign_verify_ctx, 1312, c),
        ("pqclean/portable", "ML-DSA-65") => pqclean_portable!(PQCLEAN_MLDSA65_CLEAN_crypto_sign_verify_ctx, 1952, c),
        ("pqclean/portable", "ML-DSA-87") => pqclean_portable!(PQCLEAN_MLDSA87_CLEAN_crypto_sign_verify_ctx, 2592, c),
        ("pqclean/avx2", "Falcon-512") => pqclean!(pqcrypto_falcon::falcon512, verify_detached_signature(), c),
        ("pqclean/avx2", "Falcon-1024") => pqclean!(pqcrypto_falcon::falcon1024, verify_detached_signature(), c),
        ("pqclean/avx2", "Falcon-padded-512") => pqclean!(pqcrypto_falcon::falconpadded512, verify_detached_signature(), c),
        ("pqclean/avx2", "Falcon-padded-1024") => pqclean!(pqcrypto_falcon::falconpadded1024, verify_detached_signature(), c),
        ("fn-dsa", "Falcon-padded-512" | "Falcon-padded-1024") => fn_dsa(c, out),
        ("ed25519-dalek", "Ed25519") => ed25519(c, out),
        ("libsecp256k1", "ecrecover") => ecrecover(c),
        _ => Unsupported,
    }
}

fn main() {
    serve(verify);
}
