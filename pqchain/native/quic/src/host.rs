//! One node's QUIC endpoint with its connections, without sockets, threads or clock.
use crate::event::{Event, Events, Kind, Room};
use crate::fault::Fault;
use crate::link::{Link, Piece, READS_NOTHING, REFUSED};
use crate::parameters::{address_tokens, lasting_secret, transport};
use crate::randomness::{connection_id, draw, ConnectionIds, ModelledTime};
use crate::settings::{Identity, Settings};
use crate::statistics::{tally, Statistics};
use crate::tls::{self, GivenTickets, KeptTickets};
use bytes::BytesMut;
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{
    ClientConfig, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint, EndpointConfig,
    ServerConfig, Transmit,
};
use ring::{hkdf, hmac};
use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::atomic::AtomicU64;
use std::sync::Arc;
use std::time::Instant;

/// Maximum number of clients that are authenticating at a time; others are refused.
const MOST_UNPROVEN: usize = 512;
/// Maximum number of these from one address.
const MOST_OF_ONE_HOST: usize = 128;
/// From this number on, a new address must first be validated (Retry, RFC 9000, section 8.1.2):
/// the source address of a first datagram can be forged.
const MOST_UNKNOWN: usize = 64;
/// With this many waiting events no client is accepted, because each hello is an event too.
const MOST_EVENTS: usize = 1 << 14;
/// Maximum number of bytes sent in one system call.
const BURST_BYTES: usize = 65_000;
const MOST_SEGMENTS: usize = 64;

/// Sink of datagrams: takes the transmit information and the bytes, which it may move out. Returns
/// false if it has no room for more.
pub type Sink<'a> = dyn FnMut(&Transmit, &mut Vec<u8>) -> bool + 'a;

pub struct Host {
    pub settings: Settings,
    pub events: Events,
    /// Number of datagrams sent at once.
    pub segments: usize,
    endpoint: Endpoint,
    links: Vec<Option<Box<Link>>>,
    by_session: HashMap<u32, usize>,
    dirty: Vec<usize>,
    /// Sessions whose reading is paused, the longest waiting first.
    paused: VecDeque<u32>,
    client: ClientConfig,
    given: Arc<GivenTickets>,
    kept: Arc<KeptTickets>,
    sessions: u32,
    unproven: usize,
    answer: Vec<u8>,
    spare: Vec<u8>,
    closed: Statistics,
}

impl Host {
    /// Create a host, on a modelled clock if one is given.
    pub fn new(
        settings: Settings,
        identity: &Identity,
        clock: Option<Arc<AtomicU64>>,
    ) -> Result<Self, Fault> {
        let lines = if clock.is_some() { 1 } else { 2 };
        let modelled = clock.map(ModelledTime).map(Arc::new);
        let time =
            modelled.clone().map(|time| time as Arc<dyn rustls::time_provider::TimeProvider>);
        let tls = tls::configure(settings.index, identity, time)?;
        let transport = Arc::new(transport(&settings)?);
        let reset = hmac::Key::new(hmac::HMAC_SHA256, &lasting_secret(identity, b"reset"));
        let token =
            hkdf::Salt::new(hkdf::HKDF_SHA256, &[]).extract(&lasting_secret(identity, b"token"));

        let mut common = EndpointConfig::new(Arc::new(reset));
        common.max_udp_payload_size(65_527).map_err(Fault::broken)?;
        let server = QuicServerConfig::try_from(tls.server).map_err(Fault::broken)?;
        let mut server = ServerConfig::new(Arc::new(server), Arc::new(token));
        server.transport_config(transport.clone()).validation_token_config(address_tokens());
        let client = QuicClientConfig::try_from(tls.client).map_err(Fault::broken)?;
        let mut client = ClientConfig::new(Arc::new(client));
        client.transport_config(transport);
        if let Some(time) = modelled {
            let mut seed = [0; 32];
            if !draw(&mut seed) {
                return Err(Fault::broken("a modelled host without a generator"));
            }
            common.rng_seed(Some(seed)).cid_generator(|| Box::new(ConnectionIds));
            server.time_source(time);
            client.initial_dst_cid_provider(Arc::new(connection_id));
        }
        let segments =
            if settings.segmentation { BURST_BYTES / settings.datagram_bytes as usize } else { 1 };
        let events = Events::new(lines, settings.unread_bytes, settings.host_unread_bytes);
        Ok(Host {
            settings,
            events,
            paused: VecDeque::new(),
            segments: segments.clamp(1, MOST_SEGMENTS),
            endpoint: Endpoint::new(Arc::new(common), Some(Arc::new(server)), false, None),
            links: Vec::new(),
            by_session: HashMap::new(),
            dirty: Vec::new(),
            client,
            given: tls.given,
            kept: tls.kept,
            sessions: 0,
            unproven: 0,
            answer: Vec::new(),
            spare: Vec::new(),
            closed: [0; 6],
        })
    }

