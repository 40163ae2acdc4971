//! Validators in commonware's tokio runtime, over authenticated connections on 127.0.0.1.

use crate::{
    processor::CHANNELS,
    scenario::Scenario,
    validators::{MakeScheme, SimplexScheme, Validators, identities, max_message_bytes, quota},
};
use commonware_cryptography::{ChaCha20Poly1305, Signer as _};
use commonware_p2p::{
    Address, AddressableManager as _,
    authenticated::lookup::{self, Network},
};
use commonware_runtime::{Clock as _, Quota, Runner as _, Supervisor as _, tokio};
use commonware_stream::{
    cups::{self, Cups},
    sake::{self, Sake},
};
use commonware_utils::{NZU32, NZUsize, ordered::Map};
use serde_json::Value;
use std::{
    net::{SocketAddr, TcpListener},
    time::Duration,
};

/// Time for the validators to connect. A message to a peer that is not connected yet is dropped.
const CONNECT: Duration = Duration::from_secs(2);

pub fn run<S: SimplexScheme>(
    scenario: Scenario,
    make_scheme: MakeScheme<S>,
) -> Result<(Vec<Value>, Option<String>), String> {
    let config = tokio::Config::new().with_tcp_nodelay(Some(true));
    let storage = config.storage_directory().clone();
    let records = tokio::Runner::new(config)
        .start(|context| async move { network(context, scenario, make_scheme).await });
    // The write-ahead logs of the validators.
    let _ = std::fs::remove_dir_all(storage);
    Ok((records?, None))
}

async fn network<S: SimplexScheme>(
    context: tokio::Context,
    scenario: Scenario,
    make_scheme: MakeScheme<S>,
) -> Result<Vec<Value>, String> {
    let (keys, participants) = identities(scenario.nodes);
    let addresses = free_addresses(scenario.nodes).map_err(|error| error.to_string())?;
    let peers = keys.iter().zip(&addresses).map(|(key, address)| {
        (key.public_key(), Address::from(*address))
    });
    let peers: Map<_, Address> =
        peers.collect::<Vec<_>>().try_into().map_err(|_| "two validators have one key")?;
    let mut ready = Vec::new();
    for (index, (key, address)) in keys.into_iter().zip(&addresses).enumerate() {
        let handshake = Sake {
            signer: key,
            synchrony_bound: Duration::from_secs(5),
            max_handshake_age: Duration::from_secs(10),
            version: sake::Version::V1,
        };
        let mut config = lookup::Config::local(
            Cups::<_, ChaCha20Poly1305>::new(handshake, cups::Version::V1),
            b"pqchain",
            *address,
            NZUsize!(scenario.nodes + 1),
            max_message_bytes::<S>(&scenario),
            NZUsize!(1 << 14),
        );
        // All validators have one address, so limits per address would stop them.
        config.allowed_handshake_rate_per_ip = Quota::per_second(NZU32!(4096));
        config.allowed_handshake_rate_per_subnet = Quota::per_second(NZU32!(4096));
        // The validators never change; mailboxes have room for every set.
        config.tracked_peer_sets = NZUsize!(1);
        config.dial_frequency = Duration::from_millis(50);
        let context = context.child("network").with_attribute("index", index);
        let (mut network, mut oracle) = Network::new(context, config);
        oracle.track(0, peers.clone());
        let numbers = 0..CHANNELS.len() as u64;
        let channels: Vec<_> = numbers.map(|number| network.register(number, quota())).collect();
        network.start();
        ready.push((oracle, channels));
    }
    context.sleep(CONNECT).await;
    let mut validators = Validators::new(context, scenario.nodes);
    for (oracle, channels) in ready {
        validators.start(&scenario, &participants, &make_scheme, oracle, channels);
    }
    validators.follow(&scenario).await
}

/// Returns addresses on 127.0.0.1 that are free now.
fn free_addresses(count: usize) -> std::io::Result<Vec<SocketAddr>> {
    let listeners: Vec<_> =
        (0..count).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<Result<_, _>>()?;
    listeners.iter().map(TcpListener::local_addr).collect()
}
