//! Times precompiles inside revm. Reads a request per line of standard input; writes a JSON line per
//! precompile and a last one with "done" or "error".
//!
//! A transaction calls a precompile K times in a loop; the time of the same loop over a precompile
//! that does nothing is written too.

mod native;

use native::Native;
use revm::{
    Context, ExecuteEvm, MainBuilder, MainContext,
    bytecode::Bytecode,
    context::{TxEnv, result::ExecutionResult},
    database::{CacheDB, EmptyDB},
    handler::EthPrecompiles,
    precompile::{
        EthPrecompileOutput, Precompile, PrecompileHalt, PrecompileId, PrecompileOutput,
        PrecompileResult, PrecompileSpecId, Precompiles,
    },
    primitives::{Address, B256, Bytes, TxKind, U256, hardfork::SpecId},
    state::AccountInfo,
};
use serde_json::{Value, json};
use std::{
    io::{BufRead, Write, stdin, stdout},
    sync::Mutex,
};

const VERSION: &str = "43.0.3";

/// Addresses of the empty precompile, and of the verifier of the present request.
const EMPTY: u64 = 0x0fff;
const VERIFIER: u64 = 0x1000;

struct Verifier {
    native: Native,
    signature_bytes: usize,
    gas: u64,
}

/// A precompile is a plain function, so that its state is static.
static PRESENT: Mutex<Option<Verifier>> = Mutex::new(None);

fn empty(_: &[u8], _: u64, reservoir: u64) -> PrecompileResult {
    let output = EthPrecompileOutput::new(0, B256::with_last_byte(1).into());
    Ok(PrecompileOutput::from_eth_result(Ok(output), reservoir))
}

/// Input: 32 bytes of message, the signature, the public key. Output: 1 as a word, or nothing.
fn verify(input: &[u8], limit: u64, reservoir: u64) -> PrecompileResult {
    let guard = PRESENT.lock().unwrap();
    let present = guard.as_ref().expect("set before the EVM runs");
    let result = if present.gas > limit {
        Err(PrecompileHalt::OutOfGas)
    } else {
        let (message, rest) = input.split_at(32.min(input.len()));
        let (signature, key) = rest.split_at(present.signature_bytes.min(rest.len()));
        let output = match present.native.verify(message, signature, key) {
            true => B256::with_last_byte(1).into(),
            false => Bytes::new(),
        };
        Ok(EthPrecompileOutput::new(present.gas, output))
    };
    Ok(PrecompileOutput::from_eth_result(result, reservoir))
}

fn address(number: u64) -> Address {
    Address::left_padding_from(&number.to_be_bytes())
}

fn precompiles() -> EthPrecompiles {
    let mut all = Precompiles::new(PrecompileSpecId::from_spec_id(SpecId::OSAKA)).clone();
    all.extend([
        Precompile::new(PrecompileId::custom("empty"), address(EMPTY), empty),
        Precompile::new(PrecompileId::custom("verifier"), address(VERIFIER), verify),
    ]);
    // The EVM needs them for the life of the process.
    EthPrecompiles { precompiles: Box::leak(Box::new(all)), spec: SpecId::OSAKA }
}

/// Returns a contract that calls `callee` with its calldata `calls` times, and returns the last
/// output. A call that fails, or returns nothing, makes it revert.
fn contract(callee: Address, calls: u16) -> Bytecode {
    let mut code = vec![0x36, 0x5f, 0x5f, 0x37]; // CALLDATACOPY(0, 0, CALLDATASIZE)
    code.push(0x61);
    code.extend(calls.to_be_bytes()); // PUSH2 calls
    let head = code.len() as u8;
    code.extend([0x5b, 0x60, 0x20, 0x36, 0x36, 0x5f, 0x73]); // JUMPDEST, 32, SIZE, SIZE, 0, PUSH20
    code.extend(callee.as_slice());
    code.extend([0x5a, 0xfa, 0x36, 0x51, 0x02]); // GAS STATICCALL; MUL with the returned word
    let good = code.len() as u8 + 7;
    code.extend([0x60, good, 0x57, 0x5f, 0x5f, 0xfd, 0x00]); // PUSH1 good JUMPI; REVERT(0, 0)
    code.extend([0x5b, 0x60, 1, 0x90, 0x03, 0x80, 0x60, head, 0x57]); // n - 1; JUMPI head
    code.extend([0x60, 0x20, 0x36, 0xf3]); // RETURN(SIZE, 32)
    Bytecode::new_raw(code.into())
}

