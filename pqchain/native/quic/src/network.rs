//! Parameters of a modelled network, and the passage of a datagram through a port.
use crate::fault::Fault;
use crate::settings::within;
use std::net::SocketAddr;

const MOST_HOSTS: u64 = 1 << 16;
const PORT: u16 = 4433;
pub const NEVER: u64 = u64::MAX;

pub fn address(host: u32) -> SocketAddr {
    let [_, a, b, c] = host.to_be_bytes();
    SocketAddr::from(([10, a, b, c], PORT))
}

pub fn host_at(address: SocketAddr) -> Option<u32> {
    match address {
        SocketAddr::V4(v4) => {
            let [ten, a, b, c] = v4.ip().octets();
            (ten == 10).then(|| u32::from_be_bytes([0, a, b, c]))
        }
        SocketAddr::V6(_) => None,
    }
}

#[derive(Clone, Copy)]
pub struct Network {
    pub hosts: usize,
    pub ps_per_byte: u64,
    pub delay_ns: u64,
    /// Loss probability in units of 2^-53.
    pub loss: f64,
    pub queue_bytes: u64,
    pub coalescing_ns: u64,
    /// Processor time per datagram sent or received.
    pub datagram_ns: u64,
    pub overhead_bytes: u64,
    pub seed: u64,
    pub digested: bool,
}
pub const NUMBERS: usize = 10;

impl Network {
    pub fn read(numbers: &[u64]) -> Result<Self, Fault> {
        let [hosts, ps_per_byte, delay_ns, loss, queue_bytes, coalescing_ns, datagram_ns, overhead_bytes, seed, digested] =
            *<&[u64; NUMBERS]>::try_from(numbers).map_err(|_| {
                Fault::argument(format!(
                    "numbers must have {NUMBERS} entries; got {}",
                    numbers.len()
                ))
            })?;
        within("number of hosts", hosts, 1, MOST_HOSTS)?;
        within("picoseconds per byte", ps_per_byte, 1, 1 << 50)?;
        within("loss in units of 2^-53", loss, 0, (1 << 53) - 1)?;
        within("length of a queue", queue_bytes, 1, 1 << 40)?;
        within("overhead of a datagram", overhead_bytes, 0, 1 << 16)?;
        for (what, value) in [
            ("delay", delay_ns),
            ("coalescing time", coalescing_ns),
            ("time of a datagram", datagram_ns),
        ] {
            within(&format!("{what} in nanoseconds"), value, 0, 1 << 50)?;
        }
        Ok(Network {
            hosts: hosts as usize,
            ps_per_byte,
            delay_ns,
            loss: loss as f64 / (1u64 << 53) as f64,
            queue_bytes,
            coalescing_ns,
            datagram_ns,
            overhead_bytes,
            seed,
            digested: digested != 0,
        })
    }
}

/// Time at which a port will have sent its queue, in picoseconds.
#[derive(Clone, Copy, Default)]
pub struct Port(u64);

impl Network {
    /// Time at which the last bit leaves the port, or None if the queue is full.
    pub fn pass(&self, port: &mut Port, size: u64, now: u64) -> Option<u64> {
        if port.0.saturating_sub(now) > self.queue_bytes.saturating_mul(self.ps_per_byte) {
            return None;
        }
        port.0 = port.0.max(now) + size * self.ps_per_byte;
        Some(port.0)
    }
}

/// The earliest of some times and its first index.
pub fn least(times: &[u64]) -> (u64, usize) {
    let mut best = (NEVER, 0);
    for (at, &time) in times.iter().enumerate() {
        if time < best.0 {
            best = (time, at);
        }
    }
    best
}
