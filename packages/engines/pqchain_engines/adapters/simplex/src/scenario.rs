//! A scenario, as one line of JSON.

use serde::Deserialize;

/// Runtime of the validators.
#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum Runtime {
    /// commonware's deterministic runtime and simulated network; seconds are virtual.
    Virtual,
    /// commonware's tokio runtime and authenticated connections over 127.0.0.1.
    Loopback,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    pub id: u64,
    pub runtime: Runtime,
    pub nodes: usize,
    pub heights: u64,
    pub warmup: u64,
    pub scheme: String,
    /// Path of a native library of pqchain that has the scheme; empty for the engine's own.
    pub library: String,
    /// Seconds charged in virtual time for one signature.
    pub sign_seconds: f64,
    /// Seconds charged in virtual time for one verification (BLS: one pairing check).
    pub verify_seconds: f64,
    /// Seconds charged in virtual time for each signature of a BLS aggregate.
    pub aggregate_seconds: f64,
    /// One-way latency of a link.
    pub latency_seconds: f64,
    /// Rate of a node each way; 0 for no limit.
    pub rate_bytes_per_second: f64,
    pub block_bytes: usize,
    /// Signatures in a block, each charged `verify_seconds` at every node but the proposer.
    pub transactions: u32,
    pub leader_timeout_seconds: f64,
    /// Give up when the heights have taken so long, in seconds of the runtime.
    pub limit_seconds: f64,
    pub seed: u64,
    /// Validator that stops once a height is final everywhere; none if null.
    pub killed_node: Option<usize>,
    pub killed_after_height: u64,
    /// Validator whose links have another latency; none if null.
    pub slow_node: Option<usize>,
    pub slow_latency_seconds: f64,
}

impl Scenario {
    /// Returns what is wrong with the numbers, if anything.
    pub fn error(&self) -> Option<String> {
        let seconds = [
            self.sign_seconds, self.verify_seconds, self.aggregate_seconds, self.latency_seconds,
            self.rate_bytes_per_second, self.leader_timeout_seconds, self.limit_seconds,
            self.slow_latency_seconds,
        ];
        let outside = |node: Option<usize>| node.is_some_and(|index| index >= self.nodes);
        if !(1..=256).contains(&self.nodes) {
            Some(format!("nodes must be 1 to 256; got {}", self.nodes))
        } else if !(1..=10_000).contains(&self.heights) || self.warmup > 10_000 {
            Some("heights must be 1 to 10000 and warmup at most 10000".into())
        } else if self.block_bytes > 1 << 26 {
            Some(format!("block_bytes must be at most {}; got {}", 1 << 26, self.block_bytes))
        } else if seconds.iter().any(|value| !(0.0..=1e12).contains(value)) {
            Some("seconds and rates must be 0 to 1e12".into())
        } else if outside(self.killed_node) || outside(self.slow_node) {
            Some("killed_node and slow_node must be below nodes".into())
        } else {
            None
        }
    }
}
