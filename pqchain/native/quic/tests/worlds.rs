//! Two hosts and more on the modelled clock.
mod common;
use bytes::Bytes;
use common::{connect, events, identity, settings, world};
use pqchain_quic::event::{Kind, END};
use pqchain_quic::settings::Identity;
use pqchain_quic::world::World;

/// Send `length` bytes from host 0 to 1; return the digest of all datagrams and the end.
fn transfer(world: &mut World, length: usize) -> (Vec<u8>, u64) {
    let (here, _) = connect(world);
    let sent: Vec<u8> = (0..length).map(|at| (at * 7 + at / 251) as u8).collect();
    world
        .with(0, |host, _| {
            let stream = host.open(here, false)?;
            host.send(here, stream, Bytes::from(sent.clone()), true, true)
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
