//! Processor seconds of one signature and one verification by the libraries that the engine uses.

use crate::native::Native;
use commonware_cryptography::bls12381::primitives::{
    ops::{self, aggregate},
    variant::MinPk,
};
use commonware_utils::non_empty;
use rand_core::SeedableRng as _;
use serde::Deserialize;
use serde_json::{Value, json};

const NAMESPACE: &[u8] = b"pqchain";
const SIGNERS: usize = 64;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    #[serde(rename = "id")]
    _id: u64,
    pub price_of: String,
    pub library: String,
    pub samples: usize,
}

/// Processor seconds of this thread, so that other work on the computer counts little.
fn now() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Returns the medians over samples of two timed steps, after a fifth of them as warm-up.
fn medians(samples: usize, mut step: impl FnMut(usize) -> Result<[f64; 2], String>) -> Result<[f64; 2], String> {
    let mut values = [Vec::new(), Vec::new()];
    for index in 0..samples + samples / 5 {
        let seconds = step(index)?;
        if index >= samples / 5 {
            values[0].push(seconds[0]);
            values[1].push(seconds[1]);
        }
    }
    Ok(values.map(|mut list| {
        list.sort_by(f64::total_cmp);
        list[list.len() / 2]
    }))
}

/// Times messages of 117 bytes, the length of a vote's signed bytes in CometBFT.
pub fn measure(request: &Request) -> Result<Value, String> {
    if !(1..=100_000).contains(&request.samples) {
        return Err(format!("samples must be 1 to 100000; got {}", request.samples));
    }
    if request.price_of == "BLS12-381" {
        return measure_aggregate(request.samples);
    }
    let native = match request.library.as_str() {
        "" if request.price_of == "Ed25519" => Native::ed25519(),
        "" => return Err(format!("{} needs a native library of pqchain", request.price_of)),
        path => Native::open(path, &request.price_of)?,
    };
    let (public, secret) = native.keypair(1);
    let [sign, verify] = medians(request.samples, |index| {
        let mut message = [0; 117];
        message[..8].copy_from_slice(&index.to_be_bytes());
        let start = now();
        let signature = native.sign(&message, &secret).ok_or("a signature failed")?;
        let signed = now();
        if !native.verify(&message, &signature, &public) {
            return Err("a signature does not verify".into());
        }
        Ok([signed - start, now() - signed])
    })?;
    Ok(json!({"sign_seconds": sign, "verify_seconds": verify, "aggregate_seconds": 0.0}))
}

fn measure_aggregate(samples: usize) -> Result<Value, String> {
    let mut random = rand_chacha::ChaCha20Rng::seed_from_u64(1);
    let keys: Vec<_> = (0..SIGNERS).map(|_| ops::keypair::<_, MinPk>(&mut random)).collect();
    let [sign, verify] = medians(samples, |index| {
        let mut message = [0; 117];
        message[..8].copy_from_slice(&index.to_be_bytes());
        let start = now();
        let signature = ops::sign_message::<MinPk>(&keys[0].0, NAMESPACE, &message);
        let signed = now();
        ops::verify_message::<MinPk>(&keys[0].1, NAMESPACE, &message, &signature)
            .map_err(|error| error.to_string())?;
        Ok([signed - start, now() - signed])
    })?;
    let signatures: Vec<_> = keys
        .iter()
        .map(|(secret, _)| ops::sign_message::<MinPk>(secret, NAMESPACE, b"message"))
        .collect();
    let [combine, add] = medians(samples, |_| {
        let start = now();
        std::hint::black_box(aggregate::combine_signatures::<MinPk, _>(
            non_empty![@signatures.iter()],
        ));
        let combined = now();
        std::hint::black_box(aggregate::combine_public_keys::<MinPk, _>(
            non_empty![@keys.iter().map(|(_, public)| public)],
        ));
        Ok([combined - start, now() - combined])
    })?;
    let aggregate = (combine + add) / SIGNERS as f64;
    Ok(json!({"sign_seconds": sign, "verify_seconds": verify, "aggregate_seconds": aggregate}))
}
