//! SLH-DSA, in the pure interface. Signatures are deterministic, to be compared byte by byte.

use crate::protocol::{judge, Case, Output, Verdict};
use Verdict::{Refuse, Unsupported};

fn rustcrypto<P: slh_dsa::ParameterSet>(case: &Case, out: &mut Output) -> Verdict {
    if case.operation == "sign" {
        let Ok(key) = slh_dsa::SigningKey::<P>::try_from(&case.secret_key[..]) else {
            return Refuse;
        };
        out.lap("decode_key");
        let Ok(signature) = key.try_sign_with_context(&case.message, &case.context, None) else {
            return Refuse;
        };
        return out.signed(&signature.to_vec());
    }
    let Ok(key) = slh_dsa::VerifyingKey::<P>::try_from(&case.public_key[..]) else { return Refuse };
    out.lap("decode_key");
    let Ok(signature) = slh_dsa::Signature::<P>::try_from(&case.signature[..]) else {
        return Refuse;
    };
    out.lap("decode_signature");
    judge(key.try_verify_with_context(&case.message, &case.context, &signature).is_ok())
}

macro_rules! fips205 {
    ($set:ident, $case:expr, $out:expr) => {{
        use fips205::traits::{SerDes, Signer, Verifier};
        if $case.operation == "sign" {
            let Ok(key) = $case.secret_key[..].try_into() else { return Refuse };
            // Decoding a secret key computes its public key again.
            let Ok(key) = fips205::$set::PrivateKey::try_from_bytes(key) else { return Refuse };
            $out.lap("decode_key");
            let Ok(signature) = key.try_sign(&$case.message, &$case.context, false) else {
                return Refuse;
            };
            return $out.signed(&signature);
        }
        let Ok(key) = $case.public_key[..].try_into() else { return Refuse };
        let Ok(key) = fips205::$set::PublicKey::try_from_bytes(key) else { return Refuse };
        $out.lap("decode_key");
        let Ok(signature) = $case.signature[..].try_into() else { return Refuse };
        judge(key.verify(&$case.message, signature, &$case.context))
    }};
}

pub fn answer(name: &str, c: &Case, o: &mut Output) -> Verdict {
    match (name, c.algorithm.as_str()) {
        ("rustcrypto-slh", "SLH-DSA-SHA2-128s") => rustcrypto::<slh_dsa::Sha2_128s>(c, o),
        ("rustcrypto-slh", "SLH-DSA-SHA2-128f") => rustcrypto::<slh_dsa::Sha2_128f>(c, o),
        ("rustcrypto-slh", "SLH-DSA-SHA2-192s") => rustcrypto::<slh_dsa::Sha2_192s>(c, o),
        ("rustcrypto-slh", "SLH-DSA-SHA2-192f") => rustcrypto::<slh_dsa::Sha2_192f>(c, o),
        ("rustcrypto-slh", "SLH-DSA-SHA2-256s") => rustcrypto::<slh_dsa::Sha2_256s>(c, o),
        ("rustcrypto-slh", "SLH-DSA-SHA2-256f") => rustcrypto::<slh_dsa::Sha2_256f>(c, o),
        ("rustcrypto-slh", "SLH-DSA-SHAKE-128s") => rustcrypto::<slh_dsa::Shake128s>(c, o),
        ("rustcrypto-slh", "SLH-DSA-SHAKE-128f") => rustcrypto::<slh_dsa::Shake128f>(c, o),
        ("rustcrypto-slh", "SLH-DSA-SHAKE-192s") => rustcrypto::<slh_dsa::Shake192s>(c, o),
        ("rustcrypto-slh", "SLH-DSA-SHAKE-192f") => rustcrypto::<slh_dsa::Shake192f>(c, o),
        ("rustcrypto-slh", "SLH-DSA-SHAKE-256s") => rustcrypto::<slh_dsa::Shake256s>(c, o),
        ("rustcrypto-slh", "SLH-DSA-SHAKE-256f") => rustcrypto::<slh_dsa::Shake256f>(c, o),
        ("fips205", "SLH-DSA-SHA2-128s") => fips205!(slh_dsa_sha2_128s, c, o),
        ("fips205", "SLH-DSA-SHA2-128f") => fips205!(slh_dsa_sha2_128f, c, o),
        ("fips205", "SLH-DSA-SHA2-192s") => fips205!(slh_dsa_sha2_192s, c, o),
        ("fips205", "SLH-DSA-SHA2-192f") => fips205!(slh_dsa_sha2_192f, c, o),
        ("fips205", "SLH-DSA-SHA2-256s") => fips205!(slh_dsa_sha2_256s, c, o),
        ("fips205", "SLH-DSA-SHA2-256f") => fips205!(slh_dsa_sha2_256f, c, o),
        ("fips205", "SLH-DSA-SHAKE-128s") => fips205!(slh_dsa_shake_128s, c, o),
        ("fips205", "SLH-DSA-SHAKE-128f") => fips205!(slh_dsa_shake_128f, c, o),
        ("fips205", "SLH-DSA-SHAKE-192s") => fips205!(slh_dsa_shake_192s, c, o),
        ("fips205", "SLH-DSA-SHAKE-192f") => fips205!(slh_dsa_shake_192f, c, o),
        ("fips205", "SLH-DSA-SHAKE-256s") => fips205!(slh_dsa_shake_256s, c, o),
        ("fips205", "SLH-DSA-SHAKE-256f") => fips205!(slh_dsa_shake_256f, c, o),
        _ => Unsupported,
    }
}
