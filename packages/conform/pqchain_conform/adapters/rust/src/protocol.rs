//! Requests are JSON lines on stdin, answers are JSON lines on stdout.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::time::Instant;

use serde::{Deserialize, Serialize};

/// Verdict of a verifier. `Refuse`: the interface raised an error instead of a verdict.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Accept,
    Reject,
    Refuse,
    Unsupported,
    Panic,
}

/// A signature to verify, a message to sign, a key to encapsulate to, or a ciphertext to
/// decapsulate; the byte strings of the other operations are empty.
pub struct Case {
    pub operation: String,
    pub algorithm: String,
    pub public_key: Vec<u8>,
    pub secret_key: Vec<u8>,
    pub message: Vec<u8>,
    pub context: Vec<u8>,
    pub signature: Vec<u8>,
    pub encapsulation_key: Vec<u8>,
    pub decapsulation_key: Vec<u8>,
    pub ciphertext: Vec<u8>,
}

#[derive(Deserialize)]
struct Request {
    id: u64,
    operation: String,
    algorithm: String,
    repeat: usize,
    /// Byte strings, in hexadecimal digits.
    #[serde(flatten)]
    bytes: BTreeMap<String, String>,
}

#[derive(Serialize)]
struct Answer {
    id: u64,
    verdict: Verdict,
    nanoseconds: Vec<u64>,
    parts: BTreeMap<&'static str, Vec<u64>>,
    #[serde(skip_serializing_if = "String::is_empty")]
    shared_secret: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    signature: String,
}

/// Durations of the parts of one operation, the shared secret of a decapsulation, and a new signature.
pub struct Output {
    last: Instant,
    parts: Vec<(&'static str, u64)>,
    shared_secret: Vec<u8>,
    signature: Vec<u8>,
}

impl Output {
    /// End a part: "decode_key" or "decode_signature". The rest is verification or signing.
    pub fn lap(&mut self, part: &'static str) {
        let now = Instant::now();
        self.parts.push((part, (now - self.last).as_nanos() as u64));
        self.last = now;
    }

    pub fn secret(&mut self, secret: &[u8]) -> Verdict {
        self.shared_secret = secret.to_vec();
        Verdict::Accept
    }

    pub fn signed(&mut self, signature: &[u8]) -> Verdict {
        self.signature = signature.to_vec();
        Verdict::Accept
    }
}

pub fn judge(valid: bool) -> Verdict {
    if valid {
        Verdict::Accept
    } else {
        Verdict::Reject
    }
}

/// Answer requests until stdin ends.
pub fn serve(verify: fn(&str, &Case, &mut Output) -> Verdict) {
    let name = std::env::args().nth(1).expect("expected the name of an implementation");
    std::panic::set_hook(Box::new(|_| {}));
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let request: Request = serde_json::from_str(&line.expect("stdin")).expect("a request");
        let bytes = |name: &str| {
            let digits = request.bytes.get(name).map_or("", String::as_str);
            hex::decode(digits).expect("hexadecimal digits")
        };
        let case = Case {
            public_key: bytes("public_key"),
            secret_key: bytes("secret_key"),
            message: bytes("message"),
            context: bytes("context"),
            signature: bytes("signature"),
            encapsulation_key: bytes("encapsulation_key"),
            decapsulation_key: bytes("decapsulation_key"),
            ciphertext: bytes("ciphertext"),
            operation: request.operation,
            algorithm: request.algorithm,
        };
        let mut verdict = Verdict::Unsupported;
        let (mut shared_secret, mut signature) = (Vec::new(), Vec::new());
        let mut nanoseconds = Vec::with_capacity(request.repeat);
        let mut parts = BTreeMap::<_, Vec<u64>>::new();
        for _ in 0..request.repeat.max(1) {
            let start = Instant::now();
            let mut output = Output {
                last: start,
                parts: Vec::new(),
                shared_secret: Vec::new(),
                signature: Vec::new(),
            };
            let result = catch_unwind(AssertUnwindSafe(|| verify(&name, &case, &mut output)));
            nanoseconds.push(start.elapsed().as_nanos() as u64);
            verdict = result.unwrap_or(Verdict::Panic);
            for (part, duration) in output.parts {
                parts.entry(part).or_default().push(duration);
            }
            shared_secret = output.shared_secret;
            signature = output.signature;
        }
        let answer = Answer {
            id: request.id,
            verdict,
            nanoseconds,
            parts,
            shared_secret: hex::encode(shared_secret),
            signature: hex::encode(signature),
        };
        writeln!(out, "{}", serde_json::to_string(&answer).expect("an answer")).expect("stdout");
        out.flush().expect("stdout");
    }
}
