//! TLS of a host: pinned certificates, and single-use tickets that identify the client.
//!
//! A server authenticates by its certificate; a client by its signature of a challenge, one layer
//! above. A ticket belongs to the client that was authenticated on the session on which it was
//! issued, so a resuming client is that client. It is removed at its first use: a replayed first
//! flight finds no ticket, and its 0-RTT data is not decrypted.
use crate::fault::Fault;
use crate::randomness::provider;
use crate::settings::Identity;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{
    ClientSessionStore, Resumption, Tls12ClientSessionValue, Tls13ClientSessionValue,
};
use rustls::crypto::{verify_tls13_signature, WebPkiSupportedAlgorithms};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::server::StoresServerSessions;
use rustls::time_provider::{DefaultTimeProvider, TimeProvider};
use rustls::version::TLS13;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, NamedGroup, ServerConfig,
    SignatureScheme,
};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex};

const ALPN: &[u8] = b"pqchain-reencode/1";
/// Maximum number of stored tickets, issued and received; the oldest are dropped first.
const MOST_TICKETS: usize = 4096;
const TICKETS_PER_SESSION: usize = 1;

/// The server name used to dial a node.
pub fn server_name(index: u32) -> String {
    format!("node-{index}.pqchain.invalid")
}

fn index_of(name: &ServerName<'_>) -> Option<u32> {
    let ServerName::DnsName(name) = name else { return None };
    name.as_ref().strip_prefix("node-")?.strip_suffix(".pqchain.invalid")?.parse().ok()
}

/// Verifier that accepts only the certificate of the directory for each node.
#[derive(Debug)]
struct Pinned {
    certificates: BTreeMap<u32, Vec<u8>>,
    algorithms: WebPkiSupportedAlgorithms,
}
impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match index_of(name).and_then(|index| self.certificates.get(&index)) {
            Some(pinned) if pinned.as_slice() == shown.as_ref() => {
                Ok(ServerCertVerified::assertion())
            }
            _ => Err(CertificateError::ApplicationVerificationFailure.into()),
        }
    }
    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("TLS version must be 1.3".into()))
    }
    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// Issued tickets of a server.
#[derive(Debug, Default)]
struct Given {
    /// Content of each ticket, and the session on which it was issued.
    tickets: HashMap<Vec<u8>, (Vec<u8>, u32)>,
    oldest: VecDeque<Vec<u8>>,
    /// Authenticated peer of each session.
    proven: HashMap<u32, u32>,
    /// The session whose handshake is being processed.
    current: u32,
    /// The peer that has resumed the current session.
    resumed: Option<u32>,
}

#[derive(Debug, Default)]
pub struct GivenTickets(Mutex<Given>);
impl GivenTickets {
    /// Make a session the current one.
    pub fn enter(&self, session: u32) {
        let mut given = self.0.lock().unwrap();
        given.current = session;
        given.resumed = None;
    }
    /// The peer that has resumed since `enter`.
    pub fn resumed(&self) -> Option<u32> {
        self.0.lock().unwrap().resumed
    }
    pub fn prove(&self, session: u32, peer: u32) {
        self.0.lock().unwrap().proven.insert(session, peer);
    }
    /// A session has ended: forget its peer unless a ticket of it is left.
    pub fn forget(&self, session: u32) {
        let mut given = self.0.lock().unwrap();
        if !given.tickets.values().any(|(_, of)| *of == session) {
            given.proven.remove(&session);
        }
    }
}
impl StoresServerSessions for GivenTickets {
    fn put(&self, ticket: Vec<u8>, content: Vec<u8>) -> bool {
        let mut given = self.0.lock().unwrap();
        let session = given.current;
        given.oldest.push_back(ticket.clone());
        given.tickets.insert(ticket, (content, session));
        if given.oldest.len() > MOST_TICKETS {
            if let Some(oldest) = given.oldest.pop_front() {
                given.tickets.remove(&oldest);
            }
        }
        true
    }
    fn get(&self, _: &[u8]) -> Option<Vec<u8>> {
        None // used by TLS 1.2 only
    }
    fn take(&self, ticket: &[u8]) -> Option<Vec<u8>> {
        let mut given = self.0.lock().unwrap();
        let (content, session) = given.tickets.remove(ticket)?;
        given.resumed = Some(*given.proven.get(&session)?);
        Some(content)
    }
    fn can_cache(&self) -> bool {
        true
    }
}

