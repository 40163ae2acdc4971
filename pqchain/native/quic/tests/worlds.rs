//! Two hosts and more on the modelled clock.
mod common;
use bytes::Bytes;
use common::{connect, events, identity, piece, settings, world};
use pqchain_quic::event::{Kind, END};
use pqchain_quic::event::{Record, Room};
use pqchain_quic::link::Piece;
use pqchain_quic::settings::{Identity, Settings};
use pqchain_quic::world::World;

/// Send `length` bytes from host 0 to 1; return the digest of all datagrams and the end.
fn transfer(world: &mut World, length: usize) -> (Vec<u8>, u64) {
    let (here, _) = connect(world);
    let sent: Vec<u8> = (0..length).map(|at| (at * 7 + at / 251) as u8).collect();
    world
        .with(0, |host, now| {
            let stream = host.open(here, false)?;
            let data = Bytes::from(sent.clone());
            host.send(now, here, stream, Piece { data, end: true, owned: length, bulk: true })
        })
        .unwrap();
    let mut came = Vec::new();
    for _ in 0..100_000 {
        world.run(u64::MAX >> 1);
        for (record, data) in events(world) {
            assert_ne!(record.kind, Kind::Closed as u32, "{}", String::from_utf8_lossy(&data));
            came.extend(data);
            if record.flags & END != 0 {
                assert_eq!(came, sent);
                return (world.digest().unwrap(), world.now());
            }
        }
    }
    panic!("it does not end")
}

#[test]
fn bytes_come_whole_and_every_run_is_the_same() {
    for loss in [0.0, 0.05] {
        let first = transfer(&mut world(2, loss, 3), 1_000_000);
        assert_eq!(first, transfer(&mut world(2, loss, 3), 1_000_000));
        assert_ne!(first.0, transfer(&mut world(2, loss, 4), 1_000_000).0);
    }
}

#[test]
fn a_restart_draws_other_bytes() {
    let mut once = world(2, 0.0, 1);
    let before = transfer(&mut once, 1000);
    let mut again = world(2, 0.0, 1);
    let (_, key) = identity(1);
    let certificates = [(0, identity(1).0), (1, identity(2).0)].into();
    again.start(settings(0), &Identity { key, certificates }).unwrap();
    assert_ne!(before.0, transfer(&mut again, 1000).0);
}

#[test]
fn a_stranger_is_told_so_by_the_certificate() {
    let mut world = world(2, 0.0, 1);
    let (_, key) = identity(9);
    // It shows a certificate that host 0 does not know.
    let certificates = [(0, identity(1).0), (1, identity(9).0)].into();
    world.start(settings(1), &Identity { key, certificates }).unwrap();
    let to = pqchain_quic::network::address(1);
    world.with(0, |host, now| host.dial(now, 1, to, false)).unwrap();
    for _ in 0..10 {
        world.run(u64::MAX >> 1);
        for (record, _) in events(&mut world) {
            if record.host == 0 {
                assert_eq!(record.kind, Kind::Closed as u32);
                return;
            }
        }
    }
    panic!("it was believed")
}

#[test]
fn damaged_datagrams_change_nothing() {
    let mut world = world(3, 0.0, 1);
    world.tapped = Some(Vec::new());
    let (here, there) = connect(&mut world);
    world.run(world.now() + 1_000_000_000);
    events(&mut world);
    let tapped = world.tapped.take().unwrap();
    let mut state = 1u64;
    for round in 0..100_000u64 {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(round | 1);
        let one = &tapped[(state >> 33) as usize % tapped.len()];
        let mut data = one.data.clone();
        let at = (state >> 17) as usize % data.len();
        data[at] ^= (state >> 56) as u8 | 1;
        data.truncate(1 + (state >> 40) as usize % data.len());
        world.inject(2, one.to as u64, &data).unwrap();
        if round % 500 == 0 {
            world.run(world.now() + 200_000);
        }
    }
    for _ in 0..1000 {
        world.run(world.now() + 1_000_000);
        for (record, _) in events(&mut world) {
            // A hello that was damaged behind its end may begin a handshake, and no more.
            assert_eq!(record.kind, Kind::Hello as u32);
            assert_ne!(record.session, there);
        }
    }
    world.with(0, |host, _| host.open(here, false)).unwrap();
}

/// Two hosts of which number `slow` has other bounds, connected; the sessions' numbers.
fn bounded(slow: u64, change: impl FnOnce(&mut Settings)) -> (World, u32, u32) {
    let mut world = world(2, 0.0, 1);
    let certificates = [(0, identity(1).0), (1, identity(2).0)].into();
    let (_, key) = identity(slow as u8 + 1);
    let mut settings = settings(slow);
    change(&mut settings);
    world.start(settings, &Identity { key, certificates }).unwrap();
    let (here, there) = connect(&mut world);
    world.run(world.now() + 100_000_000);
    events(&mut world);
    (world, here, there)
}

