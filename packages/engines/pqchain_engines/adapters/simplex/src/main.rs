//! Runs commonware's simplex. Reads a scenario per line of standard input; writes a JSON line per
//! height and a last one with "done" or "error". A line with "price_of" times a scheme instead.

mod aggregate;
mod application;
mod links;
mod list;
mod loopback;
mod native;
mod prices;
mod processor;
mod scenario;
mod validators;
mod virtual_time;

use aggregate::{AggregateScheme, Charged};
use commonware_consensus::simplex::scheme::Namespace;
use commonware_cryptography::{
    bls12381::{
        certificate::multisig::Generic,
        primitives::{ops, variant::MinPk},
    },
    certificate::Namespace as _,
};
use commonware_utils::{Participant, TryCollect, ordered::BiMap};
use list::ListScheme;
use native::Native;
use rand_core::SeedableRng as _;
use scenario::{Runtime, Scenario};
use serde_json::{Value, json};
use std::{
    io::{BufRead, Write, stdin, stdout},
    sync::Arc,
};
use validators::{MakeScheme, SimplexScheme, identities};

const VERSION: &str = "2026.10.0";

fn main() -> std::io::Result<()> {
    for line in stdin().lock().lines() {
        let line = line?;
        let mut out = stdout().lock();
        let id = serde_json::from_str::<Value>(&line).map_or(Value::Null, |value| value["id"].clone());
        match answer(&line) {
            Ok((records, last)) => {
                for record in records {
                    writeln!(out, "{record}")?;
                }
                let mut last = last;
                last["id"] = id;
                last["done"] = true.into();
                last["version"] = VERSION.into();
                writeln!(out, "{last}")?;
            }
            Err(error) => writeln!(out, "{}", json!({"id": id, "error": error}))?,
        }
        out.flush()?;
    }
    Ok(())
}

fn answer(line: &str) -> Result<(Vec<Value>, Value), String> {
    let invalid = |error: serde_json::Error| format!("invalid request: {error}");
    if line.contains("\"price_of\"") {
        let request = serde_json::from_str::<prices::Request>(line).map_err(invalid)?;
        return Ok((Vec::new(), prices::measure(&request)?));
    }
    let (records, audit) = run(serde_json::from_str(line).map_err(invalid)?)?;
    Ok((records, json!({"audit": audit})))
}

type Output = Result<(Vec<Value>, Option<String>), String>;

fn run(scenario: Scenario) -> Output {
    if let Some(error) = scenario.error() {
        return Err(error);
    }
    if scenario.scheme == "BLS12-381" {
        return run_aggregate(scenario);
    }
    let native = match scenario.library.as_str() {
        "" if scenario.scheme == "Ed25519" => Native::ed25519(),
        "" => return Err(format!("{} needs a native library of pqchain", scenario.scheme)),
        path => Native::open(path, &scenario.scheme)?,
    };
    // One engine is compiled per length of a signature.
    match native.signature_bytes() {
        64 => run_list::<64>(scenario, native),
        666 => run_list::<666>(scenario, native),
        2420 => run_list::<2420>(scenario, native),
        3309 => run_list::<3309>(scenario, native),
        bytes => Err(format!("signatures of {bytes} bytes are not compiled in; see main.rs")),
    }
}

fn run_list<const N: usize>(scenario: Scenario, native: Native) -> Output {
    let native = Arc::new(native);
    let (_, participants) = identities(scenario.nodes);
    let pairs = (0..scenario.nodes as u64).map(|index| native.keypair(index));
    let (keys, secrets): (Vec<_>, Vec<_>) =
        pairs.map(|(public, secret)| (public, Arc::new(secret))).unzip();
    let keys = Arc::new(keys);
    let make = move |index: usize, processor| {
        let (native, secret) = (native.clone(), secrets[index].clone());
        ListScheme::<N>::new(native, participants.clone(), keys.clone(), secret, index, processor)
    };
    run_scheme(scenario, Box::new(make))
}

fn run_aggregate(scenario: Scenario) -> Output {
    let (_, identities) = identities(scenario.nodes);
    let mut random = rand_chacha::ChaCha20Rng::seed_from_u64(scenario.seed);
    let pairs: Vec<_> =
        (0..scenario.nodes).map(|_| ops::keypair::<_, MinPk>(&mut random)).collect();
    let bound = identities.iter().cloned().zip(pairs.iter().map(|(_, public)| *public));
    let participants: BiMap<_, _> =
        bound.try_collect().map_err(|_| "two validators have one key")?;
    let make = move |index: usize, processor| AggregateScheme {
        multisig: Generic {
            participants: participants.clone(),
            signer: Some((Participant::from_usize(index), pairs[index].0.clone())),
            namespace: Namespace::derive(b"pqchain"),
        },
        processor: Charged(processor),
    };
    run_scheme(scenario, Box::new(make))
}

fn run_scheme<S: SimplexScheme>(scenario: Scenario, make_scheme: MakeScheme<S>) -> Output {
    match scenario.runtime {
        Runtime::Virtual => virtual_time::run(scenario, make_scheme),
        Runtime::Loopback => loopback::run(scenario, make_scheme),
    }
}
