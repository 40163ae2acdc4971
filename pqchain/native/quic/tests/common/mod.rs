//! Worlds of hosts for the tests, and certificates for them.
#![allow(dead_code)] // not every test needs all
use bytes::Bytes;
use pqchain_quic::event::{Kind, Record, Room};
use pqchain_quic::link::Piece;
use pqchain_quic::network::Network;
use pqchain_quic::settings::{Identity, Settings};
use pqchain_quic::world::World;
use ring::signature::{Ed25519KeyPair, KeyPair};
use std::collections::BTreeMap;

fn tlv(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let body: Vec<u8> = parts.concat();
    let mut out = vec![tag];
    match body.len() {
        short @ 0..=127 => out.push(short as u8),
        middle @ 128..=255 => out.extend([0x81, middle as u8]),
        long => out.extend([0x82, (long >> 8) as u8, long as u8]),
    }
    out.extend(body);
    out
}

/// A self-signed Ed25519 certificate and its key (PKCS #8).
pub fn identity(seed: u8) -> (Vec<u8>, Vec<u8>) {
    let secret = [seed; 32];
    let pair = Ed25519KeyPair::from_seed_unchecked(&secret).unwrap();
    let ed25519 = tlv(0x30, &[&tlv(0x06, &[&[0x2b, 0x65, 0x70]])]);
    let common_name = tlv(0x30, &[&tlv(0x06, &[&[0x55, 4, 3]]), &tlv(0x0c, &[b"node"])]);
    let name = tlv(0x30, &[&tlv(0x31, &[&common_name])]);
    let validity = tlv(0x30, &[&tlv(0x17, &[b"200101000000Z"]), &tlv(0x17, &[b"491231235959Z"])]);
    let key = tlv(0x30, &[&ed25519, &tlv(0x03, &[&[0], pair.public_key().as_ref()])]);
    let version = tlv(0xa0, &[&tlv(0x02, &[&[2]])]);
    let serial = tlv(0x02, &[&[1]]);
    let body = tlv(0x30, &[&version, &serial, &ed25519, &name, &validity, &name, &key]);
    let signature = pair.sign(&body);
    let certificate = tlv(0x30, &[&body, &ed25519, &tlv(0x03, &[&[0], signature.as_ref()])]);
    let secret = tlv(0x04, &[&tlv(0x04, &[&secret])]);
    (certificate, tlv(0x30, &[&tlv(0x02, &[&[0]]), &ed25519, &secret]))
}

pub fn settings(index: u64) -> Settings {
    let quic = [index, 1452, 0, 1, 4 << 20, 16 << 20, 30_000_000_000, 10_000_000_000, 65_536];
    Settings::read(&[&quic[..], &[100_000, 32 << 20, 4 << 20, 32 << 20]].concat()).unwrap()
}

pub fn piece(data: impl Into<Bytes>) -> Piece {
    let data = data.into();
    Piece { owned: data.len(), data, end: false, bulk: false }
}

pub fn network(hosts: u64, loss: f64, seed: u64) -> Network {
    let loss = (loss * (1u64 << 53) as f64) as u64;
    Network::read(&[hosts, 800, 50_000, loss, 1_000_000, 20_000, 0, 66, seed, 1]).unwrap()
}

/// A world whose hosts all know each other.
pub fn world(hosts: u64, loss: f64, seed: u64) -> World {
    let mut world = World::new(network(hosts, loss, seed));
    let all: Vec<_> = (0..hosts).map(|index| identity(index as u8 + 1)).collect();
    let certificates: BTreeMap<u32, Vec<u8>> = all
        .iter()
        .enumerate()
        .map(|(at, (certificate, _))| (at as u32, certificate.clone()))
        .collect();
    for (index, (_, key)) in all.into_iter().enumerate() {
        let identity = Identity { key, certificates: certificates.clone() };
        world.start(settings(index as u64), &identity).unwrap();
    }
    world
}

pub const NONE: Record = Record {
    time_ns: 0,
    stream: 0,
    count: 0,
    host: 0,
    kind: 0,
    session: 0,
    peer: 0,
    flags: 0,
    length: 0,
};

/// What has happened, each with its bytes.
pub fn events(world: &mut World) -> Vec<(Record, Vec<u8>)> {
    let (mut records, mut data) = (vec![NONE; 256], vec![0; 1 << 20]);
    let mut room = Room::new(&mut records, &mut data);
    world.events(&mut room);
    let used = room.used;
    let mut begin = 0;
    let mut found = Vec::new();
    for record in &records[..used] {
        let end = begin + record.length as usize;
        found.push((*record, data[begin..end].to_vec()));
        begin = end;
    }
    found
}

/// Dial from host 0 to 1, prove both, and return the sessions' numbers.
pub fn connect(world: &mut World) -> (u32, u32) {
    let to = pqchain_quic::network::address(1);
    let here = world.with(0, |host, now| host.dial(now, 1, to, false)).unwrap();
    for _ in 0..20 {
        world.run(u64::MAX >> 1);
        for (record, _) in events(world) {
            if record.kind == Kind::Hello as u32 {
                let there = record.session;
                world
                    .with(1, |host, _| {
                        host.prove(there, 0);
                        Ok(())
                    })
                    .unwrap();
                return (here, there);
            }
        }
    }
    panic!("no hello")
}
