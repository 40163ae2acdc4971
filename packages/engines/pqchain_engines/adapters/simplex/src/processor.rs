//! The processor of a validator, and the totals of all validators.
//!
//! The deterministic runtime gives computation no time. Here every signature that is made or
//! verified occupies the validator's processor for its measured seconds, one after the other, and
//! messages wait for the processor. On the real runtime all charges are 0.

use commonware_runtime::Clock;
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

/// Names of the channels, in the order of their numbers.
pub const CHANNELS: [&str; 4] = ["vote", "certificate", "resolver", "block"];

/// Operations, messages and bytes of all validators since the start.
#[derive(Default)]
pub struct Totals {
    pub signs: AtomicU64,
    pub verifies: AtomicU64,
    pub charged_nanoseconds: AtomicU64,
    pub messages: [AtomicU64; 4],
    pub bytes: [AtomicU64; 4],
}

/// Values of `Totals` at one moment: signs, verifies, nanoseconds, then messages and bytes.
pub type Snapshot = [u64; 11];

impl Totals {
    pub fn snapshot(&self) -> Snapshot {
        let mut values = [0; 11];
        let first = [&self.signs, &self.verifies, &self.charged_nanoseconds];
        let all = first.into_iter().chain(&self.messages).chain(&self.bytes);
        for (value, total) in values.iter_mut().zip(all) {
            *value = total.load(Ordering::Relaxed);
        }
        values
    }
}

#[derive(Clone, Copy)]
pub struct Costs {
    pub sign: Duration,
    pub verify: Duration,
    pub aggregate: Duration,
}

#[derive(Clone)]
pub struct Processor(Arc<Inner>);

struct Inner {
    clock: Box<dyn Fn() -> SystemTime + Send + Sync>,
    costs: Costs,
    /// Until when the processor is busy.
    busy: Mutex<Option<SystemTime>>,
    totals: Arc<Totals>,
}

impl Processor {
    pub fn new<E: Clock>(context: E, costs: Costs, totals: Arc<Totals>) -> Self {
        let clock = Box::new(move || context.current());
        Self(Arc::new(Inner { clock, costs, busy: Mutex::new(None), totals }))
    }

    pub fn totals(&self) -> &Totals {
        &self.0.totals
    }

    /// Returns whether operations take virtual time.
    pub fn charges(&self) -> bool {
        let Costs { sign, verify, aggregate } = self.0.costs;
        [sign, verify, aggregate].iter().any(|cost| !cost.is_zero())
    }

    fn charge(&self, cost: Duration) -> SystemTime {
        let now = (self.0.clock)();
        let mut busy = self.0.busy.lock().unwrap();
        let end = busy.map_or(now, |time| time.max(now)) + cost;
        *busy = Some(end);
        self.0.totals.charged_nanoseconds.fetch_add(cost.as_nanos() as u64, Ordering::Relaxed);
        end
    }

    pub fn sign(&self) {
        self.0.totals.signs.fetch_add(1, Ordering::Relaxed);
        self.charge(self.0.costs.sign);
    }

    /// Charges single verifications, and returns when the processor is free.
    pub fn verify(&self, count: u32) -> SystemTime {
        self.0.totals.verifies.fetch_add(count.into(), Ordering::Relaxed);
        self.charge(self.0.costs.verify * count)
    }

    /// Charges one pairing check over an aggregate of signatures.
    pub fn verify_aggregate(&self, signatures: u32) {
        self.0.totals.verifies.fetch_add(1, Ordering::Relaxed);
        self.charge(self.0.costs.verify + self.0.costs.aggregate * signatures);
    }

    /// Returns when everything begun until now is done.
    pub fn free(&self) -> SystemTime {
        self.charge(Duration::ZERO)
    }
}
