//! Several threads in one process: worlds at once, and hosts on sockets with a caller each. The
//! sanitizers run this; see `make sanitize-quic`.
mod common;
use common::{connect, events, identity, piece, settings, world, NONE};
use pqchain_quic::event::{Kind, Record, Room, END};
use pqchain_quic::host::Host;
use pqchain_quic::link::Piece;
use pqchain_quic::live::Live;
use pqchain_quic::settings::Identity;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

const LENGTH: usize = 300_000;

fn message() -> Vec<u8> {
    (0..LENGTH).map(|at| (at * 7 + at / 251) as u8).collect()
}

/// Send a message in a world of two hosts; return the digest of all datagrams.
fn digest(seed: u64) -> Vec<u8> {
    let mut world = world(2, 0.05, seed);
    let (session, _) = connect(&mut world);
    let send = |host: &mut Host, now| {
        let stream = host.open(session, false)?;
        host.send(now, session, stream, Piece { end: true, bulk: true, ..piece(message()) })
    };
    world.with(0, send).unwrap();
    let is_end = |(record, _): &(Record, Vec<u8>)| record.flags & END != 0;
    while !events(&mut world).iter().any(is_end) {
        world.run(u64::MAX >> 1);
    }
    world.digest().unwrap()
}

#[test]
fn worlds_in_four_threads_are_those_that_run_alone() {
    let alone: Vec<_> = (0..4).map(digest).collect();
    let together: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|seed| scope.spawn(move || digest(seed))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(alone, together);
}

fn live(index: u64) -> Live {
    let certificates: BTreeMap<u32, Vec<u8>> =
        (0..2).map(|peer| (peer, identity(peer as u8 + 1).0)).collect();
    let own = Identity { key: identity(index as u8 + 1).1, certificates };
    Live::new(settings(index), &own, SocketAddr::from(([127, 0, 0, 1], 0))).unwrap()
}

/// Wait until something has happened; return it with its bytes.
fn wait(live: &Live) -> Vec<(Record, Vec<u8>)> {
    let mut polled = libc::pollfd { fd: live.descriptor(), events: libc::POLLIN, revents: 0 };
    unsafe { libc::poll(&mut polled, 1, 1000) };
    let (mut records, mut data) = (vec![NONE; 64], vec![0; 1 << 20]);
    let mut room = Room::new(&mut records, &mut data);
    live.events(&mut room).unwrap();
    let used = room.used;
    let mut rest = &data[..];
    let cut = |record: &Record| {
        let (bytes, others) = rest.split_at(record.length as usize);
        rest = others;
        (*record, bytes.to_vec())
    };
    records[..used].iter().map(cut).collect()
}

#[test]
fn hosts_on_sockets_talk_while_their_callers_call() {
    let (client, server) = (live(0), live(1));
    let to = server.address().unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let session = client.with(|host, now| host.dial(now, 1, to, false)).unwrap();
            let mut is_sent = false;
            while Instant::now() < end {
                for (record, _) in wait(&client) {
                    if record.kind == Kind::Closed as u32 {
                        return;
                    }
                }
                if !is_sent {
                    let send = |host: &mut Host, now| {
                        let stream = host.open(session, false)?;
                        host.send(
                            now,
                            session,
                            stream,
                            Piece { end: true, bulk: true, ..piece(message()) },
                        )
                    };
                    is_sent = client.with(send).is_ok();
                }
                client.statistics().unwrap();
            }
            panic!("the server did not close the session");
        });
        scope.spawn(|| {
            let mut received = Vec::new();
            while Instant::now() < end {
                for (record, data) in wait(&server) {
                    let session = record.session;
                    if record.kind == Kind::Hello as u32 {
                        server.with(|host, _| Ok(host.prove(session, 0))).unwrap();
                    }
                    if record.kind == Kind::Data as u32 {
                        received.extend(data);
                    }
                    if record.flags & END != 0 {
                        assert_eq!(received, message());
                        server.with(|host, now| Ok(host.close(now, session, 0, b""))).unwrap();
                        return;
                    }
                }
                server.statistics().unwrap();
            }
            panic!("the message did not come");
        });
    });
}