#[derive(Debug, Default)]
struct Kept {
    tickets: HashMap<u32, VecDeque<Tls13ClientSessionValue>>,
    /// Whether the current dial may resume a session.
    wanted: bool,
}

/// Tickets that a client has received from peers.
#[derive(Debug, Default)]
pub struct KeptTickets(Mutex<Kept>);
impl KeptTickets {
    pub fn want(&self, wanted: bool) {
        self.0.lock().unwrap().wanted = wanted;
    }
}
impl ClientSessionStore for KeptTickets {
    fn set_kx_hint(&self, _: ServerName<'static>, _: NamedGroup) {}
    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        None
    }
    fn set_tls12_session(&self, _: ServerName<'static>, _: Tls12ClientSessionValue) {}
    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        None
    }
    fn remove_tls12_session(&self, _: &ServerName<'static>) {}
    fn insert_tls13_ticket(&self, name: ServerName<'static>, ticket: Tls13ClientSessionValue) {
        let Some(peer) = index_of(&name) else { return };
        let mut kept = self.0.lock().unwrap();
        let tickets = kept.tickets.entry(peer).or_default();
        tickets.push_back(ticket);
        if tickets.len() > MOST_TICKETS {
            tickets.pop_front();
        }
    }
    fn take_tls13_ticket(&self, name: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        let mut kept = self.0.lock().unwrap();
        if !kept.wanted {
            return None;
        }
        kept.tickets.get_mut(&index_of(name)?)?.pop_back()
    }
}

pub struct Tls {
    pub server: Arc<ServerConfig>,
    pub client: Arc<ClientConfig>,
    pub given: Arc<GivenTickets>,
    pub kept: Arc<KeptTickets>,
}

/// Client and server configuration of a host, on a modelled clock if a time is given.
pub fn configure(
    index: u32,
    identity: &Identity,
    modelled: Option<Arc<dyn TimeProvider>>,
) -> Result<Tls, Fault> {
    let shown = identity.certificates.get(&index);
    let shown = shown.ok_or_else(|| Fault::argument(format!("host {index} has no certificate")))?;
    let chain = vec![CertificateDer::from(shown.clone())];
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(identity.key.clone()));
    let provider = Arc::new(provider(modelled.is_some()));
    let time = modelled.unwrap_or_else(|| Arc::new(DefaultTimeProvider));
    let pinned = Arc::new(Pinned {
        certificates: identity.certificates.clone(),
        algorithms: provider.signature_verification_algorithms,
    });
    let (given, kept) = (Arc::new(GivenTickets::default()), Arc::new(KeptTickets::default()));
    let refused = |error: Error| Fault::argument(format!("the identity of host {index}: {error}"));

    let mut server = ServerConfig::builder_with_details(provider.clone(), time.clone())
        .with_protocol_versions(&[&TLS13])
        .map_err(Fault::broken)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(refused)?;
    server.alpn_protocols = vec![ALPN.to_vec()];
    server.max_early_data_size = u32::MAX;
    server.send_tls13_tickets = TICKETS_PER_SESSION;
    server.session_storage = given.clone();

    let mut client = ClientConfig::builder_with_details(provider, time)
        .with_protocol_versions(&[&TLS13])
        .map_err(Fault::broken)?
        .dangerous()
        .with_custom_certificate_verifier(pinned)
        .with_no_client_auth();
    client.alpn_protocols = vec![ALPN.to_vec()];
    client.enable_early_data = true;
    client.resumption = Resumption::store(kept.clone());
    Ok(Tls { server: Arc::new(server), client: Arc::new(client), given, kept })
}
