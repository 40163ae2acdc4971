//! Validators of one network, in either runtime: start them, follow them, report each height.

use crate::{
    application::{Application, Height, Journal, Reports},
    links::{DelayedReceiver, DelayedSender},
    processor::{CHANNELS, Costs, Processor, Snapshot},
    scenario::{Runtime, Scenario},
};
use commonware_consensus::{
    simplex::{
        Engine, ForwardPolicy, SkipPolicy, config, elector::RoundRobin, max_payload_size,
        scheme::Scheme,
    },
    types::{Epoch, ViewDelta},
};
use commonware_cryptography::{
    Hasher as _, Sha256, Signer as _,
    ed25519::{PrivateKey, PublicKey},
    sha256::{self, Digest},
};
use commonware_p2p::{Blocker, Receiver, Sender};
use commonware_parallel::Sequential;
use commonware_runtime::{
    Clock, Handle, Metrics, Quota, Spawner, Storage, buffer::paged::CacheRef,
};
use commonware_utils::{Faults as _, N3f1, NZDuration, NZU16, NZU32, NZUsize, ordered::Set};
use rand_core::CryptoRng;
use serde_json::{Value, json};
use std::{
    marker::PhantomData,
    sync::Arc,
    time::{Duration, SystemTime},
};

/// Schemes with which simplex runs here; identities are Ed25519 keys.
pub trait SimplexScheme: Scheme<Digest, PublicKey = PublicKey> {}
impl<S: Scheme<Digest, PublicKey = PublicKey>> SimplexScheme for S {}

pub trait Context: Clock + CryptoRng + Spawner + Storage + Metrics {}
impl<E: Clock + CryptoRng + Spawner + Storage + Metrics> Context for E {}

/// Makes the scheme of a validator, given its index and processor.
pub type MakeScheme<S> = Box<dyn Fn(usize, Processor) -> S + Send>;

/// Returns the private keys that authenticate connections, in the order of their public keys.
pub fn identities(nodes: usize) -> (Vec<PrivateKey>, Set<PublicKey>) {
    let mut keys: Vec<_> = (0..nodes as u64).map(PrivateKey::from_seed).collect();
    keys.sort_by_key(|key| key.public_key());
    let public = Set::try_from(keys.iter().map(|key| key.public_key()).collect::<Vec<_>>());
    (keys, public.expect("different seeds give different keys"))
}

pub fn max_message_bytes<S: SimplexScheme>(scenario: &Scenario) -> u32 {
    let payload = max_payload_size::<S, sha256::Digest>(scenario.nodes as u32);
    (payload.max(scenario.block_bytes) + 1024) as u32
}

/// Rate limit of a channel to a peer. Mailboxes have its length for every peer, so it bounds memory;
/// a validator sends a peer a few messages per height.
pub fn quota() -> Quota {
    Quota::per_second(NZU32!(4096))
}

pub struct Validators<E> {
    journal: Arc<Journal>,
    context: E,
    engines: Vec<Handle<()>>,
}

impl<E: Context> Validators<E> {
    pub fn new(context: E, nodes: usize) -> Self {
        Self { journal: Journal::new(nodes), context, engines: Vec::new() }
    }

    /// Starts the next validator on its four channels, in the order of `CHANNELS`.
    pub fn start<S: SimplexScheme>(
        &mut self,
        scenario: &Scenario,
        participants: &Set<PublicKey>,
        make_scheme: &MakeScheme<S>,
        blocker: impl Blocker<PublicKey = PublicKey>,
        channels: Vec<(impl Sender<PublicKey = PublicKey>, impl Receiver<PublicKey = PublicKey>)>,
    ) {
        let index = self.engines.len();
        let identity = participants.iter().nth(index).expect("one identity per validator");
        let context = self.context.child("node").with_attribute("index", index);
        let charge = |seconds| match scenario.runtime {
            Runtime::Virtual => Duration::from_secs_f64(seconds),
            Runtime::Loopback => Duration::ZERO,
        };
        let costs = Costs {
            sign: charge(scenario.sign_seconds),
            verify: charge(scenario.verify_seconds),
            aggregate: charge(scenario.aggregate_seconds),
        };
        let totals = self.journal.totals.clone();
        let processor = Processor::new(context.child("processor"), costs, totals);
        let others = participants.iter().filter(|key| *key != identity).cloned();
        let peers = Arc::new(others.collect::<Vec<_>>());
        let mut pairs = channels.into_iter().enumerate().map(|(channel, (sender, receiver))| {
            let (processor, peers) = (processor.clone(), peers.clone());
            (DelayedSender::new(&context, sender, processor, channel, peers), receiver)
        });
        let mut next = || pairs.next().expect("four channels");
        let (vote, certificate, resolver, block) = (next(), next(), next(), next());
        let application = Application::new(
            &context, index, self.journal.clone(), block.0, block.1, processor.clone(),
            scenario.block_bytes, scenario.transactions,
        );
        let leader_timeout = Duration::from_secs_f64(scenario.leader_timeout_seconds);
        let config = config::Config {
            scheme: make_scheme(index, processor.clone()),
            elector: RoundRobin::<Sha256>::default(),
            blocker,
            automaton: application.clone(),
            relay: application.clone(),
            reporter: Reports(application, PhantomData),
            track_historical_votes: false,
            strategy: Sequential,
            partition: format!("node{index}"),
            mailbox_size: NZUsize!(1 << 16),
            epoch: Epoch::zero(),
            floor: config::Floor::Genesis(Sha256::hash(&[b"genesis"])),
            replay_buffer: NZUsize!(1 << 20),
            write_buffer: NZUsize!(1 << 20),
            page_cache: CacheRef::new(NZU16!(4096), NZUsize!(64)),
            leader_timeout,
            certification_timeout: 2 * leader_timeout,
            timeout_retry: leader_timeout,
            view_retention: ViewDelta::new(10),
            skip: SkipPolicy::Disabled,
            fetch_timeout: NZDuration!(leader_timeout),
            fetch_retry_delay: Duration::from_secs(1),
            forward: ForwardPolicy::Disabled,
        };
        let delayed = |receiver| DelayedReceiver::new(&context, receiver, processor.clone());
        self.engines.push(Engine::new(context.child("engine"), config).start(
            (vote.0, delayed(vote.1)),
            (certificate.0, delayed(certificate.1)),
            (resolver.0, delayed(resolver.1)),
        ));
    }

