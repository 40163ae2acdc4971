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

pub struct Case {
    pub algorithm: String,
    pub public_key: Vec<u8>,
    pub message: Vec<u8>,
    pub context: Vec<u8>,
    pub signature: Vec<u8>,
}

#[derive(Deserialize)]
struct Request {
    id: u64,
    algorithm: String,
    public_key: String,
    message: String,
    context: String,
    signature: String,
    repeat: usize,
}

#[derive(Serialize)]
struct Answer {
    id: u64,
    verdict: Verdict,
    nanoseconds: Vec<u64>,
    parts: BTreeMap<&'static str, Vec<u64>>,
}

/// Clock of one verification, in parts.
pub struct Watch {
    last: Instant,
    parts: Vec<(&'static str, u64)>,
}

impl Watch {
    /// End a part: "decode_key" or "decode_signature". The rest is verification.
    pub fn lap(&mut self, part: &'static str) {
        let now = Instant::now();
        self.parts.push((part, (now - self.last).as_nanos() as u64));
        self.last = now;
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
pub fn serve(verify: fn(&str, &Case, &mut Watch) -> Verdict) {
    let name = std::env::args().nth(1).expect("expected the name of an implementation");
    std::panic::set_hook(Box::new(|_| {}));
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let request: Request = serde_json::from_str(&line.expect("stdin")).expect("a request");
        let bytes = |text: &str| hex::decode(text).expect("hexadecimal digits");
        let case = Case {
            public_key: bytes(&request.public_key),
            message: bytes(&request.message),
            context: bytes(&request.context),
            signature: bytes(&request.signature),
            algorithm: request.algorithm,
        };
        let mut verdict = Verdict::Unsupported;
        let mut nanoseconds = Vec::with_capacity(request.repeat);
        let mut parts = BTreeMap::<_, Vec<u64>>::new();
        for _ in 0..request.repeat.max(1) {
            let start = Instant::now();
            let mut watch = Watch { last: start, parts: Vec::new() };
            let said = catch_unwind(AssertUnwindSafe(|| verify(&name, &case, &mut watch)));
            nanoseconds.push(start.elapsed().as_nanos() as u64);
            verdict = said.unwrap_or(Verdict::Panic);
            for (part, duration) in watch.parts {
                parts.entry(part).or_default().push(duration);
            }
        }
        let answer = Answer { id: request.id, verdict, nanoseconds, parts };
        writeln!(out, "{}", serde_json::to_string(&answer).expect("an answer")).expect("stdout");
        out.flush().expect("stdout");
    }
}
