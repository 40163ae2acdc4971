//! Checked settings of a host: numbers, identity, and certificates of its peers.
use crate::fault::Fault;
use std::collections::BTreeMap;

pub const LEAST_DATAGRAM_BYTES: u64 = 1200;
/// quinn-proto panics above 16383.
pub const LONGEST_DATAGRAM_BYTES: u64 = 16_000;
const LARGEST_WINDOW_BYTES: u64 = 1 << 40;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Congestion {
    NewReno,
    Cubic,
    Bbr,
}

#[derive(Clone, Debug)]
pub struct Settings {
    pub index: u32,
    pub datagram_bytes: u16,
    pub congestion: Congestion,
    /// Whether several datagrams may leave in one system call.
    pub segmentation: bool,
    /// Send window: unacknowledged bytes to a peer.
    pub send_window: u64,
    /// Receive window: unread bytes of a peer.
    pub receive_window: u64,
    pub idle_ns: u64,
    /// Time limit for the authentication of a client.
    pub proof_ns: u64,
    /// Limit on the bytes of an unauthenticated client.
    pub unproven_bytes: u64,
    /// Limits on the send queue of a session: pieces, and bytes kept for nothing else.
    pub queued_pieces: usize,
    pub queued_bytes: usize,
    /// Limits on the cost of waiting events, for a session and for all.
    pub unread_bytes: usize,
    pub host_unread_bytes: usize,
}

pub const NUMBERS: usize = 13;

impl Settings {
    pub fn read(numbers: &[u64]) -> Result<Self, Fault> {
        let [index, datagram_bytes, congestion, segmentation, send_window, receive_window, idle_ns, proof_ns, unproven_bytes, queued_pieces, queued_bytes, unread_bytes, host_unread_bytes] =
            *<&[u64; NUMBERS]>::try_from(numbers).map_err(|_| {
                Fault::argument(format!(
                    "numbers must have {NUMBERS} entries; got {}",
                    numbers.len()
                ))
            })?;
        within("index of a host", index, 0, u32::MAX as u64 - 1)?;
        within(
            "length of a datagram",
            datagram_bytes,
            LEAST_DATAGRAM_BYTES,
            LONGEST_DATAGRAM_BYTES,
        )?;
        within("send window", send_window, 1, LARGEST_WINDOW_BYTES)?;
        within("receive window", receive_window, 1, LARGEST_WINDOW_BYTES)?;
        for (what, value) in [
            ("pieces that wait", queued_pieces),
            ("bytes that wait", queued_bytes),
            ("bytes of events of a session", unread_bytes),
            ("bytes of events", host_unread_bytes),
        ] {
            within(what, value, 1, LARGEST_WINDOW_BYTES)?;
        }
        within("idle time in nanoseconds", idle_ns, 1_000_000, 1 << 50)?;
        within("time for a proof in nanoseconds", proof_ns, 1, 1 << 50)?;
        let congestion = match congestion {
            0 => Congestion::NewReno,
            1 => Congestion::Cubic,
            2 => Congestion::Bbr,
            other => {
                return Err(Fault::argument(format!(
                    "congestion control must be 0, 1 or 2; got {other}"
                )))
            }
        };
        Ok(Settings {
            index: index as u32,
            datagram_bytes: datagram_bytes as u16,
            congestion,
            segmentation: segmentation != 0,
            send_window,
            receive_window,
            idle_ns,
            proof_ns,
            unproven_bytes,
            queued_pieces: queued_pieces as usize,
            queued_bytes: queued_bytes as usize,
            unread_bytes: unread_bytes as usize,
            host_unread_bytes: host_unread_bytes as usize,
        })
    }
}

/// The key of a host, and the certificates of all hosts.
pub struct Identity {
    pub key: Vec<u8>,
    pub certificates: BTreeMap<u32, Vec<u8>>,
}

impl Identity {
    /// Parse records of an index, a length, and the bytes; the first is the key of the host.
    pub fn read(mut bytes: &[u8]) -> Result<Self, Fault> {
        let mut records = Vec::new();
        while !bytes.is_empty() {
            let head = bytes.get(..8).ok_or_else(cut)?;
            let number = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().unwrap());
            let (index, length) = (number(0), number(4) as usize);
            records.push((index, bytes.get(8..8 + length).ok_or_else(cut)?.to_vec()));
            bytes = &bytes[8 + length..];
        }
        if records.is_empty() {
            return Err(cut());
        }
        let (_, key) = records.remove(0);
        Ok(Identity { key, certificates: records.into_iter().collect() })
    }
}

fn cut() -> Fault {
    Fault::argument("an identity is truncated")
}

pub fn within(what: &str, value: u64, least: u64, most: u64) -> Result<(), Fault> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(Fault::argument(format!("{what} must be from {least} to {most}; got {value}")))
}
