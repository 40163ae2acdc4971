//! One connection: its streams, its send queues, and the destinations of received bytes.
use crate::event::{Event, Events, Kind, END};
use crate::settings::Settings;
use bytes::{Buf, Bytes};
use quinn_proto::{
    Connection, ConnectionError, Dir, Event as QuicEvent, ReadError, Side, StreamEvent, StreamId,
    VarInt, WriteError,
};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{Duration, Instant};

/// Maximum number of bytes that a stream passes to QUIC before the next stream.
const SLICE_BYTES: usize = 256 << 10;
/// Chunks have a lower priority than messages.
const BULK_PRIORITY: i32 = -1;
/// Notification of bytes received into memory that is not full yet: four times, in steps of at
/// least and at most these numbers of bytes, and some time after the last notification.
const FILLED_TIMES: usize = 4;
const FILLED_BYTES: (usize, usize) = (16 << 10, 1 << 20);
const FILLED_EVERY: Duration = Duration::from_millis(250);
pub const CANCELLED: u32 = 0x102;
pub const REFUSED: u32 = 0x101;
/// Code and reason for closing a session with too much unsent data.
pub const READS_NOTHING: (u32, &str) = (0, "the other side reads nothing");
/// Longer reasons of a peer are truncated.
const REASON_BYTES: usize = 1 << 10;

/// Memory of the caller for the next bytes of a stream; null discards them.
struct Place {
    at: *mut u8,
    left: usize,
    since: usize,
    step: usize,
    told: Option<Instant>,
}
// The caller keeps the memory until it is filled or released, and uses it from one thread.
unsafe impl Send for Place {}

/// Data of one send call in the queue.
#[derive(Clone)]
pub struct Piece {
    pub data: Bytes,
    pub end: bool,
    /// Bytes kept for this transmission only; 0 for memory that the caller keeps anyway.
    pub owned: usize,
    /// Whether it yields to messages.
    pub bulk: bool,
}

#[derive(Default)]
struct Queue {
    pieces: VecDeque<Piece>,
    bulk: bool,
}

pub struct Link {
    pub quic: Connection,
    pub session: u32,
    pub dialled: bool,
    /// The dialled, resumed or authenticated peer; else -1.
    pub peer: i32,
    /// Deadline for the client's authentication.
    pub deadline: Option<Instant>,
    pub over: bool,
    pub dirty: bool,
    pub timer: Option<Instant>,
    /// Queued bytes, queued bytes kept for nothing else, and queued pieces.
    pub queued: usize,
    owned: usize,
    pieces: usize,
    /// Bytes received from an unauthenticated client.
    unproven: u64,
    outgoing: BTreeMap<u64, Queue>,
    places: HashMap<u64, Place>,
    /// Streams with more data, left in QUIC while too many events are waiting.
    unread: VecDeque<StreamId>,
    /// Number of bytes of each stream reported to the caller.
    told: HashMap<u64, u64>,
    /// Local streams, two-way and one-way: requested and opened by QUIC.
    wanted: [u64; 2],
    opened: [u64; 2],
    /// Two-way streams opened by the peer.
    accepted: u64,
    /// Data sent in 0-RTT, which is sent again if the server rejects it.
    early: Option<Vec<(u64, Piece)>>,
}

fn kind_of(stream: u64) -> Dir {
    if stream & 2 == 0 {
        Dir::Bi
    } else {
        Dir::Uni
    }
}

fn id_of(stream: u64) -> StreamId {
    let side = if stream & 1 == 0 { Side::Client } else { Side::Server };
    StreamId::new(side, kind_of(stream), stream >> 2)
}

