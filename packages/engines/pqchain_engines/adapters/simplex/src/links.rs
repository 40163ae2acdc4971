//! Senders and receivers between an engine and a network: they wait for the validator's processor
//! and count messages and bytes.

use crate::processor::Processor;
use commonware_actor::{Feedback, Unreliable};
use commonware_cryptography::ed25519::PublicKey;
use commonware_p2p::{CheckedSender, LimitedSender, Message, Receiver, Recipients, Sender};
use commonware_runtime::{Clock, IoBufs, Spawner};
use commonware_utils::channel::mpsc;
use std::{
    num::NonZeroUsize,
    sync::{Arc, atomic::Ordering},
    time::{Duration, SystemTime},
};

type Outgoing = (SystemTime, Recipients<PublicKey>, IoBufs, bool);

/// Sends each message once the processor has done what was begun before it.
#[derive(Clone)]
pub struct DelayedSender {
    processor: Processor,
    channel: usize,
    peers: Arc<Vec<PublicKey>>,
    queue: mpsc::UnboundedSender<Outgoing>,
}

impl DelayedSender {
    pub fn new<E: Clock + Spawner>(
        context: &E,
        mut inner: impl Sender<PublicKey = PublicKey>,
        processor: Processor,
        channel: usize,
        peers: Arc<Vec<PublicKey>>,
    ) -> Self {
        let (queue, mut messages) = mpsc::unbounded_channel::<Outgoing>();
        context.child("sender").spawn(move |context| async move {
            while let Some((time, recipients, message, priority)) = messages.recv().await {
                if time > context.current() {
                    context.sleep_until(time).await;
                }
                inner.send(recipients, message, priority);
            }
        });
        Self { processor, channel, peers, queue }
    }
}

pub struct Checked<'a> {
    sender: &'a DelayedSender,
    recipients: Recipients<PublicKey>,
}

impl LimitedSender for DelayedSender {
    type PublicKey = PublicKey;
    type Checked<'a> = Checked<'a>;

    fn check(&mut self, recipients: Recipients<PublicKey>) -> Result<Checked<'_>, SystemTime> {
        Ok(Checked { sender: self, recipients })
    }
}

impl CheckedSender for Checked<'_> {
    type PublicKey = PublicKey;

    fn recipients(&self) -> Vec<PublicKey> {
        match &self.recipients {
            Recipients::All => self.sender.peers.to_vec(),
            Recipients::Some(some) => some.clone(),
            Recipients::One(key) => vec![key.clone()],
        }
    }

    fn send(self, message: impl Into<IoBufs> + Send, priority: bool) -> Unreliable<Feedback> {
        let message = message.into();
        let receivers = CheckedSender::recipients(&self).len() as u64;
        let (sender, totals) = (self.sender, self.sender.processor.totals());
        totals.messages[sender.channel].fetch_add(receivers, Ordering::Relaxed);
        totals.bytes[sender.channel].fetch_add(receivers * message.len() as u64, Ordering::Relaxed);
        let outgoing = (sender.processor.free(), self.recipients, message, priority);
        let sent = sender.queue.send(outgoing).is_ok();
        Unreliable::Outcome(if sent { Feedback::Ok } else { Feedback::Closed })
    }
}

/// Delivers each message once the processor has done what was begun before it.
#[derive(Debug)]
pub struct DelayedReceiver {
    queue: mpsc::UnboundedReceiver<Message<PublicKey>>,
    capacity: NonZeroUsize,
}

#[derive(Debug, thiserror::Error)]
#[error("the network is closed")]
pub struct Closed;

impl DelayedReceiver {
    /// `recv` may be cancelled in a `select` and must not lose a message then, so a task of its own
    /// waits and this queue delivers.
    pub fn new<E: Clock + Spawner>(
        context: &E,
        mut inner: impl Receiver<PublicKey = PublicKey>,
        processor: Processor,
    ) -> Self {
        let capacity = inner.capacity();
        let (sender, queue) = mpsc::unbounded_channel();
        context.child("receiver").spawn(move |context| async move {
            while let Ok(message) = inner.recv().await {
                while processor.free() > context.current() {
                    context.sleep_until(processor.free()).await;
                }
                if sender.send(message).is_err() {
                    return;
                }
                // Let the engine handle this message, and charge for it, before the next one.
                if processor.charges() {
                    context.sleep(Duration::from_nanos(1)).await;
                }
            }
        });
        Self { queue, capacity }
    }
}

impl Receiver for DelayedReceiver {
    type Error = Closed;
    type PublicKey = PublicKey;

    async fn recv(&mut self) -> Result<Message<PublicKey>, Closed> {
        self.queue.recv().await.ok_or(Closed)
    }

    fn capacity(&self) -> NonZeroUsize {
        self.capacity
    }
}
