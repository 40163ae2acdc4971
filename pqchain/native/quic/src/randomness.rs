//! Randomness of a modelled network: one generator determines every byte.
//!
//! rustls requires sources with static lifetime, so they are constants here, and draw from the
//! generator of the network that is being run on this thread.
use quinn_proto::{ConnectionId, ConnectionIdGenerator, TimeSource};
use rand_chacha::rand_core::{RngCore, SeedableRng};
use rand_chacha::ChaCha20Rng;
use rustls::crypto::ring::{cipher_suite, default_provider};
use rustls::crypto::{
    ActiveKeyExchange, CryptoProvider, GetRandomFailed, SecureRandom, SharedSecret,
    SupportedKxGroup,
};
use rustls::pki_types::UnixTime;
use rustls::time_provider::TimeProvider;
use rustls::{Error, NamedGroup, PeerMisbehaved};
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use x25519_dalek::{PublicKey, StaticSecret};

const CONNECTION_ID_BYTES: usize = 8;
/// Start of a modelled clock, 2026-01-01, when certificates are valid.
const EPOCH_SECONDS: u64 = 1_767_225_600;

thread_local! {
    static CURRENT: RefCell<Option<ChaCha20Rng>> = const { RefCell::new(None) };
}

/// A generator whose network is not being run.
pub struct Generator(Option<ChaCha20Rng>);

/// While this guard lives, randomness on this thread comes from one generator.
pub struct Drawing<'a>(&'a mut Generator);

impl Generator {
    pub fn new(seed: u64, purpose: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        bytes[8..16].copy_from_slice(&purpose.to_le_bytes());
        Generator(Some(ChaCha20Rng::from_seed(bytes)))
    }
    pub fn lend(&mut self) -> Drawing<'_> {
        CURRENT.with(|current| *current.borrow_mut() = self.0.take());
        Drawing(self)
    }
    /// A number from 0 to below 1.
    pub fn uniform(&mut self) -> f64 {
        let bits = self.0.as_mut().map_or(0, |rng| rng.next_u64() >> 11);
        bits as f64 / (1u64 << 53) as f64
    }
}
impl Drop for Drawing<'_> {
    fn drop(&mut self) {
        CURRENT.with(|current| self.0 .0 = current.borrow_mut().take());
    }
}

/// Fill with bytes of the current generator; return false if no network is being run.
pub fn draw(out: &mut [u8]) -> bool {
    CURRENT.with(|current| match current.borrow_mut().as_mut() {
        Some(rng) => {
            rng.fill_bytes(out);
            true
        }
        None => false,
    })
}

pub fn connection_id() -> ConnectionId {
    let mut bytes = [0; CONNECTION_ID_BYTES];
    draw(&mut bytes);
    ConnectionId::new(&bytes)
}

pub struct ConnectionIds;
impl ConnectionIdGenerator for ConnectionIds {
    fn generate_cid(&mut self) -> ConnectionId {
        connection_id()
    }
    fn cid_len(&self) -> usize {
        CONNECTION_ID_BYTES
    }
    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

#[derive(Debug)]
struct Seeded;
impl SecureRandom for Seeded {
    fn fill(&self, out: &mut [u8]) -> Result<(), GetRandomFailed> {
        draw(out).then_some(()).ok_or(GetRandomFailed)
    }
}

/// X25519 with secrets drawn here; ring would draw them from the system.
#[derive(Debug)]
struct SeededX25519;
struct Exchange {
    secret: StaticSecret,
    public: [u8; 32],
}
impl SupportedKxGroup for SeededX25519 {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let mut bytes = [0; 32];
        Seeded.fill(&mut bytes)?;
        let secret = StaticSecret::from(bytes);
        let public = PublicKey::from(&secret).to_bytes();
        Ok(Box::new(Exchange { secret, public }))
    }
    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}
impl ActiveKeyExchange for Exchange {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let wrong = || Error::from(PeerMisbehaved::InvalidKeyShare);
        let peer: [u8; 32] = peer.try_into().map_err(|_| wrong())?;
        let shared = self.secret.diffie_hellman(&PublicKey::from(peer));
        if !shared.was_contributory() {
            return Err(wrong());
        }
        Ok(SharedSecret::from(&shared.as_bytes()[..]))
    }
    fn pub_key(&self) -> &[u8] {
        &self.public
    }
    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

/// TLS 1.3 only; with randomness from the system, or from the network that is being run.
pub fn provider(seeded: bool) -> CryptoProvider {
    let mut provider = default_provider();
    provider.cipher_suites = vec![
        cipher_suite::TLS13_AES_128_GCM_SHA256,
        cipher_suite::TLS13_AES_256_GCM_SHA384,
        cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
    ];
    if seeded {
        provider.secure_random = &Seeded;
        provider.kx_groups = vec![&SeededX25519];
    }
    provider
}

/// The time of day on a modelled clock.
#[derive(Debug)]
pub struct ModelledTime(pub Arc<AtomicU64>);
impl ModelledTime {
    fn since_epoch(&self) -> Duration {
        let modelled = Duration::from_nanos(self.0.load(Ordering::Relaxed));
        Duration::from_secs(EPOCH_SECONDS) + modelled
    }
}
impl TimeProvider for ModelledTime {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(self.since_epoch()))
    }
}
impl TimeSource for ModelledTime {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + self.since_epoch()
    }
}
