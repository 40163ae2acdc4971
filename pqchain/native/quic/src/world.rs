//! Hosts on a modelled clock and network: ports with rate and queue, delay and loss. The model is
//! that of wire/drivers/link.py: a datagram waits for the port of its sender, takes its
//! transmission time and the delay of the link, and waits for the port of its receiver, which
//! processes it a little later together with those behind it.
//!
//! Times are whole nanoseconds for hosts and picoseconds for ports, and every order is determined:
//! the same calls give the same bytes.
//!
//! A host with events waits for its caller. The others advance meanwhile as long as no data that it
//! may still send can reach them (conservative lookahead), so that the caller gets events of many
//! hosts.
use crate::event::Room;
use crate::fault::Fault;
use crate::host::Host;
use crate::network::{address, host_at, least, Network, Port, NEVER};
use crate::randomness::Generator;
use crate::settings::{within, Identity, Settings};
use bytes::{Bytes, BytesMut};
use quinn_proto::Transmit;
use ring::digest::{Context, SHA256};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

const COPIED_BYTES: usize = 4096;
/// Offset of the modelled clock to its origin, because QUIC computes slightly earlier times.
const HEADROOM: Duration = Duration::from_secs(1 << 20);
/// Maximum lookahead of a host over one that waits, for any delay of the network: the clock of the
/// caller can lag by this much.
const MOST_AHEAD_NS: u64 = 100_000;
const ENTROPY: u64 = 1;
const LOSS: u64 = 2;

/// A datagram in flight, with the time in picoseconds when its last bit reaches the receiver's
/// port.
struct Flight {
    at: u64,
    to: u32,
    data: BytesMut,
}

/// The ports of a host. Datagrams leave in order, so no heap is needed.
struct Seat {
    host: Option<Box<Host>>,
    /// Received datagrams, with the nanosecond at which the last bit arrived.
    inbox: VecDeque<(u64, u32, BytesMut)>,
    flights: VecDeque<Flight>,
    out: Port,
    into: Port,
    busy_until: u64,
    /// Time of the last activity, which may be ahead of other hosts.
    time: u64,
    /// Whether it has events that were not taken, or has not been active since they were.
    told: bool,
}

/// A sent datagram that was recorded.
pub struct Tapped {
    pub time_ns: u64,
    pub from: u32,
    pub to: u32,
    pub data: Vec<u8>,
}

pub struct World {
    network: Network,
    seats: Vec<Seat>,
    /// Next activity of each host in nanoseconds, and arrival of its next datagram in picoseconds.
    wakes: Vec<u64>,
    landings: Vec<u64>,
    /// Lower bound on the time of all hosts.
    now: u64,
    clock: Arc<AtomicU64>,
    base: Instant,
    entropy: Generator,
    losses: Generator,
    digest: Option<Context>,
    pub tapped: Option<Vec<Tapped>>,
    pub sent: u64,
    pub dropped: u64,
    pub lost: u64,
}

impl World {
    pub fn new(network: Network) -> Self {
        let seat = || Seat {
            host: None,
            inbox: VecDeque::new(),
            flights: VecDeque::new(),
            out: Port::default(),
            into: Port::default(),
            busy_until: 0,
            time: 0,
            told: false,
        };
        World {
            network,
            seats: (0..network.hosts).map(|_| seat()).collect(),
            wakes: vec![NEVER; network.hosts],
            landings: vec![NEVER; network.hosts],
            now: 0,
            clock: Arc::new(AtomicU64::new(0)),
            base: Instant::now() + HEADROOM,
            entropy: Generator::new(network.seed, ENTROPY),
            losses: Generator::new(network.seed, LOSS),
            digest: network.digested.then(|| Context::new(&SHA256)),
            tapped: None,
            sent: 0,
            dropped: 0,
            lost: 0,
        }
    }

    pub fn now(&self) -> u64 {
        self.now
    }

    /// SHA-256 of all datagrams so far, each with its time, sender and receiver.
    pub fn digest(&self) -> Option<Vec<u8>> {
        self.digest.clone().map(|context| context.finish().as_ref().to_vec())
    }

    pub fn start(&mut self, settings: Settings, identity: &Identity) -> Result<(), Fault> {
        let at = self.known(settings.index as u64)?;
        self.instant(self.now);
        let drawing = self.entropy.lend();
        let host = Host::new(settings, identity, Some(self.clock.clone()));
        drop(drawing);
        self.stop(at as u64)?;
        self.seats[at].host = Some(Box::new(host?));
        self.seats[at].time = self.now;
        Ok(())
    }

    /// Stop a host; datagrams that it has sent stay in flight.
    pub fn stop(&mut self, host: u64) -> Result<(), Fault> {
        let at = self.known(host)?;
        let seat = &mut self.seats[at];
        seat.host = None;
        seat.inbox.clear();
        seat.busy_until = 0;
        seat.told = false;
        self.wakes[at] = NEVER;
        Ok(())
    }