    // Calls of the caller. A closed session is not an error: the caller may not have seen its end
    // yet.

    pub fn dial(
        &mut self,
        now: Instant,
        peer: u32,
        to: SocketAddr,
        early: bool,
    ) -> Result<u32, Fault> {
        self.kept.want(early);
        let name = tls::server_name(peer);
        let dialled = self.endpoint.connect(now, self.client.clone(), to, &name);
        let (handle, quic) = dialled.map_err(Fault::failed)?;
        self.sessions += 1;
        let link = Link::new(quic, self.sessions, Some(peer), now, &self.settings);
        if link.early() {
            self.events.push(Event::of(Kind::Early, link.session, link.peer), false);
        }
        self.add(handle.0, link);
        Ok(self.sessions)
    }

    pub fn open(&mut self, session: u32, one_way: bool) -> Result<u64, Fault> {
        let kind = if one_way { Dir::Uni } else { Dir::Bi };
        let known = (1..=self.sessions).contains(&session);
        match self.link(session) {
            Some(link) => Ok(link.open(kind)),
            // The session may have ended since the last event was read; data sent on it is dropped.
            None if known => Ok(0),
            None => Err(Fault::argument(format!("session {session} has ended"))),
        }
    }

    pub fn send(
        &mut self,
        now: Instant,
        session: u32,
        stream: u64,
        piece: Piece,
    ) -> Result<(), Fault> {
        let Some(&handle) = self.by_session.get(&session) else { return Ok(()) };
        let Some(link) = self.links[handle].as_mut() else { return Ok(()) };
        if !link.writable(stream) {
            return Err(Fault::argument(format!("stream {stream} was not opened for writing")));
        }
        if link.is_deaf(&self.settings) {
            let (code, reason) = READS_NOTHING;
            end(link, now, code, reason, &mut self.events);
            self.settle(session);
        } else {
            link.send(stream, piece);
        }
        self.mark(handle);
        Ok(())
    }

    /// Hand events to the caller; return whether all fitted. Data whose reading was paused because
    /// of them is read with the next flush.
    pub fn take(&mut self, room: &mut Room<'_>, time_ns: u64) -> bool {
        let all = room.take(&mut self.events, self.settings.index, time_ns);
        for _ in 0..self.paused.len() {
            let Some(session) = self.paused.pop_front() else { break };
            match self.by_session.get(&session).copied() {
                Some(handle) if self.events.may_resume(session) => self.mark(handle),
                Some(_) => self.paused.push_back(session),
                None => {}
            }
        }
        all
    }

    pub fn place(
        &mut self,
        session: u32,
        stream: u64,
        offset: u64,
        at: *mut u8,
        length: usize,
    ) -> bool {
        self.link(session).map(|link| link.place(stream, offset, at, length)).is_some()
    }

    pub fn stop(&mut self, session: u32, stream: u64) {
        let _ = self.with(session, |link| {
            link.stop(stream);
            Ok(())
        });
    }

    pub fn prove(&mut self, session: u32, peer: u32) {
        let Some(link) = self.link(session) else { return };
        link.peer = peer as i32;
        if link.deadline.take().is_some() {
            self.unproven -= 1;
        }
        self.given.prove(session, peer);
    }

