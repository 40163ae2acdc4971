//! Validators in commonware's deterministic runtime, over its simulated network.

use crate::{
    processor::CHANNELS,
    scenario::Scenario,
    validators::{MakeScheme, SimplexScheme, Validators, identities, max_message_bytes, quota},
};
use commonware_p2p::simulated::{self, Link, Network};
use commonware_runtime::{Runner as _, Supervisor as _, deterministic};
use commonware_utils::{NZUsize, probability};
use serde_json::Value;
use std::time::Duration;

/// Virtual time of one turn of the event loop; small compared with one verification.
const CYCLE: Duration = Duration::from_micros(1);

/// Returns the records, and a digest of everything that the runtime did.
pub fn run<S: SimplexScheme>(
    scenario: Scenario,
    make_scheme: MakeScheme<S>,
) -> Result<(Vec<Value>, Option<String>), String> {
    let limit = Duration::from_secs_f64(2.0 * scenario.limit_seconds + 60.0);
    let config = deterministic::Config::new()
        .with_seed(scenario.seed)
        .with_cycle(CYCLE)
        .with_timeout(Some(limit));
    deterministic::Runner::new(config).start(|context| async move {
        let auditor = context.auditor().clone();
        let records = network(context, scenario, make_scheme).await?;
        Ok((records, Some(auditor.state())))
    })
}

async fn network<S: SimplexScheme>(
    context: deterministic::Context,
    scenario: Scenario,
    make_scheme: MakeScheme<S>,
) -> Result<Vec<Value>, String> {
    let (_, participants) = identities(scenario.nodes);
    let (network, oracle) = Network::new_with_peers(
        context.child("network"),
        simulated::Config {
            max_size: max_message_bytes::<S>(&scenario),
            max_peers_per_set: NZUsize!(scenario.nodes + 1),
            disconnect_on_block: true,
            tracked_peer_sets: NZUsize!(1),
        },
        participants.iter().cloned(),
    )
    .await;
    network.start();

    let failed = |error: simulated::Error| error.to_string();
    let mut ready = Vec::new();
    for key in participants.iter() {
        let control = oracle.control(key.clone());
        let mut channels = Vec::new();
        for channel in 0..CHANNELS.len() as u64 {
            channels.push(control.register(channel, quota()).await.map_err(failed)?);
        }
        if scenario.rate_bytes_per_second > 0.0 {
            let rate = Some(scenario.rate_bytes_per_second as usize);
            oracle.limit_bandwidth(key.clone(), rate, rate).await.map_err(failed)?;
        }
        ready.push((control, channels));
    }
    let slow = scenario.slow_node.and_then(|index| participants.iter().nth(index));
    for from in participants.iter() {
        for to in participants.iter().filter(|to| *to != from) {
            let is_slow = slow.is_some_and(|key| key == from || key == to);
            let latency =
                if is_slow { scenario.slow_latency_seconds } else { scenario.latency_seconds };
            let link = Link {
                latency: Duration::from_secs_f64(latency),
                jitter: Duration::ZERO,
                success_rate: probability!(1.0),
            };
            oracle.add_link(from.clone(), to.clone(), link).await.map_err(failed)?;
        }
    }
    let mut validators = Validators::new(context, scenario.nodes);
    for (control, channels) in ready {
        validators.start(&scenario, &participants, &make_scheme, control, channels);
    }
    validators.follow(&scenario).await
}