/// Processor seconds of this thread, so that other work on the computer counts little.
fn now() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Runs the transaction once; returns its seconds and its gas.
fn transact(precompiles: &EthPrecompiles, callee: u64, calls: u16, input: &[u8]) -> Result<(f64, u64), String> {
    let mut database = CacheDB::new(EmptyDB::default());
    let (caller, target) = (address(0xca11e4), address(0xc0de));
    let code = Some(contract(address(callee), calls));
    database.insert_account_info(target, AccountInfo { code, ..Default::default() });
    let balance = U256::MAX >> 1;
    database.insert_account_info(caller, AccountInfo { balance, ..Default::default() });
    let context = Context::mainnet()
        .with_db(database)
        .modify_cfg_chained(|cfg| {
            cfg.set_spec_and_mainnet_gas_params(SpecId::OSAKA);
            // EIP-7825 caps a transaction below the gas of many calls.
            cfg.tx_gas_limit_cap = Some(u64::MAX);
            cfg.disable_nonce_check = true;
        })
        .modify_block_chained(|block| block.gas_limit = u64::MAX);
    let mut evm = context.build_mainnet().with_precompiles(precompiles.clone());
    let tx = TxEnv::builder()
        .caller(caller)
        .kind(TxKind::Call(target))
        .data(input.to_vec().into())
        .gas_limit(1 << 40)
        .gas_price(0)
        .build()
        .map_err(|error| format!("{error:?}"))?;
    let start = now();
    let result = evm.transact(tx).map_err(|error| format!("{error:?}"))?.result;
    let seconds = now() - start;
    match result {
        ExecutionResult::Success { gas, .. } => Ok((seconds, gas.tx_gas_used())),
        other => Err(format!("the transaction failed, so a verification did: {other:?}")),
    }
}

fn ecrecover() -> Vec<u8> {
    let key = k256::ecdsa::SigningKey::from_slice(&[7; 32]).unwrap();
    let (signature, recovery) = key.sign_prehash_recoverable(&[9; 32]).unwrap();
    let mut input = vec![9; 32];
    input.extend([0; 31]);
    input.push(27 + recovery.to_byte());
    input.extend(signature.to_bytes());
    input
}

fn p256() -> Vec<u8> {
    use p256::ecdsa::{Signature, SigningKey, signature::hazmat::PrehashSigner};
    let key = SigningKey::from_slice(&[7; 32]).unwrap();
    let signature: Signature = key.sign_prehash(&[9; 32]).unwrap();
    let point = key.verifying_key().to_encoded_point(false);
    [vec![9; 32], signature.to_bytes().to_vec(), point.as_bytes()[1..].to_vec()].concat()
}

fn bytes(row: &Value, name: &str) -> Result<Vec<u8>, String> {
    let text = row[name].as_str().ok_or(format!("{name} must be hexadecimal digits"))?;
    let digits = |index: usize| text.get(index..index + 2).and_then(|d| u8::from_str_radix(d, 16).ok());
    let all: Option<Vec<u8>> = (0..text.len()).step_by(2).map(digits).collect();
    all.ok_or(format!("{name} must be hexadecimal digits"))
}

/// Address, gas and input of a precompile: revm's own, or a verifier that is loaded now.
fn prepare(row: &Value) -> Result<(u64, u64, Vec<u8>), String> {
    let gas = row["gas"].as_u64().ok_or("gas must be a whole number")?;
    match row["precompile"].as_str().ok_or("precompile must be a name")? {
        "ecrecover" => Ok((1, gas, ecrecover())),
        "P256VERIFY" => Ok((0x100, gas, p256())),
        name => {
            let library = row["library"].as_str().ok_or("library must be a path")?;
            let (message, signature, key) =
                (bytes(row, "message")?, bytes(row, "signature")?, bytes(row, "public_key")?);
            if message.len() != 32 {
                return Err("message must have 32 bytes".into());
            }
            let native = Native::open(library, name)?;
            let verifier = Verifier { native, signature_bytes: signature.len(), gas };
            *PRESENT.lock().unwrap() = Some(verifier);
            Ok((VERIFIER, gas, [message, signature, key].concat()))
        }
    }
}

fn answer(line: &str, all: &EthPrecompiles, out: &mut impl Write) -> Result<(), String> {
    let request: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let count = |name: &str, most: u64| {
        let value = request[name].as_u64().filter(|value| (1..=most).contains(value));
        value.ok_or(format!("{name} must be 1 to {most}"))
    };
    let (calls, repeats) = (count("calls", 10_000)? as u16, count("repeats", 1000)?);
    let rows = request["precompiles"].as_array().ok_or("precompiles must be a list")?;
    for row in rows {
        let (callee, gas, input) = prepare(row)?;
        let (mut seconds, mut loops, mut used) = (Vec::new(), Vec::new(), 0);
        for _ in 0..repeats {
            let (time, total) = transact(all, callee, calls, &input)?;
            used = total;
            seconds.push(time);
            loops.push(transact(all, EMPTY, calls, &input)?.0);
        }
        let record = json!({
            "id": request["id"], "precompile": row["precompile"], "input_bytes": input.len(),
            "gas": gas, "transaction_gas": used, "seconds": seconds, "loop_seconds": loops,
        });
        writeln!(out, "{record}").map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn main() -> std::io::Result<()> {
    let all = precompiles();
    for line in stdin().lock().lines() {
        let line = line?;
        let mut out = stdout().lock();
        let id = serde_json::from_str(&line).map_or(Value::Null, |value: Value| value["id"].clone());
        let last = match answer(&line, &all, &mut out) {
            Ok(()) => json!({"id": id, "done": true, "version": VERSION}),
            Err(error) => json!({"id": id, "error": error}),
        };
        writeln!(out, "{last}")?;
        out.flush()?;
    }
    Ok(())
}