    pub fn close(&mut self, now: Instant, session: u32, code: u32, reason: &[u8]) {
        let _ = self.with(session, |link| {
            link.close(now, code, reason);
            Ok(())
        });
        self.settle(session);
    }

    pub fn queued_bytes(&self) -> usize {
        self.links.iter().flatten().map(|link| link.queued).sum()
    }

    pub fn statistics(&self) -> Statistics {
        let mut all = self.closed;
        for link in self.links.iter().flatten() {
            tally(&mut all, &link.quic.stats());
        }
        all
    }

    // Input from a socket or a modelled network.

    pub fn receive(
        &mut self,
        now: Instant,
        from: SocketAddr,
        ecn: Option<EcnCodepoint>,
        data: BytesMut,
        sink: &mut Sink<'_>,
    ) {
        let mut answer = std::mem::take(&mut self.answer);
        answer.clear();
        match self.endpoint.handle(now, from, None, ecn, data, &mut answer) {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some(link) = self.links.get_mut(handle.0).and_then(Option::as_mut) {
                    self.given.enter(link.session);
                    link.quic.handle_event(event);
                    if let (false, Some(peer)) = (link.dialled, self.given.resumed()) {
                        link.peer = peer as i32;
                    }
                    self.mark(handle.0);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) if self.is_full(from) => {
                // No answer: a refused client retries, and a forged address receives nothing.
                self.endpoint.ignore(incoming);
            }
            Some(DatagramEvent::NewConnection(incoming))
                if self.unproven >= MOST_UNKNOWN && !incoming.remote_address_validated() =>
            {
                match self.endpoint.retry(incoming, &mut answer) {
                    Ok(transmit) => {
                        sink(&transmit, &mut answer);
                    }
                    Err(error) => self.endpoint.ignore(error.into_incoming()),
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                self.sessions += 1;
                self.given.enter(self.sessions);
                match self.endpoint.accept(incoming, now, &mut answer, None) {
                    Ok((handle, quic)) => {
                        let mut link = Link::new(quic, self.sessions, None, now, &self.settings);
                        link.peer = self.given.resumed().map_or(-1, |peer| peer as i32);
                        self.unproven += 1;
                        self.add(handle.0, link);
                    }
                    Err(error) => {
                        self.sessions -= 1;
                        if let Some(transmit) = error.response {
                            sink(&transmit, &mut answer);
                        }
                    }
                }
            }
            Some(DatagramEvent::Response(transmit)) => {
                sink(&transmit, &mut answer);
            }
            None => {}
        }
        self.answer = answer;
    }

    /// Whether no client, or no client of that address, is accepted.
    fn is_full(&self, from: SocketAddr) -> bool {
        let of_host = || {
            let unproven = self.links.iter().flatten().filter(|link| link.deadline.is_some());
            unproven.filter(|link| link.quic.remote_address().ip() == from.ip()).count()
        };
        self.events.len() >= MOST_EVENTS
            || self.unproven >= MOST_UNPROVEN
            || (self.unproven >= MOST_OF_ONE_HOST && of_host() >= MOST_OF_ONE_HOST)
    }

    pub fn next_timer(&self) -> Option<Instant> {
        let timers = self.links.iter().flatten().flat_map(|link| [link.timer, link.deadline]);
        timers.flatten().min()
    }

    pub fn handle_timers(&mut self, now: Instant) {
        for handle in 0..self.links.len() {
            let Some(link) = self.links[handle].as_mut() else { continue };
            if link.deadline.is_some_and(|deadline| deadline <= now) {
                end(link, now, REFUSED, "no proof of identity in time", &mut self.events);
                let session = link.session;
                self.mark(handle);
                self.unproven -= 1;
                self.by_session.remove(&session);
            } else if link.timer.is_some_and(|timer| timer <= now) {
                link.quic.handle_timeout(now);
                self.mark(handle);
            }
        }
    }

    pub fn is_dirty(&self) -> bool {
        !self.dirty.is_empty()
    }

    /// Flush events and datagrams, at most `bursts` bursts of each connection; return whether the
    /// sink had room for all.
    pub fn flush(&mut self, now: Instant, bursts: usize, sink: &mut Sink<'_>) -> bool {
        let (dirty, mut room) = (std::mem::take(&mut self.dirty), true);
        for &handle in &dirty {
            let Some(mut link) = self.links[handle].take() else { continue };
            link.dirty = false;
            self.pump(handle, &mut link, now);
            let (mut sent, mut more) = (0, !room);
            while room {
                if sent == bursts {
                    more = true;
                    break;
                }
                let mut buffer = std::mem::take(&mut self.spare);
                buffer.reserve(self.segments * self.settings.datagram_bytes as usize);
                let transmit = link.quic.poll_transmit(now, self.segments, &mut buffer);
                if let Some(transmit) = &transmit {
                    sent += 1;
                    if !sink(transmit, &mut buffer) {
                        (room, more) = (false, true);
                    }
                }
                buffer.clear();
                self.spare = buffer;
                if transmit.is_none() {
                    break;
                }
            }
            self.pump(handle, &mut link, now);
            link.timer = link.quic.poll_timeout();
            if link.over && link.quic.is_drained() {
                tally(&mut self.closed, &link.quic.stats());
                self.given.forget(link.session);
                continue;
            }
            self.links[handle] = Some(link);
            if more {
                self.mark(handle);
            }
        }
        room
    }

    // Internal processing.

    fn add(&mut self, handle: usize, link: Link) {
        if self.links.len() <= handle {
            self.links.resize_with(handle + 1, || None);
        }
        self.by_session.insert(link.session, handle);
        self.links[handle] = Some(Box::new(link));
        self.mark(handle);
    }

    fn mark(&mut self, handle: usize) {
        if let Some(link) = self.links[handle].as_mut() {
            if !std::mem::replace(&mut link.dirty, true) {
                self.dirty.push(handle);
            }
        }
    }

    fn link(&mut self, session: u32) -> Option<&mut Link> {
        let handle = *self.by_session.get(&session)?;
        self.links[handle].as_deref_mut()
    }

    fn with(
        &mut self,
        session: u32,
        act: impl FnOnce(&mut Link) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let Some(&handle) = self.by_session.get(&session) else { return Ok(()) };
        if let Some(link) = self.links[handle].as_mut() {
            act(link)?;
            self.mark(handle);
        }
        Ok(())
    }

    /// Remove the number of a session that was closed locally.
    fn settle(&mut self, session: u32) {
        self.by_session.remove(&session);
        self.unproven = self.links.iter().flatten().filter(|link| link.deadline.is_some()).count();
    }

    /// Exchange events between connection, endpoint and caller until none are left.
    fn pump(&mut self, handle: usize, link: &mut Link, now: Instant) {
        if link.has_unread() && self.events.room(link.session) > 0 {
            link.read_on(now, &mut self.events);
        }
        loop {
            let mut any = false;
            while let Some(event) = link.quic.poll_endpoint_events() {
                any = true;
                if let Some(back) = self.endpoint.handle_event(ConnectionHandle(handle), event) {
                    link.quic.handle_event(back);
                }
            }
            while let Some(event) = link.quic.poll() {
                any = true;
                let unproven = link.deadline.is_some();
                if let Some(reason) = link.told(event, now, &mut self.events, &self.settings) {
                    end(link, now, REFUSED, reason, &mut self.events);
                }
                if link.over {
                    self.by_session.remove(&link.session);
                    self.unproven -= usize::from(unproven);
                }
            }
            any |= link.feed();
            if !any {
                break;
            }
        }
        if link.has_unread() && !self.paused.contains(&link.session) {
            self.paused.push_back(link.session);
        }
    }
}

/// Close a connection locally and notify the caller.
fn end(link: &mut Link, now: Instant, code: u32, reason: &str, events: &mut Events) {
    let data = reason.as_bytes().to_vec();
    link.close(now, code, &data);
    events.push(Event { data, ..Event::of(Kind::Closed, link.session, link.peer) }, false);
}