    /// Run a function on a host now.
    pub fn with<T>(
        &mut self,
        host: u64,
        act: impl FnOnce(&mut Host, Instant) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let at = self.known(host)?;
        self.seats[at].time = self.seats[at].time.max(self.now);
        let now = self.instant(self.seats[at].time);
        let Some(living) = self.seats[at].host.as_mut() else {
            return Err(Fault::argument(format!("host {host} is not running")));
        };
        let _drawing = self.entropy.lend();
        act(living, now)
    }

    /// Send bytes in the name of a host.
    pub fn inject(&mut self, from: u64, to: u64, data: &[u8]) -> Result<(), Fault> {
        let (from, to) = (self.known(from)?, self.known(to)? as u32);
        let at = (self.now + self.network.delay_ns) * 1000;
        self.fly(from, Flight { at, to, data: BytesMut::from(data) });
        Ok(())
    }

    /// Advance until hosts have events, or until the given time; return the time of the first
    /// event.
    pub fn run(&mut self, until: u64) -> u64 {
        if let Some(first) = self.first_told() {
            return first;
        }
        for at in 0..self.seats.len() {
            let seat = &self.seats[at];
            // Hosts whose events were taken have been waiting.
            if seat.told || seat.host.as_ref().is_some_and(|host| host.is_dirty()) {
                self.flush(at, seat.time.max(self.now));
            }
        }
        let mut first = self.first_told();
        loop {
            // A datagram that a waiting host sends from then on arrives no earlier than this.
            let ahead = self.network.delay_ns.min(MOST_AHEAD_NS);
            let alone = first.map_or(NEVER, |first| first.saturating_add(ahead));
            let (landing, by) = least(&self.landings);
            let (wake, who) = least(&self.wakes);
            let next = landing.min(wake.saturating_mul(1000));
            if next > until.saturating_mul(1000) || next >= alone.saturating_mul(1000) {
                break;
            }
            if landing <= wake.saturating_mul(1000) {
                self.land(by);
                continue;
            }
            self.look(who, wake);
            if self.seats[who].told {
                first.get_or_insert(wake);
            }
        }
        if first.is_some() || until != NEVER {
            self.now = self.now.max(first.unwrap_or(until));
        }
        self.now
    }

    /// Hand out events in order of time.
    pub fn events(&mut self, room: &mut Room<'_>) {
        let mut order: Vec<usize> =
            (0..self.seats.len()).filter(|at| self.has_events(*at)).collect();
        order.sort_by_key(|at| self.seats[*at].time);
        for at in order {
            let seat = &mut self.seats[at];
            let Some(host) = seat.host.as_mut() else { continue };
            if !host.take(room, seat.time) {
                return;
            }
        }
    }

    fn has_events(&self, at: usize) -> bool {
        self.seats[at].host.as_ref().is_some_and(|host| !host.events.is_empty())
    }

    /// Time of the first event that the caller has not taken yet.
    fn first_told(&self) -> Option<u64> {
        let seats = self.seats.iter().enumerate();
        seats.filter(|(at, _)| self.has_events(*at)).map(|(_, seat)| seat.time).min()
    }

    fn known(&self, host: u64) -> Result<usize, Fault> {
        within("host", host, 0, self.seats.len() as u64 - 1)?;
        Ok(host as usize)
    }

    /// Convert a time to QUIC's, and set the clock of TLS to it.
    fn instant(&self, time: u64) -> Instant {
        self.clock.store(time, Ordering::Relaxed);
        self.base + Duration::from_nanos(time)
    }

    fn fly(&mut self, from: usize, flight: Flight) {
        let flights = &mut self.seats[from].flights;
        // Injected datagrams have not waited for a port, and may be ahead of others.
        let place = flights.iter().rposition(|each| each.at <= flight.at).map_or(0, |at| at + 1);
        flights.insert(place, flight);
        self.landings[from] = flights[0].at;
    }

    /// Put datagrams in flight.
    fn send(&mut self, from: usize, transmit: &Transmit, mut burst: BytesMut) {
        let Some(to) = host_at(transmit.destination).filter(|to| (*to as usize) < self.seats.len())
        else {
            return;
        };
        let segment = transmit.segment_size.unwrap_or(transmit.size);
        while !burst.is_empty() {
            let data = burst.split_to(segment.min(burst.len()));
            let size = data.len() as u64 + self.network.overhead_bytes;
            self.sent += 1;
            let seat = &mut self.seats[from];
            seat.busy_until = seat.busy_until.max(seat.time) + self.network.datagram_ns;
            let leaves = seat.busy_until;
            self.note(leaves, from as u32, to, &data);
            let port = &mut self.seats[from].out;
            let Some(left) = self.network.pass(port, size, leaves * 1000) else {
                self.dropped += 1;
                continue;
            };
            if self.network.loss > 0.0 && self.losses.uniform() < self.network.loss {
                self.lost += 1;
                continue;
            }
            self.fly(from, Flight { at: left + self.network.delay_ns * 1000, to, data });
        }
    }

