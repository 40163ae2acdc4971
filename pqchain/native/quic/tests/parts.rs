//! The small parts: room for events, settings, tickets, ports.
mod common;
use common::NONE;
use pqchain_quic::event::{Event, Events, Kind, Room, END};
use pqchain_quic::network::{Network, Port};
use pqchain_quic::settings::{Identity, Settings};
use pqchain_quic::tls::GivenTickets;
use rustls::server::StoresServerSessions;

#[test]
fn data_without_room_is_divided_and_its_end_comes_last() {
    let data: Vec<u8> = (0..100).collect();
    let whole = Event { data: data.clone(), flags: END, stream: 4, ..Event::of(Kind::Data, 1, 0) };
    let mut events = Events::new(1, 1000, 1000);
    events.push(whole, false);
    events.push(Event::of(Kind::Filled, 1, 0), false);
    let (mut came, mut kinds) = (Vec::<u8>::new(), Vec::new());
    while !events.is_empty() {
        let (mut records, mut bytes) = ([NONE; 2], [0; 30]);
        let mut room = Room::new(&mut records, &mut bytes);
        room.take(&mut events, 7, 9);
        let (used, filled) = (room.used, room.filled);
        came.extend(&bytes[..filled]);
        kinds.extend(records[..used].iter().map(|record| (record.kind, record.flags)));
    }
    assert_eq!(came, data);
    let data = Kind::Data as u32;
    assert_eq!(kinds, [(data, 0), (data, 0), (data, 0), (data, END), (Kind::Filled as u32, 0)]);
}

#[test]
fn clients_without_proof_do_not_wait_behind_members() {
    let mut events = Events::new(2, 1 << 20, 1 << 20);
    let event = |session, count| Event { count, ..Event::of(Kind::Filled, session, 0) };
    (0..6).for_each(|count| events.push(event(1, count), false));
    events.push(event(2, 0), true);
    events.push(event(2, 1), true);
    // Proven by now; what follows stays behind what came before.
    events.push(event(2, 2), false);
    assert_eq!((events.len(), events.bytes()), (9, 9 * 128));
    let (mut records, mut bytes) = ([NONE; 9], [0; 1]);
    let mut room = Room::new(&mut records, &mut bytes);
    assert!(room.take(&mut events, 0, 0));
    let order: Vec<_> = records.iter().map(|record| (record.session, record.count)).collect();
    let turns = [(1, 0), (2, 0), (1, 1), (2, 1), (1, 2), (2, 2), (1, 3), (1, 4), (1, 5)];
    assert_eq!(order, turns);
    events.push(event(2, 3), false);
    events.push(event(3, 0), true);
    assert_eq!((events.len(), events.bytes()), (2, 2 * 128));
}

#[test]
fn settings_outside_their_bounds_are_refused() {
    let good = [0, 1452, 0, 1, 1, 1, 1_000_000, 1, 0, 1, 1, 1, 1];
    assert!(Settings::read(&good).is_ok());
    let wrong =
        [(1, 1199), (1, 16_001), (2, 3), (4, 0), (5, u64::MAX), (6, 0), (7, 0), (9, 0), (12, 0)];
    for (at, value) in wrong {
        let mut wrong = good;
        wrong[at] = value;
        assert!(Settings::read(&wrong).is_err(), "{at}: {value}");
    }
    assert!(Settings::read(&good[1..]).is_err());
    assert!(Network::read(&[0; 10]).is_err());
}

#[test]
fn identities_that_are_cut_short_are_refused() {
    let mut whole = vec![0, 0, 0, 0, 2, 0, 0, 0, 1, 2];
    assert_eq!(Identity::read(&whole).unwrap().key, [1, 2]);
    whole.extend([3, 0, 0, 0, 1, 0, 0, 0, 5]);
    assert_eq!(Identity::read(&whole).unwrap().certificates[&3], [5]);
    for length in [0, 5, 9, 12, whole.len() - 1] {
        assert!(Identity::read(&whole[..length]).is_err(), "{length}");
    }
}

#[test]
fn a_ticket_is_good_once_and_only_of_the_proven() {
    let given = GivenTickets::default();
    for (session, proven) in [(1, true), (2, false)] {
        given.enter(session);
        assert!(given.put(vec![session as u8], vec![9]));
        if proven {
            given.prove(session, 5);
        }
    }
    given.enter(3);
    assert_eq!(given.take(&[2]), None);
    assert_eq!(given.resumed(), None);
    assert_eq!(given.take(&[1]), Some(vec![9]));
    assert_eq!(given.resumed(), Some(5));
    given.enter(4);
    assert_eq!(given.take(&[1]), None);
    assert_eq!(given.resumed(), None);
}

#[test]
fn tickets_beyond_the_bound_push_out_the_oldest() {
    let given = GivenTickets::default();
    given.prove(0, 1);
    for number in 0..5000u32 {
        given.put(number.to_le_bytes().to_vec(), vec![]);
    }
    assert_eq!(given.take(&0u32.to_le_bytes()), None);
    assert_eq!(given.take(&4999u32.to_le_bytes()), Some(vec![]));
}

#[test]
fn a_port_sends_one_after_the_other_and_drops_when_it_is_full() {
    // 1000 ps a byte; a queue of 3000 bytes.
    let network = Network::read(&[2, 1000, 0, 0, 3000, 0, 0, 0, 1, 0]).unwrap();
    let mut port = Port::default();
    let left: Vec<_> = (0..5).map(|_| network.pass(&mut port, 1000, 0)).collect();
    let ends = [1, 2, 3, 4].map(|count| Some(count * 1_000_000));
    assert_eq!(left[..4], ends);
    assert_eq!(left[4], None);
    assert_eq!(network.pass(&mut port, 1000, 4_000_000), Some(5_000_000));
}
