//! Events of a host, and their transfer to the caller as records and bytes.
use std::collections::{HashMap, VecDeque};

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(u32)]
pub enum Kind {
    /// A client's hello was parsed; `peer` is the resumed peer, else -1.
    Hello = 1,
    /// A session that was dialled may send 0-RTT data.
    Early = 2,
    /// Bytes of a stream.
    Data = 3,
    /// Bytes of a stream were written to the memory named for them.
    Filled = 4,
    /// A session has ended; the bytes are the reason.
    Closed = 5,
}

/// Flag: the last bytes of their stream.
pub const END: u32 = 1;

#[derive(Debug)]
pub struct Event {
    pub kind: Kind,
    pub session: u32,
    pub peer: i32,
    pub stream: u64,
    pub count: u64,
    pub flags: u32,
    pub data: Vec<u8>,
}
impl Event {
    pub fn of(kind: Kind, session: u32, peer: i32) -> Self {
        Event { kind, session, peer, stream: 0, count: 0, flags: 0, data: Vec::new() }
    }
}

/// Overhead of a waiting event in bytes: the event, its queue entry, an allocation.
const EVENT_BYTES: usize = 128;

/// Events waiting for the caller, with their cost in bytes by session.
///
/// The events of one session stay in order. With two queues, sessions of unauthenticated clients
/// have a separate queue, and the queues alternate: a dialling client does not wait for all events
/// of members. On a modelled clock there is one queue, in order of time.
///
/// The caller may be slower than its peers. Reading stops for a session whose events cost more than
/// `session_bytes`, and for every session while all events cost more than `host_bytes`, so that
/// QUIC's flow control stops the sender.
pub struct Events {
    lines: Vec<VecDeque<Event>>,
    turn: usize,
    /// Waiting cost of each session, and its queue.
    by_session: HashMap<u32, (usize, usize)>,
    bytes: usize,
    session_bytes: usize,
    host_bytes: usize,
}
impl Events {
    pub fn new(lines: usize, session_bytes: usize, host_bytes: usize) -> Self {
        Events {
            lines: (0..lines).map(|_| VecDeque::new()).collect(),
            turn: 0,
            by_session: HashMap::new(),
            bytes: 0,
            session_bytes,
            host_bytes,
        }
    }

    /// Add an event; `unproven` if the client is not authenticated yet.
    pub fn push(&mut self, event: Event, unproven: bool) {
        let cost = event.data.len() + EVENT_BYTES;
        self.bytes += cost;
        let line = usize::from(unproven).min(self.lines.len() - 1);
        // Once authenticated, a session changes its queue when no event of it is waiting.
        let (waiting, line) = self.by_session.entry(event.session).or_insert((0, line));
        *waiting += cost;
        self.lines[*line].push_back(event);
    }

    pub fn len(&self) -> usize {
        self.lines.iter().map(VecDeque::len).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.lines.iter().all(VecDeque::is_empty)
    }

    /// The queue to take from next, if any event is waiting.
    fn line(&mut self) -> Option<usize> {
        let count = self.lines.len();
        let line = (0..count).map(|step| (self.turn + step) % count);
        line.into_iter().find(|&line| !self.lines[line].is_empty())
    }

    /// Cost of all waiting events in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Number of bytes that may still be read from a session; 0 stops reading.
    pub fn room(&self, session: u32) -> usize {
        let waiting = self.by_session.get(&session).map_or(0, |(waiting, _)| *waiting);
        let of_session = self.session_bytes.saturating_sub(waiting);
        of_session.min(self.host_bytes.saturating_sub(self.bytes))
    }

    /// Whether to resume reading a session: half of its limit is free.
    pub fn may_resume(&self, session: u32) -> bool {
        self.room(session) >= self.session_bytes.min(self.host_bytes).div_ceil(2)
    }

    fn free(&mut self, session: u32, cost: usize) {
        self.bytes -= cost;
        if let Some((waiting, _)) = self.by_session.get_mut(&session) {
            *waiting -= cost;
            if *waiting == 0 {
                self.by_session.remove(&session);
            }
        }
    }
}

/// `pqq_event` of quic.h.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Record {
    pub time_ns: u64,
    pub stream: u64,
    pub count: u64,
    pub host: u32,
    pub kind: u32,
    pub session: u32,
    pub peer: i32,
    pub flags: u32,
    pub length: u32,
}

/// Buffers of the caller for records and their bytes.
pub struct Room<'a> {
    pub records: &'a mut [Record],
    pub data: &'a mut [u8],
    pub used: usize,
    pub filled: usize,
}
impl<'a> Room<'a> {
    pub fn new(records: &'a mut [Record], data: &'a mut [u8]) -> Self {
        Room { records, data, used: 0, filled: 0 }
    }

    /// Move events here; return whether all fitted. Data that does not fit is divided.
    pub fn take(&mut self, events: &mut Events, host: u32, time_ns: u64) -> bool {
        while let Some(line) = events.line() {
            let Some(event) = events.lines[line].front_mut() else { break };
            let free = self.data.len() - self.filled;
            let length = event.data.len().min(free);
            let divided = length < event.data.len();
            if self.used == self.records.len()
                || (divided && (length == 0 || event.kind != Kind::Data))
            {
                return false;
            }
            self.data[self.filled..self.filled + length].copy_from_slice(&event.data[..length]);
            self.filled += length;
            let data = event.kind == Kind::Data;
            self.records[self.used] = Record {
                time_ns,
                stream: event.stream,
                count: if data { length as u64 } else { event.count },
                host,
                kind: event.kind as u32,
                session: event.session,
                peer: event.peer,
                flags: if divided { 0 } else { event.flags },
                length: length as u32,
            };
            self.used += 1;
            let session = event.session;
            if divided {
                event.data.drain(..length);
                events.free(session, length);
                return false;
            }
            events.lines[line].pop_front();
            events.turn = line + 1;
            events.free(session, length + EVENT_BYTES);
        }
        true
    }
}
