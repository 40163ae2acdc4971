//! The application: blocks of a given length, sent by the leader on a channel of their own, and the
//! times at which the validators have what.

use crate::{
    links::DelayedSender,
    processor::{Processor, Snapshot, Totals},
};
use commonware_actor::Feedback;
use commonware_consensus::{
    Automaton, CertifiableAutomaton, Relay, Reporter, Viewable as _,
    simplex::{
        Plan,
        types::{Activity, Context as View},
    },
};
use commonware_cryptography::{Hasher as _, Sha256, certificate::Scheme, ed25519::PublicKey, sha256};
use commonware_p2p::{Receiver, Recipients, Sender};
use commonware_runtime::{Clock, Spawner};
use commonware_utils::channel::oneshot;
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    marker::PhantomData,
    sync::{Arc, Mutex},
    time::SystemTime,
};

type Digest = sha256::Digest;

/// Times of one height at all validators.
#[derive(Clone, Default)]
pub struct Height {
    pub proposed: Option<SystemTime>,
    pub notarized: BTreeMap<usize, SystemTime>,
    pub finalized: BTreeMap<usize, SystemTime>,
    pub nullified: bool,
    /// Totals when the last live validator had it final.
    pub totals: Option<Snapshot>,
    /// Processor seconds of the process at that moment.
    pub cpu_seconds: f64,
}

pub struct Journal {
    pub heights: Mutex<BTreeMap<u64, Height>>,
    pub live: Mutex<Vec<bool>>,
    pub totals: Arc<Totals>,
}

impl Journal {
    pub fn new(nodes: usize) -> Arc<Self> {
        let live = Mutex::new(vec![true; nodes]);
        Arc::new(Self { heights: Mutex::default(), live, totals: Arc::default() })
    }

    fn note(&self, view: u64, change: impl FnOnce(&mut Height)) {
        change(self.heights.lock().unwrap().entry(view).or_default());
    }

    fn finalize(&self, view: u64, node: usize, now: SystemTime) {
        let live = self.live.lock().unwrap();
        self.note(view, |height| {
            height.finalized.entry(node).or_insert(now);
            let mut missing = live.iter().enumerate().filter(|(_, live)| **live);
            if height.totals.is_none() && missing.all(|(i, _)| height.finalized.contains_key(&i)) {
                height.totals = Some(self.totals.snapshot());
                height.cpu_seconds = process_cpu_seconds();
            }
        });
    }

    /// Returns the highest view that every live validator has final.
    pub fn last_complete(&self) -> u64 {
        let heights = self.heights.lock().unwrap();
        heights.iter().rev().find(|(_, height)| height.totals.is_some()).map_or(0, |(view, _)| *view)
    }
}

fn process_cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

#[derive(Clone)]
pub struct Application(Arc<Inner>);

struct Inner {
    index: usize,
    clock: Box<dyn Fn() -> SystemTime + Send + Sync>,
    journal: Arc<Journal>,
    blocks: Mutex<DelayedSender>,
    block_bytes: usize,
    received: Mutex<Received>,
}

#[derive(Default)]
struct Received {
    verified: HashSet<Digest>,
    waiting: HashMap<Digest, Vec<oneshot::Sender<bool>>>,
}

impl Application {
    /// Starts to receive blocks; each occupies the processor for its transactions.
    #[allow(clippy::too_many_arguments)]
    pub fn new<E: Clock + Spawner>(
        context: &E,
        index: usize,
        journal: Arc<Journal>,
        blocks: DelayedSender,
        mut incoming: impl Receiver<PublicKey = PublicKey>,
        processor: Processor,
        block_bytes: usize,
        transactions: u32,
    ) -> Self {
        let clock_context = context.child("clock");
        let application = Self(Arc::new(Inner {
            index,
            clock: Box::new(move || clock_context.current()),
            journal,
            blocks: Mutex::new(blocks),
            block_bytes,
            received: Mutex::default(),
        }));
        let inner = application.0.clone();
        context.child("blocks").spawn(move |context| async move {
            while let Ok((_, message)) = incoming.recv().await {
                let digest = Sha256::hash(&[message.as_ref()]);
                let free = processor.verify(transactions);
                if processor.charges() && free > context.current() {
                    context.sleep_until(free).await;
                }
                inner.accept(digest);
            }
        });
        application
    }
}

impl Inner {
    fn accept(&self, digest: Digest) {
        let mut received = self.received.lock().unwrap();
        received.verified.insert(digest);
        for sender in received.waiting.remove(&digest).unwrap_or_default() {
            let _ = sender.send(true);
        }
    }

    /// Returns the block of a view: its number, its proposer, and zeros.
    fn block(&self, view: u64) -> Vec<u8> {
        let mut block = vec![0; self.block_bytes.max(16)];
        block[..8].copy_from_slice(&view.to_be_bytes());
        block[8..16].copy_from_slice(&(self.index as u64).to_be_bytes());
        block
    }
}

impl Automaton for Application {
    type Context = View<Digest, PublicKey>;
    type Digest = Digest;

    async fn propose(&mut self, context: Self::Context) -> oneshot::Receiver<Digest> {
        let (sender, receiver) = oneshot::channel();
        let (view, now) = (context.round.view().get(), (self.0.clock)());
        self.0.journal.note(view, |height| height.proposed = Some(now));
        let digest = Sha256::hash(&[&self.0.block(view)]);
        self.0.accept(digest);
        let _ = sender.send(digest);
        receiver
    }

    async fn verify(&mut self, _: Self::Context, payload: Digest) -> oneshot::Receiver<bool> {
        let (sender, receiver) = oneshot::channel();
        let mut received = self.0.received.lock().unwrap();
        if received.verified.contains(&payload) {
            let _ = sender.send(true);
        } else {
            received.waiting.entry(payload).or_default().push(sender);
        }
        receiver
    }
}

impl CertifiableAutomaton for Application {}

impl Relay for Application {
    type Digest = Digest;
    type PublicKey = PublicKey;
    type Plan = Plan<PublicKey>;

    fn broadcast(&mut self, _: Digest, plan: Plan<PublicKey>) -> Feedback {
        let (view, recipients) = match plan {
            Plan::Propose { round } => (round.view().get(), Recipients::All),
            Plan::Prepare { .. } => return Feedback::Ok,
            Plan::Forward { round, recipients } => (round.view().get(), recipients),
        };
        self.0.blocks.lock().unwrap().send(recipients, self.0.block(view), false);
        Feedback::Ok
    }
}

/// Enters what one validator's engine reports into the journal.
#[derive(Clone)]
pub struct Reports<S>(pub Application, pub PhantomData<fn() -> S>);

impl<S: Scheme> Reporter for Reports<S> {
    type Activity = Activity<S, Digest>;

    fn report(&mut self, activity: Self::Activity) -> Feedback {
        let inner = &self.0.0;
        let (now, index, journal) = ((inner.clock)(), inner.index, &inner.journal);
        match activity {
            Activity::Notarization(certificate) => {
                journal.note(certificate.view().get(), |height| {
                    height.notarized.entry(index).or_insert(now);
                });
            }
            Activity::Finalization(certificate) => {
                journal.finalize(certificate.view().get(), index, now);
            }
            Activity::Nullification(certificate) => {
                journal.note(certificate.view().get(), |height| height.nullified = true);
            }
            _ => {}
        }
        Feedback::Ok
    }
}
