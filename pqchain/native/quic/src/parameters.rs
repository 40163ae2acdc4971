//! QUIC parameters: windows, timers, congestion control, and the secrets of a host.
use crate::fault::Fault;
use crate::settings::{Congestion, Identity, Settings};
use quinn_proto::congestion::{BbrConfig, CubicConfig, NewRenoConfig};
use quinn_proto::{
    IdleTimeout, TokenLog, TokenReuseError, TransportConfig, ValidationTokenConfig, VarInt,
};
use ring::hkdf;
use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

/// Maximum number of open streams of a peer; further ones wait at the peer. quinn allocates an
/// entry for each at once, so a larger number would slow every handshake.
const MOST_STREAMS: u32 = 256;
/// Initial estimate of the round-trip time, as in aioquic. A first flight without answer is
/// repeated after twice that time.
const INITIAL_ROUND_TRIP: Duration = Duration::from_millis(100);
pub fn transport(settings: &Settings) -> Result<TransportConfig, Fault> {
    let window = |bytes: u64| VarInt::from_u64(bytes).map_err(Fault::argument_of);
    let datagram_bytes = settings.datagram_bytes;
    let mut transport = TransportConfig::default();
    let idle = Duration::from_nanos(settings.idle_ns);
    transport
        .max_idle_timeout(Some(IdleTimeout::try_from(idle).map_err(Fault::argument_of)?))
        .stream_receive_window(window(settings.receive_window)?)
        .receive_window(window(settings.receive_window)?)
        .send_window(settings.send_window)
        .max_concurrent_bidi_streams(VarInt::from_u32(MOST_STREAMS))
        .initial_rtt(INITIAL_ROUND_TRIP)
        .initial_mtu(datagram_bytes)
        .min_mtu(datagram_bytes)
        .mtu_discovery_config(None)
        .enable_segmentation_offload(settings.segmentation);
    // As in aioquic: ten datagrams of any length. quinn would stay at 14720 bytes, and never send
    // longer ones.
    let initial = 10 * datagram_bytes as u64;
    match settings.congestion {
        Congestion::NewReno => {
            let mut control = NewRenoConfig::default();
            control.initial_window(initial);
            transport.congestion_controller_factory(Arc::new(control));
        }
        Congestion::Cubic => {
            let mut control = CubicConfig::default();
            control.initial_window(initial);
            transport.congestion_controller_factory(Arc::new(control));
        }
        Congestion::Bbr => {
            let mut control = BbrConfig::default();
            control.initial_window(initial.max(200 * 1200));
            transport.congestion_controller_factory(Arc::new(control));
        }
    }
    Ok(transport)
}

impl Fault {
    fn argument_of(error: impl std::fmt::Display) -> Fault {
        Fault::argument(error.to_string())
    }
}

/// A secret of a host that survives a restart, so that peers detect the restart at once.
pub fn lasting_secret(identity: &Identity, purpose: &[u8]) -> [u8; 32] {
    let mut secret = [0; 32];
    let salt = hkdf::Salt::new(hkdf::HKDF_SHA256, b"pqchain quic");
    let key = salt.extract(&identity.key);
    let purposes = [purpose];
    let okm = key.expand(&purposes, hkdf::HKDF_SHA256);
    if let Ok(okm) = okm {
        let _ = okm.fill(&mut secret);
    }
    secret
}

/// Single-use tokens that show that a client's address was validated before. Without one, a server
/// may answer 0-RTT with at most three times the received bytes.
struct Once(Mutex<HashSet<u128>>);
/// Maximum number of remembered tokens; beyond it, none is valid any more.
const MOST_TOKENS: usize = 1 << 16;
const TOKENS_PER_SESSION: u32 = 2;

impl TokenLog for Once {
    fn check_and_insert(
        &self,
        nonce: u128,
        _: SystemTime,
        _: Duration,
    ) -> Result<(), TokenReuseError> {
        let mut seen = self.0.lock().map_err(|_| TokenReuseError)?;
        if seen.len() < MOST_TOKENS && seen.insert(nonce) {
            return Ok(());
        }
        Err(TokenReuseError)
    }
}

pub fn address_tokens() -> ValidationTokenConfig {
    let mut config = ValidationTokenConfig::default();
    config.log(Arc::new(Once(Mutex::default()))).sent(TOKENS_PER_SESSION);
    config
}