    /// Waits for the heights of the scenario, and returns a record for each.
    pub async fn follow(&self, scenario: &Scenario) -> Result<Vec<Value>, String> {
        let last = scenario.warmup + scenario.heights;
        let poll = match scenario.runtime {
            Runtime::Virtual => Duration::from_micros(100),
            Runtime::Loopback => Duration::from_millis(1),
        };
        let start = self.context.current();
        let mut to_kill = scenario.killed_node;
        loop {
            let complete = self.journal.last_complete();
            if complete >= last {
                break;
            }
            if let Some(index) = to_kill
                && complete >= scenario.killed_after_height
            {
                self.engines[index].abort();
                self.journal.live.lock().unwrap()[index] = false;
                to_kill = None;
            }
            if seconds(start, self.context.current()) > scenario.limit_seconds {
                let limit = scenario.limit_seconds;
                return Err(format!("height {complete} of {last} after {limit} s"));
            }
            self.context.sleep(poll).await;
        }
        Ok(self.records(scenario, start))
    }

    fn records(&self, scenario: &Scenario, start: SystemTime) -> Vec<Value> {
        let heights = self.journal.heights.lock().unwrap();
        let quorum = N3f1::quorum(scenario.nodes as u32) as usize;
        let (first, last) = (scenario.warmup + 1, scenario.warmup + scenario.heights);
        let empty = Height::default();
        let get = |view: u64| heights.get(&view).unwrap_or(&empty);
        let mut before: (Snapshot, f64, u64) = Default::default();
        let mut records = Vec::new();
        for view in 1..=last {
            let height = get(view);
            if view >= first {
                records.push(record(scenario, view, height, get(view + 1), quorum, start, before));
            }
            if let Some(totals) = height.totals {
                before = (totals, height.cpu_seconds, view);
            }
        }
        records
    }
}

/// Returns the record of a height. Counts are those since the last complete height before it, so
/// that they are null where several heights completed at once.
fn record(
    scenario: &Scenario,
    view: u64,
    height: &Height,
    next: &Height,
    quorum: usize,
    start: SystemTime,
    before: (Snapshot, f64, u64),
) -> Value {
    let since = |times: Vec<SystemTime>| {
        let proposed = height.proposed?;
        let mut since: Vec<_> = times.into_iter().map(|time| seconds(proposed, time)).collect();
        since.sort_by(f64::total_cmp);
        Some(since)
    };
    let notarized = since(height.notarized.values().copied().collect());
    let finalized = since(height.finalized.values().copied().collect());
    let at = |times: &Option<Vec<f64>>, index: usize| times.as_ref()?.get(index).copied();
    let complete = height.totals.is_some();
    let live = height.finalized.len();
    let mut row = json!({
        "id": scenario.id,
        "height": view,
        "start_seconds": height.proposed.map(|time| seconds(start, time)),
        "notarized_seconds": notarized.as_ref().and_then(|times| times.last().copied()),
        "first_seconds": at(&finalized, 0),
        "quorum_seconds": at(&finalized, quorum - 1),
        "latency_seconds": if complete { at(&finalized, live - 1) } else { None },
        "interval_seconds": height.proposed.zip(next.proposed).map(|(a, b)| seconds(a, b)),
        "nullified": height.nullified,
    });
    if let Some(totals) = height.totals.filter(|_| before.2 + 1 == view) {
        let delta = |index: usize| totals[index] - before.0[index];
        row["signs"] = delta(0).into();
        row["verifies"] = delta(1).into();
        row["cpu_seconds"] = match scenario.runtime {
            Runtime::Virtual => (delta(2) as f64 / 1e9).into(),
            Runtime::Loopback => (height.cpu_seconds - before.1).into(),
        };
        for (channel, name) in CHANNELS.iter().enumerate() {
            row[format!("{name}_messages")] = delta(3 + channel).into();
            row[format!("{name}_bytes")] = delta(7 + channel).into();
        }
    }
    row
}

fn seconds(from: SystemTime, to: SystemTime) -> f64 {
    match to.duration_since(from) {
        Ok(duration) => duration.as_secs_f64(),
        Err(error) => -error.duration().as_secs_f64(),
    }
}