impl Link {
    pub fn new(
        quic: Connection,
        session: u32,
        dialled: Option<u32>,
        created: Instant,
        settings: &Settings,
    ) -> Self {
        let early = quic.has_0rtt() && dialled.is_some();
        Link {
            quic,
            session,
            dialled: dialled.is_some(),
            peer: dialled.map_or(-1, |peer| peer as i32),
            deadline: dialled.is_none().then(|| created + Duration::from_nanos(settings.proof_ns)),
            over: false,
            dirty: false,
            timer: None,
            queued: 0,
            owned: 0,
            pieces: 0,
            unproven: 0,
            outgoing: BTreeMap::new(),
            places: HashMap::new(),
            unread: VecDeque::new(),
            told: HashMap::new(),
            wanted: [0; 2],
            opened: [0; 2],
            accepted: 0,
            early: early.then(Vec::new),
        }
    }

    pub fn early(&self) -> bool {
        self.early.is_some()
    }

    /// Return the number of a new local stream; QUIC opens it when the peer allows.
    pub fn open(&mut self, kind: Dir) -> u64 {
        let index = self.wanted[kind as usize];
        self.wanted[kind as usize] += 1;
        index << 2 | (kind as u64) << 1 | !self.dialled as u64
    }

    /// Whether a number is that of a writable stream.
    pub fn writable(&self, stream: u64) -> bool {
        let ours = (stream & 1 == 0) == self.dialled;
        let kind = kind_of(stream);
        if ours {
            stream >> 2 < self.wanted[kind as usize]
        } else {
            kind == Dir::Bi && stream >> 2 < self.accepted
        }
    }

    /// Whether the send queue exceeds its limits.
    pub fn is_deaf(&self, settings: &Settings) -> bool {
        self.pieces >= settings.queued_pieces || self.owned >= settings.queued_bytes
    }

    pub fn send(&mut self, stream: u64, piece: Piece) {
        if let Some(early) = self.early.as_mut() {
            early.push((stream, piece.clone()));
        }
        self.enqueue(stream, piece);
    }

    fn enqueue(&mut self, stream: u64, piece: Piece) {
        self.queued += piece.data.len();
        self.owned += piece.owned;
        self.pieces += 1;
        let queue = self.outgoing.entry(stream).or_default();
        queue.bulk |= piece.bulk;
        queue.pieces.push_back(piece);
    }

    /// Write the bytes from `offset` on to memory. Bytes reported since then are left to the
    /// caller, because they are in events that it has not read yet. Bytes received into previously
    /// named memory and not reported are reported with the next bytes.
    pub fn place(&mut self, stream: u64, offset: u64, at: *mut u8, length: usize) {
        let since = self.places.remove(&stream).map_or(0, |place| place.since);
        let came = self.told.get(&stream).copied().unwrap_or(0);
        let skip = (came.saturating_sub(offset) as usize).min(length);
        if skip == length && since == 0 {
            return;
        }
        let at = if at.is_null() { at } else { at.wrapping_add(skip) };
        let step = (length / FILLED_TIMES).clamp(FILLED_BYTES.0, FILLED_BYTES.1);
        let left = length - skip;
        self.places.insert(stream, Place { at, left, since, step, told: None });
    }

    pub fn stop(&mut self, stream: u64) {
        self.places.remove(&stream);
        self.told.remove(&stream);
        // The stream may have ended already.
        let _ = self.quic.recv_stream(id_of(stream)).stop(VarInt::from_u32(CANCELLED));
    }

    pub fn close(&mut self, now: Instant, code: u32, reason: &[u8]) {
        self.end();
        self.quic.close(now, VarInt::from_u32(code), Bytes::copy_from_slice(reason));
    }

    /// Stop using memory of the caller, and return what it has lent.
    fn end(&mut self) {
        self.over = true;
        self.deadline = None;
        self.clear_queues();
        self.places.clear();
        // QUIC would keep unread data until the connection has drained: up to a window for each
        // session that a member opens and closes.
        for id in std::mem::take(&mut self.unread) {
            let _ = self.quic.recv_stream(id).stop(VarInt::from_u32(CANCELLED));
        }
        self.early = None;
    }

    fn clear_queues(&mut self) {
        (self.queued, self.owned, self.pieces) = (0, 0, 0);
        self.outgoing.clear();
    }

