//! Counters of a host's traffic.
use quinn_proto::ConnectionStats;

/// Datagrams sent, received, bytes sent, packets lost, congestion events, sending calls.
pub type Statistics = [u64; 6];

/// Add the counters of one connection.
pub fn tally(all: &mut Statistics, one: &ConnectionStats) {
    let (sent, path) = (&one.udp_tx, &one.path);
    let these = [
        sent.datagrams,
        one.udp_rx.datagrams,
        sent.bytes,
        path.lost_packets,
        path.congestion_events,
        sent.ios,
    ];
    for (sum, more) in all.iter_mut().zip(these) {
        *sum += more;
    }
}
