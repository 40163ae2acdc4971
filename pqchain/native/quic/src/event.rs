//! What has happened at a host, and how it is handed to the caller: records and their bytes.
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(u32)]
pub enum Kind {
    /// A client's hello was understood; `peer` says who it is if it has resumed, else -1.
    Hello = 1,
    /// A session that was dialled may send 0-RTT data.
    Early = 2,
    /// Bytes of a stream.
    Data = 3,
    /// Bytes of a stream came into the memory that was named for them.
    Filled = 4,
    /// A session is over; the bytes say why.
    Closed = 5,
}

/// The last bytes of their stream.
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

/// Where records and their bytes are put.
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

    /// Move events here; return whether all found room. Data that finds too little is divided.
    pub fn take(&mut self, events: &mut VecDeque<Event>, host: u32, time_ns: u64) -> bool {
        while let Some(event) = events.front_mut() {
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
            if divided {
                event.data.drain(..length);
                return false;
            }
            events.pop_front();
        }
        true
    }
}
