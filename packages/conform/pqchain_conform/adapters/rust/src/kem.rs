//! ML-KEM: `encapsulate` checks an encapsulation key, `decapsulate` returns a shared secret.

use crate::protocol::{Case, Output, Verdict};
use Verdict::{Accept, Refuse, Unsupported};

const RANDOMNESS: [u8; 32] = [7; 32];

#[allow(deprecated)] // the vectors have expanded keys
fn rustcrypto<K>(case: &Case, out: &mut Output) -> Verdict
where
    K: ml_kem::Kem,
    K::DecapsulationKey: ml_kem::ExpandedKeyEncoding + ml_kem::kem::Decapsulate<Kem = K>,
    K::EncapsulationKey: ml_kem::TryKeyInit,
{
    use ml_kem::kem::Decapsulate;
    use ml_kem::{ExpandedKeyEncoding, TryKeyInit};
    if case.operation == "encapsulate" {
        // The key is checked here; encapsulating cannot fail.
        return match K::EncapsulationKey::new_from_slice(&case.encapsulation_key) {
            Ok(_) => Accept,
            Err(_) => Refuse,
        };
    }
    let Ok(key) = case.decapsulation_key[..].try_into() else { return Refuse };
    let Ok(key) = K::DecapsulationKey::from_expanded_bytes(&key) else { return Refuse };
    out.lap("decode_key");
    let Ok(ciphertext) = case.ciphertext[..].try_into() else { return Refuse };
    out.secret(&key.decapsulate(&ciphertext))
}

macro_rules! fips203 {
    ($set:ident, $case:expr, $out:expr) => {{
        use fips203::traits::{Decaps, Encaps, SerDes};
        use fips203::$set as set;
        if $case.operation == "encapsulate" {
            let Ok(key) = $case.encapsulation_key[..].try_into() else { return Refuse };
            let Ok(key) = set::EncapsKey::try_from_bytes(key) else { return Refuse };
            let _ = key.encaps_from_seed(&RANDOMNESS);
            return Accept;
        }
        let Ok(key) = $case.decapsulation_key[..].try_into() else { return Refuse };
        let Ok(key) = set::DecapsKey::try_from_bytes(key) else { return Refuse };
        $out.lap("decode_key");
        let Ok(ciphertext) = $case.ciphertext[..].try_into() else { return Refuse };
        let Ok(ciphertext) = set::CipherText::try_from_bytes(ciphertext) else { return Refuse };
        let Ok(secret) = key.try_decaps(&ciphertext) else { return Refuse };
        $out.secret(&secret.into_bytes())
    }};
}

macro_rules! libcrux {
    ($set:ident :: $variant:ident, $public:ident, $private:ident, $ciphertext:ident, $case:expr, $out:expr) => {{
        use libcrux_ml_kem::$set as set;
        if $case.operation == "encapsulate" {
            let Ok(key) = set::$public::try_from(&$case.encapsulation_key[..]) else {
                return Refuse;
            };
            // The crate leaves this check and that of the decapsulation key to the caller.
            if !set::$variant::validate_public_key(&key) {
                return Refuse;
            }
            set::$variant::encapsulate(&key, RANDOMNESS);
            return Accept;
        }
        let Ok(key) = set::$private::try_from(&$case.decapsulation_key[..]) else { return Refuse };
        let Ok(ciphertext) = set::$ciphertext::try_from(&$case.ciphertext[..]) else {
            return Refuse;
        };
        if !set::$variant::validate_private_key(&key, &ciphertext) {
            return Refuse;
        }
        $out.secret(&set::$variant::decapsulate(&key, &ciphertext))
    }};
}

fn aws_lc(
    set: &'static aws_lc_rs::kem::Algorithm<aws_lc_rs::kem::AlgorithmId>,
    case: &Case,
    out: &mut Output,
) -> Verdict {
    use aws_lc_rs::kem::{Ciphertext, DecapsulationKey, EncapsulationKey};
    if case.operation == "encapsulate" {
        let key = EncapsulationKey::new(set, &case.encapsulation_key);
        return match key.map(|key| key.encapsulate()) {
            Ok(Ok(_)) => Accept,
            _ => Refuse,
        };
    }
    let Ok(key) = DecapsulationKey::new(set, &case.decapsulation_key) else { return Refuse };
    out.lap("decode_key");
    match key.decapsulate(Ciphertext::from(&case.ciphertext[..])) {
        Ok(secret) => out.secret(secret.as_ref()),
        Err(_) => Refuse,
    }
}

pub fn answer(name: &str, c: &Case, o: &mut Output) -> Verdict {
    match (name, c.algorithm.as_str()) {
        ("rustcrypto-kem", "ML-KEM-512") => rustcrypto::<ml_kem::MlKem512>(c, o),
        ("rustcrypto-kem", "ML-KEM-768") => rustcrypto::<ml_kem::MlKem768>(c, o),
        ("rustcrypto-kem", "ML-KEM-1024") => rustcrypto::<ml_kem::MlKem1024>(c, o),
        ("fips203", "ML-KEM-512") => fips203!(ml_kem_512, c, o),
        ("fips203", "ML-KEM-768") => fips203!(ml_kem_768, c, o),
        ("fips203", "ML-KEM-1024") => fips203!(ml_kem_1024, c, o),
        ("libcrux-kem/portable", "ML-KEM-512") => libcrux!(mlkem512::portable, MlKem512PublicKey, MlKem512PrivateKey, MlKem512Ciphertext, c, o),
        ("libcrux-kem/portable", "ML-KEM-768") => libcrux!(mlkem768::portable, MlKem768PublicKey, MlKem768PrivateKey, MlKem768Ciphertext, c, o),
        ("libcrux-kem/portable", "ML-KEM-1024") => libcrux!(mlkem1024::portable, MlKem1024PublicKey, MlKem1024PrivateKey, MlKem1024Ciphertext, c, o),
        ("libcrux-kem/avx2", "ML-KEM-512") => libcrux!(mlkem512::avx2, MlKem512PublicKey, MlKem512PrivateKey, MlKem512Ciphertext, c, o),
        ("libcrux-kem/avx2", "ML-KEM-768") => libcrux!(mlkem768::avx2, MlKem768PublicKey, MlKem768PrivateKey, MlKem768Ciphertext, c, o),
        ("libcrux-kem/avx2", "ML-KEM-1024") => libcrux!(mlkem1024::avx2, MlKem1024PublicKey, MlKem1024PrivateKey, MlKem1024Ciphertext, c, o),
        ("aws-lc", "ML-KEM-512") => aws_lc(&aws_lc_rs::kem::ML_KEM_512, c, o),
        ("aws-lc", "ML-KEM-768") => aws_lc(&aws_lc_rs::kem::ML_KEM_768, c, o),
        ("aws-lc", "ML-KEM-1024") => aws_lc(&aws_lc_rs::kem::ML_KEM_1024, c, o),
        _ => Unsupported,
    }
}