    /// Process the events of QUIC; return the reason to close the connection, if any.
    pub fn told(
        &mut self,
        event: QuicEvent,
        now: Instant,
        events: &mut Events,
        settings: &Settings,
    ) -> Option<&'static str> {
        match event {
            QuicEvent::HandshakeDataReady if !self.dialled => {
                events.push(Event::of(Kind::Hello, self.session, self.peer), true);
            }
            QuicEvent::Connected => self.connected(),
            QuicEvent::ConnectionLost { reason } => {
                let ended = std::mem::replace(&mut self.over, true);
                self.end();
                if !ended {
                    let mut data = match reason {
                        ConnectionError::ApplicationClosed(closed) => closed.reason.to_vec(),
                        other => other.to_string().into_bytes(),
                    };
                    data.truncate(REASON_BYTES);
                    let closed = Event::of(Kind::Closed, self.session, self.peer);
                    events.push(Event { data, ..closed }, false);
                }
            }
            QuicEvent::Stream(StreamEvent::Opened { dir }) => {
                while let Some(id) = self.quic.streams().accept(dir) {
                    if dir == Dir::Bi {
                        self.accepted = id.index() + 1;
                    }
                    self.read(id, now, events);
                }
            }
            QuicEvent::Stream(StreamEvent::Readable { id }) => self.read(id, now, events),
            QuicEvent::Stream(StreamEvent::Stopped { id, .. }) => {
                self.drop_queue(VarInt::from(id).into_inner());
                let _ = self.quic.send_stream(id).reset(VarInt::from_u32(CANCELLED));
            }
            _ => {}
        }
        (self.deadline.is_some() && self.unproven > settings.unproven_bytes)
            .then_some("too much before a proof of identity")
    }

    /// The handshake is complete; send 0-RTT data again if the server rejected it.
    fn connected(&mut self) {
        let Some(early) = self.early.take() else { return };
        if self.quic.accepted_0rtt() {
            return;
        }
        self.opened = [0; 2];
        self.clear_queues();
        for (stream, piece) in early {
            self.enqueue(stream, piece);
        }
    }

    fn drop_queue(&mut self, stream: u64) {
        if let Some(queue) = self.outgoing.remove(&stream) {
            for piece in queue.pieces {
                self.queued -= piece.data.len();
                self.owned -= piece.owned;
                self.pieces -= 1;
            }
        }
    }

    /// Pass data to QUIC, a slice of each stream in turn; return whether it accepted any.
    pub fn feed(&mut self) -> bool {
        if self.over || (self.outgoing.is_empty() && self.opened == self.wanted) {
            return false;
        }
        for kind in [Dir::Bi, Dir::Uni] {
            let at = kind as usize;
            while self.opened[at] < self.wanted[at] && self.quic.streams().open(kind).is_some() {
                self.opened[at] += 1;
            }
        }
        let mut any = false;
        loop {
            let mut took = false;
            let streams: Vec<u64> = self.outgoing.keys().copied().collect();
            for stream in streams {
                took |= self.feed_slice(stream);
            }
            any |= took;
            if !took {
                return any;
            }
        }
    }

    fn feed_slice(&mut self, stream: u64) -> bool {
        let ours = (stream & 1 == 0) == self.dialled;
        if ours && stream >> 2 >= self.opened[kind_of(stream) as usize] {
            return false;
        }
        let Some(queue) = self.outgoing.get_mut(&stream) else { return false };
        let mut sending = self.quic.send_stream(id_of(stream));
        if std::mem::take(&mut queue.bulk) {
            let _ = sending.set_priority(BULK_PRIORITY);
        }
        let (mut room, mut took) = (SLICE_BYTES, false);
        while let Some(piece) = queue.pieces.front_mut() {
            if !piece.data.is_empty() {
                let mut part = piece.data.slice(..piece.data.len().min(room));
                match sending.write_chunks(std::slice::from_mut(&mut part)) {
                    Ok(written) => {
                        took |= written.bytes > 0;
                        room -= written.bytes;
                        self.queued -= written.bytes;
                        piece.data.advance(written.bytes);
                        if !piece.data.is_empty() {
                            return took;
                        }
                    }
                    Err(WriteError::Blocked) => return took,
                    Err(WriteError::Stopped(_) | WriteError::ClosedStream) => {
                        self.drop_queue(stream);
                        return took;
                    }
                }
            }
            if piece.end {
                let _ = sending.finish();
                took = true;
            }
            self.owned -= piece.owned;
            self.pieces -= 1;
            queue.pieces.pop_front();
        }
        self.outgoing.remove(&stream);
        took
    }

    /// Whether streams have unread data.
    pub fn has_unread(&self) -> bool {
        !self.unread.is_empty()
    }

    /// Continue with unread streams; return whether there were any.
    pub fn read_on(&mut self, now: Instant, events: &mut Events) -> bool {
        let unread = std::mem::take(&mut self.unread);
        for &id in &unread {
            self.read(id, now, events);
        }
        !unread.is_empty()
    }

    /// Read a stream as far as there is room; QUIC keeps the rest, and its windows limit the peer.
    /// An unauthenticated client has a separate limit.
    fn read(&mut self, id: StreamId, now: Instant, events: &mut Events) {
        let stream = VarInt::from(id).into_inner();
        let unproven = self.deadline.is_some();
        let room = if unproven { usize::MAX } else { events.room(self.session) };
        if room == 0 {
            self.leave(id);
            return;
        }
        let mut receiving = self.quic.recv_stream(id);
        let Ok(mut chunks) = receiving.read(true) else { return };
        let mut place = self.places.get_mut(&stream);
        let (mut loose, mut came, mut end, mut reset) = (Vec::new(), 0, false, false);
        loop {
            let placed = place.as_ref().map_or(0, |place| place.left);
            let most = placed.saturating_add(room - loose.len());
            if most == 0 {
                break;
            }
            match chunks.next(most) {
                Ok(Some(chunk)) => {
                    let mut rest = &chunk.bytes[..];
                    came += rest.len() as u64;
                    if let Some(place) = place.as_deref_mut() {
                        let count = rest.len().min(place.left);
                        if !place.at.is_null() {
                            // The destination has room for `left` bytes.
                            unsafe {
                                std::ptr::copy_nonoverlapping(rest.as_ptr(), place.at, count)
                            };
                            place.at = place.at.wrapping_add(count);
                        }
                        place.left -= count;
                        place.since += count;
                        rest = &rest[count..];
                    }
                    loose.extend_from_slice(rest);
                }
                Ok(None) => {
                    end = true;
                    break;
                }
                Err(ReadError::Blocked) => break,
                Err(ReadError::Reset(_)) => {
                    reset = true;
                    break;
                }
            }
        }
        let cut = place.as_ref().map_or(0, |place| place.left) == 0 && loose.len() == room;
        let _ = chunks.finalize(); // the frames that it requests leave with the next datagrams
        if unproven {
            self.unproven += came;
        }
        *self.told.entry(stream).or_default() += came;
        let last = if end && loose.is_empty() { END } else { 0 };
        let mut event = |kind, count, flags, data| {
            let event = Event::of(kind, self.session, self.peer);
            events.push(Event { stream, count, flags, data, ..event }, unproven);
        };
        let mut told_end = false;
        if let Some(place) = place {
            let told = *place.told.get_or_insert(now);
            let due = place.since >= place.step || now >= told + FILLED_EVERY;
            if place.since > 0 && (place.left == 0 || due || end) {
                place.told = Some(now);
                event(Kind::Filled, place.since as u64, last, Vec::new());
                place.since = 0;
                told_end = last != 0;
            }
            if place.left == 0 {
                self.places.remove(&stream);
            }
        }
        if !loose.is_empty() || (end && !told_end) {
            event(Kind::Data, 0, if end { END } else { 0 }, loose);
        }
        if end || reset {
            self.places.remove(&stream);
            self.told.remove(&stream);
        } else if cut {
            self.leave(id);
        }
    }

    fn leave(&mut self, id: StreamId) {
        if !self.unread.contains(&id) {
            self.unread.push_back(id);
        }
    }
}