#[test]
fn what_the_caller_does_not_take_stays_with_the_sender() {
    const SENT: usize = 60 << 20;
    for (session, host) in [(64 << 10, 1 << 20), (1 << 20, 64 << 10)] {
        let (mut world, here, there) = bounded(1, |settings| {
            (settings.unread_bytes, settings.host_unread_bytes) = (session, host);
        });
        let data: Vec<u8> = (0..SENT).map(|at| (at * 31 + at / 509) as u8).collect();
        let stream = world
            .with(0, |host, now| {
                let stream = host.open(here, false)?;
                let piece = Piece { end: true, owned: 0, ..piece(data.clone()) };
                host.send(now, here, stream, piece).map(|()| stream)
            })
            .unwrap();
        let (mut came, mut most, mut begun) = (Vec::<u8>::new(), 0, world.now());
        while came.len() < SENT {
            // The caller is away for a while, then takes 16 kB at a time.
            world.run(begun + 50_000_000);
            begun += 50_000_000;
            for _ in 0..400 {
                most = most.max(world.with(1, |host, _| Ok(host.events.bytes())).unwrap());
                let (mut records, mut bytes) = ([common::NONE; 8], vec![0; 16 << 10]);
                let mut room = Room::new(&mut records, &mut bytes);
                world.events(&mut room);
                let (used, filled) = (room.used, room.filled);
                let of = |record: &Record| (record.session, record.stream, record.kind);
                assert!(records[..used]
                    .iter()
                    .all(|record| of(record) == (there, stream, Kind::Data as u32)));
                came.extend(&bytes[..filled]);
            }
        }
        assert_eq!(came, data);
        let bound = session.min(host);
        assert!((bound / 2..bound + 1024).contains(&most), "{most} bytes waited");
        // QUIC held the sender back: it had more than a window left when the caller was away.
        assert!(world.with(1, |host, _| Ok(host.events.is_empty())).unwrap());
    }
}

#[test]
fn many_small_messages_wait_in_quic_too() {
    let (mut world, here, _) = bounded(1, |settings| settings.unread_bytes = 64 << 10);
    let waiting = |world: &mut World| world.with(1, |host, _| Ok(host.events.bytes())).unwrap();
    let streams: Vec<u64> =
        (0..200).map(|_| world.with(0, |host, _| host.open(here, false)).unwrap()).collect();
    for round in 0..200 {
        for &stream in &streams {
            world.with(0, |host, now| host.send(now, here, stream, piece(vec![7; 110]))).unwrap();
        }
        world.run(world.now() + 1_000_000);
        assert!(waiting(&mut world) <= (64 << 10) + 1024, "{round}: {}", waiting(&mut world));
    }
    let mut came = 0;
    for _ in 0..20_000 {
        came += events(&mut world).iter().map(|(_, data)| data.len()).sum::<usize>();
        world.run(world.now() + 1_000_000);
    }
    assert_eq!(came, 200 * 200 * 110);
}

#[test]
fn a_peer_that_reads_nothing_is_let_go() {
    type Change = fn(&mut Settings);
    let bounds: [(Change, usize); 2] = [
        (|settings| settings.queued_pieces = 50, 50),
        (|settings| settings.queued_bytes = 50_000, 50),
    ];
    for (change, pieces) in bounds {
        let (mut world, here, _) = bounded(0, change);
        world.stop(1).unwrap();
        let stream = world.with(0, |host, _| host.open(here, false)).unwrap();
        let queued = |world: &mut World| world.with(0, |host, _| Ok(host.queued_bytes())).unwrap();
        for sent in 0..pieces {
            assert_eq!(queued(&mut world), sent * 1000);
            world.with(0, |host, now| host.send(now, here, stream, piece(vec![0; 1000]))).unwrap();
        }
        // What the caller keeps anyway counts as a piece only.
        let lent = Piece { owned: 0, ..piece(vec![0; 1000]) };
        world.with(0, |host, now| host.send(now, here, stream, lent)).unwrap();
        assert_eq!(queued(&mut world), 0);
        let closed = events(&mut world);
        let [(record, reason)] = &closed[..] else { panic!("{closed:?}") };
        assert_eq!((record.kind, record.session), (Kind::Closed as u32, here));
        assert_eq!(reason, b"the other side reads nothing");
        // More is dropped without a word, on a stream that leads nowhere.
        assert_eq!(world.with(0, |host, _| host.open(here, false)).unwrap(), 0);
        world.with(0, |host, now| host.send(now, here, stream, piece(vec![0; 9]))).unwrap();
        assert_eq!(queued(&mut world), 0);
    }
}