    fn note(&mut self, time_ns: u64, from: u32, to: u32, data: &[u8]) {
        if let Some(digest) = self.digest.as_mut() {
            digest.update(&time_ns.to_le_bytes());
            for number in [from, to, data.len() as u32] {
                digest.update(&number.to_le_bytes());
            }
            digest.update(data);
        }
        if let Some(tapped) = self.tapped.as_mut() {
            tapped.push(Tapped { time_ns, from, to, data: data.to_vec() });
        }
    }

    /// The first datagram of a host arrives at the port of its receiver.
    fn land(&mut self, from: usize) {
        let flights = &mut self.seats[from].flights;
        let Some(flight) = flights.pop_front() else { return };
        self.landings[from] = flights.front().map_or(NEVER, |next| next.at);
        let to = flight.to as usize;
        let seat = &mut self.seats[to];
        if seat.host.is_none() {
            return;
        }
        let size = flight.data.len() as u64 + self.network.overhead_bytes;
        // It could pass the port while its first bits arrived: only the queue costs time.
        let first_bit = flight.at.saturating_sub(size * self.network.ps_per_byte);
        let Some(through) = self.network.pass(&mut seat.into, size, first_bit) else {
            self.dropped += 1;
            return;
        };
        let at = through.max(flight.at).div_ceil(1000);
        seat.inbox.push_back((at, from as u32, flight.data));
        if !seat.told {
            let looks = (at + self.network.coalescing_ns).max(seat.busy_until);
            self.wakes[to] = self.wakes[to].min(looks);
        }
    }

    /// Let a host process received datagrams and expired timers.
    fn look(&mut self, at: usize, time: u64) {
        self.wakes[at] = NEVER;
        let now = self.instant(time);
        let Some(mut host) = self.seats[at].host.take() else { return };
        let drawing = self.entropy.lend();
        let mut answers = Vec::new();
        let seat = &mut self.seats[at];
        seat.time = time;
        let mut handled = 0;
        while seat.inbox.front().is_some_and(|(came, _, _)| *came <= time) {
            let Some((_, from, data)) = seat.inbox.pop_front() else { break };
            handled += 1;
            host.receive(now, address(from), None, data, &mut |transmit, buffer| {
                answers.push((copy(transmit), taken(transmit, buffer)));
                true
            });
        }
        if host.next_timer().is_some_and(|timer| timer <= now) {
            host.handle_timers(now);
        }
        drop(drawing);
        seat.busy_until = seat.busy_until.max(time) + handled * self.network.datagram_ns;
        seat.host = Some(host);
        for (transmit, buffer) in answers {
            self.send(at, &transmit, buffer);
        }
        self.flush(at, time);
    }

    /// Send the datagrams of a host and set its next activity; it waits if it has events.
    fn flush(&mut self, at: usize, time: u64) {
        let now = self.instant(time);
        self.seats[at].time = time;
        self.seats[at].told = false;
        let Some(mut host) = self.seats[at].host.take() else { return };
        let drawing = self.entropy.lend();
        let mut sent = Vec::new();
        host.flush(now, usize::MAX, &mut |transmit, buffer| {
            sent.push((copy(transmit), taken(transmit, buffer)));
            true
        });
        drop(drawing);
        for (transmit, buffer) in sent {
            self.send(at, &transmit, buffer);
        }
        let timer = host
            .next_timer()
            .map(|timer| timer.saturating_duration_since(self.base).as_nanos() as u64);
        let seat = &mut self.seats[at];
        let heard = seat.inbox.front().map(|(came, _, _)| came + self.network.coalescing_ns);
        let next = timer.into_iter().chain(heard).min();
        seat.told = !host.events.is_empty();
        self.wakes[at] = match next {
            Some(next) if !seat.told => next.max(time).max(seat.busy_until),
            _ => NEVER,
        };
        seat.host = Some(host);
    }
}

/// The bytes of a transmission: the large buffer itself, of which every datagram becomes a part, or
/// an exact copy.
fn taken(transmit: &Transmit, buffer: &mut Vec<u8>) -> BytesMut {
    if transmit.size < COPIED_BYTES {
        return BytesMut::from(&buffer[..transmit.size]);
    }
    let mut burst = BytesMut::from(Bytes::from(std::mem::take(buffer)));
    burst.truncate(transmit.size);
    burst
}

fn copy(transmit: &Transmit) -> Transmit {
    Transmit { src_ip: None, ..*transmit }
}
